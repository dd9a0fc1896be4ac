"""Batches of rows that go in, and changes that come out: columns, instants, multiplicities.

Inside an instant a delta is a bag; `consolidate` makes it one row for each different row, in the
order of the contract, so that two runs print the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from millpond.plan.functions import EvaluationError
from millpond.schema import Row

IntArray = np.ndarray[Any, np.dtype[Any]]

_LARGEST = 2**63 - 1


@dataclass(frozen=True)
class Columns:
    """Rows of one stream: a 64-bit column each, and where it is NULL.

    A column that 64 bits are not enough for is one of Python's integers, or of places.
    """

    values: dict[str, IntArray]
    nulls: dict[str, IntArray]
    size: int

    @classmethod
    def of(cls, names: Sequence[str], rows: Sequence[Sequence[int | None]]) -> Columns:
        """Columns of rows given as sequences in the order of `names`."""
        values, nulls = {}, {}
        transposed = list(zip(*rows, strict=True)) if rows else [()] * len(names)
        for name, column in zip(names, transposed, strict=True):
            if None in column:
                nulls[name] = np.fromiter((v is None for v in column), np.uint8, len(column))
                column = tuple(0 if v is None else v for v in column)
            else:
                nulls[name] = np.zeros(len(column), dtype=np.uint8)
            values[name] = np.array(column, dtype=np.int64)
        return cls(values, nulls, len(rows))


@dataclass(frozen=True)
class Batch:
    """Rows of several streams in order of arrival.

    `stream` and `row` say of each which stream of the program's inputs it belongs to and which
    row of that stream's columns it is; `at` its instant.  Up to and with the instant `upto`
    nothing is missing: instants without rows, too, are over.
    """

    stream: IntArray
    row: IntArray
    at: IntArray
    columns: tuple[Columns, ...]
    upto: int
    rows: tuple[Sequence[Row], ...] = ()
    """The rows of each stream as they are, where the program asks for them."""
    failed: tuple[int, EvaluationError] | None = None
    """The instant after those of the batch, where an expression of the program has no value."""
    tick: int | None = None
    """The first instant without a row, if there is one."""

    @property
    def first(self) -> int | None:
        """The first instant."""
        known = [*self.at[:1].tolist(), *([] if self.tick is None else [self.tick])]
        return min(known, default=None)

    def __len__(self) -> int:
        return len(self.at)

    def slice(self, start: int, stop: int) -> Batch:
        """Some of the rows, columns shared; the cut has to fall between two instants."""
        last = stop >= len(self)
        return replace(
            self,
            stream=self.stream[start:stop],
            row=self.row[start:stop],
            at=self.at[start:stop],
            upto=self.upto if last else int(self.at[stop - 1]),
        )

    def with_instants(self, at: IntArray) -> Batch:
        """The same rows at other instants, in the same order."""
        return replace(self, at=at, upto=int(at[-1]) if len(at) else self.upto)


@dataclass(frozen=True)
class Delta:
    """Changes: rows with the instant they belong to and a multiplicity (negative: rows leave)."""

    names: tuple[str, ...]
    values: tuple[IntArray, ...]
    nulls: tuple[IntArray | None, ...]
    at: IntArray
    weight: IntArray
    """64-bit, or Python integers where some multiplicity may not fit."""

    @classmethod
    def empty(cls, names: tuple[str, ...]) -> Delta:
        none = np.zeros(0, dtype=np.int64)
        return cls(names, tuple(none for _ in names), tuple(None for _ in names), none, none)

    def __len__(self) -> int:
        return len(self.at)

    @classmethod
    def concat(cls, names: tuple[str, ...], deltas: Sequence[Delta]) -> Delta:
        """One delta after the other."""
        deltas = [each for each in deltas if len(each)]
        if not deltas:
            return cls.empty(names)
        if len(deltas) == 1:
            return deltas[0]
        nulls = []
        for place in range(len(names)):
            masks = [each.nulls[place] for each in deltas]
            nulls.append(
                None
                if all(mask is None for mask in masks)
                else np.concatenate(
                    [
                        np.zeros(len(each), dtype=bool) if mask is None else mask
                        for each, mask in zip(deltas, masks, strict=True)
                    ]
                )
            )
        return cls(
            names,
            tuple(np.concatenate([each.values[i] for each in deltas]) for i in range(len(names))),
            tuple(nulls),
            np.concatenate([each.at for each in deltas]),
            np.concatenate([each.weight for each in deltas]),
        )

    def consolidate(self) -> Delta:
        """Equal rows of an instant added up, and everything in the order of the contract."""
        if len(self) < 2 or bool(np.all(self.at[1:] > self.at[:-1])):
            return self._without_zeros()
        if any(each.dtype == object for each in self.values):
            return self._consolidated_values()
        by: list[IntArray] = []
        for value, null in zip(reversed(self.values), reversed(self.nulls), strict=True):
            by.append(value if null is None else np.where(null, 0, value))
            if null is not None:
                by.append(~null.astype(bool))
        order = np.lexsort([*by, self.at])
        ordered = self._take(order)
        new = np.ones(len(self), dtype=bool)
        new[1:] = ordered.at[1:] != ordered.at[:-1]
        for value, null in zip(ordered.values, ordered.nulls, strict=True):
            if null is None:
                new[1:] |= value[1:] != value[:-1]
            else:
                new[1:] |= (null[1:] != null[:-1]) | (
                    (value[1:] != value[:-1]) & ~null[1:].astype(bool)
                )
        starts = np.flatnonzero(new)
        if len(starts) == len(self):
            return ordered._without_zeros()._minus_first()
        weight = ordered.weight
        if weight.dtype != object and _may_overflow(weight):
            weight = weight.astype(object)
        return (
            ordered._take(starts, np.add.reduceat(weight, starts))._without_zeros()._minus_first()
        )

    def _consolidated_values(self) -> Delta:
        """The same where columns hold values of any type."""
        numbers: dict[tuple[int, Row], int] = {}
        weights: list[int] = []
        places: list[int] = []
        for place, (row, n, at) in enumerate(self.rows()):
            number = numbers.setdefault((at, row), len(numbers))
            if number == len(weights):
                weights.append(0)
                places.append(place)
            weights[number] += n
        order = sorted(
            (at, weights[number] > 0, [(each is not None, each) for each in row], number)
            for (at, row), number in numbers.items()
            if weights[number]
        )
        ordered = [number for *_, number in order]
        large = any(abs(each) > _LARGEST for each in weights)
        weight = np.array(weights, dtype=object if large else np.int64)
        return self._take(np.array([places[each] for each in ordered], np.int64), weight[ordered])

    def in_order(self) -> Delta:
        """The same, one instant after the other."""
        if bool(np.all(self.at[1:] >= self.at[:-1])):
            return self
        return self._take(np.argsort(self.at, kind="stable"))

    def at_instant(self, instant: int) -> Delta:
        """The same changes, all of one instant (coarser instants are the finer, consolidated)."""
        return Delta(
            self.names,
            self.values,
            self.nulls,
            np.full(len(self), instant, dtype=np.int64),
            self.weight,
        ).consolidate()

    def rows(self) -> Iterator[tuple[tuple[int | None, ...], int, int]]:
        """Each row with its multiplicity and its instant."""
        columns: list[list[int | None]] = []
        for value, null in zip(self.values, self.nulls, strict=True):
            column: list[int | None] = value.tolist()
            if null is not None:
                column = [
                    None if is_null else each for each, is_null in zip(column, null, strict=True)
                ]
            columns.append(column)
        rows = zip(*columns, strict=True)
        yield from zip(rows, self.weight.tolist(), self.at.tolist(), strict=True)

    def _take(self, places: IntArray, weight: IntArray | None = None) -> Delta:
        return Delta(
            self.names,
            tuple(each[places] for each in self.values),
            tuple(None if each is None else each[places] for each in self.nulls),
            self.at[places],
            self.weight[places] if weight is None else weight,
        )

    def _without_zeros(self) -> Delta:
        kept = self.weight != 0
        return self if bool(np.all(kept)) else self._take(np.flatnonzero(kept))

    def _minus_first(self) -> Delta:
        """All `-` of an instant before all `+`, the order of rows kept."""
        plus = self.weight > 0
        if bool(np.all(plus)):
            return self
        return self._take(np.lexsort([plus.astype(np.int8), self.at]))


def _may_overflow(weight: IntArray) -> bool:
    return float(np.abs(weight.astype(np.float64)).sum()) > 2.0**62
