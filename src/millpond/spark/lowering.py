"""A program's expressions and reductions as Catalyst runs them: no Python sees a row.

Input is one *tagged* DataFrame: a nullable struct column for each stream, of which exactly one is
there in a row (`sources.py` makes such DataFrames).  A batch of it is gone over once, by one
aggregation: each row finds the reduction that wants it and the bucket it falls into, and what is
kept of a bucket is a count, a least or a greatest value.  The few rows that come out are the
partials of `program/partial.py`; merging those is the same step on every engine.

Two things differ from the plain picture.  A row that several inputs want (a self-join, several
queries) is made into one row for each.  A query that remembers nothing has no buckets: its rows are
grouped by its own columns, and stay in Spark until somebody asks for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from millpond.diagnostic import Diagnostic, InternalError, NotBuiltError
from millpond.program import LARGEST, Delta, Key, Partial, Program, Reduction, Select, strides
from millpond.program.expression import (
    Arith,
    Compare,
    Condition,
    Field,
    Greatest,
    Int,
    IsNull,
    Least,
    NotNull,
    Number,
)
from millpond.schema import Column as SchemaColumn
from millpond.schema import Stream

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

REJECTED = "@rejected"
"""A column of a tagged DataFrame: what stood in the input where no row could be read."""

TICK = "@tick"
"""A column of a tagged DataFrame: an instant without a row."""

_UNUSED, _REJECTED, _TICK = -1, -2, -3
"""Numbers of groups that are no reduction; the cell of `_UNUSED` is the stream."""


def can_run(program: Program) -> bool:
    """Whether Catalyst knows all steps of a program: over columns of integers as they are, and
    either passing rows on, once, or joining them."""
    sides = len(program.selects), len(program.joins)
    return type(program) is Program and program.plain and (sides[0] == 0 or sides == (1, 0))


# Expressions ------------------------------------------------------------------------------------


def number(expression: Number, row: Column) -> Column:
    """A number of the program over the columns of the struct `row`.

    Sums that do not fit are NULL: a guard keeps such rows out before anybody looks, but Catalyst
    may evaluate ahead of the guard.
    """
    from pyspark.sql import functions as f

    match expression:
        case Int(value):
            return f.lit(value).cast("bigint")
        case Field(name):
            return row.getField(name).cast("bigint")
        case Arith(op, left, right):
            apply = {"+": f.try_add, "-": f.try_subtract, "*": f.try_multiply}[op]
            return apply(number(left, row), number(right, row))
        case Greatest(operands):
            return f.greatest(*(number(each, row) for each in operands))
        case Least(operands):
            return f.least(*(number(each, row) for each in operands))
        case _:
            raise TypeError(f"{expression} is no number over the columns of a row")


def condition(expression: Condition, row: Column) -> Column:
    """A condition of the program over the columns of the struct `row`."""
    match expression:
        case Compare(op, left, right):
            x, y = number(left, row), number(right, row)
            match op:
                case "<":
                    return x < y
                case "<=":
                    return x <= y
                case "==":
                    return x == y
                case "!=":
                    return x != y
                case ">=":
                    return x >= y
                case ">":
                    return x > y
        case IsNull(name):
            return row.getField(name).isNull()
        case NotNull(name):
            return row.getField(name).isNotNull()
        case _:
            raise TypeError(f"{expression} is no condition over the columns of a row")


def bucket(keys: Sequence[Key], row: Column) -> Column:
    """The place of the bucket that a row falls into."""
    from pyspark.sql import functions as f

    place = f.lit(0).cast("bigint")
    for key, stride in zip(keys, strides(keys), strict=True):
        digit = f.try_subtract(number(key.value, row), f.lit(key.low).cast("bigint"))
        if key.null_of is not None:
            null = row.getField(key.null_of).isNull()
            digit = f.when(null, f.lit(key.size - 1).cast("bigint")).otherwise(digit)
        place = f.try_add(place, f.try_multiply(digit, f.lit(stride).cast("bigint")))
    return place


def valid(stream: Stream, row: Column) -> Column:
    """Whether a row is what its stream was declared to hold: types, CHECK and NOT NULL."""
    from pyspark.sql import functions as f

    tests = [_valid_value(each, row) for each in stream.columns]
    return reduce(lambda left, right: left & right, tests, f.lit(True))


def _valid_value(column: SchemaColumn, row: Column) -> Column:
    from pyspark.sql import functions as f

    value = row.getField(column.name).cast("bigint")
    possible = column.values
    inside = f.lit(True)
    if possible.low is not None and possible.low > -LARGEST - 1:
        inside = inside & (value >= f.lit(possible.low).cast("bigint"))
    if possible.high is not None and possible.high < LARGEST:
        inside = inside & (value <= f.lit(possible.high).cast("bigint"))
    return value.isNull() | inside if column.nullable else value.isNotNull() & inside


# A batch ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Feed:
    """What wants rows of a stream: a reduction of a program, or a program that only selects."""

    program: int
    store: int
    """The place of the reduction among the program's stores."""
    wants: Reduction | Select

    @property
    def guard(self) -> tuple[Condition, ...]:
        return self.wants.guard


