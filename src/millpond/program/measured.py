"""Columns that aggregates are of: values as integers that can be added up and compared.

A number is an integer over the denominator of its type (`plan/folds.py`), so that sums are exact;
of a DOUBLE that is only asked for its order, the place among all DOUBLEs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from millpond.plan.folds import denominator
from millpond.program.line import Doubles, Line, Numbers, Whole, double_at, double_place, typed
from millpond.program.near import Near
from millpond.schema import Type, Value

if TYPE_CHECKING:
    from millpond.program.prepared import Read


@dataclass(frozen=True)
class _OfOne:
    """What is made of one value as an integer."""

    read: Read
    whole = True

    @property
    def reads(self) -> tuple[Read, ...]:
        return (self.read,)


@dataclass(frozen=True)
class Measured(_OfOne):
    """A number as an integer over the denominator of its type."""

    type: Type

    def of(self, columns: Sequence[Sequence[Value]]) -> list[Any]:
        below = denominator(self.type)
        return [None if each is None else integer_of(each, below) for each in columns[0]]

    def value(self, number: int) -> Value:
        """The value of an integer."""
        return typed(Fraction(number, denominator(self.type)), self.type)


@dataclass(frozen=True)
class Ordered(_OfOne):
    """A DOUBLE by its place among all of them."""

    def of(self, columns: Sequence[Sequence[Value]]) -> list[Any]:
        return [None if each is None else double_place(float(each)) for each in columns[0]]

    def value(self, number: int) -> Value:
        """The DOUBLE of a place."""
        return double_at(number)


@dataclass(frozen=True)
class Known(_OfOne):
    """Whether there is a value at all: 1, or NULL."""

    def of(self, columns: Sequence[Sequence[Value]]) -> list[Any]:
        return [None if each is None else 1 for each in columns[0]]


@dataclass(frozen=True)
class Text:
    """A text by its place among all of them."""

    def value(self, place: Any) -> Value:
        """The text of a place."""
        assert isinstance(place, Near)
        _, text, _ = place.sort
        return str(text)


@dataclass(frozen=True)
class OnAnyLine:
    """A value by its place on a line that it shares with columns that it is compared with."""

    line: Line
    type: Type

    def value(self, place: Any) -> Value:
        """The value of a place."""
        if isinstance(self.line, Whole):
            return self.line.back(place, self.type)
        if isinstance(self.line, Doubles):
            return double_at(place)
        assert isinstance(place, Near)
        _, value, _ = place.sort
        if isinstance(self.line, Numbers) and not isinstance(value, str):
            return typed(Fraction(value) / self.line.unit, self.type)
        return str(value)


def integer_of(value: Value, below: int) -> int:
    """A number as an integer over a denominator."""
    assert value is not None
    assert not isinstance(value, str)
    if isinstance(value, int):
        return int(value) * below
    above, under = value.as_integer_ratio()
    return above * (below // under)
