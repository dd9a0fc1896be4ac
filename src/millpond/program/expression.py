"""Typed expressions of the program: 64-bit integers and truth values.

One family for both lowerings.  `Field` reads a column of the row at hand; `Local` and `At` occur
in tick steps only.  An expression says what is computed; Polars, Spark, Numba and SQL each have a
function that says how.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Int:
    """A constant."""

    value: int


@dataclass(frozen=True)
class Field:
    """A column of the row at hand, by name."""

    name: str


@dataclass(frozen=True)
class Local:
    """A register of a tick step."""

    name: str


@dataclass(frozen=True)
class At:
    """An element of an array of the state or of the input."""

    array: str
    index: Number


@dataclass(frozen=True)
class Arith:
    """`left op right`; whoever builds it has made sure that it cannot overflow."""

    op: Literal["+", "-", "*"]
    left: Number
    right: Number


@dataclass(frozen=True)
class Greatest:
    """The greatest of its operands."""

    operands: tuple[Number, ...]


@dataclass(frozen=True)
class Least:
    """The least of its operands."""

    operands: tuple[Number, ...]


@dataclass(frozen=True)
class Compare:
    """A comparison of two numbers."""

    op: Literal["<", "<=", "==", "!=", ">=", ">"]
    left: Number
    right: Number


@dataclass(frozen=True)
class IsNull:
    """Whether a column of the row at hand is NULL."""

    field: str


@dataclass(frozen=True)
class NotNull:
    """Whether a column of the row at hand has a value."""

    field: str


Number = Int | Field | Local | At | Arith | Greatest | Least
Condition = Compare | IsNull | NotNull
Expr = Number | Condition


def plus(number: Number, offset: int) -> Number:
    """`number + offset`, constants folded."""
    if offset == 0:
        return number
    if isinstance(number, Int):
        return Int(number.value + offset)
    if offset < 0:
        return Arith("-", number, Int(-offset))
    return Arith("+", number, Int(offset))


def greatest(operands: Iterable[Number]) -> Number:
    found = tuple(dict.fromkeys(operands))
    return found[0] if len(found) == 1 else Greatest(found)


def least(operands: Iterable[Number]) -> Number:
    found = tuple(dict.fromkeys(operands))
    return found[0] if len(found) == 1 else Least(found)


def fields(expression: Expr) -> Iterator[str]:
    """The columns that an expression reads."""
    match expression:
        case Field(name) | IsNull(name) | NotNull(name):
            yield name
        case Arith(_, left, right) | Compare(_, left, right):
            yield from fields(left)
            yield from fields(right)
        case Greatest(operands) | Least(operands):
            for each in operands:
                yield from fields(each)
        case At(_, index):
            yield from fields(index)
        case Int() | Local():
            pass
