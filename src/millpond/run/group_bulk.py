"""The bulk lowering of aggregate queries: batches are reduced to buckets, or passed on, as arrays.

A batch of one instant is reduced on its own, input by input, and merged; one of many instants goes
through the join row by row, because every row has an answer of its own, and then through the groups
as a whole.  The rows of a single stream are contributions as they come.
"""

from __future__ import annotations

import numpy as np

from millpond.plan.folds import Fold
from millpond.program import (
    Batch,
    Case,
    Constant,
    Delta,
    Held,
    IntArray,
    KeyOf,
    Merger,
    Partial,
    Program,
    Reduction,
    State,
    by_cell,
)
from millpond.program.accumulator import Accumulator
from millpond.program.contributions import Contributions
from millpond.program.grouping import GroupedProgram
from millpond.program.number_arrays import times, where
from millpond.program.vector import Vector
from millpond.run.aggregate import Groups, contributed
from millpond.run.tick import TickLowering


class GroupedBulk:
    """Advances the parts of an aggregate query, and its groups, by whole batches."""

    name = "bulk"

    def __init__(self, program: GroupedProgram) -> None:
        self.program = program
        self._parts = [_Part(each) for each in program.parts]
        self._groups = Groups(program)

    def advance(self, state: State, batch: Batch) -> Delta:
        """Takes the rows of a batch in; gives the changes they cause, not consolidated."""
        views = [view for _, view in self.program.parts_of(state)]
        parts = [part.given(view, batch) for part, view in zip(self._parts, views, strict=True)]
        delta = contributed(self.program, state, batch, parts)
        if not len(delta):
            return Delta.empty(self.program.names)
        return self._groups.advance(state, Contributions(delta), plain=False)


class _Part:
    """What a part gives of a batch."""

    def __init__(self, program: Program) -> None:
        self._program = program
        (self._join,) = program.joins
        self._merger = Merger(program)
        self._rows = TickLowering(program, compiled=False)

    def given(self, state: State, batch: Batch) -> Delta:
        """Contributions, in order of instants."""
        if len(self._join.inputs) == 1:
            ((reduction,),), (case,) = self._join.inputs, self._join.cases
            return self._passed(reduction, case, batch)
        if len(batch) and batch.at[0] == batch.at[-1] and not state.wide:
            partials = [
                _reduced(number, spec, self._vector(spec, batch), int(batch.at[0]))
                for number, spec in enumerate(self._program.stores)
                if isinstance(spec, Reduction)
            ]
            return self._merger.merge(state, partials)
        return self._rows.stepped(state, batch)

    def _vector(self, spec: Reduction, batch: Batch) -> Vector:
        """The rows of an input that pass its guard."""
        rows, _, columns = self._events(spec.stream, batch)
        found = Vector(batch.columns[columns], rows, _size(rows, batch))
        return found.where(found.passing(spec.guard))

    def _events(self, stream: str, batch: Batch) -> tuple[IntArray | slice, IntArray, int]:
        """Which rows of a stream's columns are in the batch, their places in it, and which input
        it is.  They stand in order of arrival, so that rows without a gap are a slice."""
        names = [each.name for each in self._program.inputs]
        number = names.index(stream)
        mine = batch.stream == number
        events = np.arange(len(batch)) if bool(mine.all()) else np.flatnonzero(mine)
        rows = batch.row if len(events) == len(batch) else batch.row[events]
        if len(rows) and rows[-1] - rows[0] + 1 == len(rows):
            return slice(int(rows[0]), int(rows[-1]) + 1), events, number
        return rows, events, number

    def _passed(self, reduction: Reduction, case: Case, batch: Batch) -> Delta:
        """The rows of a single stream, each a contribution."""
        rows, events, number = self._events(reduction.stream, batch)
        whole = Vector(batch.columns[number], rows, len(events))
        passing = whole.passing(reduction.guard)
        vector = whole.where(passing)
        columns = [_column(reduction, each, vector) for each in case.columns]
        columns += [_number(each, vector) for each in reduction.held]
        if len(batch) and batch.at[0] == batch.at[-1]:
            at = batch.at[: vector.size]
        else:
            at = batch.at[events] if vector is whole else batch.at[events][passing]
        return Delta(
            tuple(each.name for each in self._program.output),
            tuple(values for values, _ in columns),
            tuple(
                None if missing is None or not missing.any() else missing for _, missing in columns
            ),
            at,
            np.broadcast_to(np.int64(1), vector.size),
        )


def _size(rows: IntArray | slice, batch: Batch) -> int:
    return rows.stop - rows.start if isinstance(rows, slice) else len(rows)


def _column(reduction: Reduction, column: Held, vector: Vector) -> tuple[IntArray, IntArray | None]:
    """A column that keys or constants say."""
    if isinstance(column, Constant):
        missing = np.ones(vector.size, dtype=bool) if column.value is None else None
        value = column.value if isinstance(column.value, int) else 0
        return np.full(vector.size, value, dtype=np.int64), missing
    assert isinstance(column, KeyOf)
    key = reduction.keys[column.key]
    digit = vector.digit(key)
    missing = None if key.null_of is None else digit == key.size - 1
    if column.table is not None:
        return np.array(column.table, dtype=np.int64)[digit] + column.offset, missing
    by = key.low + column.offset
    return digit + by if by else digit, missing


def _number(held: Accumulator, vector: Vector) -> tuple[IntArray, IntArray | None]:
    """What each row is for a number."""
    there = vector.passing(held.guard) if held.guard else None
    missing = None if there is None else ~there
    if held.value is None or held.counts:
        return np.ones(vector.size, dtype=np.int64), missing
    value = vector.number(held.value)
    if held.fold is Fold.SQUARES:
        value = times(value, value)
    return value, missing


def _reduced(number: int, spec: Reduction, vector: Vector, at: int) -> Partial:
    """The buckets that some rows fall into, all at one instant."""
    cells, of = by_cell.numbered(vector.place(spec.keys), spec.slots)
    size = len(cells)
    bests = tuple(
        by_cell.best(
            Fold.LEAST if best.least else Fold.GREATEST,
            of,
            vector.number(best.value),
            None,
            size,
        )
        for best in spec.bests
    )
    amount = np.bincount(of, minlength=size)
    held: list[IntArray] = []
    for each in spec.held:
        value, missing = _number(each, vector)
        there = None if missing is None else ~missing
        some = amount if there is None else by_cell.counts(of, there, size)
        if each.counts:
            held += [some, np.ones(size, dtype=np.int64)]
        elif each.fold.adds:
            sums = by_cell.sums(of, where(there, value), size)
            held += [sums, (some > 0).astype(np.int64)]
        else:
            best = by_cell.best(each.fold, of, value, there, size)
            held += [np.where(some > 0, best, 0), (some > 0).astype(np.int64)]
    return Partial(number, cells, amount, bests, np.full(size, at), tuple(held))
