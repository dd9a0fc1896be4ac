"""What rows of a small box join, by definition.  Nothing of `millpond.memory` is used here."""

from __future__ import annotations

import math
import operator
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from tests.strategies.spj import Side, SpjText

NULL: Final = -(10**9)
"""Stands for NULL in an array of values."""

Values = NDArray[np.int64]
Truths = NDArray[np.bool_]

_HOLDS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
    ">=": operator.ge,
    ">": operator.gt,
}


@dataclass(frozen=True)
class Rows:
    """Rows of one input, reduced to the columns that the query names."""

    alias: str
    columns: tuple[str, ...]
    values: Values

    def __len__(self) -> int:
        return len(self.values)

    def of(self, column: str) -> Values:
        found: Values = self.values[:, self.columns.index(column)]
        return found

    def take(self, places: NDArray[Any]) -> Rows:
        return Rows(self.alias, self.columns, self.values[places])

    def sample(self, rng: random.Random, most: int) -> Rows:
        """At most so many of the rows."""
        if len(self) <= most:
            return self
        return self.take(np.array(rng.sample(range(len(self)), most)))


def box(query: SpjText, alias: str, low: int, high: int, *, nulls: bool = False) -> Rows:
    """Every row of an input with values from `low` to `high` that the declarations allow."""
    columns = query.of(alias)
    values: list[list[int]] = []
    for each in columns:
        column = query.column(each)
        least = low if column.low is None else max(low, column.low)
        most = high if column.high is None else min(high, column.high)
        null = [NULL] if nulls and not column.not_null else []
        values.append([*range(least, most + 1), *null])
    rows = list(product(*values))
    return Rows(alias, columns, np.array(rows, dtype=np.int64).reshape(len(rows), len(columns)))


def joined(query: SpjText, inputs: Sequence[Rows]) -> Truths:
    """Which combinations of rows satisfy the condition: one axis per input."""
    shape = tuple(len(each) for each in inputs)
    found = np.ones(shape, dtype=np.bool_)
    places = {each.alias: place for place, each in enumerate(inputs)}

    def spread(side: Side) -> Any:
        if isinstance(side, int):
            return np.int64(side)
        place = places[side.partition(".")[0]]
        axes = [1] * len(inputs)
        axes[place] = shape[place]
        return inputs[place].of(side).reshape(axes)

    for each in query.comparisons:
        left, right = spread(each.left), spread(each.right)
        found &= _HOLDS[each.op](left, right) & (left != NULL) & (right != NULL)
    return found


def responses(query: SpjText, alias: str, inputs: Sequence[Rows]) -> Truths:
    """For each row of one input, which combinations of rows of the others it joins with."""
    found = joined(query, inputs)
    place = [each.alias for each in inputs].index(alias)
    moved: Truths = np.moveaxis(found, place, 0)
    return moved.reshape(moved.shape[0], math.prod(moved.shape[1:]))


def own_output(query: SpjText, rows: Rows) -> Values:
    """What each row of an input puts into the answer itself."""
    wanted = [each for each in query.projection if isinstance(each, str) and each in rows.columns]
    if not wanted:
        return np.zeros((len(rows), 0), dtype=np.int64)
    return np.stack([rows.of(each) for each in wanted], axis=1)


def answers(query: SpjText, inputs: Sequence[Rows]) -> Counter[tuple[int, ...]]:
    """The rows of the answer, each as often as it occurs before duplicates are removed."""
    found = np.argwhere(joined(query, inputs))
    places = {each.alias: place for place, each in enumerate(inputs)}
    columns: list[Values] = []
    for side in query.projection:
        if isinstance(side, int):
            columns.append(np.full(len(found), side, dtype=np.int64))
        else:
            place = places[side.partition(".")[0]]
            columns.append(inputs[place].of(side)[found[:, place]])
    return Counter(map(tuple, np.stack(columns, axis=1).tolist()))
