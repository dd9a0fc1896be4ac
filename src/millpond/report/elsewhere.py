"""What other engines would keep for a query: a line each for people, and the same as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from millpond.memory import Elsewhere, Fate, MemoryClass, Pace, Verdict
from millpond.report.amounts import rounded, size_text

_GROWING = (Fate.LINEAR, Fate.REFUSED)


def elsewhere_lines(verdict: Verdict, *, why: bool = False) -> Iterator[str]:
    """One line for each engine, or for both where they do the same; with `why` what is assumed."""
    if not _worth_saying(verdict):
        return
    alike: dict[tuple[Fate, str, Pace | None], list[Elsewhere]] = {}
    for each in verdict.elsewhere:
        alike.setdefault((each.memory, each.keeps, each.pace), []).append(each)
    for (fate, keeps, pace), engines in alike.items():
        names = " and ".join(each.engine for each in engines)
        does = "would refuse" if fate is Fate.REFUSED else "would keep"
        more = "" if pace is None else f": {pace_text(pace)}"
        yield f"{names} {does} {keeps}{more}"
        if why:
            yield from (f"  if {each.given}" for each in engines)


def _worth_saying(verdict: Verdict) -> bool:
    """Where state grows or depends on rates; and where it is constant here, and not there."""
    if verdict.memory in (MemoryClass.LINEAR, MemoryClass.WINDOW):
        return True
    constant = verdict.memory in (MemoryClass.CONSTANT, MemoryClass.IMPRACTICAL)
    return constant and any(each.memory in _GROWING for each in verdict.elsewhere)


def pace_text(pace: Pace) -> str:
    """
    >>> pace_text(Pace(7_200_000, 115_200_000))
    'at most 7.2 million rows and 115 MB an hour'
    """
    return pace.said(rounded(pace.rows), size_text(pace.bytes))


def elsewhere_dicts(verdict: Verdict) -> list[dict[str, Any]]:
    """The estimates as JSON-ready data."""
    return [
        {
            "engine": each.engine,
            "memory": each.memory.value,
            "keeps": each.keeps,
            "given": each.given,
            "pace": pace_dict(each.pace),
        }
        for each in verdict.elsewhere
    ]


def pace_dict(pace: Pace | None) -> dict[str, Any] | None:
    """Rows and bytes as JSON-ready data."""
    if pace is None:
        return None
    return {
        "rows": pace.rows,
        "bytes": pace.bytes,
        "per": "hour" if pace.per_hour else None,
        "measured": pace.measured,
        "without": list(pace.without),
    }
