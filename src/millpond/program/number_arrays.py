"""Arrays of integers of any size: 64 bits where they are known to fit, else Python's integers."""

from __future__ import annotations

import numpy as np

from millpond.program.delta import IntArray

_SAFE = float(1 << 62)


There = IntArray | None
"""Which numbers of an array there are; None is all of them."""


def both(one: There, other: There) -> There:
    """Which there are in both."""
    if one is None or other is None:
        return one if other is None else other
    return one & other


def where(there: There, array: IntArray) -> IntArray:
    """The numbers that there are, and 0 for the others."""
    return array if there is None else np.where(there, array, 0)


def wide(array: IntArray) -> IntArray:
    """The same numbers as Python's integers."""
    return array if array.dtype == object else array.astype(object)


def narrow(array: IntArray) -> IntArray:
    """In 64 bits, if all of them fit."""
    if array.dtype != object:
        return array
    try:
        return array.astype(np.int64)
    except (OverflowError, TypeError):
        return array


def reach(array: IntArray) -> float:
    """No number of the array lies further from 0."""
    if not len(array):
        return 0.0
    if array.dtype == object:
        return float("inf")
    return max(float(array.max()), -float(array.min()))


def times(one: IntArray, other: IntArray) -> IntArray:
    """Products, one by one."""
    if object not in (one.dtype, other.dtype) and reach(one) * reach(other) < _SAFE:
        return one * other
    return wide(one) * wide(other)


def room_for_sums(array: IntArray, *others: IntArray) -> IntArray:
    """The numbers in a form in which all of them can be added up, together with one of others."""
    if object in (array.dtype, *(each.dtype for each in others)):
        return wide(array)
    total = reach(array) * max(1, len(array)) + sum(reach(each) for each in others)
    return array if total < _SAFE else wide(array)


def plus(one: IntArray, other: IntArray) -> IntArray:
    """Sums, one by one."""
    if reach(one) + reach(other) < _SAFE:
        return one + other
    return wide(one) + wide(other)
