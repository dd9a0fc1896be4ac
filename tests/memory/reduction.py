"""Reduces rows to what a shape says is kept of them, row by row and from the shape's data alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from millpond.memory import Attribute, Function, Part, Shape, Side
from millpond.order import ZERO, Bound
from tests.memory.by_definition import NULL, Rows, Truths, Values


@dataclass(frozen=True)
class Reduced:
    """For each row of an input: the part it is in, its bucket there, and its best values."""

    part: NDArray[np.int64]
    """-1 where no part takes the row."""
    buckets: list[tuple[int | None, ...]]
    bests: list[tuple[int, ...]]
    """Greater is better, for either side."""


def reduce_rows(shape: Shape, alias: str, rows: Rows) -> Reduced:
    """Where the rows of an input go; a row that two parts take is an error."""
    stream = next(each for each in shape.streams if each.alias == alias)
    part = np.full(len(rows), -1, dtype=np.int64)
    buckets: list[tuple[int | None, ...]] = [()] * len(rows)
    bests: list[tuple[int, ...]] = [()] * len(rows)
    for number, each in enumerate(stream.parts):
        taken = _taken(shape, each, rows)
        assert (part[taken] == -1).all(), f"parts of {alias} overlap"
        part[taken] = number
        places = np.flatnonzero(taken).tolist()
        keys = [bucket_values(key, rows, places) for key in each.keys]
        values = [_best_values(best, rows, places) for best in each.bests]
        for at, place in enumerate(places):
            buckets[place] = tuple(key[at] for key in keys)
            bests[place] = tuple(value[at] for value in values)
    return Reduced(part, buckets, bests)


def meets(rows: Rows, bounds: list[Bound[Attribute]], checked: frozenset[Attribute]) -> Truths:
    """Which rows meet bounds on their own columns; NULL passes a CHECK and fails a comparison."""
    found = np.ones(len(rows), dtype=np.bool_)
    for x, y, c in bounds:
        sides = [_values(each, rows) for each in (x, y) if isinstance(each, Attribute)]
        left = _values(x, rows) if isinstance(x, Attribute) else 0
        right = _values(y, rows) if isinstance(y, Attribute) else 0
        null = np.zeros(len(rows), dtype=np.bool_)
        for side in sides:
            null |= side == NULL
        found &= (left - right <= c) | null
    for column in rows.columns:
        if attribute(column) in checked:
            found &= rows.of(column) != NULL
    return found


def attribute(column: str) -> Attribute:
    alias, _, name = column.partition(".")
    return Attribute(alias, name)


def bucket_values(key: Function, rows: Rows, places: list[int]) -> list[int | None]:
    """The values of a key, clamped to its interval; None is NULL."""
    low, high = key.clamp.low, key.clamp.high
    assert low is not None, f"{key} has no least value"
    assert high is not None, f"{key} has no greatest value"
    found: list[int | None] = []
    for value in _function(key, rows, places):
        if value is None:
            assert key.null_slot, f"{key} has no place for NULL"
        elif key.side is Side.EXACT:
            assert value in key.clamp, f"{value} is outside {key}"
        found.append(None if value is None else _clamped(key, value))
    assert all(each is None or each in key.clamp for each in found), f"a value is outside {key}"
    return found


def _clamped(function: Function, value: int) -> int:
    """A LOW function is clamped from below, a HIGH one from above: the tail is one value."""
    low, high = function.clamp.low, function.clamp.high
    if function.side is Side.LOW and low is not None:
        return max(value, low)
    if function.side is Side.HIGH and high is not None:
        return min(value, high)
    return value


def _best_values(best: Function, rows: Rows, places: list[int]) -> list[int]:
    found = []
    for value in _function(best, rows, places):
        assert value is not None, f"NULL in {best}"
        clamped = _clamped(best, value)
        found.append(-clamped if best.side is Side.LOW else clamped)
    return found


def _function(function: Function, rows: Rows, places: list[int]) -> list[int | None]:
    """`x`, `max(x1 + o1, ...)` or `min(x1 + o1, ...)` of the rows at some places."""
    terms = [(_values(each, rows)[places], offset) for each, offset in function.terms]
    if function.side is Side.EXACT:
        ((values, offset),) = terms
        return [None if each == NULL else each + offset for each in values.tolist()]
    assert not any((values == NULL).any() for values, _ in terms)
    pick = np.maximum if function.side is Side.LOW else np.minimum
    merged = terms[0][0] + terms[0][1]
    for values, offset in terms[1:]:
        merged = pick(merged, values + offset)
    return list(merged.tolist())


def _taken(shape: Shape, part: Part, rows: Rows) -> Truths:
    own = [attribute(each) for each in rows.columns]
    bounds = list(part.predicate.restrict(own).atoms())
    return meets(rows, bounds, shape.query.compared)


def _values(each: Attribute, rows: Rows) -> Values:
    return rows.of(str(each))


__all__ = ["ZERO", "Reduced", "attribute", "bucket_values", "meets", "reduce_rows"]
