"""What a program uses to talk to a broker."""
