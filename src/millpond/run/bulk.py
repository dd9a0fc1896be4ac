"""The bulk lowering: a program advanced by relational steps over whole batches, in Polars.

Each batch is reduced to the buckets that its rows fall into.  Where duplicates are removed, merging
the buckets at once says whether the batch changes anything at all, which after a while it seldom
does; if it does, the batch is halved until the instants of the changes are found.  Where they are
kept, every row has an answer of its own: what it meets is the number of rows of the other inputs'
buckets before it, a running count found by an as-of join.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import reduce
from itertools import chain

import numpy as np
import polars as pl

from millpond.program import (
    LARGEST,
    Batch,
    BestOf,
    Case,
    Constant,
    Delta,
    GreatestOf,
    Held,
    IntArray,
    KeyedArray,
    KeyOf,
    LeastOf,
    Merger,
    Partial,
    Program,
    Reduction,
    Select,
    State,
    SynopsisJoin,
    Undo,
    finished,
    strides,
)
from millpond.run.polars_steps import COMPARE, all_of, int64, number, place
from millpond.run.tick import TickLowering

_FEW = 64
"""Up to this many rows are merged one by one."""


class BulkLowering:
    """Advances a program by relational steps over whole batches."""

    name = "bulk"

    def __init__(self, program: Program) -> None:
        self.program = program
        self._merger = Merger(program)
        self._rows = TickLowering(program, compiled=False)
        self._names = tuple(each.name for each in program.output)
        reductions = [each for each in program.stores if isinstance(each, Reduction)]
        self._fits = program.whole and all(each.slots <= LARGEST for each in reductions)
        """Whether values, and the places of buckets, are 64-bit integers."""

    def advance(self, state: State, batch: Batch) -> Delta:
        """Takes the rows of a batch in; gives the changes they cause, not consolidated."""
        return finished(self.program, state, self._stepped(state, batch), batch.rows)

    def _stepped(self, state: State, batch: Batch) -> Delta:
        """What comes out of the steps."""
        if not len(batch) or not self.program.operators:
            return Delta.empty(self._names)
        if state.wide or not self._whole(batch):
            return self._rows.stepped(state, batch)
        frames = self._frames(batch)
        deltas = [self._select(each, frames) for each in self.program.selects]
        if self.program.joins:
            deltas.append(self._joined(state, batch, frames))
        return Delta.concat(self._names, deltas)

    def _whole(self, batch: Batch) -> bool:
        """Whether all columns are of 64-bit integers."""
        return self._fits and not any(
            columns.values[name].dtype == object
            for columns, stream in zip(batch.columns, self.program.inputs, strict=True)
            for name in stream.columns
        )

    def _joined(self, state: State, batch: Batch, frames: dict[str, pl.DataFrame]) -> Delta:
        reduced = self._reduce(frames)
        if not any(each.counts for each in self.program.joins):
            return self._as_set(state, reduced, batch.at)
        if batch.at[0] == batch.at[-1]:
            return self._merger.merge(state, [_grouped(each, batch.at) for each in reduced])
        if sum(len(frame) for _, _, frame in reduced) <= _FEW or not self._counts_fit(state, batch):
            rows = [_each(number_, spec, frame) for number_, spec, frame in reduced]
            return self._merger.merge(state, rows, ordered=True)
        deltas = [self._counted(state, each, reduced, batch.at) for each in self.program.joins]
        return Delta.concat(self._names, deltas)

    # Reducing --------------------------------------------------------------------------------

    def _frames(self, batch: Batch) -> dict[str, pl.DataFrame]:
        """The rows of each stream, with their place in the batch and their instant."""
        frames = {}
        for number_, stream in enumerate(self.program.inputs):
            event = np.flatnonzero(batch.stream == number_)
            rows, columns = batch.row[event], batch.columns[number_]
            data = {"@event": event, "@at": batch.at[event]}
            frame = pl.DataFrame(
                data | {name: columns.values[name][rows] for name in stream.columns}
            )
            nulls = [name for name in stream.columns if columns.nulls[name].any()]
            if nulls:
                frame = frame.with_columns(
                    pl.when(pl.Series(columns.nulls[name][rows] == 0))
                    .then(pl.col(name))
                    .alias(name)
                    for name in nulls
                )
            frames[stream.name] = frame
        return frames

    def _reduce(self, frames: dict[str, pl.DataFrame]) -> list[tuple[int, Reduction, pl.DataFrame]]:
        """For each reduction, the rows that pass its guard: their bucket and best values."""
        reduced = []
        for number_, spec in enumerate(self.program.stores):
            if not isinstance(spec, Reduction):
                continue
            frame = (
                frames[spec.stream]
                .lazy()
                .filter(all_of(spec.guard))
                .select(
                    "@event",
                    "@at",
                    place(spec.keys).alias("@cell"),
                    *(number(best.value).alias(f"@best{k}") for k, best in enumerate(spec.bests)),
                )
                .collect()
            )
            reduced.append((number_, spec, frame))
        return reduced

    def _select(self, select: Select, frames: dict[str, pl.DataFrame]) -> Delta:
        frame = (
            frames[select.stream]
            .lazy()
            .filter(all_of(select.guard))
            .select(
                "@at",
                *(
                    (pl.lit(None, dtype=pl.Int64) if each is None else number(each)).alias(f"@{k}")
                    for k, each in enumerate(select.columns)
                ),
            )
            .collect()
        )
        return _delta(self.program, frame.with_columns(int64(1).alias("@w")))

    # Duplicates removed ----------------------------------------------------------------------

    def _as_set(
        self,
        state: State,
        reduced: Sequence[tuple[int, Reduction, pl.DataFrame]],
        at: IntArray,
    ) -> Delta:
        deltas: list[Delta] = []
        self._halve(state, reduced, at, 0, len(at), deltas)
        return Delta.concat(self._names, deltas)

    def _halve(
        self,
        state: State,
        reduced: Sequence[tuple[int, Reduction, pl.DataFrame]],
        at: IntArray,
        start: int,
        stop: int,
        deltas: list[Delta],
    ) -> None:
        """Merges the rows of some instants; halves them while they change the answer."""
        few = sum(len(frame) for _, _, frame in reduced) <= _FEW
        if few:
            rows = [_each(number_, spec, frame) for number_, spec, frame in reduced]
            deltas.append(self._merger.merge(state, rows, ordered=True))
            return
        grouped = [
            self._merger.improving(state, _grouped(each, at[start:stop])) for each in reduced
        ]
        if not any(len(each) for each in grouped):
            return
        undo = None if at[start] == at[stop - 1] else Undo(state, grouped)
        delta = self._merger.merge(state, grouped)
        if undo is None:
            deltas.append(delta)
            return
        if not len(delta):
            return
        undo.back(delta)
        middle = _between_instants(at, start, stop)
        for low, high in ((start, middle), (middle, stop)):
            part = [
                (number_, spec, frame.filter(pl.col("@event").is_between(low, high, closed="left")))
                for number_, spec, frame in reduced
            ]
            self._halve(state, part, at, low, high, deltas)

    # Duplicates kept -------------------------------------------------------------------------

    def _counts_fit(self, state: State, batch: Batch) -> bool:
        """Whether no product of counts can pass 64 bits, and every bucket has a place."""
        most = 1.0
        for store in state.stores:
            held = store.values[0]
            if isinstance(held, KeyedArray):
                return False
            most *= float(held.max(initial=0)) + len(batch)
        return most < LARGEST / 2

    def _counted(
        self,
        state: State,
        join: SynopsisJoin,
        reduced: Sequence[tuple[int, Reduction, pl.DataFrame]],
        at: IntArray,
    ) -> Delta:
        numbers = {id(spec): number_ for number_, spec, _ in reduced}
        found = {number_: frame for number_, _, frame in reduced}
        width = len(join.inputs)
        frames = {
            (number_ := numbers[id(spec)]): found[number_].with_columns(
                (pl.col("@event") * width + place_of).alias("@order")
            )
            for place_of, parts in enumerate(join.inputs)
            for spec in parts
        }
        deltas = []
        for case in join.cases:
            stores = [numbers[id(join.inputs[i][part])] for i, part in enumerate(case.reductions)]
            met = self._met(state, join, case, stores, frames)
            deltas += [self._arrivals(state, case, stores, frames, met, i) for i in range(width)]
        for number_, frame in frames.items():
            self._add(state, number_, frame)
        return Delta.concat(self._names, deltas)

    def _met(
        self,
        state: State,
        join: SynopsisJoin,
        case: Case,
        stores: Sequence[int],
        frames: dict[int, pl.DataFrame],
    ) -> pl.DataFrame:
        """Which buckets, of those that hold something by now, make rows, and which."""
        joined: pl.DataFrame | None = None
        known: set[int] = set()
        for i, number_ in enumerate(stores):
            spec = join.inputs[i][case.reductions[i]]
            held = pl.Series("@cell", list(state.stores[number_].places()), dtype=pl.Int64)
            cells = pl.concat([held, frames[number_]["@cell"]]).unique().alias(f"@cell{i}")
            keys = pl.DataFrame(cells).with_columns(
                (pl.col(f"@cell{i}") // stride % key.size + key.low).alias(f"k{i}_{at}")
                for at, (key, stride) in enumerate(zip(spec.keys, strides(spec.keys), strict=True))
            )
            known.add(i)
            if joined is None:
                joined = keys
                continue
            links = [
                link
                for link in case.links
                if _inputs(link.left) | _inputs(link.right) <= known
                and i in _inputs(link.left) | _inputs(link.right)
            ]
            equal = [link for link in links if link.op == "=="]
            sides = [
                (link.right, link.left) if i in _inputs(link.left) else (link.left, link.right)
                for link in equal
            ]
            if sides:
                joined = joined.join(
                    keys,
                    left_on=[_held(left) for left, _ in sides],
                    right_on=[_held(right) for _, right in sides],
                    how="inner",
                )
            else:
                joined = joined.join(keys, how="cross")
            tests = [COMPARE[link.op](_held(link.left), _held(link.right)) for link in links]
            joined = joined.filter(reduce(operator.and_, tests, pl.lit(True)))
        assert joined is not None
        return joined.with_columns(
            self._column(join, case, column).alias(f"@{k}") for k, column in enumerate(case.columns)
        )

    def _column(self, join: SynopsisJoin, case: Case, column: Held) -> pl.Expr:
        value = _held(column)
        if isinstance(column, KeyOf):
            key = join.inputs[column.input][case.reductions[column.input]].keys[column.key]
            if key.null_of is not None:
                return pl.when(pl.col(f"k{column.input}_{column.key}") <= key.high).then(value)
        return value

    def _arrivals(
        self,
        state: State,
        case: Case,
        stores: Sequence[int],
        frames: dict[int, pl.DataFrame],
        met: pl.DataFrame,
        i: int,
    ) -> Delta:
        """The rows that arrivals of input `i` make with everything before them."""
        rows = (
            frames[stores[i]]
            .rename({"@cell": f"@cell{i}"})
            .join(met, on=f"@cell{i}", how="inner")
            .sort("@order")
            .with_columns(int64(1).alias("@w"))
        )
        for j, number_ in enumerate(stores):
            if j == i:
                continue
            counts = state.stores[number_].values[0]
            assert not isinstance(counts, KeyedArray)
            before = frames[number_].select(
                "@order",
                pl.col("@cell").alias(f"@cell{j}"),
                pl.col("@order").cum_count().over("@cell").cast(pl.Int64).alias("@seen"),
            )
            rows = rows.join_asof(
                before.sort("@order"),
                on="@order",
                by=f"@cell{j}",
                strategy="backward",
                allow_exact_matches=False,
                check_sortedness=False,
            )
            held = pl.Series(counts[rows[f"@cell{j}"].to_numpy()])
            rows = rows.with_columns(
                (pl.col("@w") * (pl.col("@seen").fill_null(0) + held)).alias("@w")
            ).drop("@seen")
            rows = rows.filter(pl.col("@w") != 0)
        return _delta(self.program, rows)

    def _add(self, state: State, number_: int, frame: pl.DataFrame) -> None:
        counts = state.stores[number_].values[0]
        assert not isinstance(counts, KeyedArray)
        grouped = frame.group_by("@cell").len()
        cells = grouped["@cell"].to_numpy()
        state.filled[number_] += int((counts[cells] == 0).sum())
        counts[cells] += grouped["len"].to_numpy().astype(np.int64)


def _grouped(
    reduced: tuple[int, Reduction, pl.DataFrame],
    at: IntArray,
) -> Partial:
    """The buckets that rows fall into, all at the last of their instants."""
    number_, spec, frame = reduced
    grouped = (
        frame.lazy()
        .group_by("@cell")
        .agg(
            pl.len().cast(pl.Int64).alias("@amount"),
            *(
                (pl.col(f"@best{k}").min() if best.least else pl.col(f"@best{k}").max())
                for k, best in enumerate(spec.bests)
            ),
        )
        .sort("@cell")
        .collect()
    )
    return Partial(
        number_,
        grouped["@cell"].to_numpy(),
        grouped["@amount"].to_numpy(),
        tuple(grouped[f"@best{k}"].to_numpy() for k in range(len(spec.bests))),
        np.full(len(grouped), at[-1], dtype=np.int64),
    )


def _each(number_: int, spec: Reduction, frame: pl.DataFrame) -> Partial:
    """Rows as they are: a bucket of one row each, at its own instant."""
    return Partial(
        number_,
        frame["@cell"].to_numpy(),
        np.ones(len(frame), dtype=np.int64),
        tuple(frame[f"@best{k}"].to_numpy() for k in range(len(spec.bests))),
        frame["@at"].to_numpy(),
    )


def _between_instants(at: IntArray, start: int, stop: int) -> int:
    """A place near the middle where one instant ends and the next begins."""
    middle = (start + stop) // 2
    first = start + int(np.searchsorted(at[start:stop], at[middle], side="left"))
    if first > start:
        return first
    return start + int(np.searchsorted(at[start:stop], at[middle], side="right"))


def _held(held: Held) -> pl.Expr:
    match held:
        case KeyOf(input_, key, offset, None):
            return pl.col(f"k{input_}_{key}") + offset
        case KeyOf(input_, key, offset, table):
            said = pl.Series(table or (), dtype=pl.Int64)
            numbers = pl.Series(range(len(said)), dtype=pl.Int64)
            digit = pl.col(f"k{input_}_{key}")
            return digit.replace_strict(numbers, said, default=0, return_dtype=pl.Int64) + offset
        case Constant(value):
            return pl.lit(value, dtype=pl.Int64)
        case LeastOf(operands):
            return pl.min_horizontal(_held(each) for each in operands)
        case GreatestOf(operands):
            return pl.max_horizontal(_held(each) for each in operands)
        case BestOf():
            raise TypeError("best values are kept only where duplicates are removed")


def _inputs(held: Held) -> set[int]:
    match held:
        case KeyOf(input_) | BestOf(input_):
            return {input_}
        case LeastOf(operands) | GreatestOf(operands):
            return set(chain.from_iterable(_inputs(each) for each in operands))
        case Constant():
            return set()


def _delta(program: Program, frame: pl.DataFrame) -> Delta:
    """Changes out of the columns `@0`, `@1`, ..., `@at` and `@w`."""
    values, nulls = [], []
    for k, column in enumerate(program.output):
        series = frame[f"@{k}"]
        nulls.append(series.is_null().to_numpy() if column.nullable else None)
        values.append(series.fill_null(0).to_numpy())
    return Delta(
        tuple(each.name for each in program.output),
        tuple(values),
        tuple(nulls),
        frame["@at"].to_numpy(),
        frame["@w"].to_numpy(),
    )
