"""Columns that a program reads: what each is computed from, row by row, before any step.

Steps know integers (or places, `near.py`) and where they are NULL.  A column of integers is read as
it is; of everything else this says which number stands for a value: its place on a line, the number
of a bucket, whether a condition holds.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from millpond.plan import Expression, columns_of
from millpond.plan.evaluate import compiled
from millpond.plan.functions import EvaluationError
from millpond.plan.node import Field
from millpond.program.delta import Columns, IntArray
from millpond.program.line import Doubles, Line, Position, Whole
from millpond.program.measured import Known, Measured, Ordered
from millpond.program.near import NOWHERE
from millpond.schema import Row, Stream, Value

if TYPE_CHECKING:
    from millpond.program.program import InputStream

ROW = "@row"
"""The column that says which row of its stream it is."""

_SAFE = 1 << 62
"""Places beyond it do not go through steps that add to 64-bit numbers."""


@dataclass(frozen=True)
class Read:
    """A value of a row: a column, or what an expression makes of it."""

    text: str
    computed: bool = False
    alias: str = field(default="", compare=False, repr=False)
    expression: Expression | None = field(default=None, compare=False, repr=False)
    part: int = 0
    """Of which part of the query: what excuses a row from having a value may differ."""
    excused: Callable[[Row], bool] | None = field(default=None, compare=False, repr=False)
    """Whether nobody asks for the value of a row, if it has none: then it is NULL."""

    def from_rows(self, stream: Stream) -> Callable[[Row], Value]:
        if self.expression is None:
            place = stream.names.index(self.text)
            return lambda row: row[place]
        of, excused = compiled(self.expression, fields_of(self.alias, stream)), self.excused
        if excused is None:
            return of

        def value(row: Row) -> Value:
            try:
                return of(row)
            except EvaluationError:
                if excused(row):
                    return None
                raise

        return value

    def only_column(self, stream: Stream) -> int | None:
        """The place of the one column that it is computed from."""
        assert self.expression is not None
        names = {each.name for each in columns_of(self.expression)}
        return stream.names.index(names.pop()) if len(names) == 1 else None


def fields_of(alias: str, stream: Stream) -> list[Field]:
    """The columns of a stream by the name that an expression gives it."""
    return [Field(alias, each.name, each.type, each.nullable) for each in stream.columns]


@dataclass(frozen=True)
class Placed:
    """The place of a value on a line; NULL where it has none."""

    read: Read
    line: Line
    integers: bool = False
    """Whether the values are integers."""

    @property
    def plain(self) -> bool:
        """Whether values are their own places."""
        return self.integers and isinstance(self.line, Whole) and self.line.plain

    @property
    def reads(self) -> tuple[Read, ...]:
        return (self.read,)

    @property
    def whole(self) -> bool:
        return self.line.whole

    def of(self, columns: Sequence[Sequence[Value]]) -> list[Any]:
        place = self.line.of
        return [None if each is None else place(each) for each in columns[0]]


class Rounding(Enum):
    """Which of a list's places a place is counted by."""

    EXACT = "exact"
    UP = "up"
    DOWN = "down"


@dataclass(frozen=True)
class Ranked:
    """Which of a list of places it is: `x + offset`, or the greatest or least of several.

    With UP the first that is not less, with DOWN the last that is not more; with EXACT -1 where it
    is none of them.
    """

    terms: tuple[tuple[Read, int], ...]
    line: Line
    rounding: Rounding
    places: tuple[Position, ...]
    whole = True

    @property
    def reads(self) -> tuple[Read, ...]:
        return tuple(each for each, _ in self.terms)

    def of(self, columns: Sequence[Sequence[Value]]) -> list[Any]:
        if len(self.terms) == 1 and self.terms[0][1] == 0 and self.rounding is Rounding.EXACT:
            known: dict[Value, int | None] = {None: None}
            for each in columns[0]:
                if each not in known:
                    known[each] = self._rank(each)
            return [known[each] for each in columns[0]]
        return [None if None in row else self._rank(*row) for row in zip(*columns, strict=True)]

    def _rank(self, *row: Value) -> int:
        places: list[Any] = []
        for value, (_, offset) in zip(row, self.terms, strict=True):
            place = self.line.of(value)
            if place is None:
                return -1
            places.append(place + offset)
        if self.rounding is Rounding.EXACT:
            return self._numbers.get(places[0], -1)
        listed = cast(Sequence[Any], self.places)
        if self.rounding is Rounding.UP:
            return min(bisect_left(listed, max(places)), len(listed) - 1)
        return max(bisect_right(listed, min(places)) - 1, 0)

    @cached_property
    def _numbers(self) -> dict[Position, int]:
        return {place: number for number, place in enumerate(self.places)}


@dataclass(frozen=True)
class Among:
    """Whether a value lies in one of some spans of places (1 or 0), or, with `null`, is NULL."""

    read: Read
    line: Line
    spans: tuple[tuple[Position | None, Position | None], ...]
    null: bool
    whole = True

    @property
    def reads(self) -> tuple[Read, ...]:
        return (self.read,)

    def of(self, columns: Sequence[Sequence[Value]]) -> list[Any]:
        return [int(self.null) if each is None else self._holds(each) for each in columns[0]]

    def _holds(self, value: Value) -> int:
        place: Any = self.line.of(value)
        return int(
            place is not None
            and any(
                (low is None or low <= place) and (high is None or place <= high)
                for low, high in self.spans
            )
        )


@dataclass(frozen=True)
class Truth:
    """Whether a condition has a truth value, or is NULL, as wanted (1 or 0)."""

    read: Read
    wanted: bool | None
    whole = True

    @property
    def reads(self) -> tuple[Read, ...]:
        return (self.read,)

    def of(self, columns: Sequence[Sequence[Value]]) -> list[Any]:
        return [int(each is self.wanted) for each in columns[0]]


