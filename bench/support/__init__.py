"""What measurements are made of: no measurement itself."""
