"""Which lowering takes a batch, decided while running.

Nothing is loaded or compiled before it can pay: the interpreter goes on until it has taken as long
as loading Polars does, then relational steps take whole batches, and the compiled step takes over
once it is at hand and as much time has been spent without it as loading Numba takes.  So a run
never takes much more than twice the time of the best choice (one rents skis until renting has cost
what a pair does), and it never waits for the compiler: that works in a process of its own.  Many
rows of one instant go through relational steps all the same where those are quicker.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Protocol

from millpond.program import Batch, Delta, NoValueError, Program, State
from millpond.program.grouping import GroupedProgram
from millpond.program.lowered import Lowered

_FEW = 64
"""Batches up to this many rows go through the interpreter while nothing is compiled."""
_SLICE = 4096
"""Rows that the interpreter is given at a time."""
_MANY = 4096
"""Rows of one instant from which on relational steps may be quicker than compiled ones."""
_POLARS, _NUMBA, _COMPILING = 0.25, 0.5, 2.0
"""Seconds that it takes to load Polars, to load Numba, and to compile a step."""
_POLL = 0.5
"""Seconds between two looks at whether the compiler is done."""


class Tick(Lowered, Protocol):
    """Steps that can be compiled."""

    @property
    def possible(self) -> bool: ...

    @property
    def cached(self) -> bool: ...

    def prepare(self, state: State, batch: Batch) -> None:
        """Has the steps compiled by another process, for arrays like these."""
        ...


class Auto:
    """Advances a program by whichever lowering serves a batch best."""

    name = "auto"

    def __init__(
        self,
        program: Program,
        tick: Tick,
        plain: Lowered,
        bulk: Callable[[], Lowered],
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.program = program
        self._tick = tick
        self._plain = plain
        self._bulk = bulk
        self._clock = clock
        self._spent = 0.0
        self._at_hand: bool | None = None
        self._asked: float | None = None
        self._stepped = 0.0
        self._waited = False
        self._pace: tuple[float | None, float | None] = None, None
        """Seconds a row of large instants: in compiled steps, and in relational ones."""

    def advance(self, state: State, batch: Batch) -> Delta:
        """Takes the rows of a batch in; gives the changes they cause, not consolidated."""
        if self._compiled():
            return self._compared(state, batch)
        began = self._clock()
        try:
            if len(batch) <= _FEW:
                return self._plain.advance(state, batch)
            return self._of_many(state, batch)
        finally:
            self._spent += self._clock() - began
            self._ask(state, batch)

    def _compared(self, state: State, batch: Batch) -> Delta:
        """Compiled steps; for many rows of one instant, which have one answer, relational steps
        where they have been quicker: both are tried."""
        if len(batch) < _MANY or batch.at[0] != batch.at[-1]:
            return self._tick.advance(state, batch)
        tick, bulk = self._pace
        loaded = "polars" in sys.modules or isinstance(self.program, GroupedProgram)
        self._waited |= loaded or self._stepped > _POLARS
        relational = tick is not None and self._waited and (bulk is None or bulk < tick)
        chosen = self._bulk() if relational else self._tick
        began = self._clock()
        delta = chosen.advance(state, batch)
        took = self._clock() - began
        pace = took / len(batch)
        if relational:
            self._pace = tick, pace if bulk is None else min(bulk, pace)
        else:
            self._stepped += took
            self._pace = pace if tick is None else min(tick, pace), bulk
        return delta

    def _of_many(self, state: State, batch: Batch) -> Delta:
        began, start = self._clock(), 0
        deltas: list[Delta] = []
        try:
            while (
                start < len(batch)
                and self._spent + self._clock() - began < _POLARS
                and self._may_be_cut
            ):
                stop = _cut(batch, start + _SLICE)
                deltas.append(self._plain.advance(state, batch.slice(start, stop)))
                start = stop
            if start < len(batch):
                rest = batch.slice(start, len(batch)) if start else batch
                deltas.append(self._bulk().advance(state, rest))
        except NoValueError as error:
            before = Delta.concat(self.program.names, [*deltas, error.before])
            raise NoValueError(before, error.at, error.error) from None
        return Delta.concat(self.program.names, deltas)

    @property
    def _may_be_cut(self) -> bool:
        """Whether the interpreter is worth trying on many rows."""
        return "polars" not in sys.modules and not isinstance(self.program, GroupedProgram)

    def _compiled(self) -> bool:
        """Whether the compiled step is at hand, and worth loading."""
        if not self._tick.possible:
            return False
        if "numba" not in sys.modules and self._spent < _NUMBA:
            return False
        if self._at_hand is None:
            self._at_hand = self._tick.cached
        elif not self._at_hand and self._asked is not None:
            now = self._clock()
            if now - self._asked > _POLL:
                self._asked, self._at_hand = now, self._tick.cached
        return self._at_hand

    def _ask(self, state: State, batch: Batch) -> None:
        """Has the step compiled once it would have paid."""
        if self._at_hand is False and self._asked is None and self._spent > _COMPILING:
            self._asked = self._clock()
            self._tick.prepare(state, batch)


def _cut(batch: Batch, stop: int) -> int:
    """Where to cut: between two instants, behind at least so many rows."""
    while 0 < stop < len(batch) and batch.at[stop] == batch.at[stop - 1]:
        stop += 1
    return min(stop, len(batch))
