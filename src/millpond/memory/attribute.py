"""Columns of a query's inputs, and expressions read as sums of them.

A *linear* expression is a sum of columns, each times a number, and a constant: what order atoms are
made of.  Only exact arithmetic counts: DOUBLE columns are compared as they are.

What is computed from one row alone (`a % 3`, `LOWER(k)`) is as good as a column of its input: a
*derived* one.  A bound that is found with derived columns is one; that none exists does not follow,
because what they are computed from ties them to other columns in ways that order does not know.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction

from millpond.plan import Call, Case, Cast, ColumnRef, Expression, Literal, columns_of
from millpond.schema import Check, Column, IntegerType, Kind, Type, Value


@dataclass(frozen=True, order=True)
class Attribute:
    """A column of one of the query's inputs."""

    alias: str
    column: str
    derived: Expression | None = field(default=None, compare=False, repr=False)
    """What a derived column is computed by."""

    def __str__(self) -> str:
        return f"{self.alias}.{self.column}" if self.derived is None else self.column


def derived(expression: Expression) -> Attribute | None:
    """What is computed from one input as a column of it; None for constants, and for what takes
    several inputs."""
    aliases = {each.alias for each in columns_of(expression)}
    if len(aliases) != 1:
        return None
    (alias,) = aliases
    assert alias is not None
    if isinstance(expression, ColumnRef):
        return attribute(expression)
    return Attribute(alias, str(expression), expression)


def derived_column(expression: Expression) -> Column:
    """The declaration that a derived column would have."""
    return Column(str(expression), expression.type, expression.nullable, _range(expression))


def _range(expression: Expression) -> Check:
    """The values that an expression can have, where its function says so."""
    match expression:
        case Call(function="%", arguments=(_, Literal() as by)):
            if isinstance(by.value, int | Decimal) and by.value:
                # With the sign of what is divided, and short of the divisor.
                limit = Decimal(by.value).copy_abs()
                return Check(-limit, limit, low_open=True, high_open=True)
        case Call(function=function) if function in _RANGES:
            return Check(*_RANGES[function])
        case Case():
            values = [value for _, value in expression.branches] + [expression.otherwise]
            found = [each.value for each in values if isinstance(each, Literal)]
            if len(found) == len(values):
                return Check(among=tuple(each for each in found if each is not None))
    return Check()


_RANGES = {
    "SIGN": (-1, 1),
    "QUARTER": (1, 4),
    "MONTH": (1, 12),
    "WEEK": (1, 53),
    "DAY": (1, 31),
    "DAYOFYEAR": (1, 366),
    "DAYOFWEEK": (0, 6),
    "ISODOW": (1, 7),
    "HOUR": (0, 23),
    "MINUTE": (0, 59),
    "SECOND": (0, 59),
}


def attribute(ref: ColumnRef) -> Attribute:
    assert ref.alias is not None  # the columns of streams have one
    return Attribute(ref.alias, ref.name)


EXACT = (Kind.INTEGER, Kind.DECIMAL, Kind.DATE, Kind.TIMESTAMP, Kind.INTERVAL)
"""Kinds whose sums are exact."""


@dataclass(frozen=True)
class Linear:
    """`terms` summed up, and a constant."""

    terms: Mapping[Attribute, Fraction]
    constant: Fraction

    def plus(self, other: Linear, times: Fraction = Fraction(1)) -> Linear:
        terms = dict(self.terms)
        for each, factor in other.terms.items():
            terms[each] = terms.get(each, Fraction(0)) + factor * times
        kept = {each: factor for each, factor in terms.items() if factor}
        return Linear(kept, self.constant + other.constant * times)


def linear(expression: Expression) -> Linear | None:
    """An expression over numbers or times as a sum; None where it is none, or not exactly."""
    match expression:
        case ColumnRef():
            return Linear({attribute(expression): Fraction(1)}, Fraction(0))
        case Literal():
            return None if expression.value is None else _constant(expression.value)
        case Cast():
            return linear(expression.operand) if _widens(expression) else None
        case Call() if expression.type.kind in EXACT:
            return _sum(expression)
    return None


def measured(expression: Expression) -> Linear | None:
    """An expression as a sum, or as a derived column."""
    found = linear(expression)
    if found is not None or expression.type.kind in (Kind.VARCHAR, Kind.NULL):
        return found
    column = derived(expression)
    return None if column is None else Linear({column: Fraction(1)}, Fraction(0))


def number(value: Value) -> Fraction:
    """A number, a truth value, or a time, as a number."""
    if value is None or isinstance(value, str):
        raise ValueError(f"{value!r} is no number")
    return Fraction(value)


def _constant(value: Value) -> Linear | None:
    return None if isinstance(value, str) else Linear({}, number(value))


def _sum(call: Call) -> Linear | None:
    if any(each.type.kind not in EXACT for each in call.arguments):
        return None
    kinds = {each.type.kind for each in call.arguments}
    if Kind.DATE in kinds and Kind.INTERVAL in kinds:
        return None  # a DATE counts days, an INTERVAL microseconds
    parts = [linear(each) for each in call.arguments]
    found = [each for each in parts if each is not None]
    if len(found) < len(parts):
        return None
    sum_ = _computed(call.function, found)
    named = {each for one in found for each in one.terms}
    if sum_ is None or len(sum_.terms) < len(named):
        return None  # what cancels out still makes the sum NULL where it is NULL
    return sum_


def _computed(function: str, parts: Sequence[Linear]) -> Linear | None:
    match function, parts:
        case "+", [one, other]:
            return one.plus(other)
        case "-", [one, other]:
            return one.plus(other, Fraction(-1))
        case "-", [one]:
            return Linear({}, Fraction(0)).plus(one, Fraction(-1))
        case "*", [one, other] if not other.terms:
            return Linear({}, Fraction(0)).plus(one, other.constant)
        case "*", [one, other] if not one.terms:
            return Linear({}, Fraction(0)).plus(other, one.constant)
    return None


def _widens(cast: Cast) -> bool:
    """Whether a CAST leaves every value as it is."""
    one, other = cast.operand.type, cast.type
    if one == other:
        return True
    return _bits(one) is not None and (other.kind is Kind.INTEGER) and _fits(one, other)


def _bits(type: Type) -> int | None:
    return type.bits if isinstance(type, IntegerType) else None


def _fits(one: Type, other: Type) -> bool:
    mine, theirs = _bits(one), _bits(other)
    return theirs is None or (mine is not None and mine <= theirs)
