"""A verdict as people read it: class and number first; then what grows and what stops it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from millpond.diagnostic import Severity, Span
from millpond.memory import Fix, MemoryClass, StateEntry, Verdict
from millpond.plan import Query
from millpond.report.amounts import counted
from millpond.report.diagnostics import render_diagnostic
from millpond.report.elsewhere import elsewhere_lines, pace_text
from millpond.report.patch import patch_lines
from millpond.report.samples import remedy_lines
from millpond.report.style import PLAIN, Style
from millpond.report.witness import witness_lines

_COLOURS = {
    MemoryClass.NONE: "green",
    MemoryClass.CONSTANT: "green",
    MemoryClass.IMPRACTICAL: "yellow",
    MemoryClass.WINDOW: "yellow",
    MemoryClass.DOMAIN: "yellow",
    MemoryClass.LINEAR: "red",
    MemoryClass.OUTSIDE: "yellow",
}
_SHOWN = 3


def render_verdict(
    verdict: Verdict,
    style: Style = PLAIN,
    *,
    query: Query | None = None,
    why: bool = False,
    witness: bool = False,
) -> str:
    """Several lines, without an end of line after the last.

    With the `query` repairs are patches of its text; `witness` adds the input that proves it.
    """
    return "\n".join(_lines(verdict, style, query, why, witness or why))


def _lines(
    verdict: Verdict, style: Style, query: Query | None, why: bool, witness: bool
) -> Iterator[str]:
    head = style.paint(_COLOURS[verdict.memory], verdict.memory.value)
    yield f"{style.bold(verdict.name)}: {head}, {_summary(verdict)}"
    for reason in verdict.because:
        if reason.code == "MP204":  # the bound holds for this order alone
            yield f"  {reason.text}"
    for entry in verdict.state:
        yield f"  {entry.formula}" + _counts(entry, verdict)
    if verdict.given:
        yield f"  given: {', '.join(verdict.given)}"
    if verdict.memory in (MemoryClass.LINEAR, MemoryClass.OUTSIDE) or why:
        yield from _reasons(verdict, style, why)
    if query is not None:
        for line in remedy_lines(query, verdict.remedy):
            yield f"  {style.paint('green', line) if line.startswith(' ') else line}"
    yield from _repairs(verdict, style, None if query is None else query.span, why)
    for line in elsewhere_lines(verdict, why=why):
        yield f"  {line}"
    if witness and verdict.witness is not None:
        for line in witness_lines(verdict, verdict.witness):
            yield f"  {line}"


def _reasons(verdict: Verdict, style: Style, why: bool) -> Iterator[str]:
    """What prevents a bound: the first with its place in the text, the others in a line each; with
    their rules and places all of them."""
    severity = Severity.ERROR if verdict.memory is MemoryClass.LINEAR else Severity.NOTE
    for number, reason in enumerate(verdict.because):
        shown = replace(reason.diagnostic, severity=severity)
        if not why:
            shown = replace(shown, notes=(), span=None if number else shown.span)
        yield _indented(render_diagnostic(shown, style))


def _repairs(verdict: Verdict, style: Style, span: Span | None, why: bool) -> Iterator[str]:
    """The smallest repair as a patch, and the next ones in a line each; all as patches with why."""
    green = style.paint("green", "repair:")
    for number, fix in enumerate(verdict.fixes if why else verdict.fixes[:_SHOWN]):
        if number and not why:
            yield f"  {style.paint('green', 'or:')} {fix.text}; {_then(fix)}"
            continue
        yield f"  {green} {fix.text}"
        for line in patch_lines(span, fix.sql, style):
            yield f"    {line}"
        yield f"    {_then(fix)}"
    more = len(verdict.fixes) - _SHOWN
    if more > 0 and not why:
        yield f"  {more} more with --why"
    if why and not verdict.fixes and verdict.memory is MemoryClass.LINEAR:
        yield "  no repair was found among: DISTINCT, ranges, CHECKs, fewer columns, windows"


def _then(fix: Fix) -> str:
    units = f", at most {counted(fix.units, 'unit')}" if fix.units is not None else ""
    return f"then {fix.memory}{units}; answers: {fix.keeps_answers}"


def _counts(entry: StateEntry, verdict: Verdict) -> str:
    alone = len(verdict.state) == 1 or entry.units is None
    return "" if alone else f" = {entry.units}"


def _summary(verdict: Verdict) -> str:
    match verdict.memory:
        case MemoryClass.NONE:
            return "0 units: nothing has to be remembered"
        case MemoryClass.CONSTANT:
            units, size = counted(verdict.units, "unit"), counted(verdict.state_bytes, "byte")
            return f"at most {units} ({size}), whatever comes"
        case MemoryClass.IMPRACTICAL:
            return f"at most {verdict.units} units, which is above the budget"
        case MemoryClass.WINDOW:
            return f"as much as its windows hold: {verdict.growth}{_paced(verdict)}"
        case MemoryClass.LINEAR:
            return f"no bound: it grows with {verdict.growth}{_paced(verdict)}"
        case MemoryClass.OUTSIDE:
            return "whether a bound exists is not decided"
    return f"grows with {verdict.growth}"


def _paced(verdict: Verdict) -> str:
    return "" if verdict.pace is None else f", {pace_text(verdict.pace)}"


def _indented(text: str) -> str:
    return "\n".join("  " + line for line in text.splitlines())
