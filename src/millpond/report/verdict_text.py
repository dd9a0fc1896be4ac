"""A verdict as people read it: class and number first; then what grows and what stops it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from millpond.diagnostic import Severity
from millpond.memory import MemoryClass, Verdict
from millpond.report.diagnostics import render_diagnostic
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
    verdict: Verdict, style: Style = PLAIN, *, why: bool = False, witness: bool = False
) -> str:
    """Several lines, without an end of line after the last; `witness` adds what proves it."""
    return "\n".join(_lines(verdict, style, why, witness or why))


def _lines(verdict: Verdict, style: Style, why: bool, witness: bool) -> Iterator[str]:
    head = style.paint(_COLOURS[verdict.memory], verdict.memory.value)
    yield f"{style.bold(verdict.name)}: {head}, {_summary(verdict)}"
    for reason in verdict.because:
        if reason.code == "MP204":  # the bound holds for this order alone
            yield f"  {reason.text}"
    for entry in verdict.state:
        yield f"  {entry.formula}" + (f" = {entry.units}" if len(verdict.state) > 1 else "")
    if verdict.memory in (MemoryClass.LINEAR, MemoryClass.OUTSIDE) or why:
        for reason in verdict.because:
            severity = Severity.ERROR if verdict.memory is MemoryClass.LINEAR else Severity.NOTE
            shown = replace(reason.diagnostic, severity=severity)
            if not why:
                shown = replace(shown, notes=())
            yield _indented(render_diagnostic(shown, style))
    for fix in verdict.fixes[: None if why else _SHOWN]:
        yield f"  {style.paint('green', 'repair:')} {fix.text}"
        yield _indented(_indented(fix.sql))
        units = f", at most {counted(fix.units, 'unit')}" if fix.units is not None else ""
        yield f"    then {fix.memory}{units}; answers: {fix.keeps_answers}"
    if witness and verdict.witness is not None:
        for line in witness_lines(verdict, verdict.witness):
            yield f"  {line}"
    if why and len(verdict.fixes) == 0 and verdict.memory is MemoryClass.LINEAR:
        yield "  no repair was found among: DISTINCT, a range on a column that the verdict names"


def _summary(verdict: Verdict) -> str:
    match verdict.memory:
        case MemoryClass.NONE:
            return "0 units: nothing has to be remembered"
        case MemoryClass.CONSTANT:
            units, size = counted(verdict.units, "unit"), counted(verdict.state_bytes, "byte")
            return f"at most {units} ({size}), whatever comes"
        case MemoryClass.IMPRACTICAL:
            return f"at most {verdict.units} units, which is above the budget"
        case MemoryClass.LINEAR:
            return f"no bound: it grows with {verdict.growth}"
        case MemoryClass.OUTSIDE:
            return "whether a bound exists is not decided"
    return f"grows with {verdict.growth}"


def counted(number: int | None, what: str) -> str:
    """
    >>> counted(1, "unit"), counted(2, "unit")
    ('1 unit', '2 units')
    """
    return f"{number} {what}" + ("" if number == 1 else "s")


def _indented(text: str) -> str:
    return "\n".join("  " + line for line in text.splitlines())
