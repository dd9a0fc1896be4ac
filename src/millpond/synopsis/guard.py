"""The filters that P+ has on one input: what no row that matters fails."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from millpond.memory import Attribute, SpjQuery
from millpond.memory.condition import Opaque
from millpond.memory.lto import Closure
from millpond.order import DifferenceBounds
from millpond.program import Truth, Whole
from millpond.program.expression import Compare, Condition, Field, Int, NotNull, plus
from millpond.schema.types import ANYTHING
from millpond.synopsis.coding import Coding

_SMALL = 1 << 62
"""Ends beyond it are compared before any step, which know 64 bits only."""


def guard(
    coding: Coding,
    spj: SpjQuery,
    predicate: Closure,
    alias: str,
    offset: set[Attribute],
    listed: Mapping[Attribute, str] = MappingProxyType({}),
) -> tuple[Condition, ...]:
    """The conditions on one input.

    Columns in `offset` take part in arithmetic; what their types imply keeps that inside 64 bits.
    Those in `listed` have a column that says which of the values of their key it is.
    """
    mine = spj.of(alias)
    own = predicate.restrict(mine)
    conditions: list[Condition] = []
    for each in mine:
        if each in spj.compared and coding.misses(each):
            conditions += _not_null(coding, own, each, listed.get(each))
    pairs = list(_pairs(own, mine))
    offset = offset | {each for x, y, c in pairs if c not in (0, -1) for each in (x, y)}
    typed = spj.with_types(predicate)
    for each in mine:
        if spj.nullable(each):
            continue  # nothing but its declaration says where it lies, and that lets NULL pass
        if each in listed:
            conditions.append(Compare(">=", Field(listed[each]), Int(0)))
        else:
            conditions += _limits(coding, spj, own, typed if each in offset else own, each)
    conditions += [_difference(coding, x, y, c, own) for x, y, c in pairs]
    return (*conditions, *_beside(coding, spj, alias))


def _not_null(
    coding: Coding, own: Closure, x: Attribute, listed: str | None
) -> Iterator[Condition]:
    if listed is not None:
        yield NotNull(listed)
    elif coding.line(x).whole:
        yield NotNull(coding.place(x).name)
    elif own.values(x).anything:
        yield Compare("==", _null(coding, x), Int(0))


def _limits(
    coding: Coding, spj: SpjQuery, own: Closure, limited: Closure, x: Attribute
) -> Iterator[Condition]:
    """Where a column that is no NULL has to lie, as far as its declaration does not say so."""
    line = coding.line(x)
    values, possible = own.values(x), spj.columns[x].values
    if len(values.spans) > 1 or not line.whole:
        if not values.anything:
            yield Compare("==", coding.among(x, values.spans, null=False), Int(1))
        return
    plain = isinstance(line, Whole) and line.plain
    interval = (limited if plain else own).interval(x)
    low = None if interval.low is None else line.least(interval.low)
    high = None if interval.high is None else line.most(interval.high)
    assert low is None or isinstance(low, int)
    assert high is None or isinstance(high, int)
    if any(end is not None and abs(end) > _SMALL for end in (low, high)) and not plain:
        yield Compare("==", coding.among(x, (interval,), null=False), Int(1))
        return
    if not plain:
        possible = ANYTHING
    elif low == high and low is not None and interval != possible:
        yield Compare("==", coding.place(x), Int(low))
        return
    if low is not None and (possible.low is None or low > possible.low):
        yield Compare(">=", coding.place(x), Int(low))
    if high is not None and (possible.high is None or high < possible.high):
        yield Compare("<=", coding.place(x), Int(high))


def _beside(coding: Coding, spj: SpjQuery, alias: str) -> Iterator[Condition]:
    """What order says nothing of: that a column is NULL or lies somewhere, and any condition."""
    stream = coding.stream(alias)
    for each in spj.limits.values():
        if each.column.alias != alias or not each.null:
            continue
        if each.column in spj.void:
            yield Compare("==", _null(coding, each.column), Int(1))
        else:
            spans = spj.values[each.column].spans
            yield Compare("==", coding.among(each.column, spans, null=True), Int(1))
    for other in spj.filters:
        if _alias(other) in (alias, None):
            read = coding.computed(alias, other.expression, other)
            how = Truth(read, not other.negated)
            name = coding.inputs.prepared(stream, read.text, how, nullable=False)
            yield Compare("==", Field(name), Int(1))


def _null(coding: Coding, x: Attribute) -> Field:
    how = Truth(coding.read(x), None)
    stream = coding.stream(x.alias)
    return Field(coding.inputs.prepared(stream, f"{x.column} IS NULL", how, nullable=False))


def _alias(condition: Opaque) -> str | None:
    return next((each.alias for each in condition.columns), None)


def _pairs(own: Closure, mine: Sequence[Attribute]) -> Iterator[tuple[Attribute, Attribute, int]]:
    """The comparisons between columns of an input that do not follow from others."""
    canonical = {
        each: next(other for other in mine if own.offset(other, each) is not None) for each in mine
    }
    for x in mine:
        if canonical[x] != x and own.interval(x).size != 1:
            yield x, canonical[x], own.offset(x, canonical[x]) or 0
    for x in mine:
        for y in mine:
            c = own.bound(x, y)
            if (
                x != y
                and canonical[x] == x
                and canonical[y] == y
                and c is not None
                and own.offset(x, y) is None
                and (not own.redundant(x, y) or own.rounded(x, y))
            ):
                yield x, y, c


def _difference(
    coding: Coding, x: Attribute, y: Attribute, c: int, own: DifferenceBounds[Attribute]
) -> Condition:
    left, right, line = coding.place(x), coding.place(y), coding.line(x)
    if own.offset(x, y) is not None:
        return Compare("==", left, plus(right, line.offset(c)))
    by = line.bound(c)
    if by == -1:
        return Compare("<", left, right)
    return Compare("<=", left, plus(right, by))
