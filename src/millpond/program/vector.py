"""Expressions of a program over whole columns, as NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from operator import add, eq, ge, gt, le, lt, mul, ne, sub
from typing import Any

import numpy as np

from millpond.program.delta import Columns, IntArray
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

COMPARE: Mapping[str, Callable[[Any, Any], Any]] = {
    "<": lt, "<=": le, "==": eq, "!=": ne, ">=": ge, ">": gt,
}  # fmt: skip
_ARITH: Mapping[str, Callable[[Any, Any], Any]] = {"+": add, "-": sub, "*": mul}


class Vector:
    """Some rows of a stream, column by column."""

    def __init__(self, columns: Columns, rows: IntArray | slice, size: int) -> None:
        self._columns = columns
        self._rows = rows
        self._known: dict[str, IntArray] = {}
        self.size = size

    def column(self, name: str) -> IntArray:
        if name not in self._known:
            self._known[name] = self._columns.values[name][self._rows]
        return self._known[name]

    def null(self, name: str) -> IntArray:
        null: IntArray = self._columns.nulls[name][self._rows]
        return null.astype(bool)

    def where(self, passing: IntArray) -> Vector:
        """The rows that pass."""
        if bool(passing.all()):
            return self
        rows = np.flatnonzero(passing)
        if isinstance(self._rows, slice):
            return Vector(self._columns, rows + (self._rows.start or 0), len(rows))
        return Vector(self._columns, self._rows[rows], len(rows))

    def number(self, of: Number) -> IntArray:
        match of:
            case Field(name):
                return self.column(name)
            case Int(value):
                return np.full(self.size, value, dtype=np.int64)
            case Arith(op, left, right):
                found: IntArray = _ARITH[op](self._side(left), self._side(right))
                return found
            case Greatest(operands):
                return reduce(np.maximum, map(self.number, operands))
            case Least(operands):
                return reduce(np.minimum, map(self.number, operands))
            case Local() | At():
                raise TypeError(f"{of} occurs in tick steps only")

    def _side(self, of: Number) -> Any:
        """A constant stays one, so that no column of it is made."""
        return of.value if isinstance(of, Int) else self.number(of)

    def holds(self, condition: Condition) -> IntArray:
        match condition:
            case NotNull(name):
                return ~self.null(name)
            case IsNull(name):
                return self.null(name)
            case Compare(op, left, right):
                held: IntArray = COMPARE[op](self._side(left), self._side(right))
                return held.astype(bool)

    def passing(self, guard: Sequence[Condition]) -> IntArray:
        """Which rows every condition holds for."""
        if not guard:
            return np.ones(self.size, dtype=bool)
        found = self.holds(guard[0])
        for each in guard[1:]:
            found = found & self.holds(each)
        return found

    def digit(self, key: Key) -> IntArray:
        """The coordinate of each row, from 0 on."""
        digit = self.number(key.value)
        digit = digit - key.low if key.low else digit
        if key.null_of is not None:
            digit = np.where(self.null(key.null_of), key.size - 1, digit)
        return digit

    def place(self, keys: Sequence[Key]) -> IntArray:
        """The bucket that each row falls into."""
        total: IntArray | None = None
        for key, stride in zip(keys, strides(keys), strict=True):
            digit = self.digit(key)
            digit = digit if stride == 1 else digit * stride
            total = digit if total is None else total + digit
        if total is None:
            return np.zeros(self.size, dtype=np.int64)
        return total.astype(np.int64, copy=False)
