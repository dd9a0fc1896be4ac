"""The groups of an aggregate query of several parts: OR and UNION fall into some.

Each part numbers the values of its columns as its own conditions bound them.  All parts change the
same groups, so that their contributions are translated: into the values themselves, where those are
integers, else into numbers of a list that has the values of all parts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from millpond.memory.aggregate_shape import AggregateShape
from millpond.program import Constant, Keep, Key, KeyOf, Listed
from millpond.program.expression import Condition, Field, NotNull
from millpond.program.grouping import GroupColumn, Grouping, Groups, Slot, Tally
from millpond.program.translated import Translated
from millpond.schema import Value
from millpond.synopsis.contributing import Contributing
from millpond.synopsis.groups import OnePart


@dataclass(frozen=True)
class _Source:
    """A column as a part has it: its numbers, and what they stand for."""

    column: str | None
    numbers: range
    shown: Slot | None
    null: bool

    @property
    def values(self) -> list[Value]:
        return [x if self.shown is None else self.shown.value(x) for x in self.numbers]


@dataclass(frozen=True)
class _Shared:
    """A column as all parts have it."""

    key: Key
    shown: Slot | None
    translated: tuple[Translated, ...]


class SeveralParts:
    """The grouping of several parts, and how their contributions are translated."""

    def __init__(self, shapes: Sequence[AggregateShape], parts: Sequence[Contributing]) -> None:
        self._shapes = shapes
        self._made = [OnePart(*each) for each in zip(shapes, parts, strict=True)]
        self._own = [each.made() for each in self._made]
        self._given = [each.given_names for each in parts]
        self._columns = [
            _shared(f"@group{place}", [self._of_group(own, place) for own in self._own])
            for place in range(len(shapes[0].groups))
        ]
        self._values = [
            _shared(f"@value{place}", [_of_tally(own.tallies[place]) for own in self._own])
            for place in range(len(self._own[0].tallies))
        ]

    def made(self) -> Grouping:
        """What is kept of each group, whichever part it comes from."""
        first = self._own[0]
        keys = tuple(each.key for each in self._columns)
        rows = sum(each.groups.buckets for each in self._own)
        groups = Groups(keys, first.groups.held, rows, True, first.groups.alone)
        states = tuple(replace(each, keys=keys, buckets=rows) for each in first.states)
        columns = tuple(
            GroupColumn(KeyOf(0, place), each.shown) for place, each in enumerate(self._columns)
        )
        tallies = tuple(map(self._tally, range(len(first.tallies))))
        return replace(first, groups=groups, tallies=tallies, columns=columns, states=states)

    def translations(self) -> Iterator[tuple[Translated, ...]]:
        """For each part, the columns of contributions that all of them have."""
        for place, given in enumerate(self._given):
            yield (
                *(each.translated[place] for each in (*self._columns, *self._values)),
                *(Translated(name, name) for name in given),
            )

    def _tally(self, place: int) -> Tally:
        tallies = [own.tallies[place] for own in self._own]
        column = self._values[place]
        name = column.key.name
        guard: list[Condition] = [NotNull(name)]
        guard += [each for each in tallies[0].guard if not _of_slot(each)]
        counted = any(each.keep is Keep.COUNT for each in tallies)
        keys = (*(each.key for each in self._columns), replace(column.key, null_of=None))
        return replace(
            tallies[0],
            keys=keys,
            keep=Keep.COUNT if counted else Keep.FLAG,
            guard=tuple(guard),
            value=KeyOf(0, len(keys) - 1),
            shown=column.shown,
            buckets=sum(each.buckets for each in tallies),
            dense=True,
        )

    @staticmethod
    def _of_group(own: Grouping, place: int) -> _Source:
        column = own.columns[place]
        return _source(column.of, column.shown, own.groups.keys)


def _of_tally(tally: Tally) -> _Source:
    found = _source(tally.value, tally.shown, tally.keys)
    return replace(found, null=True)


def _source(of: KeyOf | Constant, shown: Slot | None, keys: Sequence[Key]) -> _Source:
    if isinstance(of, Constant):
        assert isinstance(of.value, int)
        return _Source(None, range(of.value, of.value + 1), shown, False)
    key = keys[of.key]
    assert isinstance(key.value, Field)
    numbers = range(key.low + of.offset, key.high + of.offset + 1)
    if of.offset:
        inner = shown
        shown = None if inner is None else _Moved(inner, of.offset)
        numbers = range(key.low, key.high + 1)
        shown = shown or _Moved(None, of.offset)
    return _Source(key.value.name, numbers, shown, key.null_of is not None)


@dataclass(frozen=True)
class _Moved:
    """Numbers that stand for those so much greater."""

    inner: Slot | None
    by: int

    def value(self, number: int) -> Value:
        return number + self.by if self.inner is None else self.inner.value(number + self.by)


def _shared(name: str, sources: Sequence[_Source]) -> _Shared:
    null = name if any(each.null for each in sources) else None
    low = min(each.numbers[0] for each in sources)
    high = max(each.numbers[-1] for each in sources)
    near = high - low < sum(len(each.numbers) for each in sources)
    if near and all(each.shown is None for each in sources):
        key = Key(name, Field(name), low, high, null)
        return _Shared(key, None, tuple(_as_it_is(name, each) for each in sources))
    known: dict[Any, None] = dict.fromkeys(x for each in sources for x in each.values)
    values = sorted(known)
    number = {each: place for place, each in enumerate(values)}
    key = Key(name, Field(name), 0, len(values) - 1, null)
    return _Shared(key, Listed(tuple(values)), tuple(_told(name, x, number) for x in sources))


def _as_it_is(name: str, source: _Source) -> Translated:
    first = source.numbers[0] if source.column is None else 0
    return Translated(name, source.column, first)


def _told(name: str, source: _Source, number: dict[Any, int]) -> Translated:
    table = tuple(number[each] for each in source.values)
    if source.column is None:
        return Translated(name, None, table[0])
    return Translated(name, source.column, source.numbers[0], table)


def _of_slot(condition: Condition) -> bool:
    """Whether it is about a column that parts number on their own."""
    return isinstance(condition, NotNull) and not condition.field.startswith("@given")
