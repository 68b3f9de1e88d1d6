"""What travels, and what can be wrong with it: frozen values that every other room shares."""
