"""Aggregate queries in this process: contributions out of the join, and the groups they change."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter

import numpy as np

from millpond.plan.functions import EvaluationError
from millpond.program import Batch, Delta, Program, State
from millpond.program.computed import Computer
from millpond.program.contributions import Contributions
from millpond.program.group_bulk import GroupBulk
from millpond.program.group_tick import GroupTick
from millpond.program.grouping import GroupedProgram
from millpond.program.shown import NoValueError
from millpond.program.translated import translated
from millpond.run.passed import Passed, passes_on
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
        self._parts = [
            Passed(each) if passes_on(each) else TickLowering(each, compiled=compiled)
            for each in program.parts
        ]
        self._gathering = Gathering(program)
        self._groups = Groups(program)
        passing = all(map(passes_on, program.parts))
        self.possible = all(each.possible for each in self._parts) and not passing
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
        came = self._gathering.contributions(state, batch, parts)
        return self._groups.advance(state, came, plain=not self._compiled)


class Groups:
    """The groups of an aggregate query: a few contributions row by row, more as a whole."""

    def __init__(self, program: GroupedProgram) -> None:
        self._rows = GroupTick(program)
        self._bulk = GroupBulk(program)
        self._names = program.names
        self._by_rows = program.grouping.by_rows

    def advance(self, state: State, contributions: Contributions, *, plain: bool) -> Delta:
        """The changes that contributions cause; with `plain`, row by row.

        Raises `NoValueError` where an expression has no value, with the changes before it.
        """
        failed = contributions.failed
        if failed is None:
            return self._changes(state, contributions, plain=plain)
        before = np.flatnonzero(contributions.delta.at < failed[0])
        raise NoValueError(self._changes(state, contributions.take(before), plain=plain), *failed)

    def _changes(self, state: State, contributions: Contributions, *, plain: bool) -> Delta:
        if not len(contributions):
            return Delta.empty(self._names)
        if plain or self._by_rows or len(contributions) <= _FEW:
            return self._rows.advance(state, contributions)
        try:
            return self._bulk.advance(state, contributions)
        except EvaluationError:
            return self._rows.advance(state, contributions)  # tells the instant


class Gathering:
    """Gathers what the parts of a query give, in order of instants."""

    def __init__(self, program: GroupedProgram) -> None:
        self._program = program
        self._computers = [Computer(each) if each else None for each in program.computed]

    def contributions(self, state: State, batch: Batch, parts: Sequence[Delta]) -> Contributions:
        """What came of a batch.  One group of everything is there from the first instant on, though
        nothing came for it."""
        failed: list[tuple[int, EvaluationError]] = []
        found = list(parts)
        for place, computer in enumerate(self._computers):
            if computer is not None:
                found[place], failure = computer.extended(found[place])
                failed += [] if failure is None else [failure]
        if self._program.translations:
            pairs = zip(found, self._program.translations, strict=True)
            found = [translated(each, columns) for each, columns in pairs]
        names = found[0].names if found else ()
        delta = Delta.concat(names, found).in_order()
        if self._program.grouping.everything:
            groups, *_ = self._program.grouped_of(state).stores
            if batch.first is not None and next(groups.places(), None) is None:
                delta = Delta.concat(names, [_of_nothing(names, batch.first), delta])
        return Contributions(delta, min(failed, key=itemgetter(0), default=None))


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
