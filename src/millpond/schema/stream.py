"""Streams and tables, and their columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

from millpond.diagnostic import Span
from millpond.schema.check import ANY, Check
from millpond.schema.types import ANYTHING, IntegerType, Interval, Kind, Type


@dataclass(frozen=True)
class Column:
    """A column of a stream or a table; `check` is what CHECK says of a value that is not NULL."""

    name: str
    type: Type
    nullable: bool = True
    check: Check = ANY
    span: Span | None = field(default=None, compare=False)

    @cached_property
    def declared(self) -> Interval:
        """The range that CHECK allows, for integers: a list of values counts by its ends."""
        if self.type.kind is not Kind.INTEGER:
            return ANYTHING
        low, high = self.check.low, self.check.high
        interval = Interval(
            None if low is None else int(low) + self.check.low_open,
            None if high is None else int(high) - self.check.high_open,
        )
        listed = self.check.listed
        if listed is None:
            return interval
        numbers = [int(each) for each in listed if each is not None]
        if not numbers:
            return Interval(1, 0)
        return interval.meet(Interval(min(numbers), max(numbers)))

    @cached_property
    def domain(self) -> Interval:
        """What verdicts may rely on: CHECK, and the type where it is a domain."""
        if isinstance(self.type, IntegerType) and self.type.is_domain:
            return self.declared.meet(self.type.range)
        return self.declared

    @cached_property
    def values(self) -> Interval:
        """Every integer that a row can have here, types included."""
        if isinstance(self.type, IntegerType):
            return self.declared.meet(self.type.range)
        return self.declared


class Form(StrEnum):
    """What a declared name stands for."""

    STREAM = "STREAM"
    FINITE = "FINITE STREAM"
    TABLE = "TABLE"
    STATIC = "STATIC TABLE"
    """A table whose contents are loaded before the start."""

    @property
    def is_stream(self) -> bool:
        return self in (Form.STREAM, Form.FINITE)


@dataclass(frozen=True)
class Time:
    """The time column of a stream and what is promised of it."""

    column: str
    delay: int = 0
    """How far behind the largest timestamp a row may come: the watermark is that much behind."""
    unit: str | None = None
    """What an integer counts: `second` and the like; None for the user's own unit."""


@dataclass(frozen=True)
class Stream:
    """A stream: an append-only bag of rows; or a table, whose rows come and go."""

    name: str
    columns: tuple[Column, ...]
    span: Span | None = field(default=None, compare=False)
    form: Form = Form.STREAM
    time: Time | None = None
    until: int | None = None
    """The last timestamp of a finite stream."""
    rows_per_instant: int | None = None
    retroactive: bool = True
    """Of a table: whether its changes touch rows of streams that came before (Golab, 3.3.1)."""
    opaque: tuple[str, ...] = ()
    """The names of columns that come in and that no query can read: nothing has their types."""

    @property
    def is_stream(self) -> bool:
        return self.form.is_stream

    def column(self, name: str) -> Column | None:
        """The column of that name; upper and lower case are the same."""
        folded = name.lower()
        return next((each for each in self.columns if each.name.lower() == folded), None)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(each.name for each in self.columns)

    @cached_property
    def time_place(self) -> int | None:
        """Where in a row the timestamp is."""
        return None if self.time is None else self.names.index(self.time.column)

    @cached_property
    def time_type(self) -> Type | None:
        """The type of the timestamps."""
        return None if self.time_place is None else self.columns[self.time_place].type
