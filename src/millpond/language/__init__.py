"""Text in, plan out, with the place of every node in the text kept."""

from millpond.language.read import read_file, read_script

__all__ = ["read_file", "read_script"]
