"""How many buckets rows can fall into, given the filters that rows have to pass.

A bucket is a box: a value per key, or the whole tail where a key is clamped.  A closed conjunction
of difference bounds meets a box iff it does so for each pair of its sides, so that counting is a
comparison of arrays.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from millpond.memory.lto import Closure
    from millpond.memory.shape import Function

_COUNTED = 2_000_000
"""Key spaces above this size are not counted bucket by bucket: their size is the bound."""
_EXACT = 1 << 50
"""Differences up to this are exact as floats."""


def reachable(keys: Sequence[Function], predicate: Closure) -> int:
    """An upper bound of the buckets that rows reach; exact when every key is one column and the
    key space is small."""
    plain = [key for key in keys if len(key.terms) == 1 and not key.null_slot and key.told is None]
    rest = 1
    for key in keys:
        if key not in plain:
            rest *= key.size
    space = 1
    for key in plain:
        space *= key.size
    if space <= 1 or len(plain) < 2 or space > _COUNTED:
        return space * rest
    return rest * _boxes(plain, predicate, space)


def _boxes(keys: Sequence[Function], predicate: Closure, space: int) -> int:
    import numpy as np  # a bound without two keys needs none of it

    index = np.arange(space)
    alive = np.ones(space, dtype=bool)
    bases, leasts, mosts = [], [], []
    for key in keys:
        attribute, offset = key.terms[0]
        interval, low = predicate.interval(attribute), key.clamp.low
        assert low is not None
        base = low - offset
        least = (index % key.size).astype(float)
        index = index // key.size
        most = least.copy()
        least[least == 0] = -_beside(base, interval.low)
        most[most == key.size - 1] = _beside(interval.high, base)
        bases.append(base)
        leasts.append(least)
        mosts.append(most)
    for i, first in enumerate(keys):
        for j, second in enumerate(keys):
            bound = predicate.bound(first.terms[0][0], second.terms[0][0])
            if i != j and bound is not None:
                alive &= leasts[i] - mosts[j] <= float(bound + bases[j] - bases[i])
    return int(alive.sum())


def _beside(one: int | None, other: int | None) -> float:
    """`one - other`, exactly, or no limit: values are counted from their key's least one, because
    floats do not tell those of 64 bits apart."""
    if one is None or other is None or abs(one - other) > _EXACT:
        return math.inf
    return float(one - other)
