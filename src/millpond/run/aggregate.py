"""Aggregate queries in this process: contributions out of the join, and the groups they change."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from millpond.plan.functions import EvaluationError
from millpond.program import Batch, Delta, Program, State
from millpond.program.contributions import Contributions
from millpond.program.group_bulk import GroupBulk
from millpond.program.group_tick import GroupTick
from millpond.program.grouping import GroupedProgram
from millpond.run.tick import TickLowering

_FEW = 32
"""Up to so many contributions are taken one by one."""


class GroupedTick:
    """Advances the joins of an aggregate query row by row, and its groups by what comes out.

    Where nothing is compiled, groups go row by row, too.
    """

    name = "tick"

    def __init__(self, program: GroupedProgram, *, compiled: bool = True) -> None:
        self.program = program
        self._compiled = compiled
        self._parts = [TickLowering(each, compiled=compiled) for each in program.parts]
        self._groups = Groups(program)
        streams = [len(join.inputs) for part in program.parts for join in part.joins]
        self.possible = all(each.possible for each in self._parts) and max(streams, default=0) > 1
        """A single stream has nothing to look up, so that there is nothing to compile."""

    @property
    def cached(self) -> bool:
        """Whether the compiled steps are at hand."""
        return self.possible and all(each.cached for each in self._parts)

    def prepare(self, state: State, batch: Batch) -> None:
        """Has the steps compiled by another process, for arrays like these."""
        for part, (_, view) in zip(self._parts, self.program.parts_of(state), strict=True):
            part.prepare(view, batch)

    def advance(self, state: State, batch: Batch) -> Delta:
        """Takes the rows of a batch in; gives the changes they cause, not consolidated."""
        views = [view for _, view in self.program.parts_of(state)]
        parts = [part.stepped(view, batch) for part, view in zip(self._parts, views, strict=True)]
        delta = contributed(self.program, state, batch, parts)
        if not len(delta):
            return Delta.empty(self.program.names)
        return self._groups.advance(state, Contributions(delta), plain=not self._compiled)


class Groups:
    """The groups of an aggregate query: a few contributions row by row, more as a whole."""

    def __init__(self, program: GroupedProgram) -> None:
        self._rows = GroupTick(program)
        self._bulk = GroupBulk(program)
        self._by_rows = program.grouping.by_rows

    def advance(self, state: State, contributions: Contributions, *, plain: bool) -> Delta:
        """The changes that contributions cause; with `plain`, row by row."""
        if plain or self._by_rows or len(contributions) <= _FEW:
            return self._rows.advance(state, contributions)
        try:
            return self._bulk.advance(state, contributions)
        except EvaluationError:
            return self._rows.advance(state, contributions)  # tells the instant


def contributed(
    program: GroupedProgram, state: State, batch: Batch, parts: Sequence[Delta]
) -> Delta:
    """What the parts give, in order of instants.  One group of everything is there from the first
    instant on, though nothing came for it."""
    names = parts[0].names if parts else ()
    delta = Delta.concat(names, parts).in_order()
    if program.grouping.everything:
        groups, *_ = program.grouped_of(state).stores
        if batch.first is not None and next(groups.places(), None) is None:
            return Delta.concat(names, [_of_nothing(names, batch.first), delta])
    return delta


def _of_nothing(names: tuple[str, ...], at: int) -> Delta:
    """A contribution of no rows."""
    zero = np.zeros(1, dtype=np.int64)
    none = np.ones(1, dtype=bool)
    nothing = tuple(zero for _ in names), tuple(none for _ in names)
    return Delta(names, *nothing, np.array([at], dtype=np.int64), zero)


def tick_of(program: Program, *, compiled: bool = True) -> TickLowering | GroupedTick:
    """The tick lowering of a program."""
    if isinstance(program, GroupedProgram):
        return GroupedTick(program, compiled=compiled)
    return TickLowering(program, compiled=compiled)
