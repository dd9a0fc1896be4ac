"""Rows reduced elsewhere, merged into the state: what Δ and Γ are for a batch at a time.

A *partial* is what a reduction makes of some rows: the buckets they fall into, with the number of
rows or their best values.  Whoever reduces (Polars here, Catalyst on Spark), merging is the same
step, and gives the changes that the rows cause together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from millpond.program.delta import Columns, Delta, IntArray
from millpond.program.interpret import Step, interpreted, run_step
from millpond.program.kernel import partial_kernel
from millpond.program.operator import Constant, EmittedSet, Keep, Reduction
from millpond.program.program import Program
from millpond.program.shown import objects
from millpond.program.store import KeyedArray, RowStore, State, Store, encode
from millpond.schema import Row


@dataclass(frozen=True)
class Partial:
    """Buckets of one reduction (`number`: its place among the program's stores)."""

    number: int
    cell: IntArray
    amount: IntArray
    """How many rows fell into the bucket."""
    bests: tuple[IntArray, ...]
    at: IntArray
    held: tuple[IntArray, ...] = ()
    """Of aggregates: each number of the bucket's rows, and whether there is one."""

    def __len__(self) -> int:
        return len(self.cell)

    def take(self, places: IntArray) -> Partial:
        return Partial(
            self.number,
            self.cell[places],
            self.amount[places],
            tuple(each[places] for each in self.bests),
            self.at[places],
            tuple(each[places] for each in self.held),
        )


class Merger:
    """Merges partials into the state of a program."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._kernel = partial_kernel(program)
        self._bests = sum(name.startswith("best") for name in self._kernel.arrays)
        self._held = sum(name.startswith(("held", "there")) for name in self._kernel.arrays)

    @cached_property
    def _step(self) -> Step:
        return interpreted(self._kernel, trapping=True)

    def merge(self, state: State, partials: Sequence[Partial], *, ordered: bool = False) -> Delta:
        """The changes that the partials cause; `ordered` if they are rows in order of arrival.

        Instants are as `at` says; the result is not consolidated.
        """
        partials = [each for each in partials if len(each)]
        size = sum(len(each) for each in partials)
        if not size:
            return Delta.empty(tuple(each.name for each in self._program.output))
        columns = [
            np.concatenate([np.full(len(each), each.number) for each in partials]),
            np.concatenate([each.at for each in partials]),
            np.concatenate([each.cell for each in partials]),
            np.concatenate([each.amount for each in partials]),
            *(
                np.concatenate(
                    [
                        each.bests[k] if k < len(each.bests) else np.zeros(len(each), np.int64)
                        for each in partials
                    ]
                )
                for k in range(self._bests)
            ),
            *(
                np.concatenate(
                    [
                        each.held[k] if k < len(each.held) else np.zeros(len(each), np.int64)
                        for each in partials
                    ]
                )
                for k in range(self._held)
            ),
        ]
        if ordered:
            order = np.argsort(columns[1], kind="stable")
            columns = [each[order] for each in columns]
        selector, at, *arrays = (each.tolist() for each in columns)
        return run_step(
            self._step,
            self._program,
            state,
            size,
            selector,
            range(size),
            at,
            [*arrays, *map(list, self._program.tables)],
            wide=lambda: interpreted(self._kernel, trapping=False),
        )

    def answer(self, state: State) -> Delta | None:
        """The answer that the state stands for: the query over the synopses, as Arasu's section 7
        has it, Q(Syn(s1), ..., Syn(sn)) = Q(s1, ..., sn).  None where nothing is remembered.
        """
        program = self._program
        if program.selects or not program.joins:
            return None
        given = state.stores[-1] if state.stores else None
        if program.shown is not None and isinstance(given, RowStore):
            return program.shown.of_given(given).consolidate()
        if program.emitted is not None and len(program.joins) > 1:
            return self._of_emitted(state, program.emitted)
        again = program.empty()
        if state.wide:
            again.widen()
        passing = program.joins[0].inputs[0][0].keep is Keep.NOTHING
        partials = [
            _held(number, state.stores[-1] if passing else store)
            for number, store in enumerate(state.stores)
            if isinstance(store.spec, Reduction)
        ]
        return finished(program, again, self.merge(again, partials)).consolidate()

    def _of_emitted(self, state: State, emitted: EmittedSet) -> Delta:
        """The rows given, by their keys; the columns that are no keys are constant."""
        names = self._program.names
        at = {key.name: place for place, key in enumerate(emitted.keys)}
        fixed: dict[str, Any] = {
            name: column.value
            for name, column in zip(names, self._program.joins[0].cases[0].columns, strict=True)
            if isinstance(column, Constant)
        }
        rows: list[tuple[Any, ...]] = [
            tuple(row[at[name]] if name in at else fixed[name] for name in names)
            for row in state.stores[-1].table()[1]
        ]
        found = Columns.of(names, rows)
        return Delta(
            names,
            tuple(found.values[name] for name in names),
            tuple(found.nulls[name].astype(bool) for name in names),
            np.zeros(len(rows), dtype=np.int64),
            np.ones(len(rows), dtype=np.int64),
        ).consolidate()

    def improving(self, state: State, partial: Partial) -> Partial:
        """Without what changes nothing: under DISTINCT, buckets that already hold as much."""
        store = state.stores[partial.number]
        spec = store.spec
        if spec.keep is Keep.COUNT or not spec.dense or not len(partial):
            return partial
        if spec.keep is Keep.NOTHING:
            return partial.take(np.flatnonzero(self._not_given(state, partial)))
        if spec.keep is Keep.FLAG:
            return partial.take(np.flatnonzero(_dense(store.values[0])[partial.cell] == 0))
        better = _dense(store.present)[partial.cell] == 0
        assert isinstance(spec, Reduction)
        for k, best in enumerate(spec.bests):
            held, new = _dense(store.values[k])[partial.cell], partial.bests[k]
            better |= (new < held) if best.least else (new > held)
        return partial.take(np.flatnonzero(better))

    def _not_given(self, state: State, partial: Partial) -> IntArray:
        """Rows that only pass through have the keys of the set of rows given."""
        emitted = self._program.emitted
        if emitted is None or not self._tells(partial, emitted):
            return np.ones(len(partial), dtype=bool)
        given = state.stores[-1].values[0]
        if isinstance(given, KeyedArray):
            return np.array([not given[place] for place in partial.cell.tolist()], dtype=bool)
        empty: IntArray = given[partial.cell] == 0
        return empty

    def _tells(self, partial: Partial, emitted: EmittedSet) -> bool:
        """Whether rows that pass through have the keys of the set of rows given."""
        spec = self._program.stores[partial.number]
        mine, theirs = ([(x.low, x.size) for x in each.keys] for each in (spec, emitted))
        return len(self._program.joins) == 1 and mine == theirs


def finished(
    program: Program, state: State, delta: Delta, rows: Sequence[Sequence[Row]] = ()
) -> Delta:
    """What is shown of the rows that came out of the steps."""
    if program.shown is None:
        return delta
    last = state.stores[-1] if state.stores else None
    given = last if isinstance(last, RowStore) else None
    return program.shown.changes(delta, rows, given, state)


def _held(number: int, store: Store) -> Partial:
    """The buckets of a store as a partial of one instant."""
    places = list(store.places())
    extreme = store.spec.keep is Keep.EXTREME
    values = [objects([each[place] for place in places]) for each in store.values]
    return Partial(
        number,
        objects(places),
        np.ones(len(places), dtype=object) if extreme else values[0],
        tuple(values) if extreme else (),
        np.zeros(len(places), dtype=np.int64),
    )


def _dense(array: IntArray | KeyedArray) -> IntArray:
    assert not isinstance(array, KeyedArray)
    return array


class Undo:
    """Puts back what merging partials changed, if the changes turn out not to be wanted."""

    def __init__(self, state: State, partials: Sequence[Partial]) -> None:
        self._state = state
        self._filled = state.filled.copy()
        self._saved = [
            (state.stores[each.number], cell, self._read(state.stores[each.number], cell))
            for each in partials
            for cell in np.unique(each.cell).tolist()
        ]

    @staticmethod
    def _read(store: Store, cell: int) -> tuple[list[int], int]:
        if store.spec.keep is Keep.NOTHING:
            return [], 0
        present = store.present[cell] if store.spec.keep is Keep.EXTREME else 0
        return [each[cell] for each in store.values], present

    def back(self, emitted: Delta) -> None:
        """Restores buckets, and takes the rows of `emitted` out of the set of rows given."""
        for store, cell, (values, present) in self._saved:
            for array, value in zip(store.values, values, strict=True):
                array[cell] = value
            if store.spec.keep is Keep.EXTREME:
                store.present[cell] = present
        given = self._state.stores[-1]
        if not isinstance(given.spec, EmittedSet):
            self._state.filled[:] = self._filled
            return  # rows are let through behind the steps
        columns = list(emitted.names)
        places = [columns.index(key.name) for key in given.spec.keys]
        for row, _, _ in emitted.rows():
            given.values[0][encode(given.spec.keys, [row[place] for place in places])] = 0
        self._state.filled[:] = self._filled
