"""Numbers added up, or compared, by cell: exactly, and without sorting where cells are few."""

from __future__ import annotations

import numpy as np

from millpond.plan.folds import Fold
from millpond.program.delta import IntArray
from millpond.program.number_arrays import There, narrow, plus, reach, times

_EXACT = float(1 << 53)
"""Integers up to this are DOUBLEs as they are."""

_LOW = 31
"""The bits of the lower part of a number that is added up in two parts."""

_MOST = 1 << 21
"""So many upper parts, and so many lower ones, add up exactly as DOUBLEs."""


def sums(cells: IntArray, values: IntArray, size: int) -> IntArray:
    """The sum of the values of each of `size` cells."""
    if values.dtype == object:
        total = np.zeros(size, dtype=object)
        np.add.at(total, cells, values)
        return narrow(total)
    if reach(values) * len(values) < _EXACT:
        return np.bincount(cells, weights=values, minlength=size).astype(np.int64)
    found = np.zeros(size, dtype=np.int64)
    for start in range(0, len(values), _MOST):
        some = slice(start, start + _MOST)
        found = plus(found, _in_parts(cells[some], values[some], size))
    return narrow(found)


def _in_parts(cells: IntArray, values: IntArray, size: int) -> IntArray:
    upper, lower = values >> _LOW, values & ((1 << _LOW) - 1)
    high, low = (
        np.bincount(cells, weights=part, minlength=size).astype(np.int64) for part in (upper, lower)
    )
    return plus(times(high, np.full(size, 1 << _LOW)), low)


def counts(cells: IntArray, there: There, size: int) -> IntArray:
    """How many rows of each cell are there."""
    cells = cells if there is None else cells[there]
    return np.bincount(cells, minlength=size)


def best(fold: Fold, cells: IntArray, values: IntArray, there: There, size: int) -> IntArray:
    """The least or the greatest value of each cell that has one; of the others something."""
    if there is not None:
        cells, values = cells[there], values[there]
    pick = np.minimum if fold is Fold.LEAST else np.maximum
    if values.dtype == object:
        order = np.argsort(cells, kind="stable")
        cells, values = cells[order], values[order]
        starts = np.flatnonzero(np.append(True, cells[1:] != cells[:-1])) if len(cells) else cells
        found = np.zeros(size, dtype=object)
        if len(cells):
            found[cells[starts]] = pick.reduceat(values, starts)
        return found
    limits = np.iinfo(np.int64)
    found = np.full(size, limits.max if fold is Fold.LEAST else limits.min, dtype=np.int64)
    pick.at(found, cells, values)
    return found


def numbered(cells: IntArray, slots: int) -> tuple[IntArray, IntArray]:
    """The cells that occur, in order, and for each row the number of its own among them."""
    if slots > max(1 << 12, 4 * len(cells)):
        found, of = np.unique(cells, return_inverse=True)
        return found, of
    there = np.zeros(slots, dtype=bool)
    there[cells] = True
    found = np.flatnonzero(there)
    if len(found) == slots:
        return found, cells
    number = np.empty(slots, dtype=np.int64)
    number[found] = np.arange(len(found))
    return found, number[cells]
