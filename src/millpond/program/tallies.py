"""What is made of a tally: of the values of a column in a group, and of how often each came."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from millpond.plan import AGGREGATES
from millpond.plan.folds import Fold, denominator
from millpond.program.delta import IntArray
from millpond.program.grouping import Grouping, Tally
from millpond.program.number_arrays import narrow, reach
from millpond.program.operator import Keep, KeyOf
from millpond.program.store import KeyedArray, Store, strides
from millpond.schema import Value

_AT_ONCE = 1_000_000
"""So many flags are looked at at once."""

DERIVED = (Fold.COUNT, Fold.SUM, Fold.SQUARES)
"""The folds that are made of a tally."""

FOLDED = frozenset(
    ("COUNT", "SUM", "AVG", "VAR_SAMP", "VAR_POP", "STDDEV_SAMP", "STDDEV_POP")
)  # fmt: skip
"""The functions that those are enough for; MEDIAN has to know the middle."""


@dataclass
class Values:
    """The values that a tally counts: numbered by the coordinate of their own key."""

    tally: Tally
    grouping: Grouping
    _medians: dict[tuple[int, int], Value] = field(default_factory=dict)

    @property
    def own(self) -> bool:
        """Whether values have a key of their own; else a group has one value alone."""
        return len(self.tally.keys) > len(self.grouping.groups.keys)

    @property
    def counted(self) -> bool:
        return self.tally.keep is Keep.COUNT

    @property
    def slots(self) -> int:
        """How many places of groups there are: places of values lie so far apart."""
        return self.grouping.groups.slots

    @property
    def size(self) -> int:
        """How many values a group can have."""
        return self.tally.keys[-1].size if self.own else 1

    def of_place(self, place: int) -> int:
        """The number of the value that a bucket of the tally stands for."""
        of = self.tally.value
        if not isinstance(of, KeyOf):
            assert isinstance(of.value, int)
            return of.value
        key = self.tally.keys[of.key]
        return int(place // strides(self.tally.keys)[of.key] % key.size + key.low + of.offset)

    @cached_property
    def scaled(self) -> IntArray:
        """Where values have a key of their own: each as an integer over the type's denominator."""
        numbers = (self.of_place(digit * self.slots) for digit in range(self.size))
        found = np.empty(self.size, dtype=object)
        found[:] = [self.integer(each) for each in numbers]
        return narrow(found)

    def integer(self, number: int) -> int:
        """A value as an integer over the denominator of its type."""
        value = self.value(number)
        if isinstance(value, str) or value is None:
            return 0  # only counted
        above, under = value.as_integer_ratio()
        return above * (denominator(self.tally.type) // under)

    def value(self, number: int) -> Value:
        return number if self.tally.shown is None else self.tally.shown.value(number)

    def median(self, low: int, high: int) -> Value:
        """The median between the middle two, by the places of their buckets."""
        key = self.of_place(low), self.of_place(high)
        if key not in self._medians:
            values = [self.value(each) for each in key]
            self._medians[key] = AGGREGATES["MEDIAN"].compute(values)
        return self._medians[key]

    def held(self, store: Store, group: int) -> list[tuple[int, int]]:
        """The buckets of a group that hold something, in the order of values, and how often."""
        counts = store.values[0]
        if isinstance(counts, KeyedArray):
            mine = ((place, n) for place, n in counts.items() if n and place % self.slots == group)
            return sorted(mine)
        places = np.arange(group, self.slots * self.size, self.slots)
        of = counts[places]
        there = np.flatnonzero(of)
        return list(zip(places[there].tolist(), of[there].tolist(), strict=True))

    def folds(self, store: Store, groups: IntArray) -> dict[Fold, IntArray]:
        """Numbers of some groups, over each value once, or as often as it came."""
        counts = store.values[0]
        if self.own and not isinstance(counts, KeyedArray) and not self.counted:
            fast = self._flagged(counts, groups)
            if fast is not None:
                return fast
        found = {fold: np.zeros(len(groups), dtype=object) for fold in DERIVED}
        for at, held in enumerate(self._of_groups(store, groups)):
            for place, times in held:
                n = times if self.counted else 1
                value = self.integer(self.of_place(place))
                found[Fold.COUNT][at] += n
                found[Fold.SUM][at] += n * value
                found[Fold.SQUARES][at] += n * value * value
        return {fold: narrow(each) for fold, each in found.items()}

    def _flagged(self, flags: IntArray, groups: IntArray) -> dict[Fold, IntArray] | None:
        """The same over flags in their places, where 64 bits hold the sums."""
        most = reach(self.scaled)
        if most * most * self.size >= 2.0**62:
            return None
        squares = self.scaled * self.scaled
        found = {fold: np.zeros(len(groups), dtype=np.int64) for fold in DERIVED}
        step = max(1, _AT_ONCE // self.size)
        values = np.arange(0, self.slots * self.size, self.slots)
        for start in range(0, len(groups), step):
            some = slice(start, start + step)
            there = flags[groups[some, None] + values] != 0
            found[Fold.COUNT][some] = there.sum(axis=1)
            found[Fold.SUM][some] = there @ self.scaled
            found[Fold.SQUARES][some] = there @ squares
        return found

    def middles(
        self, store: Store, groups: IntArray, place: IntArray, times: IntArray
    ) -> list[Value] | None:
        """The median of each group as it is stored, and then with values that came so often; None
        where values have no places of their own, or there are too many to look at once."""
        held = store.values[0]
        many = len(groups) * self.size > _AT_ONCE
        if isinstance(held, KeyedArray) or many or object in (held.dtype, times.dtype):
            return None
        if reach(held) * self.size + reach(times) * len(times) > 2.0**62:
            return None
        places = groups[:, None] + np.arange(0, self.slots * self.size, self.slots)
        before = held[places]
        after = before.copy()
        group = np.searchsorted(groups, place % self.slots)
        np.add.at(after, (group, place // self.slots), times)
        found: list[Value] = []
        for counts in (before, after):
            below = np.cumsum(counts, axis=1)
            total = below[:, -1]
            low, high = (
                (below <= rank[:, None]).sum(axis=1) for rank in ((total - 1) // 2, total // 2)
            )
            for at, group_, one, other in zip(
                total.tolist(), groups.tolist(), low.tolist(), high.tolist(), strict=True
            ):
                ends = (group_ + self.slots * each for each in (one, other))
                found.append(self.median(*ends) if at else None)
        return found

    def _of_groups(self, store: Store, groups: IntArray) -> Iterator[list[tuple[int, int]]]:
        counts = store.values[0]
        if not isinstance(counts, KeyedArray):
            yield from (self.held(store, group) for group in groups.tolist())
            return
        index: dict[int, list[tuple[int, int]]] = {group: [] for group in groups.tolist()}
        for place, n in counts.items():
            if n and place % self.slots in index:
                index[place % self.slots].append((place, n))
        yield from (sorted(index[group]) for group in groups.tolist())


class Cursor:
    """The middle of the values of a group, which moves as values come."""

    def __init__(self, values: Values, held: Sequence[tuple[int, int]]) -> None:
        self._values = values
        self._counts: dict[int, int] = dict(held)
        self._places = sorted(self._counts)
        self._total = sum(self._counts.values())
        self._at = 0
        self._below = 0

    def add(self, place: int, times: int) -> None:
        """A value came so often."""
        if place not in self._counts:
            if self._places and place < self._places[self._at]:
                self._at += 1
            insort(self._places, place)
            self._counts[place] = 0
        self._counts[place] += times
        self._total += times
        if place < self._places[self._at]:
            self._below += times

    def median(self) -> Value:
        """The average of the middle two."""
        if not self._total:
            return None
        low = self._move((self._total - 1) // 2)
        high = self._move(self._total // 2)
        return self._values.median(low, high)

    def _move(self, rank: int) -> int:
        """The bucket of the value of a rank, counted from 0."""
        while self._below > rank:
            self._at -= 1
            self._below -= self._counts[self._places[self._at]]
        while self._below + self._counts[self._places[self._at]] <= rank:
            self._below += self._counts[self._places[self._at]]
            self._at += 1
        return self._places[self._at]
