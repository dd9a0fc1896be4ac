"""Contributions to groups, as arrays: the group of each, and how it changes the numbers of that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from millpond.plan.folds import Fold
from millpond.plan.functions import EvaluationError
from millpond.program.accumulator import Accumulator
from millpond.program.delta import Delta, IntArray
from millpond.program.expression import Compare, Condition, Field, Int, IsNull, NotNull, Number
from millpond.program.number_arrays import There, both, narrow, times, where
from millpond.program.operator import Key
from millpond.program.store import strides
from millpond.program.vector import COMPARE


@dataclass(frozen=True)
class Contributions:
    """Rows of the groups' columns and of what the aggregates are of."""

    delta: Delta
    failed: tuple[int, EvaluationError] | None = None
    """The instant after those, where an expression has no value."""

    def __len__(self) -> int:
        return len(self.delta)

    @cached_property
    def once(self) -> bool:
        """Whether each stands for one row."""
        weight = self.delta.weight
        if weight.strides == (0,) and len(weight):
            return bool(weight[0] == 1)
        return bool(np.all(weight == 1))

    @cached_property
    def counted(self) -> There:
        """Which contributions stand for a row at all."""
        return None if self.once else (self.delta.weight != 0).astype(bool)

    def take(self, places: IntArray) -> Contributions:
        delta = self.delta
        return Contributions(
            Delta(
                delta.names,
                tuple(each[places] for each in delta.values),
                tuple(None if each is None else each[places] for each in delta.nulls),
                delta.at[places],
                delta.weight[places],
            )
        )

    def column(self, name: str) -> IntArray:
        return self.delta.values[self.delta.names.index(name)]

    def null(self, name: str) -> IntArray | None:
        return self.delta.nulls[self.delta.names.index(name)]

    def number(self, of: Number) -> IntArray:
        match of:
            case Field(name):
                return self.column(name)
            case Int(value):
                return narrow(np.full(len(self), value, dtype=object))
        raise TypeError(f"{of} is no column of a contribution")

    def place(self, keys: Sequence[Key]) -> IntArray:
        """The bucket that each belongs to."""
        total: IntArray | None = None
        for key, stride in zip(keys, strides(keys), strict=True):
            digit = self.number(key.value)
            digit = digit - key.low if key.low else digit
            null = None if key.null_of is None else self.null(key.null_of)
            digit = digit if null is None else np.where(null, key.size - 1, digit)
            digit = digit if stride == 1 else digit * stride
            total = digit if total is None else total + digit
        if total is None:
            return np.zeros(len(self), dtype=np.int64)
        return total.astype(np.int64, copy=False)

    def passing(self, guard: Sequence[Condition]) -> There:
        """Which of them stand for rows that pass some conditions."""
        found = self.counted
        for each in guard:
            found = both(found, self._holds(each))
        return found

    def _holds(self, condition: Condition) -> There:
        match condition:
            case NotNull(name):
                null = self.null(name)
                return None if null is None else ~null.astype(bool)
            case IsNull(name):
                null = self.null(name)
                return np.zeros(len(self), bool) if null is None else null.astype(bool)
            case Compare(op, left, right):
                held: IntArray = COMPARE[op](self.number(left), self.number(right))
                return held.astype(bool)

    def changes(self, held: Accumulator) -> tuple[IntArray, There]:
        """What each adds to a number, or sets against it; and which have a value for it."""
        there = self.passing(held.guard)
        if held.value is None or (held.fold is Fold.COUNT and not held.folded):
            return where(there, self.delta.weight), there
        value = where(there, self.number(held.value))
        if held.folded or not held.fold.adds:
            return value, there
        if held.fold is Fold.SQUARES:
            value = times(value, value)
        return value if self.once else times(value, self.delta.weight), there
