"""How fast state grows at the rates at which rows come, in rows and bytes.

A query without a bound has to tell rows apart by the columns that its verdict names.  Of each
input that has one, every row may be new: that is the most that its state can grow by.  Where a
sample says which share of the rows brings values that were not there before, the growth is about
so much.  A window of time holds what comes in its length.

Bytes are those of the columns that matter, by their types; counts, and what an engine adds to a
row, are not in them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from millpond.language.units import MICROSECONDS
from millpond.memory.spj import SpjQuery
from millpond.memory.verdict import MemoryClass, Verdict
from millpond.plan import Assign, Assigned, Extent, Query, Scan, Window, nodes
from millpond.schema import Column, DecimalType, EnumType, IntegerType, Kind, Stream, VarcharType

Share = Callable[[Sequence[str]], Fraction | None]
"""Which share of the rows has new values in these columns; None where it was not measured."""

_HOUR = MICROSECONDS["hour"]
_TEXT = 16
"""Bytes of a text without a declared length."""


@dataclass(frozen=True)
class Rate:
    """How fast rows of a stream come."""

    per_hour: Fraction
    share: Share | None = None


@dataclass(frozen=True)
class Pace:
    """Rows and bytes that state grows by in an hour, or that windows hold at a time."""

    rows: int
    bytes: int
    per_hour: bool = True
    measured: bool = False
    """Whether a sample says how many rows are new; else every row may be."""
    without: tuple[str, ...] = ()
    """Streams that it grows with, too, and whose rate is not known."""

    @property
    def phrase(self) -> str:
        """
        >>> Pace(7_200_000, 115_200_000).phrase
        'at most 7200000 rows and 115200000 bytes an hour'
        """
        return self.said(str(self.rows), f"{self.bytes} bytes")

    def said(self, rows: str, size: str) -> str:
        """The phrase with its numbers as they are given."""
        about = "about" if self.measured or not self.per_hour else "at most"
        span = " an hour" if self.per_hour else " at a time"
        more = f", and what `{'`, `'.join(self.without)}` brings" if self.without else ""
        what = "row" if rows == "1" else "rows"
        return f"{about} {rows} {what} and {size}{span}{more}"


def pace_of(query: Query, verdict: Verdict, rates: Mapping[str, Rate]) -> Pace | None:
    """How fast the state of a query grows, or what its windows hold; None where it does not grow,
    or where no rate is known."""
    match verdict.memory:
        case MemoryClass.LINEAR:
            return _growing(verdict, rates)
        case MemoryClass.WINDOW:
            return _held(query, verdict, rates)
    return None


def _growing(verdict: Verdict, rates: Mapping[str, Rate]) -> Pace | None:
    rows, size, measured, without = Fraction(0), Fraction(0), False, list[str]()
    for stream, columns, relevant in _inputs(verdict):
        rate = rates.get(stream.name)
        if rate is None:
            without.append(stream.name)
            continue
        share = None if rate.share is None else rate.share(columns)
        measured = measured or share is not None
        new = rate.per_hour * (1 if share is None else share)
        rows += new
        size += new * width(stream, relevant)
    if not rows and not measured:
        return None
    missing = tuple(dict.fromkeys(without))
    return Pace(_ceiling(rows), _ceiling(size), measured=measured, without=missing)


def _inputs(verdict: Verdict) -> Iterator[tuple[Stream, tuple[str, ...], tuple[str, ...]]]:
    """The streams that state grows with, each with the columns that it grows with and with all that
    matter of it; a stream that is read twice in the same way is kept once."""
    seen = set()
    for each in verdict.growing:
        named = {str(attribute): attribute for attribute in each.query.columns}
        for alias, stream in each.query.streams:
            grows = tuple(
                attribute.column
                for attribute in each.attributes
                if attribute.alias == alias and str(attribute) in named
            )
            relevant = _kept(each.query, alias)
            if grows and (stream.name, grows, relevant) not in seen:
                seen.add((stream.name, grows, relevant))
                yield stream, grows, relevant


def _kept(query: SpjQuery, alias: str) -> tuple[str, ...]:
    """The columns of an input that matter behind its own filters, but those with one value."""
    asked = {*query.projected, *query.beside, *(x for pair in query.pairs for x in pair.columns)}
    return tuple(
        each.column
        for each in query.of(alias)
        if each in asked and query.predicate.interval(each).size != 1
    )


def _held(query: Query, verdict: Verdict, rates: Mapping[str, Rate]) -> Pace | None:
    """What the windows of time and of rows hold, each stream of each window once, and the rows that
    wait for later ones."""
    rows, size, without = Fraction(0), Fraction(0), list[str]()
    waiting = ((each, hours_of(each, length), None) for each, length in verdict.waits)
    for stream, hours, count in (*windows(query), *waiting):
        if hours is None and count is None:
            return None
        rate = rates.get(stream.name)
        if count is None and rate is None:
            without.append(stream.name)
            continue
        held = Fraction(count or 0)
        if hours is not None and rate is not None:
            held = rate.per_hour * hours
        rows += held
        size += held * width(stream, stream.names)
    if not rows:
        return None
    missing = tuple(dict.fromkeys(without))
    return Pace(_ceiling(rows), _ceiling(size), per_hour=False, without=missing)


def windows(query: Query) -> Iterator[tuple[Stream, Fraction | None, int | None]]:
    """The windows of a query: of which stream, over how many hours or how many rows; neither is
    known of windows whose length is not known in hours."""
    for node in nodes(query.root):
        if isinstance(node, Assign):
            session = node.function.assigned is Assigned.SESSION
            stream = node.input.stream
            yield stream, None if session else hours_of(stream, node.function.size), None
        elif isinstance(node, Window) and isinstance(node.input, Scan):
            stream, spec = node.input.stream, node.spec
            if spec.extent is Extent.RANGE and spec.size is not None:
                yield stream, hours_of(stream, spec.size), None
            elif spec.extent is Extent.ROWS and not spec.partition:
                yield stream, None, spec.size
            elif spec.extent is not Extent.UNBOUNDED:
                yield stream, None, None


def hours_of(stream: Stream, length: int) -> Fraction | None:
    """A length of time on the clock of a stream, in hours; None where integers count nobody knows
    what."""
    if stream.time is None or stream.time_type is None:
        return None
    if stream.time_type.kind is Kind.TIMESTAMP:
        return Fraction(length, _HOUR)
    unit = MICROSECONDS.get(stream.time.unit or "")
    return None if unit is None else Fraction(length * unit, _HOUR)


def width(stream: Stream, names: Sequence[str]) -> int:
    """Bytes of so many columns of a row, by their types."""
    found = (stream.column(each) for each in names)
    return sum(_bytes(each) for each in found if each is not None)


def _bytes(column: Column) -> int:
    match column.type:
        case IntegerType(bits=bits):
            return 16 if bits is None else bits // 8
        case DecimalType(precision=precision):
            return 8 if precision <= 18 else 16
        case EnumType():
            return 4
        case VarcharType(length=length):
            return _TEXT if length is None else min(_TEXT, length)
    return {Kind.BOOLEAN: 1, Kind.DATE: 4}.get(column.type.kind, 8)


def _ceiling(value: Fraction) -> int:
    return -(-value.numerator // value.denominator)
