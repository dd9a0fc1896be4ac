"""From one type to another: which types meet in which, which casts there are, and what they do.

Numbers widen by themselves from TINYINT to HUGEINT to DECIMAL to DOUBLE, a DATE to a TIMESTAMP at
its midnight, an ENUM to text; all else needs a CAST.  A value that does not fit is an error, never
a wrap, a truncation or an infinity.  A DOUBLE becomes an integer by rounding half to even, a
DECIMAL by rounding half away from zero, as in Postgres and DuckDB.  -0.0 is 0.0 everywhere, so
that equal rows print alike.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from decimal import (
    MAX_EMAX,
    MIN_EMIN,
    ROUND_HALF_UP,
    Context,
    Decimal,
    DivisionByZero,
    Inexact,
    InvalidOperation,
    Overflow,
)
from typing import Any

from millpond.diagnostic import Span
from millpond.plan import moments
from millpond.schema import (
    DOUBLE,
    NULL,
    TIMESTAMP,
    VARCHAR,
    DecimalType,
    EnumType,
    IntegerType,
    Interval,
    Kind,
    Type,
    Value,
    VarcharType,
    decimal,
)

DIGITS = 38
"""The most digits that a DECIMAL has."""

EXACT = Context(
    prec=1000,
    Emax=MAX_EMAX,
    Emin=MIN_EMIN,
    traps=[InvalidOperation, DivisionByZero, Overflow, Inexact],
)
"""Decimal arithmetic that is exact or fails."""

_ROUNDING = Context(
    prec=1000,
    Emax=MAX_EMAX,
    Emin=MIN_EMIN,
    rounding=ROUND_HALF_UP,
    traps=[InvalidOperation, DivisionByZero, Overflow],
)
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,4})?", re.ASCII)
_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
_TRUE = ("true", "t", "yes", "y", "on", "1")
_FALSE = ("false", "f", "no", "n", "off", "0")

_Convert = Callable[[Any], Value]


class EvaluationError(ValueError):
    """An expression has no value for a row; `span` is its place in the text, once that is known."""

    def __init__(self, message: str, span: Span | None = None) -> None:
        super().__init__(message)
        self.span = span


# Types -------------------------------------------------------------------------------------------


def common_type(types: Iterable[Type]) -> Type | None:
    """The type that all of these convert to by themselves; None if there is none.

    >>> from millpond.schema import INT, decimal
    >>> str(common_type([INT, decimal(4, 2)]))
    'DECIMAL(12, 2)'
    """
    found = list(dict.fromkeys(each for each in types if each is not NULL))
    if len(found) < 2:
        return found[0] if found else NULL
    kinds = {each.kind for each in found}
    if all(kind.numeric for kind in kinds):
        return _widest(found, kinds)
    if kinds == {Kind.DATE, Kind.TIMESTAMP}:
        return TIMESTAMP
    if kinds == {Kind.VARCHAR}:
        return VARCHAR
    return found[0] if len(kinds) == 1 else None


def _widest(types: Iterable[Type], kinds: set[Kind]) -> Type:
    if Kind.DOUBLE in kinds:
        return DOUBLE
    if Kind.DECIMAL not in kinds:
        return max(types, key=_bits)
    parts = [as_decimal(each) for each in types]
    scale = max(each.scale for each in parts)
    whole = max(each.precision - each.scale for each in parts)
    return decimal(min(DIGITS, whole + scale), scale)


def _bits(type: Type) -> float:
    bits = type.bits if isinstance(type, IntegerType) else None
    return math.inf if bits is None else bits


def as_decimal(type: Type) -> DecimalType:
    """The DECIMAL that holds every value of an exact type, as far as one can."""
    if isinstance(type, DecimalType):
        return type
    bits = _bits(type)
    return decimal(DIGITS if bits == math.inf else len(str(1 << int(bits) - 1)), 0)


def comparable(one: Type, other: Type) -> bool:
    """Whether values of the two types compare with one another."""
    return common_type([one, other]) is not None


def converts(source: Type, target: Type) -> bool:
    """Whether a value becomes one of the other type without a CAST."""
    return common_type([source, target]) == target


def cast_allowed(source: Type, target: Type) -> bool:
    """Whether CAST takes values of one type to the other."""
    if comparable(source, target) or Kind.VARCHAR in (source.kind, target.kind):
        return True
    return {source.kind, target.kind} == {Kind.BOOLEAN, Kind.INTEGER}


# Values ------------------------------------------------------------------------------------------


def fits(value: Value, type: Type) -> bool:
    """Whether a value is one of a type, as it stands; NULL is one of every type."""
    if value is None:
        return True
    match type.kind:
        case Kind.INTEGER | Kind.DATE | Kind.TIMESTAMP | Kind.INTERVAL:
            return isinstance(value, int) and not isinstance(value, bool) and value in _range(type)
        case Kind.DECIMAL:
            return isinstance(value, Decimal) and value.is_finite() and _fits_decimal(value, type)
        case Kind.DOUBLE:
            return isinstance(value, float) and math.isfinite(value)
        case Kind.BOOLEAN:
            return isinstance(value, bool)
        case Kind.VARCHAR:
            return isinstance(value, str) and _fits_text(value, type)
    return False


def _range(type: Type) -> Interval:
    return type.range if isinstance(type, IntegerType) else _RANGES[type.kind]


_RANGES = {
    Kind.DATE: moments.DATES,
    Kind.TIMESTAMP: moments.TIMESTAMPS,
    Kind.INTERVAL: moments.INTERVALS,
}


def _fits_decimal(value: Decimal, type: Type) -> bool:
    assert isinstance(type, DecimalType)
    digits, exponent = value.as_tuple()[1:]
    assert isinstance(exponent, int)
    return exponent >= -type.scale and (
        not value or len(digits) + exponent <= type.precision - type.scale
    )


def _fits_text(value: str, type: Type) -> bool:
    if isinstance(type, EnumType):
        return value in type.values
    return not isinstance(type, VarcharType) or type.length is None or len(value) <= type.length


def fitting(type: Type) -> _Convert:
    """The function that hands on a computed value of a type's kind, a DECIMAL with its scale; an
    EvaluationError for one outside the type."""

    def fitted(value: Any) -> Value:
        shaped = _shaped(value, type)
        if not fits(shaped, type):
            raise EvaluationError(f"{shown(value)} does not fit {type}")
        return shaped

    return fitted


def _shaped(value: Value, type: Type) -> Value:
    """A DECIMAL with its type's scale, and no zero with a sign."""
    if isinstance(value, float):
        return value + 0.0
    if not isinstance(type, DecimalType) or not isinstance(value, int | Decimal):
        return value
    shaped = Decimal(value).quantize(Decimal((0, (1,), -type.scale)), context=_ROUNDING)
    return shaped if shaped else shaped.copy_abs()


