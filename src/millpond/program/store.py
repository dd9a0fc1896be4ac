"""The state of a program: a store of buckets for each synopsis, and the set of rows given.

A *dense* store is a handful of arrays in which a bucket's place says its key; a *keyed* store,
for key spaces too large for that, holds each bucket under its place.  Both are read and written
through the same indexing, so that one step serves both.  `units` counts what is held: values, and
the keys of keyed stores (Arasu, section 3.1).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from millpond.program.operator import Keep, Key

if TYPE_CHECKING:
    from millpond.program.operator import EmittedSet, Reduction

LARGEST = 2**63 - 1
"""The largest count of the compiled steps; beyond it, stores are widened."""


class KeyedArray(dict[int, int]):
    """An array that holds only what was written; the rest is 0."""

    def __missing__(self, place: int) -> int:
        return 0


Array = np.ndarray[Any, np.dtype[Any]] | KeyedArray


@dataclass
class Store:
    """The buckets of one reduction, or of the set of rows given."""

    spec: Reduction | EmittedSet
    values: list[Array]
    present: Array
    """Whether a bucket of extremes holds any; for counts and flags the value itself says so."""
    wide: bool = False

    @classmethod
    def of(cls, spec: Reduction | EmittedSet) -> Store:
        """An empty store."""
        extreme = spec.keep is Keep.EXTREME
        if not spec.dense:
            return cls(spec, [KeyedArray() for _ in range(spec.values)], KeyedArray())
        size = 0 if spec.keep is Keep.NOTHING else spec.slots
        return cls(
            spec,
            [np.zeros(size, dtype=np.int64) for _ in range(spec.values)],
            np.zeros(size if extreme else 0, dtype=np.uint8),
        )

    def places(self) -> Iterator[int]:
        """The buckets that hold something, in order."""
        if self.spec.keep is Keep.NOTHING:
            return
        held = self.present if self.spec.keep is Keep.EXTREME else self.values[0]
        if isinstance(held, KeyedArray):
            yield from sorted(place for place, value in held.items() if value)
        else:
            yield from np.flatnonzero(held).tolist()

    def widen(self) -> None:
        """Counts of any size from here on."""
        self.values = [
            each if isinstance(each, KeyedArray) else each.astype(object) for each in self.values
        ]
        self.wide = True

    def coordinates(self, place: int) -> tuple[int | None, ...]:
        """The key of a bucket: the value of each coordinate, None for NULL."""
        return decode(self.spec.keys, place)

    def table(self) -> tuple[list[str], list[tuple[int | None, ...]]]:
        """Named columns and a row for each bucket that holds something."""
        value_names = [best.name for best in self.spec.bests] or [self.spec.keep.value]
        names = [key.name for key in self.spec.keys] + value_names
        rows = [
            (*self.coordinates(place), *(int(each[place]) for each in self.values))
            for place in self.places()
        ]
        return names, rows

    def put(self, row: Sequence[int | None]) -> int:
        """Takes back a row of `table`; the number of units that it holds."""
        count = len(self.spec.keys)
        place = encode(self.spec.keys, row[:count])
        for each, value in zip(self.values, row[count:], strict=True):
            if value is None:
                raise ValueError("a bucket holds no NULL")
            if value > LARGEST and not self.wide:
                self.widen()
                return self.put(row)
            each[place] = value
        if self.spec.keep is Keep.EXTREME:
            self.present[place] = 1
        return self.units_per_bucket

    @property
    def units_per_bucket(self) -> int:
        return self.spec.values + (0 if self.spec.dense else len(self.spec.keys))


class State:
    """The stores of a program, and how many buckets each has filled."""

    def __init__(self, fingerprint: str, stores: list[Store]) -> None:
        self.fingerprint = fingerprint
        self.stores = stores
        self.filled = np.zeros(len(stores), dtype=np.int64)

    @property
    def wide(self) -> bool:
        return any(each.wide for each in self.stores)

    def widen(self) -> None:
        for each in self.stores:
            each.widen()

    def units(self) -> int:
        """What is held now: attribute values and counts."""
        return sum(
            int(filled) * store.units_per_bucket
            for filled, store in zip(self.filled, self.stores, strict=True)
        )

    def tables(self) -> list[tuple[list[str], list[tuple[int | None, ...]]]]:
        """Everything that is held, as named columns: the same on every engine."""
        return [each.table() for each in self.stores]

    def fill(self, tables: Sequence[Sequence[Sequence[int | None]]]) -> None:
        """Takes back the rows of `tables`."""
        for number, (store, rows) in enumerate(zip(self.stores, tables, strict=True)):
            for row in rows:
                store.put(row)
            self.filled[number] = len(rows)


def strides(keys: Sequence[Key]) -> list[int]:
    """How far apart the places of neighbours in each coordinate are."""
    found, stride = [], 1
    for key in keys:
        found.append(stride)
        stride *= key.size
    return found


def encode(keys: Sequence[Key], values: Sequence[int | None]) -> int:
    """The place of a bucket."""
    place = 0
    for key, stride, value in zip(keys, strides(keys), values, strict=True):
        place += stride * (key.size - 1 if value is None else value - key.low)
    return place


def decode(keys: Sequence[Key], place: int) -> tuple[int | None, ...]:
    """The key of a bucket."""
    found: list[int | None] = []
    for key in keys:
        place, digit = divmod(place, key.size)
        null = key.null_of is not None and digit == key.size - 1
        found.append(None if null else key.low + digit)
    return tuple(found)
