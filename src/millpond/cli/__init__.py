"""The command line: one file a verb."""

from millpond.cli.main import main

__all__ = ["main"]
