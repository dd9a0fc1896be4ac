"""The shape of the synopsis (Arasu, sections 7.1 and 7.2): what is kept of each stream.

A row matters only through the comparisons that it takes part in with rows of other streams.  For
a column y of another stream, the joins `x1 - y <= c1`, `x2 - y <= c2` ask one number of the row,
`max(x1 - c1, x2 - c2)`: the smaller it is, the more rows y it meets.  Such numbers are the
*functions* of a stream, next to the columns that it has to keep exactly (projected, or joined by
equality).  Rows with the same exact columns and the same functions are equivalent; a function is
clamped to the values that the other side tells apart, which makes it finite wherever the criterion
asks for it.  Of at most one function the values have no bound, under DISTINCT only: there the
best value per bucket is kept (`max of min`, `min of max`, Definition 7.3), because a row that is
better in it and equal in the rest replaces the other.

Where rows are compared by two functions without bound, inputs are split into *parts* by where a
column lies among the constants, or by the order of two columns: the buckets of the paper, but only
where they are needed, so that the synopsis is the merged one and not the union over all LTO
queries.  Rows of one part may be compared by one function with one part of another input, and by
another with the next: then the best value of each is kept (the paper's one or two representatives).
"""

from __future__ import annotations

from millpond.memory.exact import exact_keys
from millpond.memory.parts import (
    Combination,
    Function,
    Part,
    Shape,
    ShapeNotFoundError,
    Side,
    StreamShape,
)
from millpond.memory.reachable import reachable
from millpond.memory.spj import SpjQuery
from millpond.memory.splitter import Splitter

__all__ = [
    "Combination",
    "Function",
    "Part",
    "Shape",
    "ShapeNotFoundError",
    "Side",
    "StreamShape",
    "answer_keys",
    "shape_of",
]


def shape_of(query: SpjQuery) -> Shape:
    """The shape of the synopsis of a query that meets the criterion."""
    if not query.satisfiable:
        return Shape(query, (), (), None, 0)
    emitted: tuple[Function, ...] | None = None
    rows = 0
    if query.distinct:
        emitted = answer_keys(query)
        rows = reachable(emitted, query.predicate)
    if len(query.streams) == 1:
        return Shape(query, (), (), emitted, rows)
    streams, combinations = Splitter(query).run()
    return Shape(query, streams, combinations, emitted, rows)


def answer_keys(query: SpjQuery) -> tuple[Function, ...]:
    """The keys that tell the rows of the answer apart."""
    return tuple(exact_keys(query, query.predicate, query.shown))
