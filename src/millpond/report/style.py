"""Colours for a terminal, and none for anything else."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import IO

_CODES = {"bold": "1", "dim": "2", "red": "31;1", "green": "32", "yellow": "33", "blue": "34;1"}


@dataclass(frozen=True)
class Style:
    """Whether to colour; each method wraps a text."""

    colour: bool = False

    @classmethod
    def of(cls, stream: IO[str]) -> Style:
        """Colours where people look: on a terminal, unless NO_COLOR is set."""
        try:
            terminal = stream.isatty()
        except ValueError:
            terminal = False
        return cls(terminal and "NO_COLOR" not in os.environ)

    def paint(self, name: str, text: str) -> str:
        return f"\x1b[{_CODES[name]}m{text}\x1b[0m" if self.colour else text

    def bold(self, text: str) -> str:
        return self.paint("bold", text)

    def dim(self, text: str) -> str:
        return self.paint("dim", text)


PLAIN = Style()
"""No colours."""
