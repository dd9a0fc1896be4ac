"""The aggregate functions, computed from all values of a group at once.

Everything numeric is computed over integers with a common denominator and rounded once at the end,
so that DOUBLE results are right whatever cancels on the way, and do not depend on the order of the
rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce
from typing import Any

from millpond.plan.conversion import DIGITS, EXACT, EvaluationError
from millpond.schema import BOOLEAN, DOUBLE, HUGEINT, DecimalType, Kind, Type, Value, decimal


@dataclass(frozen=True)
class Grouped:
    """An aggregate function of the values of a group that are not NULL, at least one."""

    name: str
    takes: str
    result: Callable[[Type], Type | None]
    compute: Callable[[list[Any]], Value]
    nothing: Value = None
    """What it is over no values."""


def _any_type(result: Type) -> Callable[[Type], Type | None]:
    return lambda type: result


def _of_numbers(type: Type) -> Type | None:
    return DOUBLE if type.kind.numeric or type.kind is Kind.NULL else None


def _summed(type: Type) -> Type | None:
    if isinstance(type, DecimalType):
        return decimal(DIGITS, type.scale)
    if type.kind is Kind.DOUBLE:
        return DOUBLE
    return HUGEINT if type.kind in (Kind.INTEGER, Kind.NULL) else None


def _of_conditions(type: Type) -> Type | None:
    return BOOLEAN if type.kind in (Kind.BOOLEAN, Kind.NULL) else None


def _itself(type: Type) -> Type | None:
    return type


def _integers(values: list[Any]) -> tuple[list[int], int]:
    """Numbers as integers over a common denominator."""
    ratios = [each.as_integer_ratio() for each in values]
    common = math.lcm(*{below for _, below in ratios})
    return [above * (common // below) for above, below in ratios], common


def quotient(above: int, below: int) -> float:
    """The DOUBLE nearest to a fraction."""
    try:
        return above / below
    except OverflowError as error:
        raise EvaluationError("a result lies outside DOUBLE") from error


def root(above: int, below: int) -> float:
    """The square root of a fraction, also where the fraction itself lies outside DOUBLE."""
    half = (above.bit_length() - below.bit_length()) // 2
    scaled = above / (below << 2 * half) if half >= 0 else (above << -2 * half) / below
    return math.ldexp(math.sqrt(scaled), half)


def _sum(values: list[Any]) -> Value:
    total: Value
    if isinstance(values[0], int | Decimal):
        total = reduce(EXACT.add, values) if isinstance(values[0], Decimal) else sum(values)
        return total
    integers, below = _integers(values)
    return quotient(sum(integers), below)


def _average(values: list[Any]) -> Value:
    integers, below = _integers(values)
    return quotient(sum(integers), below * len(values))


def _median(values: list[Any]) -> Value:
    integers, below = _integers(values)
    integers.sort()
    middle = len(integers) // 2
    return quotient(integers[middle] + integers[~middle], 2 * below)


def _spread(
    divisor: Callable[[int], int], finish: Callable[[int, int], float]
) -> Callable[[list[Any]], Value]:
    """The squared deviations added up, over a divisor; NULL where that is 0."""

    def compute(values: list[Any]) -> Value:
        count = len(values)
        if divisor(count) == 0:
            return None
        integers, below = _integers(values)
        squares = count * sum(each * each for each in integers) - sum(integers) ** 2
        return finish(squares, count * divisor(count) * below * below)

    return compute


def _extreme(best: Callable[[list[Any]], Any]) -> Callable[[list[Any]], Value]:
    def compute(values: list[Any]) -> Value:
        found: Value = best(values)
        # Which of 0.0 and -0.0 comes first must not show.
        return found + 0.0 if isinstance(found, float) else found

    return compute


def _sample(count: int) -> int:
    return count - 1


def _population(count: int) -> int:
    return count


_FUNCTIONS = (
    Grouped("COUNT", "a value", _any_type(HUGEINT), len, nothing=0),
    Grouped("SUM", "a number", _summed, _sum),
    Grouped("AVG", "a number", _of_numbers, _average),
    Grouped("MIN", "a value", _itself, _extreme(min)),
    Grouped("MAX", "a value", _itself, _extreme(max)),
    Grouped("MEDIAN", "a number", _of_numbers, _median),
    Grouped("VAR_SAMP", "a number", _of_numbers, _spread(_sample, quotient)),
    Grouped("VAR_POP", "a number", _of_numbers, _spread(_population, quotient)),
    Grouped("STDDEV_SAMP", "a number", _of_numbers, _spread(_sample, root)),
    Grouped("STDDEV_POP", "a number", _of_numbers, _spread(_population, root)),
    Grouped("BOOL_AND", "a condition", _of_conditions, all),
    Grouped("BOOL_OR", "a condition", _of_conditions, any),
)

_ALIASES = {
    "MEAN": "AVG",
    "VAR": "VAR_SAMP",
    "VARIANCE": "VAR_SAMP",
    "VARIANCE_SAMP": "VAR_SAMP",
    "VARIANCE_POP": "VAR_POP",
    "VARP": "VAR_POP",
    "STD": "STDDEV_SAMP",
    "STDDEV": "STDDEV_SAMP",
    "EVERY": "BOOL_AND",
    "LOGICAL_AND": "BOOL_AND",
    "LOGICAL_OR": "BOOL_OR",
    "SOME": "BOOL_OR",
}

AGGREGATES: dict[str, Grouped] = {each.name: each for each in _FUNCTIONS}
"""By every name, in upper case."""
AGGREGATES |= {alias: AGGREGATES[name] for alias, name in _ALIASES.items()}
