"""Offsets, lines and columns of a text."""

from __future__ import annotations

import pytest

from millpond.diagnostic import Source, Span

TEXT = "one\n\ntwo é😀\r\nlast"


def test_positions_are_those_of_counting_by_hand() -> None:
    source = Source("f", TEXT)
    line, column = 1, 1
    for offset, char in enumerate(TEXT):
        assert source.position(offset) == (line, column)
        line, column = (line + 1, 1) if char == "\n" else (line, column + 1)
    assert source.position(len(TEXT)) == (line, column)


@pytest.mark.parametrize(("number", "line"), [(1, "one"), (2, ""), (3, "two é😀"), (4, "last")])
def test_lines_come_without_their_ends(number: int, line: str) -> None:
    assert Source("f", TEXT).line(number) == line


def test_a_span_knows_its_text_and_its_place() -> None:
    span = Span(Source("f", TEXT), 9, 11)
    assert (span.text, span.line, span.column) == ("é😀", 3, 5)


def test_spans_join_to_the_smallest_that_covers_both() -> None:
    source = Source("f", TEXT)
    assert Span(source, 2, 3).to(Span(source, 0, 1)) == Span(source, 0, 3)
    assert Span(source, 0, 9).to(Span(source, 2, 3)) == Span(source, 0, 9)


def test_an_empty_text_has_a_first_line() -> None:
    source = Source("f", "")
    assert source.position(0) == (1, 1)
    assert source.line(1) == ""
