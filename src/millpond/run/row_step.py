"""One row at a time through the tick step of a program, with nothing made anew on the way.

The arrays that a step takes are kept from row to row, and only the values of the row change.  A
call of a compiled function costs as much as some lines of the interpreter: it is made where a row
has to go through buckets one by one, and once it is at hand.  What does not fit here, such as
programs that compute columns, goes the way of any batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from millpond.program import Batch, Columns, IntArray, Program, State, arrays_of
from millpond.run.tick import TickLowering
from millpond.run.values import order_key

Told = tuple[tuple[int | None, ...], int, int]
"""A row, its multiplicity, its instant."""

_ROOM = 64
"""Rows of output that there is room for from the start."""
_LOOK = 4096
"""Rows between two looks at whether the compiled step is at hand."""


class RowStep:
    """Takes the rows of one stream."""

    def __init__(self, tick: TickLowering, stream: str) -> None:
        self._program = tick.program
        self._tick = tick
        self._number = [each.name for each in tick.program.inputs].index(stream)
        self.columns = tick.program.inputs[self._number].columns
        """What it wants of a row, in order."""
        self._out = np.empty((_ROOM, 2 * len(tick.program.output) + 2), dtype=np.int64)
        self._width = len(tick.program.output)
        self._nullable = any(each.nullable for each in tick.program.output)
        self._compiled = tick.loops and tick.cached
        self._asked = False
        self._rows = 0
        self._state: State | None = None
        self._held: Any = None

    @staticmethod
    def possible(program: Program, tick: object, stream: str) -> bool:
        """Whether rows of a stream can go this way."""
        named = any(each.name == stream for each in program.inputs)
        return isinstance(tick, TickLowering) and tick.possible and program.plain and named

    def __call__(self, state: State, row: Sequence[int | None], at: int) -> list[Told] | None:
        """The changes that a row causes; None where it has to go another way."""
        if state is not self._state or (state.stores and state.stores[0].values is not self._held):
            if state.wide:
                return None
            self._bind(state)
        for (values, nulls), value in zip(self._columns, row, strict=True):
            if value is None:
                values[0], nulls[0] = 0, 1
            else:
                values[0], nulls[0] = value, 0
        self._at[0] = at
        done, arm, out, used = self._step(*self._arguments)
        self._rows += 1
        if not self._rows % _LOOK:
            self._look(state)
        if not done:
            return self._widened(state, arm, out, used)
        return self._told(out[:used]) if used else []

    def _bind(self, state: State) -> None:
        """Lays out the arguments of the step for a state."""
        arrays: list[Any] = []
        for number, each in enumerate(self._program.inputs):
            columns = [self._places() for _ in each.columns]
            arrays += [place for column in columns for place in column]
            if number == self._number:
                self._columns = columns
        self._at, _ = self._places()
        stream, row = self._places()[0], self._places()[0]
        stream[0] = self._number
        self._given = stream, row, self._at
        self._arrays = [*arrays, *self._tick.tables]
        self._arguments = (
            0, 1, 0, *self._given, state.filled, self._out, 0, *self._arrays, *arrays_of(state)
        )  # fmt: skip
        self._step = self._tick.step(compiled=self._compiled)
        self._state = state
        self._held = state.stores[0].values if state.stores else None

    def _places(self) -> tuple[Any, Any]:
        """Room for a value and for whether it is NULL."""
        if not self._compiled:
            return [0], [0]
        return np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.uint8)

    def _look(self, state: State) -> None:
        """Takes the compiled step once it is at hand, and has it made if need be."""
        if self._compiled or not self._tick.loops:
            return
        if self._tick.cached:
            self._compiled, self._state = True, None
        elif not self._asked:
            self._asked = True
            self._tick.prepare(state, self._like())

    def _like(self) -> Batch:
        """A batch of the kind that batches are."""
        none = np.zeros(0, dtype=np.int64)
        columns = tuple(Columns.of(each.columns, ()) for each in self._program.inputs)
        return Batch(none, none, none, columns, 0)

    def _told(self, out: IntArray) -> list[Told]:
        """The lines of output, equal rows added up, in the order of the contract."""
        width, totals = self._width, dict[tuple[int | None, ...], int]()
        for line in out.tolist():
            row = tuple(line[:width])
            if self._nullable:
                marks = line[width : 2 * width]
                row = tuple(None if is_null else x for x, is_null in zip(row, marks, strict=True))
            totals[row] = totals.get(row, 0) + line[-2]
        at = int(out[0, -1])
        told = [(row, n, at) for row, n in totals.items() if n]
        if len(told) > 1:
            told.sort(key=lambda each: (each[1] > 0, order_key(each[0])))
        return told

    def _widened(self, state: State, arm: int, out: IntArray, used: int) -> list[Told]:
        """The rest of a row at which a number would have passed 64 bits."""
        state.widen()
        given = [each if isinstance(each, list) else each.tolist() for each in self._given]
        arrays = [each if isinstance(each, list) else each.tolist() for each in self._arrays]
        step = self._tick.step(compiled=False, trapping=False)
        _, _, wide, used = step(
            0, 1, arm, *given, state.filled, out.astype(object), used, *arrays, *arrays_of(state)
        )
        return self._told(wide[:used]) if used else []
