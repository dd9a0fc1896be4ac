"""Turns the shape of a synopsis into a program."""

from millpond.synopsis.program import program_of

__all__ = ["program_of"]