@dataclass
class Reduced:
    """What a batch comes to: counts of its rows, and the buckets they fell into."""

    accepted: dict[str, int]
    """Rows of each stream that were what they were declared to be."""
    rejected: int
    ticks: int
    frame: Any
    """The reduced DataFrame where a program only selects, else None."""
    _feeds: Sequence[Feed]
    _columns: dict[str, Any]

    @property
    def instants(self) -> int:
        """How many instants the batch has: each accepted row is one, and each tick."""
        return sum(self.accepted.values()) + self.ticks

    def partials(self, program: int, at: int) -> list[Partial]:
        """The buckets of one program, all at one instant."""
        return [
            self._partial(place, feed, feed.wants, at)
            for place, feed in enumerate(self._feeds)
            if feed.program == program and isinstance(feed.wants, Reduction)
        ]

    def _partial(self, place: int, feed: Feed, wants: Reduction, at: int) -> Partial:
        mine = np.flatnonzero(self._columns["number"] == place)
        return Partial(
            feed.store,
            self._columns["cell"][mine],
            self._columns["amount"][mine],
            tuple(
                self._columns[f"{'low' if best.least else 'high'}{k}"][mine]
                for k, best in enumerate(wants.bests)
            ),
            np.full(len(mine), at, dtype=np.int64),
        )


