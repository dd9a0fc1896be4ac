"""Arithmetic, and functions of numbers.

Integers are exact and their results BIGINT (HUGEINT if an argument is), DECIMALs stay DECIMAL,
anything with a DOUBLE is DOUBLE, `/` always is.  Division by zero is NULL, all else that has no
value is an error.  The signs serve times, too: a TIMESTAMP and an INTERVAL make a TIMESTAMP, a
DATE and an integer a DATE.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, ROUND_HALF_UP, Decimal
from typing import Any

from millpond.plan.conversion import DIGITS, EXACT, as_decimal, decimal_of, rounded
from millpond.plan.signature import Rule, Scalar, Signature, first_of, taking
from millpond.schema import (
    BIGINT,
    DATE,
    DOUBLE,
    HUGEINT,
    INT,
    INTERVAL,
    NULL,
    TIMESTAMP,
    DecimalType,
    IntegerType,
    Kind,
    Type,
    Value,
    decimal,
)

Number = int | float | Decimal


# Arithmetic --------------------------------------------------------------------------------------


def _exactly(
    plain: Callable[[Any, Any], Number], exact: Callable[[Any, Any], Decimal]
) -> Callable[[Any, Any], Number]:
    """An operation of two integers or DOUBLEs, and of DECIMALs with whatever is exact."""

    def operation(x: Number, y: Number) -> Number:
        either = isinstance(x, Decimal) or isinstance(y, Decimal)
        return exact(x, y) if either else plain(x, y)

    return operation


_added = _exactly(operator.add, EXACT.add)
_subtracted = _exactly(operator.sub, EXACT.subtract)
_multiplied = _exactly(operator.mul, EXACT.multiply)


def _minus(x: Number, y: Number | None = None) -> Number:
    return _subtracted(0, x) if y is None else _subtracted(x, y)


def _over(x: float, y: float) -> float | None:
    return x / y if y else None


def _remainder(x: Any, y: Any) -> Number | None:
    """What is left of x, with its sign, as SQL has it."""
    if not y:
        return None
    if isinstance(x, float):
        return math.fmod(x, y)
    if isinstance(x, Decimal) or isinstance(y, Decimal):
        return EXACT.remainder(x, y)
    left: int = abs(x) % abs(y)
    return -left if x < 0 else left


def _numbers(scale_of: Callable[[Sequence[DecimalType]], tuple[int, int]]) -> Rule:
    """Two numbers; a function says digits before and behind the point for two DECIMALs."""

    def rule(types: Sequence[Type]) -> Signature | None:
        if len(types) != 2 or not all(_numeric(each) for each in types):
            return None
        one, other = (BIGINT if each is NULL else each for each in types)
        if Kind.DOUBLE in (one.kind, other.kind):
            return Signature((DOUBLE, DOUBLE), DOUBLE)
        if Kind.DECIMAL not in (one.kind, other.kind):
            return Signature((one, other), _whole((one, other)))
        whole, scale = scale_of((as_decimal(one), as_decimal(other)))
        if scale > DIGITS:
            return None
        return Signature((one, other), decimal(min(DIGITS, whole + scale), scale))

    return rule


def _numeric(type: Type) -> bool:
    return type is NULL or type.kind.numeric


def _whole(types: Sequence[Type]) -> Type:
    """BIGINT, or HUGEINT where there is one."""
    return HUGEINT if any(each == HUGEINT for each in types) else BIGINT


def _places(type: DecimalType) -> int:
    return type.precision - type.scale


def _sum_scale(types: Sequence[DecimalType]) -> tuple[int, int]:
    return max(map(_places, types)) + 1, max(each.scale for each in types)


def _product_scale(types: Sequence[DecimalType]) -> tuple[int, int]:
    return sum(map(_places, types)), sum(each.scale for each in types)


def _remainder_scale(types: Sequence[DecimalType]) -> tuple[int, int]:
    return max(map(_places, types)), max(each.scale for each in types)


def _same_number(types: Sequence[Type]) -> Signature | None:
    """One number, the result like it; an integer's is BIGINT or HUGEINT."""
    if len(types) != 1 or not _numeric(types[0]):
        return None
    result = types[0] if types[0].kind in (Kind.DECIMAL, Kind.DOUBLE) else _whole(types)
    return Signature(tuple(types), result)


