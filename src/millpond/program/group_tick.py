"""Groups row by row: each contribution changes its group, and each instant says what has changed.

The plain form of `group_bulk.py`, for a few contributions at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np

from millpond.plan.evaluate import all_compiled, holds
from millpond.plan.folds import Fold, finished
from millpond.plan.functions import EvaluationError
from millpond.program.accumulator import Accumulator, places
from millpond.program.contributions import Contributions
from millpond.program.delta import Delta
from millpond.program.finish import of_values
from millpond.program.group_bulk import GroupBulk
from millpond.program.grouping import Finish, GroupedProgram
from millpond.program.near import Near
from millpond.program.number_arrays import There
from millpond.program.operator import KeyOf
from millpond.program.saying import delta_of, once_each, shown_rows
from millpond.program.shown import NoValueError
from millpond.program.store import State, Store, decode
from millpond.program.tallies import FOLDED, Cursor, Values
from millpond.program.users import Users
from millpond.schema import Row, Value

_Instant = Iterator[tuple[int, int]]


class GroupTick:
    """Advances the grouping of a program contribution by contribution."""

    def __init__(self, program: GroupedProgram) -> None:
        self._program = program
        self._grouping = program.grouping
        self._held = tuple(
            zip(program.grouping.groups.held, places(program.grouping.groups.held), strict=True)
        )
        self._values = [Values(each, program.grouping) for each in program.grouping.tallies]
        self._users = Users(program.grouping, self._values)
        said = program.grouping.said
        self._having = holds(said.having, said.fields)
        self._columns = all_compiled(said.columns, said.fields)

    def advance(self, state: State, contributions: Contributions) -> Delta:
        """The changes that contributions cause, which come in order of their instants."""
        own = self._program.grouped_of(state)
        before = None
        if self._grouping.said.distinct:
            before = shown_rows(GroupBulk(self._program).everything(own))
        step = _Step(self, own, contributions)
        changes: list[tuple[Row, int, int]] = []
        failed: tuple[int, EvaluationError] | None = None
        for at, instant in groupby(enumerate(contributions.delta.at.tolist()), itemgetter(1)):
            try:
                changes += step.instant(at, instant)
            except EvaluationError as error:
                failed = at, error
                break
        delta = self._delta([each for each in changes if failed is None or each[1] < failed[0]])
        delta = delta if before is None else once_each(delta, before)
        if failed is not None:
            raise NoValueError(delta, *failed)
        return delta

    def _delta(self, changes: list[tuple[Row, int, int]]) -> Delta:
        if not changes:
            return Delta.empty(self._program.names)
        columns = [of_values(each) for each in zip(*(row for row, _, _ in changes), strict=True)]
        at, weight = ([each[place] for each in changes] for place in (1, 2))
        return delta_of(self._program, columns, np.array(at), np.array(weight))

    # Rows of groups

    def row(self, own: State, place: int) -> Row | None:
        """What is said of a group; None if it is not there, or HAVING does not let it through."""
        store, tallies = own.stores[0], own.stores[1 : 1 + len(self._values)]
        if not store.present[place]:
            return None
        folds = [_fold(store, held, at, place) for held, at in self._held]
        coordinates = decode(self._grouping.groups.keys, place)
        row = (
            *(self._column(number, coordinates) for number in range(len(self._grouping.columns))),
            *(
                self._made(each, folds, tallies, place)
                if each.state is None and each.declared is None
                else self._users.of_group(each, own, place)
                for each in self._grouping.finishes
            ),
        )
        return tuple(of(row) for of in self._columns) if self._having(row) else None

    def _column(self, number: int, coordinates: tuple[int | None, ...]) -> Value:
        column = self._grouping.columns[number]
        if isinstance(column.of, KeyOf):
            key = coordinates[column.of.key]
            value = None if key is None else key + column.of.offset
        else:
            assert not isinstance(column.of.value, Near)
            value = column.of.value
        return value if value is None or column.shown is None else column.shown.value(value)

    def _made(
        self, finish: Finish, folds: list[int | None], tallies: list[Store], place: int
    ) -> Value:
        if not finish.used:
            return None
        try:
            return self._value(finish, folds, tallies, place)
        except EvaluationError as error:
            error.span = error.span or finish.span
            raise

    def _value(
        self, finish: Finish, folds: list[int | None], tallies: list[Store], place: int
    ) -> Value:
        if finish.tally is None:
            of = {fold: folds[number] for fold, number in finish.folds}
            value = finished(finish.function, of, finish.type)
            if finish.shown is None or value is None:
                return value
            assert isinstance(value, int | Near)
            return finish.shown.value(value)
        values, store = self._values[finish.tally], tallies[finish.tally]
        if finish.function not in FOLDED:
            return Cursor(values, values.held(store, place)).median()
        made = values.folds(store, np.array([place]))
        count = int(made[Fold.COUNT][0])
        of = {fold: int(each[0]) if count else None for fold, each in made.items()}
        return finished(finish.function, {**of, Fold.COUNT: count}, finish.type)


class _Step:
    """The contributions of a batch, taken one by one."""

    def __init__(self, groups: GroupTick, own: State, contributions: Contributions) -> None:
        grouping = groups._grouping
        self._groups = groups
        self._own = own
        self._store = own.stores[0]
        self._tallies = own.stores[1 : 1 + len(groups._values)]
        self._users = groups._users.taking(own, contributions)
        self._places: list[int] = contributions.place(grouping.groups.keys).tolist()
        self._weights: list[int] = contributions.delta.weight.tolist()
        self._numbers = [
            (held, at, values.tolist(), _listed(there, len(contributions)))
            for held, at in groups._held
            for values, there in (contributions.changes(held),)
        ]
        self._came = [
            (
                _listed(contributions.passing(each.guard), len(contributions)),
                contributions.place(each.keys).tolist(),
            )
            for each in grouping.tallies
        ]

    def instant(self, at: int, instant: _Instant) -> Iterator[tuple[Row, int, int]]:
        """What the contributions of an instant change."""
        before: dict[int, Row | None] = {}
        for number, _ in instant:
            place = self._places[number]
            if place not in before:
                before[place] = self._groups.row(self._own, place)
            self._take(number, place)
        for place, old in before.items():
            new = self._groups.row(self._own, place)
            if old != new:
                yield from ((row, at, n) for row, n in ((old, -1), (new, 1)) if row is not None)

    def _take(self, number: int, place: int) -> None:
        store = self._store
        if not store.present[place]:
            store.present[place] = 1
            self._own.filled[0] += 1
        for held, at, values, there in self._numbers:
            if there[number]:
                _change(store, held, at, place, values[number])
        self._users(number, place)
        for tally, (passing, buckets) in enumerate(self._came):
            if not passing[number]:
                continue
            of, bucket = self._tallies[tally], buckets[number]
            if not of.values[0][bucket]:
                self._own.filled[1 + tally] += 1
            counted = self._groups._values[tally].counted
            held_now = int(of.values[0][bucket])
            _put(of, 0, bucket, held_now + self._weights[number] if counted else 1)


def _listed(there: There, size: int) -> list[bool]:
    return [True] * size if there is None else there.tolist()


def _fold(store: Store, held: Accumulator, at: int, place: int) -> int | None:
    if not held.counts and not store.values[at + 1][place]:
        return None
    found = store.values[at][place]
    return found if isinstance(found, Near) else int(found)  # type: ignore[return-value]


def _change(store: Store, held: Accumulator, at: int, place: int, value: Any) -> None:
    """A number of a group changes with a contribution."""
    before = _fold(store, held, at, place)
    if before is None:
        store.values[at + 1][place] = 1
    elif held.fold.adds:
        value += before
    else:
        value = min(before, value) if held.fold is Fold.LEAST else max(before, value)
    _put(store, at, place, value)


def _put(store: Store, number: int, place: int, value: int) -> None:
    try:
        store.values[number][place] = value
    except (OverflowError, TypeError):
        array = store.values[number]
        assert isinstance(array, np.ndarray)
        store.values[number] = array.astype(object)
        store.values[number][place] = value
