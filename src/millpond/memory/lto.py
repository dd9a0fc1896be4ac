"""Locally totally ordered queries (Arasu, Definitions 5.1 and 5.2), and MaxRef and MinRef (5.4).

Adding filters to P until the attributes of each stream and the constants are totally ordered
gives the derived LTO queries.  Comparisons across streams are never split: `S.A <= T.D` stays one
difference bound, because its `=` part alone would look unbounded where it is not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from millpond.memory.spj import Attribute
from millpond.order import ZERO, Bound, DifferenceBounds

Closure = DifferenceBounds[Attribute]


Join = tuple[Attribute, Attribute, int]
"""`x - y <= c` between columns of two inputs."""
Constants = Callable[[Attribute], Sequence[int]]
"""The constants that the values of a column are told apart by."""


def lto_queries(
    predicate: Closure,
    constants: Sequence[int] | Constants,
    *,
    offsets: bool = False,
    joined: int = 0,
) -> Iterator[Closure]:
    """P+ of every LTO query derived from a query with this P+; `offsets` says whether there are
    comparisons such as `x < z + 5`, for which the order of a stream's columns is not enough.

    With `joined`, those with fewer nonredundant joins may be left out: filters make joins
    redundant, or equal to others, but never independent of them.
    """
    asked = list(joins(predicate)) if offsets else []
    told = constants if callable(constants) else _same(constants)
    choices = [
        *_against_constants(predicate.elements, told),
        *_within(predicate.elements, asked),
    ]
    yield from _refine(predicate, choices, joined)


def _same(constants: Sequence[int]) -> Constants:
    return lambda _: constants


def _refine(
    predicate: Closure, choices: Sequence[tuple[list[Bound[Attribute]], ...]], joined: int
) -> Iterator[Closure]:
    if not predicate.satisfiable:
        return
    if joined and sum(1 for _ in islice(joins(predicate), joined)) < joined:
        return
    if not choices:
        yield predicate
        return
    for alternative in choices[0]:
        yield from _refine(predicate.with_bounds(alternative), choices[1:], joined)


def _against_constants(
    attributes: Iterable[Attribute], constants: Constants
) -> Iterator[tuple[list[Bound[Attribute]], ...]]:
    """Every place that a column can have among its constants: at one, or between two."""
    for x in attributes:
        places: list[list[Bound[Attribute]]] = [[]]
        for k in sorted(constants(x)):
            above = places.pop()
            places += [
                [*above, (x, ZERO, k - 1)],
                [(x, ZERO, k), (ZERO, x, -k)],
                [(ZERO, x, -k - 1)],
            ]
        yield tuple(places)


def _within(
    attributes: Sequence[Attribute], asked: Sequence[Join]
) -> Iterator[tuple[list[Bound[Attribute]], ...]]:
    for place, x in enumerate(attributes):
        for y in attributes[place + 1 :]:
            if x.alias == y.alias:
                for at in differences(asked, x, y):
                    yield order_choices(x, y, at)


def order_choices(x: Attribute, y: Attribute, at: int = 0) -> tuple[list[Bound[Attribute]], ...]:
    """`x - y < at`, `x - y = at`, `x - y > at`."""
    return ([(x, y, at - 1)], [(x, y, at), (y, x, -at)], [(y, x, -at - 1)])


def differences(asked: Iterable[Join], x: Attribute, y: Attribute) -> list[int]:
    """Where `x - y` has to be told apart: at 0, and where joins of both with one column ask for it
    (`x < z + 5` and `y < z`)."""
    found = {0}
    up: dict[Attribute, dict[Attribute, int]] = {x: {}, y: {}}
    down: dict[Attribute, dict[Attribute, int]] = {x: {}, y: {}}
    for one, other, c in asked:
        if one in up:
            up[one][other] = c
        if other in down:
            down[other][one] = c
    found |= {c - up[y][z] for z, c in up[x].items() if z in up[y]}
    found |= {down[y][z] - c for z, c in down[x].items() if z in down[y]}
    return sorted(found)


def joins(predicate: Closure) -> Iterator[Join]:
    """The nonredundant inequality joins `x - y <= c` of P+."""
    found: list[Join] = []
    doubtful: list[Join] = []
    for x in predicate.elements:
        for y in predicate.elements:
            c = predicate.bound(x, y)
            if x.alias == y.alias or c is None or predicate.offset(x, y) is not None:
                continue
            if not predicate.redundant(x, y):
                found.append((x, y, c))
            elif predicate.rounded(x, y):
                doubtful.append((x, y, c))
    yield from found
    if doubtful:
        yield from _missing(predicate, found, doubtful)


def _missing(predicate: Closure, found: Sequence[Join], doubtful: Sequence[Join]) -> Iterator[Join]:
    """Of joins that follow from others by rounding, those that do not follow from the ones kept:
    several may follow from one another."""
    enough = predicate.bare()
    for x in predicate.elements:
        for y in predicate.elements:
            c = predicate.bound(x, y)
            told = x.alias == y.alias or predicate.offset(x, y) is not None
            if x != y and c is not None and told:
                enough = enough.with_bounds([(x, y, c)])
        limits = predicate.interval(x)
        if limits.high is not None:
            enough = enough.at_most(x, limits.high)
        if limits.low is not None:
            enough = enough.at_least(x, limits.low)
    enough = enough.with_bounds(found)
    for each in doubtful:
        if not enough.implies(*each):
            enough = enough.with_bounds([each])
            yield each


def max_ref(predicate: Closure, alias: str) -> list[Attribute]:
    """The unbounded attributes of a stream that stand on the larger side of a join."""
    return _unbounded(predicate, ((y, x) for x, y, _ in joins(predicate) if y.alias == alias))


def min_ref(predicate: Closure, alias: str) -> list[Attribute]:
    """The unbounded attributes of a stream that stand on the smaller side of a join."""
    return _unbounded(predicate, ((x, y) for x, y, _ in joins(predicate) if x.alias == alias))


def _unbounded(predicate: Closure, sides: Iterable[tuple[Attribute, Attribute]]) -> list[Attribute]:
    """A column that can lie anywhere is told apart by finitely many values of its partner into
    finitely many classes only; a whole number cannot be without a bound there."""
    found = {
        each
        for each, partner in sides
        if not predicate.bounded(each)
        and not (predicate.dense(each) and predicate.bounded(partner))
    }
    return sorted(found)


def classes(predicate: Closure, attributes: Iterable[Attribute]) -> int:
    """How many equivalence classes the attributes form: |E|eq."""
    representatives: list[Attribute] = []
    for each in attributes:
        if all(predicate.offset(each, other) is None for other in representatives):
            representatives.append(each)
    return len(representatives)
