"""One row at a time through an aggregate query: the step of its part, and then its groups.

For queries over columns of integers whose answer are groups and aggregates as they are; what is
computed, and what needs the values of a group one by one, goes the way of any batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from millpond.plan.folds import Fold, finished
from millpond.program import KeyOf, State, Store, decode, strides
from millpond.program.accumulator import Accumulator, places
from millpond.program.expression import Field, NotNull
from millpond.program.grouping import Finish, GroupedProgram
from millpond.run.row_step import RowStep, Told
from millpond.run.tick import TickLowering
from millpond.run.values import order_key
from millpond.schema import Kind, Row, Value

_Fold = tuple[int, Fold, int | None]
"""The array of a number, how it changes, and the column of what comes; None counts rows."""


class GroupedRowStep(RowStep):
    """Takes the rows of one stream."""

    def __init__(self, program: GroupedProgram, stream: str) -> None:
        super().__init__(TickLowering(program.parts[0]), stream)
        self._grouped = program
        grouping = program.grouping
        names = [each.name for each in program.parts[0].output]
        keys = grouping.groups.keys
        self._keys = [
            (names.index(key.value.name), key.low, stride, key.size - 1)
            for key, stride in zip(keys, strides(keys), strict=True)
            if isinstance(key.value, Field)
        ]
        held = grouping.groups.held
        self._folds: list[_Fold] = [
            (at, each.fold, names.index(each.value.name) if isinstance(each.value, Field) else None)
            for each, at in zip(held, places(held), strict=True)
        ]
        self._made = [_made(each, held) for each in grouping.finishes]
        self._whole: State | None = None

    @staticmethod
    def fits(program: GroupedProgram, stream: str) -> bool:
        """Whether rows of a stream can go this way."""
        grouping = program.grouping
        said = grouping.said
        whole = not (program.translations or any(program.computed) or grouping.tallies)
        direct = not (said.having or said.distinct or None in said.direct or grouping.states)
        if len(program.parts) != 1 or not (whole and direct and grouping.groups.dense):
            return False
        plain = all(_plain(each) for each in grouping.groups.held) and all(
            each.shown is None and each.used and each.type.kind is Kind.INTEGER
            for each in grouping.finishes
        )
        keys = all(each.shown is None and isinstance(each.of, KeyOf) for each in grouping.columns)
        part = program.parts[0]
        named = any(each.name == stream for each in program.inputs)
        return plain and keys and part.plain and named and TickLowering(part).possible

    def __call__(self, state: State, row: Sequence[int | None], at: int) -> list[Told] | None:
        """The changes that a row causes; None where it has to go another way."""
        if state is not self._whole:
            ((_, self._view),) = self._grouped.parts_of(state)
            self._own, self._whole = self._grouped.grouped_of(state), state
            (self._store,) = self._own.stores
        lines: Any = super().__call__(self._view, row, at)
        if lines is None:
            return None
        before: dict[int, Row | None] = {}
        if not self._keys and not self._store.present[0]:
            before[0] = None
            self._mark(0)
        for line in lines:
            place = self._place(line)
            if place not in before:
                before[place] = self._row(place)
            self._take(line, place)
        told: list[Told] = []
        for place, old in before.items():
            new = self._row(place)
            if old != new:
                told += [(each, n, at) for each, n in ((old, -1), (new, 1)) if each is not None]  # type: ignore[misc]
        if len(told) > 2:
            told.sort(key=lambda each: (each[1] > 0, order_key(each[0])))
        return told

    def _told(self, out: Any) -> Any:
        """What the step of the part gives, as it is."""
        return out.tolist()

    def _place(self, line: Sequence[int]) -> int:
        """The group that a contribution is for."""
        place = 0
        for column, low, stride, last in self._keys:
            null = line[self._width + column]
            place += stride * (last if null else line[column] - low)
        return place

    def _mark(self, place: int) -> None:
        self._store.present[place] = 1
        self._own.filled[0] += 1

    def _take(self, line: Sequence[int], place: int) -> None:
        """The numbers of a group change with a contribution."""
        store = self._store
        if not store.present[place]:
            self._mark(place)
        for at, fold, column in self._folds:
            if column is None:
                _put(store, at, place, int(store.values[at][place]) + line[-2])
                continue
            if line[self._width + column]:
                continue
            value = line[column]
            if fold is Fold.COUNT:
                _put(store, at, place, int(store.values[at][place]) + value)
                continue
            if store.values[at + 1][place]:
                before = int(store.values[at][place])
                value = before + value if fold.adds else _better(fold, before, value)
            else:
                store.values[at + 1][place] = 1
            _put(store, at, place, value)

    def _row(self, place: int) -> Row | None:
        """What is said of a group; None if it is not there."""
        store, grouping = self._store, self._grouped.grouping
        if not store.present[place]:
            return None
        key = decode(grouping.groups.keys, place)
        columns: list[Value] = []
        for each in grouping.columns:
            assert isinstance(each.of, KeyOf)
            value = key[each.of.key]
            columns.append(None if value is None else value + each.of.offset)
        columns += [of(store, place) for of in self._made]
        return tuple(columns[each] for each in grouping.said.direct if each is not None)


def _plain(held: Accumulator) -> bool:
    """Whether a number changes by a column as it comes, or by how many rows there are."""
    if held.value is None:
        return not held.guard
    return (
        held.folded
        and isinstance(held.value, Field)
        and held.guard == (NotNull(held.value.name),)
        and not held.text
    )


def _made(finish: Finish, held: Sequence[Accumulator]) -> Callable[[Store, int], Value]:
    """How an aggregate is made of the numbers of a group."""
    arrays = [(fold, places(tuple(held))[number]) for fold, number in finish.folds]

    def number(store: Store, place: int, fold: Fold, at: int) -> int | None:
        if fold is not Fold.COUNT and not store.values[at + 1][place]:
            return None
        return int(store.values[at][place])

    if len(arrays) == 1:
        ((only, at),) = arrays
        return lambda store, place: number(store, place, only, at)

    def of(store: Store, place: int) -> Value:
        folds = {fold: number(store, place, fold, at) for fold, at in arrays}
        return finished(finish.function, folds, finish.type)

    return of


def _better(fold: Fold, one: int, other: int) -> int:
    return min(one, other) if fold is Fold.LEAST else max(one, other)


def _put(store: Store, number: int, place: int, value: int) -> None:
    try:
        store.values[number][place] = value
    except OverflowError:
        array: Any = store.values[number]
        store.values[number] = array.astype(object)
        store.values[number][place] = value
