"""The commands that a person types."""

from headgate.cli.app import main

__all__ = ["main"]
