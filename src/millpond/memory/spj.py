"""The normal form of Arasu, section 3.2: a projection, with or without duplicates, of the rows of
a product of streams that satisfy a conjunction of comparisons.

`predicate` is P with the declared domains added (section 9): a CHECK is a filter that every row
passes, except that it lets NULL pass.  `feasible` adds what the types allow; no verdict rests on
that, but a predicate that no value of the types satisfies is never true.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from millpond.diagnostic import Span
from millpond.order import ZERO, Bound, DifferenceBounds, Zero
from millpond.plan import (
    ColumnRef,
    Comparison,
    Cross,
    Distinct,
    Filter,
    Literal,
    Node,
    Operator,
    Project,
    Query,
    Scan,
)
from millpond.schema import Column, Stream


@dataclass(frozen=True, order=True)
class Attribute:
    """A column of one of the query's inputs."""

    alias: str
    column: str

    def __str__(self) -> str:
        return f"{self.alias}.{self.column}"


@dataclass(frozen=True)
class Projected:
    """A column of the answer: an attribute or a constant."""

    name: str
    value: Attribute | int | None
    span: Span | None


@dataclass(frozen=True)
class SpjQuery:
    """A query in normal form."""

    streams: tuple[tuple[str, Stream], ...]
    comparisons: tuple[Comparison, ...]
    projection: tuple[Projected, ...]
    distinct: bool
    span: Span

    @cached_property
    def columns(self) -> dict[Attribute, Column]:
        """A(Q), in the order of FROM and of declaration."""
        return {
            Attribute(alias, column.name): column
            for alias, stream in self.streams
            for column in stream.columns
        }

    @cached_property
    def compared(self) -> frozenset[Attribute]:
        """The attributes that some comparison of the text names: a NULL there fails it."""
        sides = (side for each in self.comparisons for side in (each.left, each.right))
        return frozenset(attribute(side) for side in sides if isinstance(side, ColumnRef))

    @cached_property
    def relevant(self) -> tuple[Attribute, ...]:
        """The attributes that the answer can depend on."""
        used = self.compared | set(self.projected)
        return tuple(each for each in self.columns if each in used)

    @cached_property
    def projected(self) -> tuple[Attribute, ...]:
        return tuple(each.value for each in self.projection if isinstance(each.value, Attribute))

    @cached_property
    def predicate(self) -> DifferenceBounds[Attribute]:
        """P+, domains included."""
        closure: DifferenceBounds[Attribute] = DifferenceBounds(self.relevant)
        for comparison in self.comparisons:
            closure = closure.with_bounds(_bounds(comparison))
        return closure.with_bounds(
            bound
            for each in self.relevant
            for bound in _interval(
                each, self.columns[each].domain.low, self.columns[each].domain.high
            )
        )

    @cached_property
    def feasible(self) -> DifferenceBounds[Attribute]:
        """P+ with the ranges of the types added."""
        return self.with_types(self.predicate)

    def with_types(self, closure: DifferenceBounds[Attribute]) -> DifferenceBounds[Attribute]:
        return closure.with_bounds(
            bound
            for each in self.relevant
            for bound in _interval(
                each, self.columns[each].values.low, self.columns[each].values.high
            )
        )

    @cached_property
    def satisfiable(self) -> bool:
        return self.feasible.satisfiable and not any(
            isinstance(side, Literal) and side.value is None
            for each in self.comparisons
            for side in (each.left, each.right)
        )

    @cached_property
    def constants(self) -> tuple[int, ...]:
        """C(Q), sorted: the constants of the text and the ends of the domains."""
        found = {
            side.value
            for each in self.comparisons
            for side in (each.left, each.right)
            if isinstance(side, Literal) and side.value is not None
        }
        for each in self.relevant:
            domain = self.columns[each].domain
            found |= {end for end in (domain.low, domain.high) if end is not None}
        return tuple(sorted(found))

    @property
    def self_join(self) -> bool:
        names = [stream.name for _, stream in self.streams]
        return len(set(names)) < len(names)

    def nullable(self, each: Attribute) -> bool:
        """Whether a NULL of this attribute can reach the answer."""
        return self.columns[each].nullable and each not in self.compared

    def of(self, alias: str) -> tuple[Attribute, ...]:
        """The relevant attributes of one input."""
        return tuple(each for each in self.relevant if each.alias == alias)


def attribute(ref: ColumnRef) -> Attribute:
    return Attribute(ref.alias, ref.name)


def normal_form(query: Query) -> SpjQuery | None:
    """The normal form of a plan; None if it has none."""
    node: Node = query.root
    distinct = isinstance(node, Distinct)
    if isinstance(node, Distinct):
        node = node.input
    if not isinstance(node, Project):
        return None
    items, node = node.items, node.input
    comparisons: tuple[Comparison, ...] = ()
    while isinstance(node, Filter):
        comparisons, node = (*comparisons, *node.predicates), node.input
    inputs = node.inputs if isinstance(node, Cross) else (node,)
    streams = []
    for each in inputs:
        if not isinstance(each, Scan):
            return None
        streams.append((each.alias, each.stream))
    projection = tuple(
        Projected(
            item.name,
            attribute(item.expression)
            if isinstance(item.expression, ColumnRef)
            else item.expression.value,
            item.expression.span,
        )
        for item in items
    )
    return SpjQuery(tuple(streams), comparisons, projection, distinct, query.span)


def _bounds(comparison: Comparison) -> Iterable[Bound[Attribute]]:
    """`left op right` as `x - y <= c`, constants taken to the right side."""
    left, left_constant = _element(comparison.left)
    right, right_constant = _element(comparison.right)
    gap = right_constant - left_constant
    match comparison.op:
        case Operator.LT:
            return [(left, right, gap - 1)]
        case Operator.LE:
            return [(left, right, gap)]
        case Operator.EQ:
            return [(left, right, gap), (right, left, -gap)]
        case Operator.GE:
            return [(right, left, -gap)]
        case Operator.GT:
            return [(right, left, -gap - 1)]


def _element(side: ColumnRef | Literal) -> tuple[Attribute | Zero, int]:
    if isinstance(side, ColumnRef):
        return attribute(side), 0
    return ZERO, side.value or 0


def _interval(each: Attribute, low: int | None, high: int | None) -> Iterable[Bound[Attribute]]:
    if low is not None:
        yield ZERO, each, -low
    if high is not None:
        yield each, ZERO, high
