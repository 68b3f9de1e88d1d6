"""Measurements of the broker network, in simulated time and counted work."""
