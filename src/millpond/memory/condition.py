"""What a condition of WHERE says, taken apart: values of one column, differences of two, the rest.

A condition is asked for where it is *true*: unknown is as good as false.  NOT is pushed down to the
comparisons, where a NULL makes both `x < y` and its negation unknown.  What one column alone has to
satisfy becomes one set of values (`In`), whatever it was written with: BETWEEN, IN, OR, `<>`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from millpond.diagnostic import Span
from millpond.memory.attribute import Attribute, attribute, derived, measured
from millpond.plan import (
    ColumnRef,
    Comparison,
    Expression,
    InList,
    Is,
    Literal,
    Logical,
    Not,
    Operator,
    columns_of,
)
from millpond.schema import Column, Kind

Number = Fraction | str
"""Constants are compared as fractions, or as texts."""


@dataclass(frozen=True)
class Range:
    """The numbers or texts between two ends; None is no end, an open one is left out."""

    low: Number | None = None
    high: Number | None = None
    low_open: bool = False
    high_open: bool = False

    @property
    def empty(self) -> bool:
        if self.low is None or self.high is None:
            return False
        low: Any = self.low
        return bool(low > self.high) or (
            self.low == self.high and (self.low_open or self.high_open)
        )

    def meet(self, other: Range) -> Range:
        low, high = self, self
        if other.low is not None and (self.low is None or _above(other, self)):
            low = other
        if other.high is not None and (self.high is None or _below(other, self)):
            high = other
        return Range(low.low, high.high, low.low_open, high.high_open)


def _above(one: Range, other: Range) -> bool:
    low: Any = one.low
    return bool(low > other.low) or (one.low == other.low and one.low_open)


def _below(one: Range, other: Range) -> bool:
    high: Any = one.high
    return bool(high < other.high) or (one.high == other.high and one.high_open)


@dataclass(frozen=True)
class In:
    """A column lies in one of the ranges, or, with `null`, is NULL."""

    column: Attribute
    ranges: tuple[Range, ...]
    null: bool
    spans: tuple[Span | None, ...] = ()

    @property
    def columns(self) -> tuple[Attribute, ...]:
        return (self.column,)

    def meet(self, other: In) -> In:
        found = [one.meet(each) for one in self.ranges for each in other.ranges]
        return replace(
            self,
            ranges=tuple(each for each in found if not each.empty),
            null=self.null and other.null,
            spans=(*self.spans, *other.spans),
        )

    def join(self, other: In) -> In:
        return replace(
            self,
            ranges=(*self.ranges, *other.ranges),
            null=self.null or other.null,
            spans=(*self.spans, *other.spans),
        )


@dataclass(frozen=True)
class Pair:
    """`left - right op offset`, of two columns that are no NULL; op is <, <= or =."""

    left: Attribute
    right: Attribute
    op: Operator
    offset: Fraction
    span: Span | None = None

    @property
    def columns(self) -> tuple[Attribute, ...]:
        return self.left, self.right


@dataclass(frozen=True)
class Opaque:
    """A condition that order says nothing of; with `negated`, it has to be false."""

    expression: Expression
    negated: bool = False
    span: Span | None = None

    @property
    def columns(self) -> tuple[Attribute, ...]:
        return tuple(dict.fromkeys(map(attribute, columns_of(self.expression))))


@dataclass(frozen=True)
class Either:
    """One of several conjunctions holds."""

    branches: tuple[tuple[Condition, ...], ...]

    @property
    def columns(self) -> tuple[Attribute, ...]:
        return tuple(
            dict.fromkeys(x for branch in self.branches for c in branch for x in c.columns)
        )


Condition = In | Pair | Opaque | Either

NEVER = Either(())
"""What no row satisfies."""

_NEGATED = {
    Operator.LT: Operator.GE,
    Operator.LE: Operator.GT,
    Operator.EQ: Operator.NE,
    Operator.NE: Operator.EQ,
    Operator.GE: Operator.LT,
    Operator.GT: Operator.LE,
}


def conditions(predicates: Iterable[Expression]) -> tuple[Condition, ...]:
    """What has to hold for all predicates to be true; one set of values for each column."""
    return conjunction([each for one in predicates for each in _true(one)])


def conjunction(found: Sequence[Condition]) -> tuple[Condition, ...]:
    """All of several conditions, with one set of values for each column."""
    sets: dict[Attribute, In] = {}
    rest: list[Condition] = []
    for each in found:
        if isinstance(each, In):
            known = sets.get(each.column)
            sets[each.column] = each if known is None else known.meet(each)
        elif isinstance(each, Either) and len(each.branches) == 1:
            return conjunction([*(x for x in found if x is not each), *each.branches[0]])
        else:
            rest.append(each)
    if any(not each.ranges and not each.null for each in sets.values()):
        return (NEVER,)
    if any(each == NEVER for each in rest):
        return (NEVER,)
    return (*sets.values(), *dict.fromkeys(rest))


def not_true(branch: Sequence[Condition], columns: Mapping[Attribute, Column]) -> Condition:
    """That some condition of a conjunction is false or unknown."""
    found = _disjunction([each for one in branch for each in _not_true(one, columns)])
    return found[0] if len(found) == 1 else Either((tuple(found),))


def _not_true(
    condition: Condition, columns: Mapping[Attribute, Column]
) -> Iterator[list[Condition]]:
    """Alternatives that do not overlap."""
    match condition:
        case In():
            null = not condition.null and columns[condition.column].nullable
            yield [replace(condition, ranges=tuple(_outside(condition.ranges)), null=null)]
        case Pair():
            yield _turned(condition)
            known: list[Condition] = []
            for each in condition.columns:
                if columns[each].nullable:
                    yield [*known, In(each, (), True, (condition.span,))]
                    known.append(In(each, (Range(),), False, (condition.span,)))
        case Opaque():
            is_true = Is(condition.expression, not condition.negated, condition.span)
            yield [Opaque(is_true, negated=True, span=condition.span)]
        case Either():
            yield [not_true(branch, columns) for branch in condition.branches]


def _turned(pair: Pair) -> list[Condition]:
    turned = {
        Operator.LT: [Pair(pair.right, pair.left, Operator.LE, -pair.offset, pair.span)],
        Operator.LE: [Pair(pair.right, pair.left, Operator.LT, -pair.offset, pair.span)],
    }
    if pair.op in turned:
        return list(turned[pair.op])
    below = Pair(pair.left, pair.right, Operator.LT, pair.offset, pair.span)
    above = Pair(pair.right, pair.left, Operator.LT, -pair.offset, pair.span)
    return [Either(((below,), (above,)))]


def _outside(ranges: Iterable[Range]) -> Iterator[Range]:
    """What lies in none of some ranges."""
    left = [Range()]
    for each in ranges:
        around = []
        if each.low is not None:
            around.append(Range(None, each.low, high_open=not each.low_open))
        if each.high is not None:
            around.append(Range(each.high, None, low_open=not each.high_open))
        left = [one.meet(other) for one in left for other in around]
    return (each for each in left if not each.empty)


def _disjunction(branches: Sequence[Sequence[Condition]]) -> list[Condition]:
    """One condition for several; those about the values of one column are one set of them."""
    kept: list[tuple[Condition, ...]] = []
    merged: dict[Attribute, In] = {}
    for branch in branches:
        found = conjunction(branch)
        if not found:
            return []
        if found == (NEVER,):
            continue
        only = found[0]
        if len(found) == 1 and isinstance(only, In):
            known = merged.get(only.column)
            merged[only.column] = only if known is None else known.join(only)
        else:
            kept.append(found)
    whole = [*((each,) for each in merged.values()), *kept]
    if len(whole) == 1:
        return list(whole[0])
    return [Either(tuple(whole))]


def _true(expression: Expression) -> list[Condition]:
    match expression:
        case Literal(value=value):
            return [] if value is True else [NEVER]
        case Logical(op="AND"):
            return [each for one in expression.operands for each in _true(one)]
        case Logical():
            return _disjunction([_true(each) for each in expression.operands])
        case Not():
            return _false(expression.operand)
        case Comparison():
            return _compared(expression, expression.op)
        case InList():
            return _listed(expression, negated=False)
        case ColumnRef():
            return [_truth(expression, holds=True)]
        case Is(value=None):
            if isinstance(expression.operand, ColumnRef):
                return [In(attribute(expression.operand), (), True, (expression.span,))]
        case Is(value=True):
            return _true(expression.operand)
        case Is(value=False):
            return _false(expression.operand)
    return [Opaque(expression, span=expression.span)]


def _false(expression: Expression) -> list[Condition]:
    match expression:
        case Literal(value=value):
            return [] if value is False else [NEVER]
        case Logical(op="AND"):
            return _disjunction([_false(each) for each in expression.operands])
        case Logical():
            return [each for one in expression.operands for each in _false(one)]
        case Not():
            return _true(expression.operand)
        case Comparison() if expression.op in _NEGATED:
            return _compared(expression, _NEGATED[expression.op])
        case InList():
            return _listed(expression, negated=True)
        case ColumnRef():
            return [_truth(expression, holds=False)]
        case Is(value=None):
            if isinstance(expression.operand, ColumnRef):
                return [In(attribute(expression.operand), (Range(),), False, (expression.span,))]
    return [Opaque(expression, negated=True, span=expression.span)]


def _truth(column: ColumnRef, *, holds: bool) -> In:
    value = Fraction(holds)
    return In(attribute(column), (Range(value, value),), False, (column.span,))


def _compared(comparison: Comparison, op: Operator) -> list[Condition]:
    left, right, span = comparison.left, comparison.right, comparison.span
    if any(isinstance(each, Literal) and each.value is None for each in (left, right)):
        return _null(comparison) if op is Operator.SAME else [NEVER]
    if Kind.VARCHAR in (left.type.kind, right.type.kind):
        found = _texts(left, right, op, span)
    else:
        found = _numbers(left, right, op, span)
    if found is not None:
        return found
    return [Opaque(replace(comparison, op=op), span=span)]


def _null(comparison: Comparison) -> list[Condition]:
    """`x IS NOT DISTINCT FROM NULL`."""
    for each in (comparison.left, comparison.right):
        if isinstance(each, ColumnRef):
            return [In(attribute(each), (), True, (comparison.span,))]
    return [Opaque(comparison, span=comparison.span)]


def _texts(
    left: Expression, right: Expression, op: Operator, span: Span | None
) -> list[Condition] | None:
    if isinstance(left, Literal):
        left, right, op = right, left, op.flipped
    column, other = derived(left), derived(right)
    if column is None:
        return None
    if isinstance(right, Literal) and isinstance(right.value, str):
        return [_limited(column, op, right.value, span)]
    if other is not None and other != column:
        return _pair(column, other, op, Fraction(0), span)
    return None


def _numbers(
    left: Expression, right: Expression, op: Operator, span: Span | None
) -> list[Condition] | None:
    """A comparison of sums, as a limit of one column or of a difference of two."""
    one, other = measured(left), measured(right)
    if one is None or other is None or not _same_unit(left, right):
        return None
    if op is Operator.SAME and one.terms and other.terms:
        return None  # true of two NULLs
    difference = one.plus(other, Fraction(-1))
    limit = -difference.constant
    terms = list(difference.terms.items())
    named = dict.fromkeys((*one.terms, *other.terms))
    known: list[Condition] = [
        In(each, (Range(),), False, (span,)) for each in named if each not in difference.terms
    ]
    if not terms:
        return known if _holds(Fraction(0), op, limit) else [NEVER]
    if len(terms) == 1:
        (column, factor), *_ = terms
        return [
            *known,
            _limited(column, op if factor > 0 else op.flipped, limit / factor, span),
        ]
    if len(terms) == 2 and terms[0][1] == -terms[1][1] and op is not Operator.SAME:
        (x, factor), (y, _) = terms
        if factor < 0:
            x, y, factor = y, x, -factor
        found = _pair(x, y, op, limit / factor, span)
        return None if found is None else [*known, *found]
    return None


def _same_unit(left: Expression, right: Expression) -> bool:
    """Whether both sides count in one unit: a DATE counts days, a TIMESTAMP microseconds."""
    kinds = {each.type.kind for each in (left, right)}
    return len(kinds) == 1 or kinds <= {Kind.INTEGER, Kind.DECIMAL, Kind.DOUBLE}


def _holds(x: Fraction, op: Operator, y: Fraction) -> bool:
    return {
        Operator.LT: x < y,
        Operator.LE: x <= y,
        Operator.EQ: x == y,
        Operator.SAME: x == y,
        Operator.GE: x >= y,
        Operator.GT: x > y,
        Operator.NE: x != y,
    }[op]


def _limited(column: Attribute, op: Operator, limit: Number, span: Span | None) -> In:
    ranges = {
        Operator.LT: (Range(None, limit, high_open=True),),
        Operator.LE: (Range(None, limit),),
        Operator.EQ: (Range(limit, limit),),
        Operator.SAME: (Range(limit, limit),),
        Operator.GE: (Range(limit, None),),
        Operator.GT: (Range(limit, None, low_open=True),),
        Operator.NE: (Range(None, limit, high_open=True), Range(limit, None, low_open=True)),
    }[op]
    return In(column, ranges, False, (span,))


def _pair(
    x: Attribute, y: Attribute, op: Operator, offset: Fraction, span: Span | None
) -> list[Condition] | None:
    match op:
        case Operator.LT | Operator.LE | Operator.EQ:
            return [Pair(x, y, op, offset, span)]
        case Operator.GT | Operator.GE:
            return [Pair(y, x, op.flipped, -offset, span)]
        case Operator.NE:
            below = Pair(x, y, Operator.LT, offset, span)
            above = Pair(y, x, Operator.LT, -offset, span)
            return [Either(((below,), (above,)))]
    return None


def _listed(listed: InList, *, negated: bool) -> list[Condition]:
    operand, items = listed.operand, listed.items
    constants = [each.value for each in items if isinstance(each, Literal)]
    if derived(operand) is None or len(constants) < len(items):
        return [Opaque(listed, negated, listed.span)]
    if negated and None in constants:
        return [NEVER]
    op = Operator.NE if negated else Operator.EQ
    alternatives = [
        _compared(Comparison(op, operand, each, listed.span), op)
        for each in items
        if isinstance(each, Literal) and each.value is not None
    ]
    if negated:
        return list(conjunction([each for one in alternatives for each in one]))
    return _disjunction(alternatives) if alternatives else [NEVER]
