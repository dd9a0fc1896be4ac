"""Expressions of the program as Polars expressions."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import reduce

import polars as pl

from millpond.program.expression import (
    Arith,
    At,
    Compare,
    Condition,
    Field,
    Greatest,
    Int,
    IsNull,
    Least,
    Local,
    NotNull,
    Number,
)
from millpond.program.operator import Key
from millpond.program.store import strides

COMPARE: dict[str, Callable[[pl.Expr, pl.Expr], pl.Expr]] = {
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    ">": operator.gt,
}
_ARITH: dict[str, Callable[[pl.Expr, pl.Expr], pl.Expr]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
}


def int64(value: int) -> pl.Expr:
    return pl.lit(value, dtype=pl.Int64)


def number(expression: Number) -> pl.Expr:
    """A number as a Polars expression over the columns of a stream."""
    match expression:
        case Int(value):
            return int64(value)
        case Field(name):
            return pl.col(name)
        case Arith(op, left, right):
            return _ARITH[op](number(left), number(right))
        case Greatest(operands):
            return pl.max_horizontal(number(each) for each in operands)
        case Least(operands):
            return pl.min_horizontal(number(each) for each in operands)
        case Local() | At():
            raise TypeError(f"{expression} occurs in tick steps only")


def condition(expression: Condition) -> pl.Expr:
    """A condition as a Polars expression."""
    match expression:
        case Compare(op, left, right):
            return COMPARE[op](number(left), number(right))
        case IsNull(field):
            return pl.col(field).is_null()
        case NotNull(field):
            return pl.col(field).is_not_null()


def all_of(conditions: tuple[Condition, ...]) -> pl.Expr:
    """Whether every condition holds."""
    return reduce(operator.and_, (condition(each) for each in conditions), pl.lit(True))


def place(keys: tuple[Key, ...]) -> pl.Expr:
    """The bucket that a row falls into."""
    total = int64(0)
    for key, stride in zip(keys, strides(keys), strict=True):
        digit = number(key.value) - key.low
        if key.null_of is not None:
            digit = pl.when(pl.col(key.null_of).is_null()).then(key.size - 1).otherwise(digit)
        total = total + digit * stride
    return total.cast(pl.Int64)
