"""The local engine: a program, its state, and the lowering that advances it.

Batches of rows go in, consolidated changes come out; how input is cut into batches never shows, nor
which lowering takes a batch (`auto.py`).
"""

from __future__ import annotations

from enum import StrEnum
from functools import cached_property
from typing import cast

import numpy as np

from millpond.diagnostic import Diagnostic, InternalError
from millpond.program import Batch, Delta, Program, State
from millpond.program.grouping import GroupedProgram
from millpond.program.lowered import Lowered, answer
from millpond.run.aggregate import tick_of
from millpond.run.auto import Auto
from millpond.run.group_bulk import GroupedBulk
from millpond.run.group_row_step import GroupedRowStep
from millpond.run.row_step import RowStep
from millpond.run.tick import TickLowering


class Lowering(StrEnum):
    """How a program is advanced."""

    AUTO = "auto"
    BULK = "bulk"
    TICK = "tick"
    PLAIN = "plain"


class LocalRun:
    """A running query in this process.

    With `debug`, it advances instant by instant and compares what it holds with its certificate
    after each.
    """

    def __init__(
        self,
        program: Program,
        *,
        lowering: Lowering = Lowering.AUTO,
        state: State | None = None,
        debug: bool = False,
    ) -> None:
        self.program = program
        self.state = program.empty() if state is None else state
        self.rows = 0
        self._lowering = lowering
        self._tick = tick_of(program)
        self._plain = tick_of(program, compiled=False)
        self._auto = Auto(program, self._tick, self._plain, lambda: self._bulk)
        self._debug = debug

    def advance(self, batch: Batch) -> Delta:
        """Takes the rows of whole instants in; gives the changes, one row for each."""
        self.rows += len(batch)
        if batch.first is None or not self.program.runs:
            return Delta.empty(self.program.names)
        if self._debug:
            return self._step_by_step(batch)
        delta = self._chosen.advance(self.state, batch).consolidate()
        self._check()
        return delta

    def _step_by_step(self, batch: Batch) -> Delta:
        ends = [*(np.flatnonzero(batch.at[1:] != batch.at[:-1]) + 1).tolist(), len(batch)]
        deltas, start = [], 0
        for end in ends:
            step = batch.slice(start, end)
            deltas.append(self._chosen.advance(self.state, step).consolidate())
            self._check()
            start = end
        return Delta.concat(self.program.names, deltas)

    def row_step(self, stream: str) -> RowStep | None:
        """What takes rows of a stream one at a time; None where they go the way of any batch."""
        if isinstance(self.program, GroupedProgram):
            fits = not self._debug and GroupedRowStep.fits(self.program, stream)
            return GroupedRowStep(self.program, stream) if fits else None
        if self._debug or not RowStep.possible(self.program, self._tick, stream):
            return None
        return RowStep(cast(TickLowering, self._tick), stream)

    def answer(self) -> Delta | None:
        """The answer now, from the state alone; None where nothing is remembered."""
        return answer(self.program, self.state)

    def units(self) -> int:
        """Units of state held now."""
        return self.state.units()

    @cached_property
    def _bulk(self) -> Lowered:
        if isinstance(self.program, GroupedProgram):
            return GroupedBulk(self.program)
        from millpond.run.bulk import BulkLowering  # Polars takes a while to load

        return BulkLowering(self.program)

    @property
    def _chosen(self) -> Lowered:
        match self._lowering:
            case Lowering.BULK:
                return self._bulk
            case Lowering.TICK:
                return self._tick
            case Lowering.PLAIN:
                return self._plain
            case Lowering.AUTO:
                return self._auto

    def _check(self) -> None:
        """The certificate is a promise: a run that breaks it has to stop."""
        units = self.units()
        if units > self.program.certificate:
            raise InternalError(
                Diagnostic(
                    "MP900",
                    f"query {self.program.name} holds {units} units of state, and its certificate "
                    f"says at most {self.program.certificate}",
                )
            )
