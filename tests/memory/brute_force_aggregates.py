"""Whether an aggregate query needs memory without bound, found by counting over growing boxes.

What has happened to one input so far is judged by the answers after every future, in which the
other inputs get any rows, any number of times, and this one gets more.  The answers see

- of every query, which groups there are: of the rows of an input, the union of what they join;
- of COUNT and SUM, a number for each combination of rows of the other inputs: each row of the
  input adds a vector, so the rank of those vectors is how many numbers have to be kept;
- of AVG, VAR and MEDIAN the same numbers, and sums, or how many values lie on either side of each
  threshold, but only where the value of the group is not settled: it is where one value alone can
  be aggregated.  AVG and MEDIAN of another input's column are settled, too, where all rows weigh
  that input's rows alike, since multiples of a bag have its average and its median;
- of MIN and MAX the best value for each combination: the union of what lies up to it;
- of COUNT(DISTINCT) the union again, for each value of its own.

Memory is bounded iff the ranks, and the largest families of which no member is covered by the
others, stay the same as the box grows: a rank r tells r numbers apart, and each subfamily of such
a family is another state.  Exact without self-joins.  NULL is left out: it only is one more value
of columns that nothing compares.  Nothing of `millpond` is used here.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from tests.memory.brute_force import largest_irredundant
from tests.memory.by_definition import Rows, Truths, Values, box, joined
from tests.strategies.aggregates import AggregateQueryText, AggregateText

GROUPS: Final = "groups"
"""The part of the state that says which groups there are."""

_PRIME: Final = 2**31 - 1


@dataclass(frozen=True)
class Part:
    """What some rows of an input leave in the state: each its joins times its weights, which are
    added up if `counted`, else united."""

    name: str
    rows: Values
    """Places in the input."""
    joins: Truths
    weights: Values
    counted: bool

    def size(self, most: int | None = None) -> int:
        """How many numbers, or rows, have to be kept; followed up to `most` rows only."""
        table = self.table(_distinct_columns(self.joins))
        if self.counted:
            return _rank(np.unique(table, axis=0))
        return largest_irredundant(table != 0, most)

    def table(self, joins: Truths | None = None) -> Values:
        """One row for each row, a column for each combination and weight."""
        left = self.joins if joins is None else joins
        found: Values = left[:, :, None] * self.weights[:, None, :]
        return found.reshape(len(self.rows), left.shape[1] * self.weights.shape[1])


def grows(query: AggregateQueryText, margins: tuple[int, int] = (4, 6)) -> bool:
    """Whether some input has more to tell apart in the larger box than in the smaller one."""
    small, large = (Box(query, margin) for margin in margins)
    for name in (GROUPS, *(each.sql for each in query.aggregates)):
        for place in range(len(query.body.inputs)):
            least = small.size(place, name)
            if least < large.size(place, name, least + 1):
                return True
    return False


def measures(query: AggregateQueryText, margin: int) -> dict[str, list[int]]:
    """For the groups and for each aggregate how much of each input has to be kept."""
    found = Box(query, margin)
    names = (GROUPS, *(each.sql for each in query.aggregates))
    places = range(len(query.body.inputs))
    return {name: [found.size(place, name) for place in places] for name in names}


class Box:
    """All rows with values that go `margin` beyond the constants, and what joins with what."""

    def __init__(self, query: AggregateQueryText, margin: int) -> None:
        body = query.body
        ends = body.constants or (0, 0)
        self._query = query
        self.inputs = [
            _passing(query, box(body, alias, ends[0] - margin, ends[-1] + margin))
            for alias, _ in body.inputs
        ]
        self._joined = joined(body, self.inputs)
        self._rng = random.Random(margin)

    def size(self, place: int, name: str, most: int | None = None) -> int:
        found = 0
        for part in self.parts(place, name):
            if most is not None and found >= most:
                break
            found += part.size(None if most is None else most - found)
        return found

    def parts(self, place: int, name: str) -> Iterator[Part]:
        """What the rows of an input leave in the state for the groups or for one aggregate."""
        cube = np.moveaxis(self._joined, place, 0)
        joins = cube.reshape(len(cube), math.prod(cube.shape[1:]))
        useful = joins.any(axis=1)
        groups = [each for each in self._query.groups if _of(each, self.inputs[place])]
        own = _keys(self.inputs[place], groups)
        aggregate = next((each for each in self._query.aggregates if each.sql == name), None)
        for key in np.unique(own[useful]):
            rows = np.flatnonzero((own == key) & useful)
            if aggregate is None:
                yield Part(name, rows, joins[rows], _ones(rows), counted=False)
            else:
                yield from self._aggregated(aggregate, place, rows, joins[rows])

    def _aggregated(
        self, aggregate: AggregateText, place: int, rows: Values, joins: Truths
    ) -> Iterator[Part]:
        """What rows that go into the same groups leave in the state."""
        name, function, column = aggregate.sql, aggregate.function, aggregate.column
        mine = column is not None and _of(column, self.inputs[place])
        values = self._values(column, place, rows)
        if aggregate.distinct:
            for value in np.unique(values) if mine else []:
                same = np.flatnonzero(values == value)
                yield Part(name, rows[same], joins[same], _ones(same), counted=False)
        elif function in ("MIN", "MAX"):
            if mine:
                better = values if function == "MAX" else -values
                reached = better[:, None] >= np.unique(better)[None, :]
                yield Part(name, rows, joins, reached.astype(np.int64), counted=False)
        elif function == "COUNT":
            yield Part(name, rows, joins, _ones(rows), counted=True)
        elif function == "SUM":
            if mine:
                yield Part(name, rows, joins, values[:, None], counted=True)
            else:
                yield Part(name, rows, joins[:, values != 0], _ones(rows), counted=True)
        else:
            yield from self._unsettled(aggregate, place, rows, joins, values)

    def _unsettled(
        self, aggregate: AggregateText, place: int, rows: Values, joins: Truths, values: Values
    ) -> Iterator[Part]:
        assert aggregate.column is not None
        mine = _of(aggregate.column, self.inputs[place])
        groups = self._groups_of_others(place)
        for group in np.unique(groups):
            columns = np.flatnonzero(groups == group)
            some = joins[:, columns]
            there = np.flatnonzero(some.any(axis=1))
            seen = values[there] if mine else values[columns][some.any(axis=0)]
            kinds = np.unique(seen)
            if len(kinds) <= 1:
                continue
            if mine:
                weights = _weights(aggregate.function, seen, kinds)
            elif aggregate.function == "VAR" or not self._alike(
                place, aggregate.column, joins, columns
            ):
                weights = _ones(there)
            else:
                continue
            yield Part(aggregate.sql, rows[there], some[there], weights, counted=True)

    def _alike(self, place: int, column: str, joins: Truths, columns: Values) -> bool:
        """Whether all rows weigh the rows of the input of `column` alike, up to a factor.

        What they weigh depends on how often the rows of the remaining inputs occur; if it is
        alike for numbers taken at random, it is alike for all.
        """
        others = [each for at, each in enumerate(self.inputs) if at != place]
        weight = np.ones(1, dtype=np.int64)
        holder = np.zeros(1, dtype=np.int64)
        for each in others:
            drawn = [self._rng.randrange(1, _PRIME) for _ in range(len(each))]
            held = _of(column, each)
            factor = np.ones(len(each), np.int64) if held else np.array(drawn, dtype=np.int64)
            at = np.arange(len(each)) if held else np.zeros(len(each), dtype=np.int64)
            weight = (weight[:, None] * factor[None, :] % _PRIME).reshape(-1)
            holder = (holder[:, None] + at[None, :]).reshape(-1)
        found = np.zeros((len(joins), int(holder.max()) + 1), dtype=np.int64)
        for at in np.unique(holder[columns]):
            same = columns[holder[columns] == at]
            found[:, at] = (joins[:, same] * weight[same]).sum(axis=1) % _PRIME
        return _rank(found) <= 1

    def _values(self, column: str | None, place: int, rows: Values) -> Values:
        """What is aggregated: of these rows, or of each combination of rows of the others."""
        if column is None:
            return np.ones(len(rows), dtype=np.int64)
        if _of(column, self.inputs[place]):
            return self.inputs[place].of(column)[rows]
        found = np.zeros(1, dtype=np.int64)
        for at, each in enumerate(self.inputs):
            if at != place:
                held = each.of(column) if _of(column, each) else np.zeros(len(each), np.int64)
                found = (found[:, None] + held[None, :]).reshape(-1)
        return found

    def _groups_of_others(self, place: int) -> Values:
        """Of each combination of rows of the others, the number of what it says of the group."""
        found = np.zeros(1, dtype=np.int64)
        for at, each in enumerate(self.inputs):
            if at != place:
                keys = _keys(each, [name for name in self._query.groups if _of(name, each)])
                found = (found[:, None] * (len(each) + 1) + keys[None, :]).reshape(-1)
        return found


def _weights(function: str, values: Values, kinds: Values) -> Values:
    """What a row with each of the values adds for each combination that it joins."""
    if function == "MEDIAN":
        return np.where(values[:, None] > kinds[None, :-1], 1, -1).astype(np.int64)
    powers = 3 if function == "VAR" else 2
    return np.stack([values**power for power in range(powers)], axis=1)


def _of(column: str, rows: Rows) -> bool:
    return column in rows.columns


def _ones(rows: Values) -> Values:
    return np.ones((len(rows), 1), dtype=np.int64)


def _keys(rows: Rows, columns: list[str]) -> Values:
    """Equal numbers for rows that agree on the columns."""
    if not columns or not len(rows):
        return np.zeros(len(rows), dtype=np.int64)
    table = np.stack([rows.of(each) for each in columns], axis=1)
    return np.unique(table, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _passing(query: AggregateQueryText, rows: Rows) -> Rows:
    """The rows that pass the filters of their own input."""
    body = query.body
    filters = tuple(each for each in body.comparisons if set(each.columns) <= set(rows.columns))
    return rows.take(np.flatnonzero(joined(replace(body, comparisons=filters), [rows])))


def _distinct_columns(table: Truths) -> Truths:
    if not table.size:
        return table[:, :0]
    packed = np.ascontiguousarray(np.packbits(table, axis=0).T)
    _, first = np.unique(packed.view(f"V{packed.shape[1]}").reshape(-1), return_index=True)
    return table[:, first]


def _rank(table: Values) -> int:
    """The rank modulo a large prime.

    >>> _rank(np.array([[1, 2, 3], [2, 4, 6], [0, 1, 0]]))
    2
    """
    left = table % _PRIME
    rank = 0
    for column in range(left.shape[1]):
        pivots = np.flatnonzero(left[rank:, column])
        if not len(pivots):
            continue
        pivot = rank + int(pivots[0])
        left[[rank, pivot]] = left[[pivot, rank]]
        left[rank] = left[rank] * pow(int(left[rank, column]), -1, _PRIME) % _PRIME
        below = rank + 1 + np.flatnonzero(left[rank + 1 :, column])
        left[below] = (left[below] - left[below, column, None] * left[rank]) % _PRIME
        rank += 1
        if rank == len(left):
            break
    return rank
