"""An edit as a patch of the user's own text: the lines that go, and those that come instead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from millpond.diagnostic import Span
from millpond.report.cells import printable
from millpond.report.style import PLAIN, Style


def patch_lines(span: Span | None, text: str, style: Style = PLAIN) -> Iterator[str]:
    """The lines that differ when `text` stands where `span` is; without a span all of `text`.

    >>> from millpond.diagnostic import Source
    >>> source = Source("q.sql", "SELECT a FROM s;\\n")
    >>> for line in patch_lines(Span(source, 0, 15), "SELECT DISTINCT a FROM s"):
    ...     print(line)
    1 - SELECT a FROM s;
    1 + SELECT DISTINCT a FROM s;
    """
    before, after, first = _whole_lines(span, text)
    width = len(str(first + max(len(before), len(after)) - 1))

    def marked(number: int, sign: str, line: str) -> str:
        colour = "red" if sign == "-" else "green"
        shown = printable(line)
        return f"{style.dim(f'{number:>{width}}')} {style.paint(colour, f'{sign} {shown}')}"

    for kind, start, end, other_start, other_end in _changes(before, after):
        if kind == "equal":
            continue
        for place in range(start, end):
            yield marked(first + place, "-", before[place])
        for place in range(other_start, other_end):
            yield marked(first + place, "+", after[place])


def _changes(before: list[str], after: list[str]) -> Sequence[tuple[str, int, int, int, int]]:
    return SequenceMatcher(None, before, after, autojunk=False).get_opcodes()


def _whole_lines(span: Span | None, text: str) -> tuple[list[str], list[str], int]:
    """The lines before and after, and the number of the first: whole lines of the file, but of one
    that something else stands in front of, only what is edited."""
    if span is None:
        return [], text.splitlines(), 1
    file = span.source.text
    start = file.rfind("\n", 0, span.start) + 1
    end = file.find("\n", span.end)
    end = len(file) if end < 0 else end
    head, tail = file[start : span.start], file[span.end : end].rstrip()
    if head.strip():
        head = ""
    if tail not in ("", ";"):
        tail = ""
    return (head + span.text + tail).splitlines(), (head + text + tail).splitlines(), span.line
