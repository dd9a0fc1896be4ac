"""Groups by whole batches: contributions are ordered by group, and each group's numbers run on from
what is stored.

A *record* is a group at an instant that touches it.  Its numbers are sums, or extremes, over the
contributions of that instant, added to those of the record before it; the first record of a group
goes on from the store.  So the work is a few passes over arrays, whether a batch is one instant or
has one for every row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from millpond.plan.folds import Fold
from millpond.program import by_cell
from millpond.program.accumulator import Accumulator, places
from millpond.program.contributions import Contributions
from millpond.program.delta import Delta, IntArray
from millpond.program.finish import Folds, Made, Numbers, Rows, Sayer, of_values
from millpond.program.group_store import gathered, mark, scatter, stored
from millpond.program.grouping import Finish, GroupedProgram
from millpond.program.near import NOWHERE, Near
from millpond.program.number_arrays import There, narrow, plus, wide
from millpond.program.records import Records, records_of
from millpond.program.saying import Shown, delta_of, once_each, shown_rows
from millpond.program.store import State, Store
from millpond.program.tallies import DERIVED, FOLDED, Cursor, Values
from millpond.program.users import Users
from millpond.schema import Value


class GroupBulk:
    """Advances the grouping of a program by whole batches."""

    def __init__(self, program: GroupedProgram) -> None:
        self._program = program
        self._grouping = program.grouping
        self._sayer = Sayer(program.grouping)
        self._values = [Values(each, program.grouping) for each in program.grouping.tallies]
        self._users = Users(program.grouping, self._values)

    def advance(self, state: State, contributions: Contributions) -> Delta:
        """The changes that contributions cause, which come in order of their instants."""
        own = self._program.grouped_of(state)
        store, tallies = own.stores[0], own.stores[1 : 1 + len(self._values)]
        place = contributions.place(self._grouping.groups.keys)
        records = records_of(place, contributions.delta.at, self._grouping.groups.slots)
        ordered = contributions if records.order is None else contributions.take(records.order)
        present = gathered(store.present, records.groups) != 0
        before = self._said(own) if self._grouping.said.distinct else None
        folds: list[tuple[Numbers, Numbers]] = []
        for held, at in zip(
            self._grouping.groups.held, places(self._grouping.groups.held), strict=True
        ):
            folds.append(self._advanced(store, held, at, records, ordered))
        came = [
            _came(values, tally, records, ordered)
            for values, tally in zip(self._values, tallies, strict=True)
        ]
        derived = [
            self._tallied(values, tally, records, each)
            for values, tally, each in zip(self._values, tallies, came, strict=True)
        ]
        made = [
            self._made(finish, [_then(*each) for each in folds], derived)
            for finish in self._grouping.finishes
        ]
        entries = np.concatenate([records.groups, records.groups[records.segment]])
        rows = self._sayer.rows(entries, made)
        there = np.concatenate([present, np.ones(len(records.at), dtype=bool)])
        # Nothing is stored before everything has a value.
        self._put(store, own, records, folds, present)
        for number, (values, each) in enumerate(zip(self._values, came, strict=True), 1):
            _put_tally(own, number, values, each)
        return self._changes(records, Rows(rows.columns, rows.shown & there), before)

    def everything(self, own: State) -> Rows:
        """The rows of all groups that are stored."""
        store, tallies = own.stores[0], own.stores[1 : 1 + len(self._values)]
        groups = np.fromiter(store.places(), dtype=np.int64)
        folds = [
            stored(store, held, at, groups)
            for held, at in zip(
                self._grouping.groups.held, places(self._grouping.groups.held), strict=True
            )
        ]
        derived = [
            self._of_tally(values, tally, groups)
            for values, tally in zip(self._values, tallies, strict=True)
        ]
        made = [
            self._made(finish, folds, derived)
            if finish.state is None and finish.declared is None
            else self._users.of_groups(finish, own, groups)
            for finish in self._grouping.finishes
        ]
        return self._sayer.rows(groups, made)

    # Numbers of groups

    def _advanced(
        self,
        store: Store,
        held: Accumulator,
        at: int,
        records: Records,
        ordered: Contributions,
    ) -> tuple[Numbers, Numbers]:
        """A number of each group, as it is stored, and after each record."""
        before = stored(store, held, at, records.groups)
        values, there = ordered.changes(held)
        if held.fold.adds:
            after = records.running(records.sums(values), before.values)
        else:
            after = _extremes(held.fold, values, there, records, before)
        if before.missing is None:
            return before, Numbers(after)
        so_far = records.running(records.counts(there), (~before.missing).astype(np.int64))
        missing = so_far == 0
        if missing.any():
            nothing: Any = NOWHERE if held.text else 0
            after = np.where(missing, nothing, after)
        return before, Numbers(after, missing)

    def _put(
        self,
        store: Store,
        own: State,
        records: Records,
        folds: Sequence[tuple[Numbers, Numbers]],
        present: IntArray,
    ) -> None:
        """What is stored after the last record of each group."""
        held = self._grouping.groups.held
        for each, at, (_, after) in zip(held, places(held), folds, strict=True):
            last = after.take(records.last)
            scatter(store, at, records.groups, last.values)
            if not each.counts:
                assert last.missing is not None
                scatter(store, at + 1, records.groups, (~last.missing).astype(np.int64))
        mark(store, records.groups)
        own.filled[0] += int((~present).sum())

    # Tallies

    def _tallied(self, values: Values, store: Store, records: Records, came: _Came) -> Made:
        """What is made of a tally, of each group before and after each record."""
        if self._finish(values).function not in FOLDED:
            return _medians(values, store, records, came)
        before = values.folds(store, records.groups)
        scaled = np.array([values.integer(values.of_place(x)) for x in came.place.tolist()], object)
        n = wide(came.weight)
        found = {}
        for fold, each in zip(DERIVED, (n, n * scaled, n * scaled * scaled), strict=True):
            sums = by_cell.sums(came.record, narrow(each), len(records.at))
            after = records.running(sums, before[fold])
            found[fold] = _one_array(before[fold], after)
        return _derived(found)

    def _finish(self, values: Values) -> Finish:
        """What a tally is for."""
        number = next(n for n, each in enumerate(self._values) if each is values)
        return next(each for each in self._grouping.finishes if each.tally == number)

    def _of_tally(self, values: Values, store: Store, groups: IntArray) -> Made:
        finish = self._finish(values)
        if finish.declared is not None:
            return {}
        if finish.function in FOLDED:
            return _derived(values.folds(store, groups))
        cursors = (Cursor(values, values.held(store, group)) for group in groups.tolist())
        return of_values([each.median() for each in cursors])

    # What is said

    def _made(
        self, finish: Finish, folds: Sequence[Numbers], derived: Sequence[Made]
    ) -> Made | None:
        if not finish.used:
            return None
        if finish.tally is not None:
            return derived[finish.tally]
        return {fold: folds[number] for fold, number in finish.folds}

    def _said(self, own: State) -> Shown:
        """How many groups say each row."""
        return shown_rows(self.everything(own))

    def _changes(self, records: Records, rows: Rows, before: Shown | None) -> Delta:
        size = len(records.groups)
        new = size + np.arange(len(records.at))
        old = new - 1
        old[records.first] = np.arange(size)
        same = rows.shown[old] & rows.shown[new]
        for each in rows.columns:
            same &= _equal(each.take(old), each.take(new))
        minus = np.flatnonzero(~same & rows.shown[old])
        plus = np.flatnonzero(~same & rows.shown[new])
        entries = np.concatenate([old[minus], new[plus]])
        delta = delta_of(
            self._program,
            [each.take(entries) for each in rows.columns],
            records.at[np.concatenate([minus, plus])],
            np.repeat(np.array([-1, 1]), [len(minus), len(plus)]),
        )
        return delta if before is None else once_each(delta, before)


def _then(before: Numbers, after: Numbers) -> Numbers:
    """The numbers of groups as they are stored, and then those after each record."""
    values = _one_array(before.values, after.values)
    if before.missing is None or after.missing is None:
        return Numbers(values)
    return Numbers(values, np.concatenate([before.missing, after.missing]))


def _one_array(one: IntArray, other: IntArray) -> IntArray:
    if object in (one.dtype, other.dtype):
        one, other = wide(one), wide(other)
    return np.concatenate([one, other])


def _extremes(
    fold: Fold, values: IntArray, there: There, records: Records, before: Numbers
) -> IntArray:
    """The best value of each group after each record."""
    pick: Any = np.minimum if fold is Fold.LEAST else np.maximum
    found, some = records.best(fold, values, there)
    assert before.missing is not None
    worst = _worst(fold, [*found[some][:1], *before.values[~before.missing][:1]])
    if object not in (found.dtype, before.values.dtype):
        limits = np.iinfo(np.int64)
        worst = limits.max if fold is Fold.LEAST else limits.min
    had = before.values if isinstance(worst, int) else wide(before.values)
    found = np.where(some, found if isinstance(worst, int) else wide(found), worst)
    found[records.first] = pick(found[records.first], np.where(before.missing, worst, had))
    bounds = np.append(records.first, len(records.at))
    for start in np.flatnonzero(np.diff(bounds) > 1).tolist():
        part = slice(bounds[start], bounds[start + 1])
        found[part] = pick.accumulate(found[part])
    return np.asarray(found)


def _worst(fold: Fold, known: Sequence[Any]) -> Any:
    """What every value betters: of texts one beyond all, else a number."""
    least = fold is Fold.LEAST
    if any(isinstance(each, Near) for each in known):
        return Near("", level=1 if least else -1)
    return float("inf") if least else float("-inf")


def _equal(one: Numbers, other: Numbers) -> IntArray:
    same = np.asarray(one.values == other.values, dtype=bool)
    if one.missing is None or other.missing is None:
        return same
    gone: IntArray = one.missing | other.missing
    return np.where(gone, one.missing & other.missing, same)


# Tallies ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Came:
    """Values that came: their buckets, how often, and in which record."""

    place: IntArray
    counts: IntArray | None
    """None where each came once, for the first time."""
    record: IntArray

    @property
    def weight(self) -> IntArray:
        return np.ones(len(self.place), np.int64) if self.counts is None else self.counts


def _came(values: Values, store: Store, records: Records, ordered: Contributions) -> _Came:
    """What contributions bring to a tally, each value once in a record; of what it only flags, what
    comes for the first time."""
    passing = ordered.passing(values.tally.guard)
    some = ordered if passing is None else ordered.take(np.flatnonzero(passing))
    place = some.place(values.tally.keys)
    if records.order is None:
        found, of = by_cell.numbered(place, values.tally.slots)
        weight = None
        if values.counted:
            once = some.once
            weight = by_cell.counts(of, None, len(found))
            weight = weight if once else by_cell.sums(of, some.delta.weight, len(found))
        return _fresh(_Came(found, weight, records.of_group(found % values.slots)), store)
    record = records.of_each if passing is None else records.of_each[passing]
    if values.counted:
        return _Came(place, some.delta.weight, record)
    found, of = by_cell.numbered(place, values.tally.slots)
    first = np.empty(len(found), dtype=np.int64)
    first[of[::-1]] = np.arange(len(place))[::-1]
    first = np.sort(first)
    return _fresh(_Came(place[first], None, record[first]), store)


def _fresh(came: _Came, store: Store) -> _Came:
    """Without the flags that are set already."""
    if came.counts is not None:
        return came
    fresh = gathered(store.values[0], came.place) == 0
    return _Came(came.place[fresh], None, came.record[fresh])


def _put_tally(own: State, number: int, values: Values, came: _Came) -> None:
    store = own.stores[number]
    if came.counts is None:
        scatter(store, 0, came.place, np.ones(len(came.place), dtype=np.int64))
        own.filled[number] += len(came.place)
        return
    found, of = by_cell.numbered(came.place, values.tally.slots)
    held = gathered(store.values[0], found)
    scatter(store, 0, found, plus(held, by_cell.sums(of, came.counts, len(found))))
    own.filled[number] += int((held == 0).sum())


def _medians(values: Values, store: Store, records: Records, came: _Came) -> Numbers:
    """The middle of each group's values moves as they come: as it is stored, and after each
    record."""
    if records.order is None and len(came.place):
        fast = values.middles(store, records.groups, came.place, came.weight)
        if fast is not None:
            return of_values(fast)
    order = np.argsort(came.record, kind="stable")
    ordered = (each[order].tolist() for each in (came.place, came.weight, came.record))
    place, weight, record = ordered
    before: list[Value] = []
    after: list[Value] = []
    at = 0
    bounds = np.append(records.first, len(records.at)).tolist()
    for number, group in enumerate(records.groups.tolist()):
        cursor = Cursor(values, values.held(store, group))
        before.append(cursor.median())
        for each in range(bounds[number], bounds[number + 1]):
            start = at
            while at < len(record) and record[at] == each:
                cursor.add(place[at], weight[at])
                at += 1
            last = after[-1] if each > bounds[number] else before[-1]
            after.append(last if at == start else cursor.median())
    return of_values([*before, *after])


def _derived(folds: Mapping[Fold, IntArray]) -> Folds:
    """Folds of which there are none where nothing came."""
    none = folds[Fold.COUNT] == 0
    return {
        fold: Numbers(each, None if fold is Fold.COUNT else none) for fold, each in folds.items()
    }


def group_answer(program: GroupedProgram, state: State) -> Delta:
    """The answer that the groups of a state say."""
    rows = GroupBulk(program).everything(program.grouped_of(state))
    shown = np.flatnonzero(rows.shown)
    columns = [each.take(shown) for each in rows.columns]
    size = len(shown)
    delta = delta_of(program, columns, np.zeros(size, np.int64), np.ones(size, np.int64))
    found = delta.consolidate()
    if program.grouping.said.distinct:
        found = replace(found, weight=np.ones(len(found), dtype=np.int64))
    return found