def shown(value: Value) -> str:
    """A value as messages show it."""
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def rounded(number: Decimal, places: int = 0, rounding: str = ROUND_HALF_UP) -> Decimal:
    """A number with at most so many digits behind the point, or with zeros before it."""
    exponent = number.as_tuple().exponent
    if not isinstance(exponent, int) or -exponent <= places:
        return number
    return number.quantize(Decimal((0, (1,), -places)), rounding, context=_ROUNDING)


def decimal_of(number: float) -> Decimal:
    """A DOUBLE as it prints: rounding is done on the digits that people see."""
    return Decimal(repr(number))


# Conversion --------------------------------------------------------------------------------------


def convert(value: Value, source: Type, target: Type) -> Value:
    """A value as another type; EvaluationError if it is none.

    >>> from millpond.schema import DATE, VARCHAR
    >>> convert("1970-01-03", VARCHAR, DATE)
    2
    """
    return converter(source, target)(value)


def converter(source: Type, target: Type) -> _Convert:
    """The function that makes values of one type values of another; NULL stays NULL."""
    if target is NULL or source is NULL or source == target or target == VARCHAR == _plain(source):
        return same
    if not cast_allowed(source, target):
        raise ValueError(f"{source} cannot be cast to {target}")
    change = _change(source.kind, target.kind)
    fit = fitting(target)

    def converted(value: Any) -> Value:
        if value is None:
            return None
        try:
            return fit(change(value))
        except EvaluationError:
            raise
        except (ArithmeticError, ValueError) as error:
            raise EvaluationError(f"{shown(value)} is no {target}") from error

    return converted


def same(value: Value) -> Value:
    """The value itself."""
    return value


def _plain(type: Type) -> Type:
    return VARCHAR if type.kind is Kind.VARCHAR else type


def _change(source: Kind, target: Kind) -> _Convert:
    if source is target:
        return same
    if source is Kind.VARCHAR:
        return _FROM_TEXT[target]
    if target is Kind.VARCHAR:
        return _TO_TEXT[source]
    return _CHANGES[source, target]


def text_of(value: Value, type: Type) -> str:
    """A value that is not NULL as text, as CAST writes it."""
    return value if isinstance(value, str) else str(_TO_TEXT[type.kind](value))


def _double_from(text: str) -> float:
    return float(_numeral(text, _NUMBER))


def _decimal_from(text: str) -> Decimal:
    return Decimal(_numeral(text, _NUMBER))


def _integer_from(text: str) -> int:
    return int(_numeral(text, _INTEGER))


def _numeral(text: str, form: re.Pattern[str]) -> str:
    if form.fullmatch(text.strip(" ")) is None:
        raise ValueError(f"{text!r} is no number")
    return text.strip(" ")


def _boolean_from(text: str) -> bool:
    word = text.strip(" ").lower()
    if word not in (*_TRUE, *_FALSE):
        raise ValueError(f"{text!r} is neither true nor false")
    return word in _TRUE


_FROM_TEXT: dict[Kind, _Convert] = {
    Kind.INTEGER: _integer_from,
    Kind.DECIMAL: _decimal_from,
    Kind.DOUBLE: _double_from,
    Kind.BOOLEAN: _boolean_from,
    Kind.DATE: moments.date_from,
    Kind.TIMESTAMP: moments.timestamp_from,
    Kind.INTERVAL: moments.interval_from,
}

_TO_TEXT: dict[Kind, _Convert] = {
    Kind.INTEGER: str,
    Kind.DECIMAL: lambda value: format(value, "f"),
    Kind.DOUBLE: repr,
    Kind.BOOLEAN: lambda value: str(value).lower(),
    Kind.DATE: moments.date_text,
    Kind.TIMESTAMP: moments.timestamp_text,
    Kind.INTERVAL: moments.interval_text,
    Kind.VARCHAR: same,
}

_CHANGES: dict[tuple[Kind, Kind], _Convert] = {
    (Kind.INTEGER, Kind.DECIMAL): Decimal,
    (Kind.INTEGER, Kind.DOUBLE): float,
    (Kind.INTEGER, Kind.BOOLEAN): bool,
    (Kind.BOOLEAN, Kind.INTEGER): int,
    (Kind.DECIMAL, Kind.INTEGER): lambda value: int(rounded(value)),
    (Kind.DECIMAL, Kind.DOUBLE): float,
    (Kind.DOUBLE, Kind.INTEGER): round,
    (Kind.DOUBLE, Kind.DECIMAL): decimal_of,
    (Kind.DATE, Kind.TIMESTAMP): lambda value: value * moments.DAY,
    (Kind.TIMESTAMP, Kind.DATE): lambda value: value // moments.DAY,
}
