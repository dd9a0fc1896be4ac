"""The local engine: a program, its state, and the lowering that advances it.

Batches of rows go in, consolidated changes come out; how input is cut into batches never shows.
Which lowering takes a batch is decided while running: the compiled step where it is at hand, else
the interpreter for a few rows and Polars for many, until enough rows have been seen to pay for
compiling.
"""

from __future__ import annotations

from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING

from millpond.diagnostic import Diagnostic, InternalError
from millpond.program import Batch, Delta, Program, State
from millpond.program.lowered import Lowered, answer
from millpond.run.tick import TickLowering

if TYPE_CHECKING:
    from millpond.run.bulk import BulkLowering

_FEW = 64
"""Batches up to this many rows go through the interpreter while nothing is compiled."""
_PAYS = 300_000
"""After this many rows, compiling pays."""


class Lowering(StrEnum):
    """How a program is advanced."""

    AUTO = "auto"
    BULK = "bulk"
    TICK = "tick"
    PLAIN = "plain"


class LocalRun:
    """A running query in this process."""

    def __init__(
        self, program: Program, *, lowering: Lowering = Lowering.AUTO, state: State | None = None
    ) -> None:
        self.program = program
        self.state = program.empty() if state is None else state
        self.rows = 0
        self._lowering = lowering
        self._tick = TickLowering(program)
        self._plain = TickLowering(program, compiled=False)
        self._compiled: bool | None = None

    def advance(self, batch: Batch) -> Delta:
        """Takes the rows of whole instants in; gives the changes, one row for each."""
        self.rows += len(batch)
        if not len(batch) or not self.program.operators:
            return Delta.empty(tuple(each.name for each in self.program.output))
        delta = self._chosen(len(batch)).advance(self.state, batch).consolidate()
        self._check()
        return delta

    def answer(self) -> Delta | None:
        """The answer now, from the state alone; None where nothing is remembered."""
        return answer(self.program, self.state)

    def units(self) -> int:
        """Units of state held now."""
        return self.state.units()

    @cached_property
    def _bulk(self) -> BulkLowering:
        from millpond.run.bulk import BulkLowering  # Polars takes a while to load

        return BulkLowering(self.program)

    def _chosen(self, size: int) -> Lowered:
        match self._lowering:
            case Lowering.BULK:
                return self._bulk
            case Lowering.TICK:
                return self._tick
            case Lowering.PLAIN:
                return self._plain
            case Lowering.AUTO:
                if self._tick.possible and self._compiling_pays():
                    return self._tick
                return self._plain if size <= _FEW else self._bulk

    def _compiling_pays(self) -> bool:
        if self._compiled is None:
            self._compiled = self._tick.cached
        return self._compiled or self.rows > _PAYS

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
