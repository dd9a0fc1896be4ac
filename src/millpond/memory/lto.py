"""Locally totally ordered queries (Arasu, Definitions 5.1 and 5.2), and MaxRef and MinRef (5.4).

Adding filters to P until the attributes of each stream and the constants are totally ordered
gives the derived LTO queries.  Comparisons across streams are never split: `S.A <= T.D` stays one
difference bound, because its `=` part alone would look unbounded where it is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from millpond.memory.spj import Attribute
from millpond.order import ZERO, Bound, DifferenceBounds

Closure = DifferenceBounds[Attribute]


def lto_queries(predicate: Closure, constants: Sequence[int]) -> Iterator[Closure]:
    """P+ of every LTO query derived from a query with this P+."""
    choices = [*_against_constants(predicate.elements, constants), *_within(predicate.elements)]
    yield from _refine(predicate, choices)


def _refine(
    predicate: Closure, choices: Sequence[tuple[list[Bound[Attribute]], ...]]
) -> Iterator[Closure]:
    if not predicate.satisfiable:
        return
    if not choices:
        yield predicate
        return
    for alternative in choices[0]:
        yield from _refine(predicate.with_bounds(alternative), choices[1:])


def _against_constants(
    attributes: Iterable[Attribute], constants: Sequence[int]
) -> Iterator[tuple[list[Bound[Attribute]], ...]]:
    for x in attributes:
        for k in constants:
            yield (
                [(x, ZERO, k - 1)],
                [(x, ZERO, k), (ZERO, x, -k)],
                [(ZERO, x, -k - 1)],
            )


def _within(attributes: Sequence[Attribute]) -> Iterator[tuple[list[Bound[Attribute]], ...]]:
    for place, x in enumerate(attributes):
        for y in attributes[place + 1 :]:
            if x.alias == y.alias:
                yield order_choices(x, y)


def order_choices(x: Attribute, y: Attribute) -> tuple[list[Bound[Attribute]], ...]:
    """`x < y`, `x = y`, `x > y`."""
    return ([(x, y, -1)], [(x, y, 0), (y, x, 0)], [(y, x, -1)])


def joins(predicate: Closure) -> Iterator[tuple[Attribute, Attribute, int]]:
    """The nonredundant inequality joins `x - y <= c` of P+."""
    for x in predicate.elements:
        for y in predicate.elements:
            c = predicate.bound(x, y)
            if (
                x.alias != y.alias
                and c is not None
                and predicate.offset(x, y) is None
                and not predicate.redundant(x, y)
            ):
                yield x, y, c


def max_ref(predicate: Closure, alias: str) -> list[Attribute]:
    """The unbounded attributes of a stream that stand on the larger side of a join."""
    return _unbounded(predicate, {y for _, y, _ in joins(predicate) if y.alias == alias})


def min_ref(predicate: Closure, alias: str) -> list[Attribute]:
    """The unbounded attributes of a stream that stand on the smaller side of a join."""
    return _unbounded(predicate, {x for x, _, _ in joins(predicate) if x.alias == alias})


def _unbounded(predicate: Closure, attributes: set[Attribute]) -> list[Attribute]:
    return [each for each in sorted(attributes) if not predicate.bounded(each)]


def classes(predicate: Closure, attributes: Iterable[Attribute]) -> int:
    """How many equivalence classes the attributes form: |E|eq."""
    representatives: list[Attribute] = []
    for each in attributes:
        if all(predicate.offset(each, other) is None for other in representatives):
            representatives.append(each)
    return len(representatives)
