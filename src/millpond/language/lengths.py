"""Lengths of time in the unit of a time column: what `10`, `1 min` and `INTERVAL '1' MINUTE` count.

A TIMESTAMP column counts microseconds.  An integer column counts what its user means by it: a bare
number is taken as it is, and a length with a unit needs `WITH (unit = 'second')` or the like.
"""

from __future__ import annotations

import re
from fractions import Fraction

from millpond.diagnostic import Diagnostic, Span, UserError
from millpond.language.spans import Places
from millpond.language.tree import Length
from millpond.language.units import MICROSECONDS, unit_of
from millpond.plan.moments import interval_from
from millpond.schema import Kind, Time, Type

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
_PART = re.compile(r"\s*([+-]?\d+(?:\.\d+)?)\s*([^\W\d]+)\s*,?")
_CLOCK = re.compile(r"([+-]?)(\d+):(\d\d)(?::(\d\d(?:\.\d{1,6})?))?", re.ASCII)


def ticks(length: Length, time: Time | None, time_type: Type, places: Places) -> int:
    """How many units of a time column a length is."""
    span = places.of(length)
    if is_bare(length):
        return _whole(Fraction(str(length.this)), f"`{length.this}` is no whole number", span)
    found = microseconds(length, places)
    if time_type.kind is Kind.TIMESTAMP:
        return found
    unit = None if time is None else time.unit
    if unit is None:
        raise UserError(
            Diagnostic(
                "MP111",
                "the time column is an integer, and nothing says what unit it counts",
                span,
                helps=("declare the stream WITH (unit = 'second'), or write a bare number",),
            )
        )
    return _whole(Fraction(found, MICROSECONDS[unit]), f"this is no whole number of {unit}s", span)


def microseconds(length: Length, places: Places) -> int:
    """How long a length with units is."""
    span = places.of(length)
    unit = length.args.get("unit")
    text = str(length.this)
    if unit is None:
        return _spelled(text, span)
    if _NUMBER.fullmatch(text) is None:
        raise _unreadable(text, span)
    start, end = length.meta.get("unit", (span.start, span.end - 1))
    meant = unit_of(str(unit), places.characters(start, end), span)
    return _whole(Fraction(text) * MICROSECONDS[meant], "this is no whole microsecond", span)


def is_bare(length: Length) -> bool:
    """Whether a length is a number without a unit."""
    return length.args.get("unit") is None and _NUMBER.fullmatch(str(length.this)) is not None


def _spelled(text: str, span: Span) -> int:
    """A text with its units inside: `1 hour 30 minutes`, `01:30:00`, `PT1H30M`."""
    clock = _CLOCK.fullmatch(text)
    if clock is not None:
        sign, hours, minutes, seconds = clock.groups()
        total = int(hours) * 3600 + int(minutes) * 60 + Fraction(seconds or 0)
        return int(total * 1_000_000) * (-1 if sign == "-" else 1)
    try:
        return interval_from(text)
    except ValueError:
        pass
    place, total = 0, Fraction(0)
    while place < len(text):
        part = _PART.match(text, place)
        if part is None:
            raise _unreadable(text, span)
        total += Fraction(part[1]) * MICROSECONDS[unit_of(part[2], span)]
        place = part.end()
    return _whole(total, "this is no whole microsecond", span)


def _whole(number: Fraction, otherwise: str, span: Span) -> int:
    if number.denominator != 1:
        raise UserError(Diagnostic("MP107", otherwise, span, helps=("write a smaller unit",)))
    return int(number)


def _unreadable(text: str, span: Span) -> UserError:
    return UserError(
        Diagnostic(
            "MP107",
            f"`{text}` is no length of time",
            span,
            helps=("write INTERVAL '10' MINUTE, or INTERVAL '1 hour 30 minutes'",),
        )
    )