class Reducer:
    """Reduces batches of a tagged DataFrame for some programs at once.

    `columns` are those of the DataFrame. Expressions are built once, not for each batch: every
    piece of one is a call into the JVM, and together they take as long as a small batch does.
    """

    def __init__(
        self, streams: Sequence[Stream], programs: Sequence[Program], columns: Sequence[str]
    ) -> None:
        self._streams = tuple(streams)
        self._tick = TICK in columns
        self._unread = REJECTED in columns
        self._programs = tuple(programs)
        self._feeds: list[Feed] = []
        # For each stream the inputs that read it, each a list of feeds whose guards are disjoint.
        self._inputs: dict[str, list[list[int]]] = {each.name: [] for each in streams}
        for place, program in enumerate(programs):
            self._add(place, program)
        bests = [
            (k, best.least)
            for feed in self._feeds
            if isinstance(feed.wants, Reduction)
            for k, best in enumerate(feed.wants.bests)
        ]
        self._bests = sorted({f"{'low' if least else 'high'}{k}" for k, least in bests})
        self._selects = [
            place for place, feed in enumerate(self._feeds) if isinstance(feed.wants, Select)
        ]
        width = max(
            (len(feed.wants.columns) for feed in self._feeds if isinstance(feed.wants, Select)),
            default=0,
        )
        self._outputs = [f"out{k}" for k in range(width)]
        self._several = any(len(inputs) > 1 for inputs in self._inputs.values())

    def _add(self, place: int, program: Program) -> None:
        numbers = {id(spec): number for number, spec in enumerate(program.stores)}
        if program.select is not None:
            self._inputs[program.select.stream].append([len(self._feeds)])
            self._feeds.append(Feed(place, -1, program.select))
        for parts in (each for join in program.joins for each in join.inputs):
            fed = []
            for part in parts:
                if part.slots > LARGEST:
                    raise NotBuiltError(
                        Diagnostic(
                            "MP110",
                            f"a synopsis of {part.slots} buckets is not built for Spark yet: "
                            "their places pass 64 bits",
                            helps=("--engine local runs it",),
                        )
                    )
                fed.append(len(self._feeds))
                self._feeds.append(Feed(place, numbers[id(part)], part))
            if parts:
                self._inputs[parts[0].stream].append(fed)

    # One pass over the rows ----------------------------------------------------------------------

    def frame(self, tagged: DataFrame) -> DataFrame:
        """The batch reduced: a row for each bucket that some row fell into."""
        names = ["number", "cell", *self._outputs]
        if self._several:
            wanted = tagged.select(self._copies).where("number is not null")
        else:
            wanted = tagged.select(*self._numbered).select("number", *self._placed)
        return wanted.groupBy(*names).agg(*self._kept)

    def reduce(self, tagged: DataFrame) -> Reduced:
        """Runs the pass; whoever gets a `frame` unpersists it."""
        from pyspark import StorageLevel
        from pyspark.sql import functions as f

        frame, kept = self.frame(tagged), None
        if self._selects:
            # Held (on disk where it is large), so that counting and writing read the batch once.
            kept = frame.persist(StorageLevel.MEMORY_AND_DISK)
            total = f.sum("amount").alias("amount")
            frame = kept.groupBy("number", "cell").agg(total, *self._kept[1:])
        table = frame.toArrow()
        columns = {
            name: table.column(name).fill_null(0).to_numpy()
            for name in ("number", "cell", "amount", *self._bests)
        }
        self._check(table)
        return self._counted(columns, kept)

    def _counted(self, columns: dict[str, Any], kept: DataFrame | None) -> Reduced:
        numbers, cells, amounts = columns["number"], columns["cell"], columns["amount"]

        def of(group: int) -> int:
            return int(amounts[numbers == group].sum())

        accepted = {}
        for place, stream in enumerate(self._streams):
            count = int(amounts[(numbers == _UNUSED) & (cells == place)].sum())
            if not self._several:
                count += sum(of(each) for fed in self._inputs[stream.name] for each in fed)
            accepted[stream.name] = count
        return Reduced(accepted, of(_REJECTED), of(_TICK), kept, self._feeds, columns)

    def _check(self, table: Any) -> None:
        """A bucket has a place; if a guard had let a row in whose place overflows, it would not."""
        import pyarrow.compute as pc

        selects = set(self._selects)
        lost = table.filter(pc.is_null(table.column("cell"))).column("number").to_pylist()
        if any(each >= 0 and each not in selects for each in lost):
            raise InternalError(
                Diagnostic(
                    "MP900", "a row passed the guard of a synopsis and fits none of its buckets"
                )
            )

    def rejects(self, tagged: DataFrame) -> DataFrame:
        """The rows of the batch that are not what they were declared to be, as JSON lines."""
        from pyspark.sql import functions as f

        rows = [
            f.when(
                column_of(each.name).isNotNull(),
                f.to_json(f.struct(column_of(each.name)), {"ignoreNullFields": "false"}),
            )
            for each in self._streams
        ]
        # A row of two streams at once is one line for each.
        unread = [column_of(REJECTED)] if self._unread else []
        lines = f.array_compact(f.array(*unread, *rows))
        return tagged.where(self._rejected).select(f.explode(lines).alias("value"))

    # Pieces of the pass --------------------------------------------------------------------------

    @cached_property
    def _rejected(self) -> Column:
        from pyspark.sql import functions as f

        tags = [*(each.name for each in self._streams), *([TICK] if self._tick else [])]
        there = [f.when(column_of(each).isNotNull(), 1).otherwise(0) for each in tags]
        wrong = reduce(lambda left, right: left + right, there) != 1
        for stream in self._streams:
            row = column_of(stream.name)
            wrong = wrong | (row.isNotNull() & ~valid(stream, row))
        return wrong | column_of(REJECTED).isNotNull() if self._unread else wrong

    @cached_property
    def _numbered(self) -> list[Column]:
        """A row, and who wants it, where at most one input does."""
        from pyspark.sql import functions as f

        chain = f.when(self._rejected, _REJECTED)
        for stream in self._streams:
            row = column_of(stream.name)
            for fed in self._inputs[stream.name]:
                for each in fed:
                    chain = chain.when(row.isNotNull() & self._passes(each, row), each)
        if self._tick:
            chain = chain.when(column_of(TICK).isNotNull(), _TICK)
        return [f.struct("*").alias("@row"), chain.otherwise(_UNUSED).alias("number")]

    @cached_property
    def _placed(self) -> list[Column]:
        """Bucket, output and best values of a row, by who wants it."""
        from pyspark.sql import functions as f

        held = f.col("`@row`")
        rows = [held.getField(feed.wants.stream) for feed in self._feeds]
        by_feed = [self._values(each, row) for each, row in enumerate(rows)]
        found = []
        for name in ("cell", *self._outputs, *self._bests):
            chosen = _no_number()
            if name == "cell":
                for place, stream in enumerate(self._streams):
                    unused = (f.col("number") == _UNUSED) & held.getField(stream.name).isNotNull()
                    chosen = f.when(unused, f.lit(place).cast("bigint")).otherwise(chosen)
            for each, values in enumerate(by_feed):
                if name in values:
                    chosen = f.when(f.col("number") == each, values[name]).otherwise(chosen)
            found.append(chosen.alias(name))
        return found

    @cached_property
    def _copies(self) -> Column:
        """A row for everyone who wants the row at hand, and one that counts it."""
        from pyspark.sql import functions as f

        chain = f.when(self._rejected, f.array(self._struct(_REJECTED)))
        for place, stream in enumerate(self._streams):
            row = column_of(stream.name)
            copies = [self._struct(_UNUSED, {"cell": f.lit(place).cast("bigint")})]
            for fed in self._inputs[stream.name]:
                copy = self._struct(None)
                for each in reversed(fed):
                    copy = f.when(
                        self._passes(each, row), self._struct(each, self._values(each, row))
                    ).otherwise(copy)
                copies.append(copy)
            chain = chain.when(row.isNotNull(), f.array(*copies))
        return f.inline(chain.otherwise(f.array(self._struct(_TICK))))

    @cached_property
    def _kept(self) -> list[Column]:
        """What is kept of a bucket, the number of its rows first."""
        from pyspark.sql import functions as f

        bests = [f.min(each) if each.startswith("low") else f.max(each) for each in self._bests]
        return [
            f.count(f.lit(1)).alias("amount"),
            *(best.alias(name) for best, name in zip(bests, self._bests, strict=True)),
        ]

    def _struct(self, group: int | None, values: dict[str, Column] | None = None) -> Column:
        from pyspark.sql import functions as f

        values = values or {}
        return f.struct(
            f.lit(group).cast("int").alias("number"),
            *(
                values.get(name, _no_number()).alias(name)
                for name in ("cell", *self._outputs, *self._bests)
            ),
        )

    def _passes(self, feed: int, row: Column) -> Column:
        from pyspark.sql import functions as f

        tests = [condition(each, row) for each in self._feeds[feed].guard]
        return reduce(lambda left, right: left & right, tests, f.lit(True))

    def _values(self, feed: int, row: Column) -> dict[str, Column]:
        wants = self._feeds[feed].wants
        if isinstance(wants, Select):
            return {
                f"out{k}": number(each, row)
                for k, each in enumerate(wants.columns)
                if each is not None
            }
        return {"cell": bucket(wants.keys, row)} | {
            f"{'low' if best.least else 'high'}{k}": number(best.value, row)
            for k, best in enumerate(wants.bests)
        }

    # Programs that only select -------------------------------------------------------------------

    def selected(self, reduced: Reduced, program: int) -> DataFrame:
        """The rows that a selecting program gives: its columns as `out0`, ..., and `amount`."""
        from pyspark.sql import functions as f

        place = next(place for place in self._selects if self._feeds[place].program == program)
        width = len(self._programs[program].output)
        frame: DataFrame = reduced.frame
        return frame.where(f.col("number") == place).select(*self._outputs[:width], "amount")

    def selected_delta(self, reduced: Reduced, program: int, at: int) -> Delta:
        """The same rows, collected."""
        table = self.selected(reduced, program).toArrow()
        output = self._programs[program].output
        columns = [table.column(f"out{k}") for k in range(len(output))]
        size = table.num_rows
        return Delta(
            tuple(each.name for each in output),
            tuple(each.fill_null(0).to_numpy() for each in columns),
            tuple(
                each.is_null().to_numpy() if said.nullable else None
                for each, said in zip(columns, output, strict=True)
            ),
            np.full(size, at, dtype=np.int64),
            table.column("amount").to_numpy(),
        )


def column_of(name: str) -> Column:
    """A column by its name, whatever characters that has."""
    from pyspark.sql import functions as f

    return f.col("`" + name.replace("`", "``") + "`")


def _no_number() -> Column:
    from pyspark.sql import functions as f

    return f.lit(None).cast("bigint")
