"""A query as select-project-join queries whose answers add up: what the criterion is asked of.

OR, `<>` and NOT across columns are split.  Where duplicates are kept the parts are disjoint; where
they are removed they need not be, unless they are split by filters alone, when they are, too: then
feeding only rows that pass the filters of one part leaves the others empty, so that the query is
bounded iff every part is (as in Theorem 5.3).  Split by a join, that all parts are bounded is
sufficient only: `a <> d` is no conjunction of what its parts say.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from millpond.memory.attribute import attribute, derived, linear
from millpond.memory.condition import (
    Condition,
    Either,
    conditions,
    conjunction,
    not_true,
)
from millpond.memory.flatten import Flat, NotFlatError, flatten, matched
from millpond.memory.spj import Projected, SpjQuery
from millpond.plan import (
    Change,
    Changes,
    ColumnRef,
    Distinct,
    Expression,
    Join,
    Literal,
    Node,
    Query,
    SemiJoin,
    columns_of,
    monotonic,
)

MOST_PARTS = 200
"""A query that falls into more parts is not decided."""
MOST_TRIED = 1_000
"""Nor one for which more choices have to be looked at."""


@dataclass(frozen=True)
class Piece:
    """A part of a query."""

    query: SpjQuery
    alone: bool
    """Whether some input lets this part alone give answers, so that the whole is bounded only if
    this part is."""


def normal_form(query: Query) -> SpjQuery | None:
    """The one part of a query; None if it has none or several."""
    try:
        found = normal_forms(query)
    except NotFlatError:
        return None
    return found[0].query if len(found) == 1 else None


def normal_forms(query: Query) -> tuple[Piece, ...]:
    """The parts of a query without aggregates."""
    node = _asked(query)
    names = [each.name for each in node.fields]
    distinct = isinstance(node, Distinct)
    return parts_of(query, node, names, distinct=distinct, passed_on=not distinct)


def timed_forms(query: Query) -> list[tuple[SpjQuery, ...]]:
    """The alternatives of a query that may name time columns, each as the conjunctions that it
    falls into: these read the same rows of the same inputs."""
    node = _asked(query)
    distinct = isinstance(node, Distinct)
    below = node.input if isinstance(node, Distinct) else node
    names = [each.name for each in node.fields]
    return [
        _conjunctions(query, each, names, distinct)
        for each in flatten(below, distinct=distinct, timed=True)
    ]


def matching_forms(query: Query, node: Join | SemiJoin) -> list[tuple[SpjQuery, ...]]:
    """The same of what an outer join, EXISTS or IN finds to match."""
    return [_conjunctions(query, replace(x, columns=()), (), False) for x in matched(node)]


def _asked(query: Query) -> Node:
    """What a query asks for: the rows that come are all there is of what only grows."""
    node = query.root
    if isinstance(node, Changes) and node.change is Change.ISTREAM and monotonic(node.input):
        return node.input
    return node


def _conjunctions(
    query: Query, flat: Flat, names: Sequence[str], distinct: bool
) -> tuple[SpjQuery, ...]:
    return tuple(each for each, _ in _split(_spj(query, flat, names, distinct)))


def parts_of(
    query: Query, node: Node, names: Sequence[str], *, distinct: bool, passed_on: bool = False
) -> tuple[Piece, ...]:
    """The parts of a plan under one projection; with `passed_on`, rows of one input are its answer
    as they come."""
    below = node.input if isinstance(node, Distinct) else node
    flats = flatten(below, distinct=distinct, passed_on=passed_on)
    reads = [{scan.stream.name for scan in each.inputs} for each in flats]
    parts: list[Piece] = []
    for place, flat in enumerate(flats):
        others = reads[:place] + reads[place + 1 :]
        alone = not any(each <= reads[place] for each in others)
        for split, by_filters in _split(_spj(query, flat, names, distinct)):
            parts.append(Piece(split, alone and by_filters))
            if len(parts) > MOST_PARTS:
                raise NotFlatError(f"it falls into more than {MOST_PARTS} conjunctions", query.span)
    return tuple(parts)


def _spj(query: Query, flat: Flat, names: Sequence[str], distinct: bool) -> SpjQuery:
    return SpjQuery(
        tuple((each.alias, each.stream) for each in flat.inputs),
        conditions(flat.predicates),
        tuple(_projected(name, each) for name, each in zip(names, flat.columns, strict=True)),
        distinct,
        query.span,
        places=tuple((each.alias, each.span) for each in flat.inputs if each.span is not None),
    )


def _projected(name: str, expression: Expression) -> Projected:
    """A column of the answer.  A sum of one column and constants says as much as the column, and
    what is computed from one input is a derived column of it."""
    span = expression.span
    if isinstance(expression, Literal):
        return Projected(name, expression.value, span, expression=expression)
    named = tuple(dict.fromkeys(map(attribute, columns_of(expression))))
    sum_ = linear(expression)
    if sum_ is not None and len(sum_.terms) == 1 == len(named):
        bare = isinstance(expression, ColumnRef)
        return Projected(name, named[0], span, as_it_is=bare, sum=sum_, expression=expression)
    column = derived(expression)
    if column is not None:
        return Projected(name, column, span, sum=sum_, expression=expression)
    return Projected(name, None, span, named, sum=sum_, expression=expression)


# Splitting --------------------------------------------------------------------------------------


class _Budget:
    """How many choices are still looked at."""

    def __init__(self, left: int) -> None:
        self._left = left

    def spend(self, query: SpjQuery) -> None:
        self._left -= 1
        if self._left < 0:
            raise NotFlatError("it falls into too many conjunctions to look at", query.span)


def _split(query: SpjQuery) -> Iterator[tuple[SpjQuery, bool]]:
    """The conjunctions of a query, and whether they are told apart by filters alone."""
    budget = _Budget(MOST_TRIED)
    found = list(_branches(query, budget, by_filters=True)) or [(query, True)]
    by_filters = all(each for _, each in found)
    yield from ((each, by_filters) for each, _ in found)


def _branches(
    query: SpjQuery, budget: _Budget, *, by_filters: bool
) -> Iterator[tuple[SpjQuery, bool]]:
    if any(isinstance(each, Either) and not each.branches for each in query.conditions):
        yield query, by_filters
        return
    choice = next((each for each in query.conditions if isinstance(each, Either)), None)
    if choice is None:
        yield query, by_filters
        return
    rest = tuple(each for each in query.conditions if each is not choice)
    filters = len({each.alias for each in choice.columns}) < 2
    disjoint = filters or not query.distinct
    budget.spend(query)
    gone: list[tuple[Condition, ...]] = []
    for branch in choice.branches:
        chosen = [*rest, *branch]
        for other in gone if disjoint else ():
            if _satisfiable(query, [*chosen, *other]):
                chosen.append(not_true(other, query.columns))
        gone.append(branch)
        if _satisfiable(query, chosen):
            part = replace(query, conditions=conjunction(chosen))
            yield from _branches(part, budget, by_filters=by_filters and filters)


def _satisfiable(query: SpjQuery, found: Sequence[Condition]) -> bool:
    """Whether a conjunction can hold, what is left open in it aside."""
    plain = tuple(each for each in conjunction(found) if not _open(each))
    return replace(query, conditions=plain).satisfiable


def _open(condition: Condition) -> bool:
    return isinstance(condition, Either) and len(condition.branches) > 1
