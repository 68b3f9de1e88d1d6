"""What `log` and `rights` ask to be kept, kept."""
