"""Contributions of several parts of a query, in terms that all of them share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from millpond.program.delta import Delta, IntArray


@dataclass(frozen=True)
class Translated:
    """A column of contributions, made of one of a part: a number in place of each of its numbers,
    which start with `first`; or, of no column, one number for all."""

    name: str
    column: str | None
    first: int = 0
    table: tuple[int, ...] | None = None
    """None where numbers are the same for all parts, but for `first`."""


def translated(delta: Delta, columns: Sequence[Translated]) -> Delta:
    """The contributions of a part with these columns."""
    found = [_column(delta, each) for each in columns]
    return Delta(
        tuple(each.name for each in columns),
        tuple(values for values, _ in found),
        tuple(null for _, null in found),
        delta.at,
        delta.weight,
    )


def _column(delta: Delta, each: Translated) -> tuple[IntArray, IntArray | None]:
    if each.column is None:
        return np.full(len(delta), each.first, dtype=np.int64), None
    place = delta.names.index(each.column)
    values, null = delta.values[place], delta.nulls[place]
    if each.table is None:
        return values + each.first if each.first else values, null
    numbers = values - each.first
    if null is not None:
        numbers = np.where(null, 0, numbers)
    return np.array(each.table, dtype=np.int64)[numbers], null
