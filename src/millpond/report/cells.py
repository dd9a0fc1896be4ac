"""Text as a terminal shows it: without what would steer the terminal, and how wide it is."""

from __future__ import annotations

from collections.abc import Iterable
from unicodedata import combining, east_asian_width


def printable(text: str) -> str:
    """The text, sign for sign, with nothing in it that moves the cursor or colours."""
    if text.isprintable():
        return text
    return "".join(_sign(each) for each in text)


def _sign(char: str) -> str:
    if char.isprintable():
        return char
    return " " if char.isspace() else "\N{REPLACEMENT CHARACTER}"


def cells(text: str) -> int:
    """How wide a terminal shows a text: some signs take two places, and some none."""
    return sum(
        0 if combining(each) else 2 if east_asian_width(each) in "WF" else 1 for each in text
    )


def filled(words: Iterable[str], room: int) -> list[str]:
    """Lines of as many words as the room allows; a longer word has a line of its own."""
    lines: list[str] = []
    for word in words:
        if lines and cells(lines[-1]) + 1 + cells(word) <= room:
            lines[-1] += " " + word
        else:
            lines.append(word)
    return lines