def _rounding(types: Sequence[Type]) -> Signature | None:
    """A number, and perhaps how many digits are to stay behind the point."""
    found = _same_number(types[:1])
    if found is None or len(types) > 2 or not all(_integral(each) for each in types[1:]):
        return None
    result = found.result
    if isinstance(result, DecimalType):
        scale = result.scale if len(types) == 2 else 0
        result = decimal(min(DIGITS, _places(result) + 1 + scale), scale)
    return Signature(tuple(types), result)


def _whole_rounding(types: Sequence[Type]) -> Signature | None:
    return _rounding(types) if len(types) == 1 else None


def _signed(types: Sequence[Type]) -> Signature | None:
    found = _same_number(types)
    return None if found is None else Signature(found.arguments, INT)


def _integral(type: Type) -> bool:
    return type is NULL or isinstance(type, IntegerType)


def _sign(x: Number) -> int:
    return 1 if x > 0 else -1 if x < 0 else 0


def _rounded(mode: str) -> Callable[..., Number]:
    """Rounding to some digits behind the point, 0 if none are said."""

    def operation(x: Number, places: int = 0) -> Number:
        if isinstance(x, int):
            return x if places >= 0 else int(rounded(Decimal(x), places, mode))
        if isinstance(x, float):
            return float(rounded(decimal_of(x), places, mode))
        return rounded(x, places, mode)

    return operation


def _logarithm(base: float, x: float) -> float:
    return math.log(x) / math.log(base)


_PLUS = first_of(
    _numbers(_sum_scale),
    taking(INTERVAL, INTERVAL, result=INTERVAL),
    taking(TIMESTAMP, INTERVAL, result=TIMESTAMP),
    taking(INTERVAL, TIMESTAMP, result=TIMESTAMP),
    taking(DATE, HUGEINT, result=DATE),
    taking(HUGEINT, DATE, result=DATE),
)
_MINUS = first_of(
    _same_number,
    taking(INTERVAL, result=INTERVAL),
    _numbers(_sum_scale),
    taking(INTERVAL, INTERVAL, result=INTERVAL),
    taking(DATE, DATE, result=BIGINT),
    taking(DATE, HUGEINT, result=DATE),
    taking(TIMESTAMP, TIMESTAMP, result=INTERVAL),
    taking(TIMESTAMP, INTERVAL, result=TIMESTAMP),
)
_TIMES = first_of(
    _numbers(_product_scale),
    taking(INTERVAL, HUGEINT, result=INTERVAL),
    taking(HUGEINT, INTERVAL, result=INTERVAL),
)
_ONE_DOUBLE = taking(DOUBLE, result=DOUBLE)
_TWO_DOUBLES = taking(DOUBLE, DOUBLE, result=DOUBLE)


def _of_double(name: str, call: Callable[[float], float]) -> Scalar:
    return Scalar(name, "a number", _ONE_DOUBLE, call)


def _to_places(name: str, mode: str) -> Scalar:
    return Scalar(name, "a number and perhaps a count of digits", _rounding, _rounded(mode))


def _to_whole(name: str, mode: str) -> Scalar:
    return Scalar(name, "a number", _whole_rounding, _rounded(mode))


def _absolute(x: Number) -> Value:
    return EXACT.abs(x) if isinstance(x, Decimal) else abs(x)


SIGNS = (
    Scalar(
        "+", "two numbers, a TIMESTAMP and an INTERVAL, or a DATE and an integer", _PLUS, _added
    ),
    Scalar("-", "two numbers, two times, or a time and an INTERVAL; or one number", _MINUS, _minus),
    Scalar(
        "*",
        f"two numbers (the scales of DECIMALs add up to {DIGITS} at most), or an INTERVAL and an "
        "integer",
        _TIMES,
        _multiplied,
    ),
    Scalar("/", "two numbers", _TWO_DOUBLES, _over),
    Scalar("%", "two numbers", _numbers(_remainder_scale), _remainder),
)

NUMBERS = (
    Scalar("ABS", "a number", _same_number, _absolute),
    Scalar("SIGN", "a number", _signed, _sign),
    _to_whole("FLOOR", ROUND_FLOOR),
    _to_whole("CEIL", ROUND_CEILING),
    _to_places("ROUND", ROUND_HALF_UP),
    _to_places("TRUNC", ROUND_DOWN),
    _of_double("SQRT", math.sqrt),
    _of_double("EXP", math.exp),
    _of_double("LN", math.log),
    _of_double("LOG10", math.log10),
    _of_double("LOG2", math.log2),
    Scalar("LOG", "a base and a number (of a number alone: LN or LOG10)", _TWO_DOUBLES, _logarithm),
    Scalar("POWER", "two numbers", _TWO_DOUBLES, math.pow),
)
