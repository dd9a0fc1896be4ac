"""Records: a group at an instant that touches it, and the contributions of each.

Contributions of several instants are put in order of their groups; those of one instant are added
up by group as they come.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from millpond.plan.folds import Fold
from millpond.program import by_cell
from millpond.program.delta import IntArray
from millpond.program.number_arrays import There, narrow, room_for_sums, wide


@dataclass(frozen=True)
class Records:
    """Records in order of their groups, and within a group of their instants."""

    at: IntArray
    """The instant of each."""
    segment: IntArray
    """The number of the group of each."""
    first: IntArray
    """The first record of each group."""
    groups: IntArray
    """The place of each group."""
    order: IntArray | None
    """The order of contributions in which records follow one another; None if it does not matter.
    """
    starts: IntArray
    """Where records start among contributions in that order."""
    of_each: IntArray
    """The record of each contribution in that order."""

    @cached_property
    def last(self) -> IntArray:
        """The last record of each group."""
        return np.append(self.first[1:], len(self.at)) - 1

    def of_group(self, groups: IntArray) -> IntArray:
        """The records of groups at some places, where each has one."""
        return np.searchsorted(self.groups, groups)

    def sums(self, values: IntArray) -> IntArray:
        """What is added in each record."""
        if self.order is None:
            return by_cell.sums(self.of_each, values, len(self.at))
        found: IntArray = np.add.reduceat(room_for_sums(values), self.starts)
        return found

    def counts(self, there: There) -> IntArray:
        """How many contributions of each record are there."""
        if self.order is None:
            return by_cell.counts(self.of_each, there, len(self.at))
        if there is None:
            return np.diff(np.append(self.starts, len(self.of_each)))
        found: IntArray = np.add.reduceat(there.astype(np.int64), self.starts)
        return found

    def best(self, fold: Fold, values: IntArray, there: There) -> tuple[IntArray, IntArray]:
        """The best value that is there in each record, and whether there is one."""
        found = by_cell.best(fold, self.of_each, values, there, len(self.at))
        return found, self.counts(there) > 0

    def running(self, sums: IntArray, before: IntArray) -> IntArray:
        """After each record: what is added in it and before it, to what its group had."""
        sums = room_for_sums(sums, before)
        if sums.dtype == object:
            before = wide(before)
        if len(self.first) == len(self.at):
            return narrow(sums + before)
        total = np.cumsum(sums)
        start = (total - sums)[self.first]
        return narrow(total - start[self.segment] + before[self.segment])


def records_of(place: IntArray, at: IntArray, slots: int) -> Records:
    """The records of contributions of groups at some places, in order of their instants."""
    if at[0] == at[-1]:
        groups, of = by_cell.numbered(place, slots)
        each = np.arange(len(groups))
        return Records(np.full(len(groups), at[0]), each, each, groups, None, each, of)
    order = np.argsort(place.astype(np.uint16) if slots <= 1 << 16 else place, kind="stable")
    place, at = place[order], at[order]
    fresh = np.ones(len(place), dtype=bool)
    fresh[1:] = place[1:] != place[:-1]
    starting = fresh.copy()
    starting[1:] |= at[1:] != at[:-1]
    starts = np.flatnonzero(starting)
    segment = np.cumsum(fresh[starts]) - 1
    first = np.flatnonzero(fresh[starts])
    of_each = np.cumsum(starting) - 1
    return Records(at[starts], segment, first, place[starts][first], order, starts, of_each)
