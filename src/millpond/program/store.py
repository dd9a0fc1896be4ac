"""The state of a program: a store of buckets for each synopsis, and the set of rows given.

A *dense* store is a handful of arrays in which a bucket's place says its key; a *keyed* store,
for key spaces too large for that, holds each bucket under its place.  Both are read and written
through the same indexing, so that one step serves both.  `units` counts what is held: values, and
the keys of keyed stores (Arasu, section 3.1).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from millpond.program.near import NOWHERE, Near
from millpond.program.operator import Keep, Key

if TYPE_CHECKING:
    from millpond.program.operator import EmittedSet, Reduction, RowSet

Held = tuple[Any, ...]
"""What a bucket holds: its key's coordinates (None for NULL) and values; or a row given."""

MARKED = (Keep.EXTREME, Keep.AGGREGATE)
"""What holds numbers of which 0 is one: a bucket is marked when it holds something."""

LARGEST = 2**63 - 1
"""The largest count of the compiled steps; beyond it, stores are widened."""


class KeyedArray(dict[int, Any]):
    """An array that holds only what was written; the rest is 0, or no place at all."""

    def __init__(self, nothing: int | Near = 0) -> None:
        super().__init__()
        self.nothing = nothing

    def __missing__(self, place: int) -> Any:
        return self.nothing


Array = np.ndarray[Any, np.dtype[Any]] | KeyedArray


@dataclass
class Store:
    """The buckets of one reduction, or of the set of rows given."""

    spec: Reduction | EmittedSet | RowSet
    values: list[Array]
    present: Array
    """Whether a bucket of extremes or aggregates holds any; counts and flags say so themselves."""
    wide: bool = False

    @classmethod
    def of(cls, spec: Reduction | EmittedSet) -> Store:
        """An empty store."""
        marked = spec.keep in MARKED
        nothing: list[int | Near] = [0 if best.whole else NOWHERE for best in spec.bests]
        for each in getattr(spec, "held", ()) if spec.keep is Keep.AGGREGATE else ():
            nothing += [NOWHERE if each.text else 0, *([0] * (len(each.arrays) - 1))]
        nothing += [0] * (spec.values - len(nothing))
        if not spec.dense:
            return cls(spec, [KeyedArray(each) for each in nothing], KeyedArray())
        size = 0 if spec.keep is Keep.NOTHING else spec.slots
        return cls(
            spec,
            [_filled(size, each) for each in nothing],
            np.zeros(size if marked else 0, dtype=np.uint8),
        )

    def places(self) -> Iterator[int]:
        """The buckets that hold something, in order."""
        if self.spec.keep is Keep.NOTHING:
            return
        held = self.present if self.spec.keep in MARKED else self.values[0]
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

    def table(self) -> tuple[list[str], list[Held]]:
        """Named columns and a row for each bucket that holds something."""
        names = [*(key.name for key in self.spec.keys), *self.spec.columns]
        rows = [
            (*self.coordinates(place), *(_plain(each[place]) for each in self.values))
            for place in self.places()
        ]
        return names, rows

    def put(self, row: Sequence[Any]) -> int:
        """Takes back a row of `table`; the number of units that it holds."""
        count = len(self.spec.keys)
        place = encode(self.spec.keys, row[:count])
        for each, value in zip(self.values, row[count:], strict=True):
            if value is None:
                raise ValueError("a bucket holds no NULL")
            if not isinstance(value, Near) and abs(value) > LARGEST and not self.wide:
                self.widen()
                return self.put(row)
            each[place] = value
        if self.spec.keep in MARKED:
            self.present[place] = 1
        return self.units_per_bucket

    @property
    def units_per_bucket(self) -> int:
        return self.spec.units + (0 if self.spec.dense else len(self.spec.keys))


@dataclass
class RowStore(Store):
    """The rows already given, as they are."""

    width: int = 0
    given: dict[Held, None] = field(default_factory=dict)

    @classmethod
    def for_rows(cls, spec: RowSet) -> RowStore:
        """An empty one."""
        return cls(spec, [], KeyedArray(), width=spec.width)

    def places(self) -> Iterator[int]:
        yield from range(len(self.given))

    def widen(self) -> None:
        self.wide = True

    def table(self) -> tuple[list[str], list[Held]]:
        rows = sorted(self.given, key=lambda row: [(each is not None, each) for each in row])
        return [f"column{k}" for k in range(1, self.units_per_bucket)], rows

    def put(self, row: Sequence[Any]) -> int:
        self.given[tuple(row)] = None
        return self.units_per_bucket

    @property
    def units_per_bucket(self) -> int:
        """A row holds its values, and that it was given."""
        return 1 + self.width


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

    def tables(self) -> list[tuple[list[str], list[Held]]]:
        """Everything that is held, as named columns: the same on every engine."""
        return [each.table() for each in self.stores]

    def fill(self, tables: Sequence[Sequence[Sequence[Any]]]) -> None:
        """Takes back the rows of `tables`."""
        for number, (store, rows) in enumerate(zip(self.stores, tables, strict=True)):
            for row in rows:
                store.put(row)
            self.filled[number] = len(rows)
        if self.wide:
            self.widen()  # all stores or none: a step over wide numbers takes no 64-bit arrays


def _filled(size: int, nothing: int | Near) -> Array:
    """An array of nothing; zeros take memory only where they are written to."""
    if isinstance(nothing, int):
        return np.zeros(size, dtype=np.int64)
    return np.full(size, nothing, dtype=object)


def _plain(value: Any) -> Any:
    return value if isinstance(value, Near) else int(value)


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
