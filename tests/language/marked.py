"""Texts in which the expected span is marked: `SELECT «x» FROM s`."""

from __future__ import annotations

OPEN, CLOSE = "«", "»"


def unmarked(text: str) -> str:
    """The text without its marks."""
    return text.replace(OPEN, "").replace(CLOSE, "")


def spans(text: str) -> list[tuple[int, int]]:
    """Start and end of each marked span, as offsets in the text without marks.

    >>> spans("a «b» «cd»")
    [(2, 3), (4, 6)]
    """
    found: list[tuple[int, int]] = []
    place, start = 0, None
    for char in text:
        if char == OPEN:
            assert start is None, "marks do not nest"
            start = place
        elif char == CLOSE:
            assert start is not None, "a mark is closed that was not opened"
            found.append((start, place))
            start = None
        else:
            place += 1
    assert start is None, "a mark is not closed"
    return found


def marked(text: str, *found: tuple[int, int]) -> str:
    """The text with these spans marked: what a failing test shows.

    >>> marked("abc", (0, 1), (2, 3))
    '«a»b«c»'
    """
    for start, end in sorted(found, reverse=True):
        text = text[:start] + OPEN + text[start:end] + CLOSE + text[end:]
    return text
