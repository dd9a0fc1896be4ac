"""Reduces rows to what a shape says is kept of them, row by row and from the shape's data alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from tests.memory.by_definition import NULL, Rows, Truths, Values

from millpond.memory import Attribute, Function, Part, Shape, Side
from millpond.order import Bound

Bucket = tuple[int, tuple[int | None, ...]]
"""A part, and a value of each of its keys; None is NULL."""


@dataclass(frozen=True)
class Reduced:
    """For each row of an input: the part that takes it, its bucket there, and its best values."""

    part: NDArray[np.int64]
    """-1 where no part takes the row."""
    buckets: list[Bucket]
    bests: list[tuple[int, ...]]
    """Greater is better, for either side."""

    def groups(self) -> dict[Bucket, NDArray[np.int64]]:
        """The rows of each bucket."""
        found: dict[Bucket, list[int]] = defaultdict(list)
        for place in np.flatnonzero(self.part >= 0).tolist():
            found[self.buckets[place]].append(place)
        return {bucket: np.array(places) for bucket, places in found.items()}


def reduce_rows(shape: Shape, rows: Rows) -> Reduced:
    """Where the rows of an input go; a row that two parts take is an error."""
    stream = next(each for each in shape.streams if each.alias == rows.alias)
    part = np.full(len(rows), -1, dtype=np.int64)
    buckets: list[Bucket] = [(-1, ())] * len(rows)
    bests: list[tuple[int, ...]] = [()] * len(rows)
    for number, each in enumerate(stream.parts):
        taken = _taken(shape, each, rows)
        assert (part[taken] == -1).all(), f"parts of {rows.alias} overlap"
        part[taken] = number
        places = np.flatnonzero(taken)
        keys = [bucket_values(key, rows, places) for key in each.keys]
        values = [_best_values(best, rows, places) for best in each.bests]
        for at, place in enumerate(places.tolist()):
            buckets[place] = (number, tuple(key[at] for key in keys))
            bests[place] = tuple(value[at] for value in values)
    return Reduced(part, buckets, bests)


def attribute(column: str) -> Attribute:
    alias, _, name = column.partition(".")
    return Attribute(alias, name)


def bucket_values(key: Function, rows: Rows, places: NDArray[np.int64]) -> list[int | None]:
    """The values of a key for some of the rows, clamped to its interval; None is NULL."""
    assert key.finite, f"{key} has no bound"
    found: list[int | None] = []
    for value in _values_of(key, rows, places):
        if value is None:
            assert key.null_slot, f"{key} has no place for NULL"
            found.append(None)
            continue
        clamped = _clamped(key, value)
        assert clamped in key.clamp, f"{value} is outside {key}"
        found.append(clamped)
    return found


def _best_values(best: Function, rows: Rows, places: NDArray[np.int64]) -> list[int]:
    found = []
    for value in _values_of(best, rows, places):
        assert value is not None, f"NULL in {best}"
        clamped = _clamped(best, value)
        found.append(-clamped if best.side is Side.LOW else clamped)
    return found


def _clamped(function: Function, value: int) -> int:
    """A LOW function is clamped from below, a HIGH one from above: a tail is one value."""
    low, high = function.clamp.low, function.clamp.high
    if function.side is Side.LOW and low is not None:
        return max(value, low)
    if function.side is Side.HIGH and high is not None:
        return min(value, high)
    return value


def _values_of(
    function: Function, rows: Rows, places: NDArray[np.int64]
) -> list[int | None] | list[int]:
    """`x`, `max(x1 + o1, ...)` or `min(x1 + o1, ...)` of some of the rows."""
    terms = [(rows.of(str(each))[places], offset) for each, offset in function.terms]
    if function.side is Side.EXACT:
        ((values, offset),) = terms
        return [None if each == NULL else each + offset for each in values.tolist()]
    assert not any((values == NULL).any() for values, _ in terms), f"NULL in {function}"
    moved: list[Values] = [values + offset for values, offset in terms]
    merged: Values = (np.max if function.side is Side.LOW else np.min)(np.stack(moved), axis=0)
    return list(merged.tolist())


def _taken(shape: Shape, part: Part, rows: Rows) -> Truths:
    """Which rows pass the filters of a part."""
    own = [attribute(each) for each in rows.columns]
    found = _meets(rows, part.predicate.restrict(own).atoms())
    for each in rows.columns:
        if attribute(each) in shape.query.compared:
            found &= rows.of(each) != NULL
    return found


def _meets(rows: Rows, bounds: Iterable[Bound[Attribute]]) -> Truths:
    """Which rows meet bounds between their columns; NULL passes, as it passes a CHECK."""
    found = np.ones(len(rows), dtype=np.bool_)
    for x, y, c in bounds:
        left, right = (
            rows.of(str(each)) if isinstance(each, Attribute) else np.zeros(len(rows), np.int64)
            for each in (x, y)
        )
        found &= (left - right <= c) | (left == NULL) | (right == NULL)
    return found
