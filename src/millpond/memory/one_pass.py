"""Stored tables, each read once, in an order that can be chosen (Arasu, section 9, last paragraph).

What has been read of a table matters only to the tables that are read after it: conditions are
asked of each table against those alone.  Of the last one nothing has to be kept, and where
duplicates are kept it may put any value into the answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations_with_replacement, permutations

from millpond.memory.arasu import Violation, trivial, violations
from millpond.memory.certificate import Certificate, entries
from millpond.memory.lto import classes, joins, lto_queries, max_ref, min_ref
from millpond.memory.shape import ShapeNotFoundError, shape_of
from millpond.memory.spj import Attribute, SpjQuery

Order = tuple[str, ...]
"""Aliases, the one that is read first in front."""


def reading_order(query: SpjQuery) -> Order | None:
    """An order in which reading each input once takes bounded memory; None if there is none."""
    aliases = [alias for alias, _ in query.streams]
    if trivial(query):
        return tuple(aliases)
    known: dict[tuple[str, frozenset[str]], bool] = {}

    def fits(alias: str, later: frozenset[str]) -> bool:
        if (alias, later) not in known:
            known[alias, later] = not any(_fails(query, alias, later))
        return known[alias, later]

    if query.distinct and any(not query.predicate.bounded(each) for each in query.shown):
        return None
    for order in permutations(aliases):
        if all(fits(alias, frozenset(order[at + 1 :])) for at, alias in enumerate(order[:-1])):
            return order
    return None


def _fails(query: SpjQuery, alias: str, later: frozenset[str]) -> Iterator[Violation]:
    """What fails of an input that has to be kept while others are read."""
    predicate = query.predicate
    for each in query.projected:
        if each.alias == alias and not predicate.bounded(each):
            yield Violation("C1", (each,), None)
    for x in query.of(alias):
        for y in predicate.elements:
            if y.alias in later and predicate.offset(x, y) is not None and not predicate.bounded(x):
                yield Violation("C2", (x, y), None)
    yield from _compared(query, alias, later)


def _compared(query: SpjQuery, alias: str, later: frozenset[str]) -> Iterator[Violation]:
    """C3, against the inputs that are read later."""
    allowed = 1 if query.distinct else 0
    found = [
        (x, y)
        for x, y, _ in joins(query.predicate)
        if alias in (x.alias, y.alias) and (x.alias in later or y.alias in later)
    ]
    for first, second in combinations_with_replacement(found, 2):
        together = {*first, *second}
        ordered = tuple(each for each in query.predicate.elements if each in together)
        small = query.predicate.restrict(ordered)
        for derived in lto_queries(small, query.told_by, offsets=query.offsets):
            upper, lower = max_ref(derived, alias), min_ref(derived, alias)
            if classes(derived, upper) + classes(derived, lower) > allowed:
                yield Violation("C3", tuple(ordered), None)
                return


def one_pass_certificate(query: SpjQuery, order: Sequence[str]) -> Certificate:
    """What is held before the last input is read."""
    if trivial(query):
        return Certificate((), 0)
    last = order[-1]
    kept = query
    if not query.distinct:
        shown = tuple(each for each in query.projection if not _of(each.attributes, last))
        kept = replace(query, projection=shown, beside=(*query.beside, *query.shown))
    if violations(kept):
        raise ShapeNotFoundError(query.span.text)
    state = tuple(each for each in entries(shape_of(kept)) if each.of != last)
    return Certificate(state, 8 * sum(each.units or 0 for each in state))


def _of(attributes: Sequence[Attribute], alias: str) -> bool:
    return any(each.alias == alias for each in attributes)
