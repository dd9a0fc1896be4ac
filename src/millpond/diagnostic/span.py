"""Where something stands in a user's text."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Source:
    """A named text: a file, or standard input."""

    name: str
    text: str

    @cached_property
    def _line_starts(self) -> tuple[int, ...]:
        starts = [0]
        starts.extend(i + 1 for i, char in enumerate(self.text) if char == "\n")
        return tuple(starts)

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset, both from 1."""
        from bisect import bisect_right

        line = bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1] + 1

    def line(self, number: int) -> str:
        """The text of a line, from 1, without its end."""
        start = self._line_starts[number - 1]
        end = self.text.find("\n", start)
        return self.text[start : len(self.text) if end < 0 else end].rstrip("\r")


@dataclass(frozen=True)
class Span:
    """A half-open range of characters in a source."""

    source: Source
    start: int
    end: int

    @property
    def line(self) -> int:
        return self.source.position(self.start)[0]

    @property
    def column(self) -> int:
        return self.source.position(self.start)[1]

    @property
    def text(self) -> str:
        return self.source.text[self.start : self.end]

    def meets(self, other: Span) -> bool:
        """Whether both have a character in common."""
        return self.start < other.end and other.start < self.end

    def to(self, other: Span) -> Span:
        """The smallest span that covers both."""
        return Span(self.source, min(self.start, other.start), max(self.end, other.end))
