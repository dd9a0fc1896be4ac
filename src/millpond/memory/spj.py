"""The normal form of Arasu, section 3.2: a projection, with or without duplicates, of the rows of
a product of streams that satisfy a conjunction of comparisons.

`predicate` is P with the declared domains added (section 9): a CHECK is a filter that every row
passes, except that it lets NULL pass.  `feasible` adds what the types allow; no verdict rests on
that, but a predicate that no value of the types satisfies is never true.

Beside what order says there may be conditions that it says nothing of (LIKE, functions).  About one
input they are filters, which cost nothing.  About several they are *links*: for a finite number of
values of their columns they can be tried, so that their columns are kept as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import gcd

from millpond.diagnostic import Span
from millpond.memory.attribute import Attribute, Linear, attribute, derived_column
from millpond.memory.condition import Condition, Either, In, Opaque, Pair
from millpond.memory.scale import Scale, declared, scale_of
from millpond.order import PLAIN, ZERO, Bound, DifferenceBounds, Values
from millpond.plan import Expression, Operator
from millpond.schema import Column, Interval, Stream, Value

__all__ = ["Attribute", "Projected", "SpjQuery", "attribute"]


@dataclass(frozen=True)
class Projected:
    """A column of the answer: an attribute or a constant, or something made of attributes."""

    name: str
    value: Attribute | Value
    span: Span | None
    made_of: tuple[Attribute, ...] = ()
    """The attributes that a column of the answer is computed from."""
    as_it_is: bool = True
    """Whether the column of the answer is the attribute itself, and not what tells it."""
    sum: Linear | None = None
    """The column as a sum of attributes, if it is one."""
    expression: Expression | None = field(default=None, compare=False, repr=False)
    """What it is computed by, where it is no attribute as it is."""

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        return (self.value,) if isinstance(self.value, Attribute) else self.made_of


@dataclass(frozen=True)
class SpjQuery:
    """A query in normal form."""

    streams: tuple[tuple[str, Stream], ...]
    conditions: tuple[Condition, ...]
    projection: tuple[Projected, ...]
    distinct: bool
    span: Span
    beside: tuple[Attribute, ...] = ()
    """Attributes that matter without being shown: what aggregates are computed from."""
    keyed: frozenset[str] = frozenset()
    """Inputs whose rows are told apart by more than this query shows, so that of what is finite no
    best value speaks for all."""
    room: int = 1
    """How many times finer the unit of the scale is than it has to be."""
    places: tuple[tuple[str, Span], ...] = field(default=(), compare=False, repr=False)
    """Where in the text each input stands, by its alias."""

    @cached_property
    def columns(self) -> dict[Attribute, Column]:
        """A(Q), in the order of FROM and of declaration."""
        found = {
            Attribute(alias, column.name): column
            for alias, stream in self.streams
            for column in stream.columns
        }
        for each in self.derived:
            if each.derived is not None:
                found[each] = derived_column(each.derived)
        return found

    @cached_property
    def derived(self) -> tuple[Attribute, ...]:
        """The attributes that are computed from others of their input."""
        named = (
            *(x for each in self.conditions for x in each.columns),
            *(x for each in self.projection for x in each.attributes),
            *self.beside,
        )
        return tuple(dict.fromkeys(each for each in named if each.derived is not None))

    @cached_property
    def limits(self) -> dict[Attribute, In]:
        """What the text says of the values of one column."""
        return {each.column: each for each in self.conditions if isinstance(each, In)}

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """The comparisons of two columns."""
        return tuple(each for each in self.conditions if isinstance(each, Pair))

    @cached_property
    def offsets(self) -> bool:
        """Whether columns are compared at a distance."""
        return any(each.offset for each in self.pairs)

    @cached_property
    def filters(self) -> tuple[Opaque, ...]:
        """The conditions about one input that order says nothing of."""
        return tuple(each for each in self._opaque if len(_aliases(each)) < 2)

    @cached_property
    def links(self) -> tuple[Opaque, ...]:
        """Those about several inputs."""
        return tuple(each for each in self._opaque if len(_aliases(each)) > 1)

    @cached_property
    def _opaque(self) -> tuple[Opaque, ...]:
        return tuple(each for each in self.conditions if isinstance(each, Opaque))

    @cached_property
    def compared(self) -> frozenset[Attribute]:
        """The attributes that some comparison of the text names: a NULL there fails it."""
        limited = {each.column for each in self.limits.values() if not each.null}
        return frozenset(limited | {side for each in self.pairs for side in each.columns})

    @cached_property
    def void(self) -> frozenset[Attribute]:
        """The attributes that have to be NULL: no value is left to them that their type has."""
        return frozenset(
            each.column
            for each in self.limits.values()
            if not each.ranges or (each.null and self._only_null(each))
        )

    def _only_null(self, limit: In) -> bool:
        column = self.columns[limit.column]
        scale = scale_of({limit.column: column}, {limit.column: limit}, ())
        return scale.values(column, limit).within(_times(column.values, scale.unit)).size == 0

    @cached_property
    def relevant(self) -> tuple[Attribute, ...]:
        """The attributes that the answer can depend on, but those that are NULL."""
        used = {*self.compared, *self.projected, *self.limits, *self.beside} - self.void
        return tuple(each for each in self.columns if each in used)

    @cached_property
    def shown(self) -> tuple[Attribute, ...]:
        """The attributes that columns of the answer are, or are made of."""
        found = dict.fromkeys(x for each in self.projection for x in each.attributes)
        return tuple(each for each in found if each not in self.void)

    @cached_property
    def projected(self) -> tuple[Attribute, ...]:
        """The attributes whose values have to be known: those of the answer, and of links."""
        linked = (x for each in self.links for x in each.columns if x not in self.void)
        return tuple(dict.fromkeys((*self.shown, *linked)))

    @cached_property
    def scale(self) -> Scale:
        columns = {each: self.columns[each] for each in self.relevant}
        offsets = (each.offset for each in self.pairs)
        return scale_of(columns, self.limits, offsets, self.room)

    @cached_property
    def values(self) -> dict[Attribute, Values]:
        """What each attribute can be when it is no NULL, taken alone."""
        return {
            each: self.scale.values(self.columns[each], self.limits.get(each))
            for each in self.relevant
        }

    @cached_property
    def predicate(self) -> DifferenceBounds[Attribute]:
        """P+, domains included."""
        values = self.values
        while True:
            closure = self._closure(values)
            tied = _tied(closure, values) if closure.satisfiable else {}
            if not tied:
                return closure
            values = {**values, **tied}

    def _closure(self, values: Mapping[Attribute, Values]) -> DifferenceBounds[Attribute]:
        holes = {
            each: one
            for each, one in values.items()
            if one.step != 1 or one.dense or len(one.spans) != 1
        }
        closure: DifferenceBounds[Attribute] = DifferenceBounds(self.relevant, holes)
        closure = closure.with_bounds(
            bound
            for each, one in values.items()
            if each not in holes
            for bound in _interval(each, one.hull)
        )
        return closure.with_bounds(
            bound
            for each in self.pairs
            if not self.void & set(each.columns)
            for bound in self._bounds(each)
        )

    def _bounds(self, pair: Pair) -> Iterable[Bound[Attribute]]:
        limit = pair.offset * self.scale.unit
        most, least = _floor(limit), _floor(-limit)
        match pair.op:
            case Operator.LT:
                return [(pair.left, pair.right, most - (most == limit))]
            case Operator.LE:
                return [(pair.left, pair.right, most)]
            case Operator.EQ:
                return [(pair.left, pair.right, most), (pair.right, pair.left, least)]
        raise ValueError(f"{pair.op} is no order atom")

    @cached_property
    def feasible(self) -> DifferenceBounds[Attribute]:
        """P+ with the ranges of the types added."""
        return self.with_types(self.predicate)

    def with_types(self, closure: DifferenceBounds[Attribute]) -> DifferenceBounds[Attribute]:
        unit = self.scale.unit
        return closure.with_bounds(
            bound
            for each in self.relevant
            for bound in _interval(each, _times(self.columns[each].values, unit))
        )

    @cached_property
    def satisfiable(self) -> bool:
        impossible = any(isinstance(each, Either) for each in self.conditions)
        nulls = self.void & self.compared
        missing = any(not self.columns[each].nullable for each in self.void)
        return self.feasible.satisfiable and not (impossible or nulls or missing)

    @cached_property
    def constants(self) -> tuple[int, ...]:
        """C(Q), sorted: the constants of the text and the ends of the domains."""
        said = [each for limit in self.limits.values() for each in limit.ranges]
        said += [each for x in self.relevant for each in declared(self.columns[x])]
        ends = (end for each in said for end in (each.low, each.high) if end is not None)
        found = {_floor(self.scale.of(end)) for end in ends}
        return tuple(sorted(found))

    def told_by(self, each: Attribute) -> tuple[int, ...]:
        """The constants that an attribute has to be told apart by: the outer ones; the others, too,
        if it can lie anywhere between them; of very many an even choice, because what holds between
        two neighbours holds between others."""
        found = self.constants
        if not self.values[each].dense:
            return tuple(sorted({*found[:1], *found[-1:]}))
        if len(found) <= _MANY:
            return found
        step = -(-len(found) // _MANY)
        return tuple(sorted({*found[::step], found[-1]}))

    @cached_property
    def plain(self) -> bool:
        """Whether there is nothing in it but comparisons of integers."""
        return (
            not self._opaque
            and not self.derived
            and not self.void
            and not any(each.made_of or not each.as_it_is for each in self.projection)
            and not any(each.null for each in self.limits.values())
            and not any(isinstance(each.value, str | float | bool) for each in self.projection)
            and all(values == PLAIN or _one_range(values) for values in self.values.values())
            and all(self.columns[each].type.kind.value == "integer" for each in self.relevant)
            and not any(stream.time for _, stream in self.streams)
        )

    @property
    def self_join(self) -> bool:
        names = [stream.name for _, stream in self.streams]
        return len(set(names)) < len(names)

    def nullable(self, each: Attribute) -> bool:
        """Whether a NULL of this attribute can reach the answer."""
        limit = self.limits.get(each)
        allowed = limit is None or limit.null
        return self.columns[each].nullable and each not in self.compared and allowed

    def of(self, alias: str) -> tuple[Attribute, ...]:
        """The relevant attributes of one input."""
        return tuple(each for each in self.relevant if each.alias == alias)


def _tied(
    closure: DifferenceBounds[Attribute], values: Mapping[Attribute, Values]
) -> dict[Attribute, Values]:
    """What could lie anywhere, but is a whole number, say, because it equals one."""
    found = {}
    for x, mine in values.items():
        for y, other in values.items():
            distance = closure.offset(x, y) if mine.dense and not other.dense else None
            if distance is not None:
                found[x] = Values(gcd(other.step, distance), spans=mine.spans)
                break
    return found


_MANY = 16
"""More constants than these are thinned out."""


def _aliases(condition: Opaque) -> set[str]:
    return {each.alias for each in condition.columns}


def _one_range(values: Values) -> bool:
    return values.step == 1 and not values.dense and len(values.spans) == 1


def _floor(limit: Fraction) -> int:
    return limit.numerator // limit.denominator


def _times(interval: Interval, unit: int) -> Interval:
    low, high = interval.low, interval.high
    return Interval(None if low is None else low * unit, None if high is None else high * unit)


def _interval(each: Attribute, limits: Interval) -> Iterable[Bound[Attribute]]:
    if limits.low is not None:
        yield ZERO, each, -limits.low
    if limits.high is not None:
        yield each, ZERO, limits.high
