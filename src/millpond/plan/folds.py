"""Aggregate functions as numbers that are added up row by row, and what is made of them at the end.

A *fold* is a number that a row changes and that two parts of the rows merge in: counts, sums and
sums of squares add, extremes compare.  Sums are integers over a common denominator and are rounded
once, at the end, by the same steps as `aggregates.py`, so that the result is that of all values at
once, whatever order they came in.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from enum import StrEnum

from millpond.plan.aggregates import quotient, root
from millpond.plan.conversion import EXACT
from millpond.schema import DecimalType, Kind, Type, Value


class Fold(StrEnum):
    """How a number changes with a row."""

    COUNT = "count"
    SUM = "sum"
    SQUARES = "sum of squares"
    LEAST = "minimum"
    GREATEST = "maximum"

    @property
    def adds(self) -> bool:
        """Whether parts add up, so that a row that comes k times counts k times."""
        return self not in (Fold.LEAST, Fold.GREATEST)


_SPREAD = (Fold.SUM, Fold.SQUARES, Fold.COUNT)

FOLDS: Mapping[str, tuple[Fold, ...]] = {
    "COUNT": (Fold.COUNT,),
    "SUM": (Fold.SUM,),
    "AVG": (Fold.SUM, Fold.COUNT),
    "VAR_SAMP": _SPREAD,
    "VAR_POP": _SPREAD,
    "STDDEV_SAMP": _SPREAD,
    "STDDEV_POP": _SPREAD,
    "MIN": (Fold.LEAST,),
    "MAX": (Fold.GREATEST,),
    "BOOL_AND": (Fold.LEAST,),
    "BOOL_OR": (Fold.GREATEST,),
}
"""What each function is made of; the others have to see all values at once."""

SMALLEST = 1074
"""Every DOUBLE is a whole multiple of 2 to the minus this."""


def denominator(type_: Type) -> int:
    """What the integers that stand for values of a type are over."""
    if isinstance(type_, DecimalType):
        return int(10**type_.scale)
    return 1 << SMALLEST if type_.kind is Kind.DOUBLE else 1


def finished(function: str, folds: Mapping[Fold, int | None], type_: Type) -> Value:
    """A function of values of a type, from its folds; None is a fold of no values, and without
    folds there are none.

    >>> from millpond.schema import INT
    >>> finished("AVG", {Fold.SUM: 7, Fold.COUNT: 2}, INT)
    3.5
    """
    if function == "COUNT":
        return folds.get(Fold.COUNT) or 0
    total = folds[FOLDS[function][0]] if folds else None
    if total is None:
        return None
    below = denominator(type_)
    match function:
        case "SUM":
            return summed(total, type_, below)
        case "AVG":
            return quotient(total, below * (folds[Fold.COUNT] or 0))
        case "MIN" | "MAX" | "BOOL_AND" | "BOOL_OR":
            return total
    count, squares = folds[Fold.COUNT] or 0, folds[Fold.SQUARES] or 0
    divisor = count - 1 if function.endswith("_SAMP") else count
    if divisor == 0:
        return None
    finish = root if function.startswith("STDDEV") else quotient
    return finish(count * squares - total**2, count * divisor * below * below)


def summed(total: int, type_: Type, below: int) -> Value:
    """A sum as a value of the type that SUM has."""
    if isinstance(type_, DecimalType):
        return EXACT.scaleb(Decimal(total), -type_.scale)
    return quotient(total, below) if type_.kind is Kind.DOUBLE else total
