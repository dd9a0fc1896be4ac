"""The rows of streams as arrays, and those of a single stream as contributions as they come."""

from __future__ import annotations

import numpy as np

from millpond.plan.folds import Fold
from millpond.program import (
    Batch,
    Constant,
    Delta,
    Held,
    IntArray,
    KeyOf,
    Program,
    Reduction,
    State,
)
from millpond.program.accumulator import Accumulator
from millpond.program.number_arrays import times
from millpond.program.vector import Vector


class Passed:
    """What a part over a single stream gives: its rows, none of which is kept."""

    possible = True
    cached = True

    def __init__(self, program: Program) -> None:
        self._program = program
        (self._join,) = program.joins

    def prepare(self, state: State, batch: Batch) -> None:
        """There is nothing to compile."""

    def stepped(self, state: State, batch: Batch) -> Delta:
        """The rows that pass, each a contribution."""
        ((reduction,),), (case,) = self._join.inputs, self._join.cases
        number = [each.name for each in self._program.inputs].index(reduction.stream)
        mine = batch.stream == number
        rows = rows_of(mine, batch)
        size = rows.stop - rows.start if isinstance(rows, slice) else len(rows)
        whole = Vector(batch.columns[number], rows, size)
        passing = whole.passing(reduction.guard)
        vector = whole.where(passing)
        columns = [_column(reduction, each, vector) for each in case.columns]
        columns += [number_of(each, vector) for each in reduction.held]
        if len(batch) and batch.at[0] == batch.at[-1]:
            at = batch.at[: vector.size]
        else:
            at = batch.at if size == len(batch) else batch.at[mine]
            at = at if vector is whole else at[passing]
        return Delta(
            tuple(each.name for each in self._program.output),
            tuple(values for values, _ in columns),
            tuple(
                None if missing is None or not missing.any() else missing for _, missing in columns
            ),
            at,
            np.broadcast_to(np.int64(1), vector.size),
        )


def passes_on(program: Program) -> bool:
    """Whether a part is over a single stream."""
    return all(len(each.inputs) == 1 for each in program.joins)


def rows_of(mine: IntArray, batch: Batch) -> IntArray | slice:
    """Which rows of a stream's columns are in the batch, by which of its events are of the stream.
    They stand in order of arrival, so that rows without a gap are a slice."""
    size = int(np.count_nonzero(mine))
    if not size:
        return slice(0, 0)
    first = int(batch.row[mine.argmax()])
    last = int(batch.row[len(mine) - 1 - int(mine[::-1].argmax())])
    if last - first + 1 == size:
        return slice(first, last + 1)
    rows: IntArray = batch.row[mine]
    return rows


def vector_of(program: Program, spec: Reduction, batch: Batch) -> Vector:
    """The rows of an input that pass its guard."""
    number = [each.name for each in program.inputs].index(spec.stream)
    rows = rows_of(batch.stream == number, batch)
    size = rows.stop - rows.start if isinstance(rows, slice) else len(rows)
    found = Vector(batch.columns[number], rows, size)
    return found.where(found.passing(spec.guard))


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


def number_of(held: Accumulator, vector: Vector) -> tuple[IntArray, IntArray | None]:
    """What each row is for a number."""
    there = vector.passing(held.guard) if held.guard else None
    missing = None if there is None else ~there
    if held.value is None or held.counts:
        return np.ones(vector.size, dtype=np.int64), missing
    value = vector.number(held.value)
    if held.fold is Fold.SQUARES:
        value = times(value, value)
    return value, missing
