"""Whether a query needs memory without bound, found by counting over growing boxes.

Keeping duplicates, the rows of an input fall into classes that respond alike to rows of the other
inputs, and each class needs a count: memory is bounded iff the number of classes stays the same
as the box grows.  Removing them, what an instance responds is the union of what its rows do: of a
family of responses of which none is covered by the others, every subfamily is another state, so
memory is bounded iff the largest such family stays the same.  Exact without self-joins.

Nothing of `millpond` is used here.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from tests.memory.by_definition import Rows, Truths, box, joined, own_output, responses
from tests.strategies.spj import SpjText


def measures(query: SpjText, margin: int, most: int | None = None) -> list[int]:
    """For each input the number of classes, or the size of the largest irredundant family, over
    values that go `margin` beyond the constants; families are followed up to size `most` only."""
    ends = query.constants or (0, 0)
    rows = [
        _passing(query, box(query, alias, ends[0] - margin, ends[-1] + margin))
        for alias, _ in query.inputs
    ]
    found = []
    for each in rows:
        joins = responses(query, each.alias, rows)
        output = own_output(query, each)[joins.any(axis=1)]
        joins = joins[joins.any(axis=1)]
        if not query.distinct:
            found.append(len(_distinct(np.concatenate([output, joins], axis=1))))
            continue
        families = 0
        for value in np.unique(output, axis=0):
            limit = None if most is None else most - families
            if limit is None or limit > 0:
                same = joins[(output == value).all(axis=1)]
                families += largest_irredundant(_distinct(same), limit)
        found.append(families)
    return found


def grows(query: SpjText, margins: tuple[int, int] = (5, 7)) -> bool:
    """Whether some input has more to tell apart in the larger box than in the smaller one."""
    if len(query.inputs) == 1 and not query.distinct:
        return False
    small = measures(query, margins[0])
    large = measures(query, margins[1], max(small, default=0) + 1)
    return any(one < other for one, other in zip(small, large, strict=True))


def _passing(query: SpjText, rows: Rows) -> Rows:
    """The rows that pass the filters of their own input."""
    filters = [each for each in query.comparisons if set(each.columns) <= set(rows.columns)]
    alone = SpjText(query.streams, query.inputs, tuple(filters), query.projection, query.distinct)
    return rows.take(np.flatnonzero(joined(alone, [rows])))


def _distinct(table: Truths) -> Truths:
    return table if len(table) == 0 else np.unique(table, axis=0)


def largest_irredundant(table: Truths, most: int | None = None) -> int:
    """The largest family of rows (sets of columns) none of which the others cover.

    >>> chain = np.tril(np.ones((5, 5), dtype=np.bool_))
    >>> largest_irredundant(chain), largest_irredundant(np.eye(5, dtype=np.bool_))
    (1, 5)

    Each member has a column of its own, so this is an independent set among pairs of a row and
    its column, where two pairs are in each other's way if a row has the other's column.  A row
    that is part of another does no more harm, nor does a column that fewer rows have.
    """
    table = _distinct(_distinct(table).T).T
    sets = [_mask(row) for row in table]
    holders = [_mask(column) for column in table.T]
    pairs = [
        (i, e)
        for i, own in enumerate(sets)
        for e, held in enumerate(holders)
        if own >> e & 1
        and not any(sets[j] != own and sets[j] & ~own == 0 for j in _bits(held))
        and not any(holders[d] != held and holders[d] & ~held == 0 for d in _bits(own))
    ]
    beside = [0] * len(pairs)
    for one, (i, e) in enumerate(pairs):
        for other, (j, d) in enumerate(pairs):
            if i != j and e != d and not sets[i] >> d & 1 and not sets[j] >> e & 1:
                beside[one] |= 1 << other
    return _largest_clique(beside, most)


def _largest_clique(beside: Sequence[int], most: int | None) -> int:
    """Branch and bound by greedy colouring (Tomita); stops when `most` is reached."""
    best = 0

    def grow(size: int, candidates: int) -> None:
        nonlocal best
        best = max(best, size)
        order: list[tuple[int, int]] = []
        uncoloured, colour = candidates, 0
        while uncoloured:
            colour += 1
            independent = uncoloured
            while independent:
                vertex = (independent & -independent).bit_length() - 1
                order.append((vertex, colour))
                independent &= ~(beside[vertex] | 1 << vertex)
                uncoloured &= ~(1 << vertex)
        for vertex, bound in reversed(order):
            if size + bound <= best or (most is not None and best >= most):
                return
            grow(size + 1, candidates & beside[vertex])
            candidates &= ~(1 << vertex)

    grow(0, (1 << len(beside)) - 1)
    return best


def _mask(row: Truths) -> int:
    return int("".join("1" if each else "0" for each in row[::-1].tolist()) or "0", 2)


def _bits(mask: int) -> list[int]:
    return [place for place in range(mask.bit_length()) if mask >> place & 1]
