"""Lengths of time as people write them: `10 MINUTE` where microseconds are counted."""

from __future__ import annotations

from millpond.plan.node import Node, scans
from millpond.plan.window import Extent, WindowSpec
from millpond.schema import Kind, Type

_SECOND = 1_000_000
_UNITS = (("DAY", 86_400), ("HOUR", 3_600), ("MINUTE", 60), ("SECOND", 1))


def units(microseconds: int) -> tuple[int, str]:
    """The largest unit that goes into a length, and how often."""
    for word, seconds in _UNITS:
        if microseconds and microseconds % (seconds * _SECOND) == 0:
            return microseconds // (seconds * _SECOND), word
    return microseconds, "MICROSECOND"


def length(ticks: int, time: Type | None) -> str:
    """A length in the unit of a time column: a number, with its unit where that is known."""
    if time is None or time.kind is not Kind.TIMESTAMP or ticks % _SECOND:
        return str(ticks)
    count, word = units(ticks)
    return f"{count} {word}"


def time_of(node: Node) -> Type | None:
    """The type of the instants of a plan; None where they are counted."""
    return next((each.stream.time_type for each in scans(node) if each.stream.is_stream), None)


def window_text(spec: WindowSpec, time: Type | None, partition: tuple[str, ...]) -> str:
    """`[PARTITION BY k ROWS 5 SLIDE 2]`, with lengths of time in their units; `partition` is the
    names as they are to be printed."""
    timed = None if spec.extent is Extent.ROWS else time
    words = [f"PARTITION BY {', '.join(partition)}"] if partition else []
    words.append(spec.extent.value)
    if spec.size is not None:
        words.append(length(spec.size, timed))
    if spec.slide is not None:
        words.append(f"SLIDE {length(spec.slide, timed)}")
    if spec.internal:
        words.append("INTERNAL")
    return f"[{' '.join(words)}]"
