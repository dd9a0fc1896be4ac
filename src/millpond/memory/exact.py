"""The columns of an input that are kept exactly: projected, or joined by equality.

Columns that tell one another (`a = b + 1`) are kept once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from millpond.memory.lto import Closure
from millpond.memory.parts import Function, Side
from millpond.memory.spj import Attribute, SpjQuery


def exact_keys(
    query: SpjQuery, predicate: Closure, attributes: Sequence[Attribute]
) -> Iterator[Function]:
    """A key for each class of equal attributes that takes more than one value."""
    seen: list[Attribute] = []
    for each in attributes:
        if fixed(query, predicate, each) or any(
            rigid(query, predicate, each, other) for other in seen
        ):
            continue
        seen.append(each)
        interval, size = predicate.interval(each), _size(predicate, each)
        yield Function(
            Side.EXACT,
            ((each, 0),),
            interval,
            null_slot=query.nullable(each),
            told=None if size == interval.size else size,
        )


def _size(predicate: Closure, attribute: Attribute) -> int | None:
    """How many values a column takes, where it may be equal to one that takes fewer: a DOUBLE
    that equals an INT has the integers only."""
    equal = [x for x in predicate.elements if predicate.offset(x, attribute) is not None]
    sizes = [predicate.values(each).size for each in (attribute, *equal)]
    return min((each for each in sizes if each is not None), default=None)


def fixed(query: SpjQuery, predicate: Closure, each: Attribute) -> bool:
    return predicate.interval(each).size == 1 and not query.nullable(each)


def rigid(query: SpjQuery, predicate: Closure, x: Attribute, y: Attribute) -> bool:
    """Whether each of x and y tells the other; a CHECK that allows one value allows NULL too."""
    if query.nullable(x) or query.nullable(y):
        return x == y
    return predicate.offset(x, y) is not None


def canonical(query: SpjQuery, predicate: Closure, each: Attribute) -> Attribute:
    """The first attribute of the same input that differs from this one by a constant only."""
    return next(
        other
        for other in predicate.elements
        if other.alias == each.alias and rigid(query, predicate, other, each)
    )


def needed(query: SpjQuery, predicate: Closure, alias: str) -> set[Attribute]:
    """The attributes of an input that are kept exactly: projected, or joined by equality."""
    others = [each for each in predicate.elements if each.alias != alias]
    return {
        canonical(query, predicate, x)
        for x in query.of(alias)
        if not fixed(query, predicate, x)
        and (x in query.projected or any(rigid(query, predicate, x, y) for y in others))
    }
