"""Schedules: generated from a seed, or written by hand under a name."""
