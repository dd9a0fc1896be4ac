"""The operators of a program: what each needs, keeps and gives.

An operator takes changes in and gives changes out; time is data in them.  It is described here
once, as data: reductions (which rows pass, which bucket they fall into, what is kept of them),
cases (which buckets of different inputs meet), and output columns.  How the description becomes
steps is the business of the lowerings: `kernel.py` builds the tick step, `run/bulk.py` the
relational steps here and `spark/lowering.py` on Spark.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from math import prod

from millpond.program.accumulator import Accumulator, arrays
from millpond.program.expression import Condition, Number, fields
from millpond.program.line import Position


@dataclass(frozen=True)
class Key:
    """A bucket's coordinate: an expression of the row whose values are `low` to `high`.

    With `null_of`, rows where that column is NULL have the coordinate after the last one.
    """

    name: str
    value: Number
    low: int
    high: int
    null_of: str | None = None

    @property
    def size(self) -> int:
        return self.high - self.low + 1 + (self.null_of is not None)


def slots(keys: tuple[Key, ...]) -> int:
    """How many buckets there are, reachable or not."""
    return prod(key.size for key in keys)


class Keep(StrEnum):
    """What a bucket holds."""

    COUNT = "count"
    FLAG = "flag"
    EXTREME = "extreme"
    AGGREGATE = "aggregate"
    """Numbers of columns of the rows."""
    NOTHING = "nothing"
    """Nobody looks rows of this input up: they only pass through."""


@dataclass(frozen=True)
class Best:
    """The least or the greatest value of an expression over the rows of a bucket."""

    name: str
    value: Number
    least: bool
    whole: bool = True
    """Whether it is an integer, and not a place between them (`near.py`)."""


@dataclass(frozen=True)
class Reduction:
    """Which rows of a stream count, which bucket each falls into, and what the bucket holds.

    Reducing a batch on its own and merging the result gives what row by row gives: counts add,
    flags are set, extremes compare.
    """

    name: str
    stream: str
    guard: tuple[Condition, ...]
    keys: tuple[Key, ...]
    keep: Keep
    bests: tuple[Best, ...] = ()
    buckets: int = 0
    """How many buckets rows can reach: the certificate of this store."""
    dense: bool = True
    """Whether a bucket's place says its key, so that the key takes no memory."""
    held: tuple[Accumulator, ...] = ()
    """Of aggregates: the numbers that a bucket keeps behind its best values."""

    @cached_property
    def slots(self) -> int:
        """How many buckets there are, reachable or not."""
        return slots(self.keys)

    @property
    def values(self) -> int:
        """How many arrays hold what a bucket holds."""
        if self.keep is Keep.AGGREGATE:
            return len(self.bests) + len(arrays(self.held))
        return 0 if self.keep is Keep.NOTHING else max(1, len(self.bests))

    @property
    def units(self) -> int:
        """How many units a bucket holds beside its key."""
        return len(self.bests) + len(self.held) if self.keep is Keep.AGGREGATE else self.values

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the state behind those of the key."""
        if self.keep is Keep.AGGREGATE:
            return (*(best.name for best in self.bests), *arrays(self.held))
        return tuple(best.name for best in self.bests) or (self.keep.value,)

    @property
    def certificate(self) -> int:
        """The most units that the store can ever hold."""
        if self.keep is Keep.NOTHING:
            return 0
        return self.buckets * (self.units + (0 if self.dense else len(self.keys)))

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns of the stream that are looked at."""
        found = dict.fromkeys(name for each in self._expressions() for name in fields(each))
        found.update(dict.fromkeys(key.null_of for key in self.keys if key.null_of))
        return tuple(found)

    def _expressions(self) -> Iterator[Condition | Number]:
        yield from self.guard
        yield from (key.value for key in self.keys)
        yield from (best.value for best in self.bests)
        yield from (found for each in self.held for found in each.expressions)


@dataclass(frozen=True)
class KeyOf:
    """The value of a key of an input's bucket, plus a constant; with a table, what that says of the
    key."""

    input: int
    key: int
    offset: int = 0
    table: tuple[Position, ...] | None = None


