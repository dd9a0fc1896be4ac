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
    Delta,
    IntArray,
    Merger,
    Partial,
    Program,
    Reduction,
    State,
    by_cell,
)
from millpond.program.grouping import GroupedProgram
from millpond.program.number_arrays import where
from millpond.program.vector import Vector
from millpond.run.aggregate import Gathering, Groups
from millpond.run.passed import Passed, number_of, passes_on, vector_of
from millpond.run.tick import TickLowering


class GroupedBulk:
    """Advances the parts of an aggregate query, and its groups, by whole batches."""

    name = "bulk"

    def __init__(self, program: GroupedProgram) -> None:
        self.program = program
        self._parts = [Passed(each) if passes_on(each) else _Joined(each) for each in program.parts]
        self._gathering = Gathering(program)
        self._groups = Groups(program)

    def advance(self, state: State, batch: Batch) -> Delta:
        """Takes the rows of a batch in; gives the changes they cause, not consolidated."""
        views = [view for _, view in self.program.parts_of(state)]
        parts = [part.stepped(view, batch) for part, view in zip(self._parts, views, strict=True)]
        came = self._gathering.contributions(state, batch, parts)
        return self._groups.advance(state, came, plain=False)


class _Joined:
    """What a join gives of a batch."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._merger = Merger(program)
        self._rows = TickLowering(program, compiled=False)

    def stepped(self, state: State, batch: Batch) -> Delta:
        """Contributions, in order of instants."""
        if len(batch) and batch.at[0] == batch.at[-1] and not state.wide:
            partials = [
                _reduced(number, spec, vector_of(self._program, spec, batch), int(batch.at[0]))
                for number, spec in enumerate(self._program.stores)
                if isinstance(spec, Reduction)
            ]
            return self._merger.merge(state, partials)
        return self._rows.stepped(state, batch)


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
        value, missing = number_of(each, vector)
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