@dataclass(frozen=True)
class Place:
    """Which row of its stream it is."""

    reads: tuple[Read, ...] = ()
    whole = True

    def of(self, columns: Sequence[Sequence[Value]]) -> list[Any]:
        raise TypeError("rows are counted, not computed")


Prepared = Placed | Ranked | Among | Truth | Place | Measured | Ordered | Known


class Failure(Exception):
    """An expression that has no value for a row: which row of its stream, and why."""

    def __init__(self, row: int, error: EvaluationError) -> None:
        super().__init__(str(error))
        self.row = row
        self.error = error


class Preparer:
    """Computes the columns of an input of a program from rows of its stream."""

    def __init__(self, input_: InputStream, stream: Stream) -> None:
        self._input = input_
        self._plain = {
            name: stream.names.index(name)
            for name, each in zip(input_.columns, input_.coding, strict=True)
            if each is None
        }
        reads = {
            read: read.from_rows(stream)
            for each in input_.coding
            if each is not None
            for read in each.reads
        }
        self._reads = reads
        self._places = {
            read: stream.names.index(read.text) for read in reads if read.expression is None
        }
        self._single = {
            read: read.only_column(stream) for read in reads if read.expression is not None
        }

    def columns(self, rows: Sequence[Row]) -> tuple[Columns, Failure | None]:
        """The columns, of the rows up to one for which an expression has no value."""
        failure: Failure | None = None
        values: dict[Read, Sequence[Value]] = {}
        for read, of in self._reads.items():
            if read in self._places:
                place = self._places[read]
                values[read] = [row[place] for row in rows]
                continue
            found: list[Value] = []
            try:
                found.extend(self._computed(read, of, rows))
            except EvaluationError as error:
                failure = Failure(len(found), error)
                rows = rows[: len(found)]
            values[read] = found
        size = len(rows)
        made: dict[str, tuple[IntArray, IntArray]] = {}
        for name, coding in zip(self._input.columns, self._input.coding, strict=True):
            if coding is None:
                place = self._plain[name]
                made[name] = _array([row[place] for row in rows], whole=True)
            elif isinstance(coding, Place):
                made[name] = np.arange(size, dtype=np.int64), np.zeros(size, dtype=np.uint8)
            elif isinstance(coding, Placed) and coding.plain:
                made[name] = _array(values[coding.read][:size], whole=True)
            elif isinstance(coding, Placed) and isinstance(coding.line, Doubles):
                made[name] = _doubles(values[coding.read][:size])
            else:
                given = [values[read][:size] for read in coding.reads]
                safe = not (isinstance(coding, Placed) and isinstance(coding.line, Whole))
                made[name] = _array(_coded(coding, given), whole=coding.whole, safe=safe)
        columns = Columns(
            {name: each for name, (each, _) in made.items()},
            {name: each for name, (_, each) in made.items()},
            size,
        )
        return columns, failure

    def _computed(
        self, read: Read, of: Callable[[Row], Value], rows: Sequence[Row]
    ) -> Iterator[Value]:
        """The values of an expression, each computed once where one column says it and repeats."""
        place = self._single[read]
        if place is None or not _repeats([row[place] for row in rows[:_SAMPLE]]):
            yield from map(of, rows)
            return
        known: dict[Value, Value] = {}
        for row in rows:
            value = row[place]
            if value not in known:
                found = of(row)
                if found is None and read.excused is not None:
                    yield None  # of another row with this value it may be asked
                    continue
                known[value] = found
            yield known[value]


_SAMPLE = 128


def _repeats(values: Sequence[Value]) -> bool:
    """Whether values come again and again, so that it pays to keep what was made of them."""
    return len(values) == _SAMPLE and len(set(values)) * 4 <= _SAMPLE


def _coded(coding: Prepared, columns: Sequence[Sequence[Value]]) -> Sequence[Any]:
    """What stands for the values of some columns."""
    single = len(columns) == 1 and isinstance(coding, Placed | Ranked | Among)
    if not single or not _repeats(columns[0][:_SAMPLE]):
        return coding.of(columns)
    values = list(dict.fromkeys(columns[0]))
    made = dict(zip(values, coding.of([values]), strict=True))
    return [made[value] for value in columns[0]]


def _doubles(column: Sequence[Any]) -> tuple[IntArray, IntArray]:
    """Places in the order of the DOUBLEs."""
    size = len(column)
    nulls = np.fromiter((each is None for each in column), np.uint8, size)
    values = np.array([0.0 if each is None else each for each in column], dtype=np.float64)
    bits = (values + 0.0).view(np.int64)
    return np.where(bits < 0, -(bits & _SIGNLESS), bits), nulls


_SIGNLESS = (1 << 63) - 1


def _array(column: Sequence[Any], *, whole: bool, safe: bool = True) -> tuple[IntArray, IntArray]:
    """Values and where they are NULL; of Python objects where they are no 64-bit numbers."""
    size = len(column)
    if None in column:
        nulls = np.fromiter((each is None for each in column), np.uint8, size)
        nothing = 0 if whole else NOWHERE
        column = [nothing if each is None else each for each in column]
    else:
        nulls = np.zeros(size, dtype=np.uint8)
    if whole:
        try:
            values: IntArray = np.array(column, dtype=np.int64)
        except OverflowError:
            pass
        else:
            if safe or not size or (values.min() >= -_SAFE and values.max() <= _SAFE):
                return values, nulls
    objects = np.empty(size, dtype=object)
    objects[:] = column
    return objects, nulls