@dataclass(frozen=True)
class BestOf:
    """A best value of an input's bucket, plus a constant."""

    input: int
    best: int
    offset: int = 0


@dataclass(frozen=True)
class Constant:
    """A value that every row of the case has; None is NULL."""

    value: Position | None


@dataclass(frozen=True)
class LeastOf:
    operands: tuple[KeyOf | BestOf | Constant, ...]


@dataclass(frozen=True)
class GreatestOf:
    operands: tuple[KeyOf | BestOf | Constant, ...]


Held = KeyOf | BestOf | Constant | LeastOf | GreatestOf
"""A number that a bucket speaks for."""


@dataclass(frozen=True)
class Link:
    """A condition between buckets of two inputs: `left op right`."""

    op: str
    left: Held
    right: Held


@dataclass(frozen=True)
class HeldOf:
    """A number that an input's bucket keeps of its rows, as a contribution to a group: a sum or a
    count comes as often as rows of the other inputs meet it."""

    input: int
    held: int


@dataclass(frozen=True)
class Case:
    """A reduction of each input, the conditions between their buckets, and the rows they make."""

    reductions: tuple[int, ...]
    links: tuple[Link, ...]
    columns: tuple[Held, ...]
    given: tuple[HeldOf | BestOf, ...] = ()
    """Of aggregates: the columns behind those, which are numbers of the rows of a bucket."""


@dataclass(frozen=True)
class OutputColumn:
    name: str
    nullable: bool = False


@dataclass(frozen=True)
class Select:
    """The rows of a stream that pass a guard, reduced to some columns: nothing is remembered."""

    stream: str
    guard: tuple[Condition, ...]
    columns: tuple[Number | None, ...]
    nulls: tuple[str | None, ...]
    """For each column, the stream's column that makes it NULL; a column of None is always NULL."""
    output: tuple[OutputColumn, ...]

    @property
    def reads(self) -> tuple[str, ...]:
        wanted = [*self.guard, *(each for each in self.columns if each is not None)]
        found = dict.fromkeys(name for each in wanted for name in fields(each))
        found.update(dict.fromkeys(name for name in self.nulls if name))
        return tuple(found)

    @property
    def certificate(self) -> int:
        return 0


@dataclass(frozen=True)
class SynopsisJoin:
    """A join of streams by their synopses (Arasu, section 7).

    Each new row is joined with the buckets of the other inputs and then merged into its own
    (the delta rule).  Where duplicates are removed, a row that betters nothing in its bucket is
    let go: what it joins with has been joined before.
    """

    inputs: tuple[tuple[Reduction, ...], ...]
    cases: tuple[Case, ...]
    output: tuple[OutputColumn, ...]
    counts: bool

    @property
    def certificate(self) -> int:
        return sum(each.certificate for parts in self.inputs for each in parts)


@dataclass(frozen=True)
class EmittedSet:
    """Lets each row through once (duplicate elimination by the set of rows already given)."""

    keys: tuple[Key, ...]
    """Coordinates of a row, over its own columns."""
    output: tuple[OutputColumn, ...]
    buckets: int
    dense: bool = True
    keep = Keep.FLAG
    bests: tuple[Best, ...] = ()
    values = 1
    units = 1
    columns = (Keep.FLAG.value,)

    @cached_property
    def slots(self) -> int:
        return slots(self.keys)

    @property
    def certificate(self) -> int:
        return self.buckets * (1 + (0 if self.dense else len(self.keys)))


@dataclass(frozen=True)
class RowSet:
    """The rows already given, as they are: where what tells them apart is not what is kept."""

    width: int
    buckets: int
    keys: tuple[Key, ...] = ()
    keep = Keep.FLAG
    bests: tuple[Best, ...] = ()
    values = 1
    units = 1
    columns = ()
    dense = False

    @property
    def certificate(self) -> int:
        return self.buckets * (1 + self.width)


Operator = Select | SynopsisJoin | EmittedSet | RowSet
