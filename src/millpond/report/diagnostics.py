"""A diagnostic as people read it: the message, the line it is about with a caret, what helps."""

from __future__ import annotations

from typing import Any

from millpond.diagnostic import Diagnostic, Page, Severity, Span
from millpond.report.cells import cells, printable
from millpond.report.style import PLAIN, Style

_WIDTH = 110
_COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "blue"}


def render_diagnostic(diagnostic: Diagnostic, style: Style = PLAIN) -> str:
    """Several lines, without an end of line after the last."""
    head = style.paint(_COLOURS[diagnostic.severity], f"{diagnostic.severity}[{diagnostic.code}]")
    lines = [f"{head}: {style.bold(printable(diagnostic.message))}"]
    place = diagnostic.place
    if place is not None:
        where = ":".join(str(each) for each in place if each is not None)
        lines.append(f"  {style.dim('-->')} {where}")
    if diagnostic.span is not None:
        lines += _excerpt(diagnostic.span, style)
    lines += [f"  {style.dim('=')} {printable(note)}" for note in diagnostic.notes]
    lines += [f"  {style.paint('green', 'help:')} {printable(each)}" for each in diagnostic.helps]
    return "\n".join(lines)


def render_note(note: Diagnostic, style: Style = PLAIN) -> str:
    """What is worth knowing and wrong with nothing, in one line."""
    head = style.paint(_COLOURS[note.severity], f"{note.severity}[{note.code}]")
    place = [str(each) for each in note.place or () if each is not None]
    where = f"{style.dim(':'.join(place))}: " if place else ""
    return f"{head} {where}{printable(note.message)}"


def _excerpt(span: Span, style: Style) -> list[str]:
    """The line of a span and a caret under it; a long line is cut around the span."""
    text = printable(span.source.line(span.line))
    start = span.column - 1
    width = max(1, min(span.end - span.start, len(text) - start))
    if len(text) > _WIDTH:
        cut = max(0, start - _WIDTH // 3)
        text = text[cut : cut + _WIDTH]
        start -= cut
        width = max(1, min(width, len(text) - start))
    margin = " " * len(str(span.line))
    bar = style.dim("|")
    return [
        f" {margin} {bar}",
        f" {style.dim(str(span.line))} {bar} {text}",
        f" {margin} {bar} {' ' * cells(text[:start])}"
        + style.paint("red", "^" * max(1, cells(text[start : start + width]))),
    ]


def render_page(page: Page, style: Style = PLAIN) -> str:
    """The page of a code: what, why, an example, what to write instead."""
    return "\n".join(
        [
            style.bold(f"{page.code}: {page.title}"),
            "",
            page.why,
            "",
            f"For example:  {page.example}",
            f"Instead:      {page.instead}",
        ]
    )


def diagnostic_dict(diagnostic: Diagnostic) -> dict[str, Any]:
    """The diagnostic as JSON-ready data."""
    file, line, column = diagnostic.place or (None, None, None)
    return {
        "code": diagnostic.code,
        "severity": diagnostic.severity.value,
        "message": diagnostic.message,
        "file": file,
        "line": line,
        "column": column,
        "text": None if diagnostic.span is None else diagnostic.span.text,
        "notes": list(diagnostic.notes),
        "helps": list(diagnostic.helps),
    }
