"""The criterion for bounded memory (Arasu, Theorems 5.6 and 5.10, by the algorithm of Figure 2).

A query is bounded iff every LTO query derived from it is (Theorem 5.3).  Step 4 of Figure 2 finds
a violation of C3 without enumerating them: two nonredundant joins are a witness to it, so that at
most four attributes, with the least and the largest constant, have to be ordered.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

from millpond.diagnostic import Span
from millpond.memory.condition import In
from millpond.memory.lto import Closure, classes, joins, lto_queries, max_ref, min_ref
from millpond.memory.spj import Attribute, SpjQuery


@dataclass(frozen=True)
class Violation:
    """A condition of the theorem that fails, and the attributes that it fails on."""

    condition: str
    attributes: tuple[Attribute, ...]
    span: Span | None
    exact: bool = True
    """Whether failing it means that there is no bound."""


def theorem(query: SpjQuery) -> str:
    """The theorem that decides the query."""
    return "arasu 5.10" if query.distinct else "arasu 5.6"


def trivial(query: SpjQuery) -> bool:
    """Step 1 of Figure 2: nothing ever has to be remembered."""
    return not query.satisfiable or (len(query.streams) == 1 and not query.distinct)


def violations(query: SpjQuery) -> list[Violation]:
    """Which conditions fail, by Figure 2; none iff the query is bounded."""
    if trivial(query):
        return []
    return [*_projected(query), *_equalities(query), *_inequalities(query)]


def violates_by_enumeration(query: SpjQuery) -> bool:
    """Whether some derived LTO query fails its theorem: Theorem 5.3 to the letter, exponential."""
    if trivial(query):
        return False
    for derived in lto_queries(query.predicate, query.constants, offsets=query.offsets):
        if any(not derived.bounded(each) for each in query.projected):
            return True
        if any(not derived.bounded(each) for pair in _equal_pairs(derived) for each in pair):
            return True
        if _violates_c3(derived, query.distinct):
            return True
    return False


def _projected(query: SpjQuery) -> Iterator[Violation]:
    """C1: every attribute in the project list is bounded.

    What a column of the answer is computed from, and what a link compares, has to be known as well;
    there C1 is sufficient only.
    """
    seen = set()
    for item in query.projection:
        for value in item.attributes:
            if value in query.shown and value not in seen and not query.predicate.bounded(value):
                seen.add(value)
                yield Violation("C1", (value,), item.span, exact=not item.made_of)
    for link in query.links:
        for value in link.columns:
            if (
                value in query.projected
                and value not in seen
                and not query.predicate.bounded(value)
            ):
                seen.add(value)
                yield Violation("C1", (value,), link.span, exact=False)


def _equalities(query: SpjQuery) -> Iterator[Violation]:
    """C2: attributes joined by equality are bounded."""
    for x, y in _equal_pairs(query.predicate):
        if not query.predicate.bounded(x):
            yield Violation("C2", (x, y), _span_of(query, (x, y)))


def _equal_pairs(predicate: Closure) -> Iterator[tuple[Attribute, Attribute]]:
    for place, x in enumerate(predicate.elements):
        for y in predicate.elements[place + 1 :]:
            if x.alias != y.alias and predicate.offset(x, y) is not None:
                yield x, y


def _inequalities(query: SpjQuery) -> Iterator[Violation]:
    """C3, by step 4: only attributes of one or two nonredundant joins are looked at together."""
    found = list(joins(query.predicate))
    seen: set[frozenset[Attribute]] = set()
    reported: set[tuple[Attribute, ...]] = set()
    for first, second in combinations_with_replacement(found, 2):
        together = frozenset((*first[:2], *second[:2]))
        if together in seen or not {x.alias for x in first[:2]} & {x.alias for x in second[:2]}:
            continue
        seen.add(together)
        ordered = tuple(each for each in query.predicate.elements if each in together)
        if any(set(each) <= together for each in reported):
            continue
        small = query.predicate.restrict(ordered)
        needed = 2 if query.distinct else 1
        for derived in lto_queries(small, query.told_by, offsets=query.offsets, joined=needed):
            guilty = _violates_c3(derived, query.distinct)
            if guilty:
                named = tuple(each for each in ordered if not query.predicate.bounded(each))
                if named not in reported:
                    reported.add(named)
                    yield Violation("C3", named, _span_of(query, ordered))
                break


def _violates_c3(derived: Closure, distinct: bool) -> tuple[Attribute, ...]:
    """The attributes on which an LTO query fails C3; empty if it holds."""
    for alias in dict.fromkeys(each.alias for each in derived.elements):
        upper, lower = max_ref(derived, alias), min_ref(derived, alias)
        weight = classes(derived, upper) + classes(derived, lower)
        if weight > (1 if distinct else 0):
            return (*upper, *lower)
    return ()


def _span_of(query: SpjQuery, attributes: Sequence[Attribute]) -> Span | None:
    """The first comparison across streams of two of the attributes, else one that names one."""
    for pair in query.pairs:
        if pair.left.alias != pair.right.alias and set(pair.columns) <= set(attributes):
            return pair.span
    for each in query.conditions:
        if set(each.columns) & set(attributes):
            return each.spans[0] if isinstance(each, In) else getattr(each, "span", None)
    return None
