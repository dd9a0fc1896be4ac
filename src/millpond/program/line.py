"""Lines: where the values of columns that are compared with one another lie, in order.

Verdicts count all values in integers of one *scale* (`memory/scale.py`), in which there is room
between two neighbours for columns that can lie anywhere.  A program needs the place of every single
value.  Columns that are compared with one another share a line: whole numbers where all of them
count in steps, the order of the DOUBLEs where all of them are such, else places (`Near`).
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Protocol

from millpond.program.near import Near
from millpond.schema import DecimalType, Kind, Type, Value

Position = int | Near


class Line(Protocol):
    """The places of values, and of the integers of the scale."""

    @property
    def whole(self) -> bool:
        """Whether places are integers."""
        ...

    def of(self, value: Value) -> Position | None:
        """The place of a value that is no NULL; None if it has none."""
        ...

    def at(self, number: int) -> Position:
        """The place of a number of the scale that values have, or that is some shades beside."""
        ...

    def most(self, number: int) -> Position:
        """The place that values lie at or below, if they are at most so much on the scale."""
        ...

    def least(self, number: int) -> Position:
        """The place that values lie at or above."""
        ...

    def offset(self, number: int) -> int:
        """What is added to a place for a distance on the scale."""
        ...

    def bound(self, number: int) -> int:
        """The same, of the most that a difference is: shades say only that it is less."""
        ...

    def end(self, *, above: bool) -> Position:
        """A place beyond all values."""
        ...


@dataclass(frozen=True)
class Whole:
    """Whole numbers: `times / by` of a value, where that is whole; `step` units of the scale."""

    times: int = 1
    by: int = 1
    step: int = 1
    whole = True

    @property
    def plain(self) -> bool:
        """Whether an integer is its own place."""
        return self.times == self.by == 1

    def of(self, value: Value) -> int | None:
        assert value is not None
        assert not isinstance(value, str)
        if isinstance(value, int) and self.by == 1:
            return value * self.times
        if isinstance(value, Decimal):
            above, below = value.as_integer_ratio()
            place, rest = divmod(above * self.times, below * self.by)
        else:
            exact = Fraction(value) * self.times / self.by
            place, rest = exact.numerator, exact.denominator - 1
        return None if rest else place

    def at(self, number: int) -> int:
        return number // self.step

    def most(self, number: int) -> int:
        return number // self.step

    def least(self, number: int) -> int:
        return -(-number // self.step)

    def offset(self, number: int) -> int:
        return number // self.step

    bound = offset

    def end(self, *, above: bool) -> int:
        return (1 << 62) if above else -(1 << 62)

    def back(self, place: int, type_: Type) -> Value:
        """The value of a type that is there."""
        return typed(Fraction(place * self.by, self.times), type_)


@dataclass(frozen=True)
class Doubles:
    """The order of all DOUBLEs, as 64-bit integers: 0 is at 0, and neighbours are 1 apart.

    `unit` and `cell` are those of the scale: how many units 1 is, and how many the distance of
    neighbouring whole places.
    """

    unit: int
    cell: int
    whole = True

    def of(self, value: Value) -> int:
        assert isinstance(value, int | float | Decimal)
        return _image(float(value))

    def at(self, number: int) -> int:
        whole, shade = _nearest(number, self.cell)
        return self._below(whole) + shade

    def most(self, number: int) -> int:
        whole = -(-number // self.cell)
        return self._below(whole, strictly=bool(number % self.cell))

    def least(self, number: int) -> int:
        return -self.most(-number)

    def offset(self, number: int) -> int:
        return number  # nothing but shades: DOUBLEs at a distance are `Numbers`

    bound = offset

    def end(self, *, above: bool) -> int:
        return _image(math.inf if above else -math.inf)

    def _below(self, whole: int, *, strictly: bool = False) -> int:
        exact = Fraction(whole * self.cell, self.unit)
        try:
            near = float(exact)
        except OverflowError:
            near = math.copysign(math.inf, exact)
        above = math.isinf(near) and near > 0
        if above or (not math.isinf(near) and Fraction(near) > exact):
            return _image(near) - 1
        return _image(near) - (strictly and not math.isinf(near) and Fraction(near) == exact)


@dataclass(frozen=True)
class Numbers:
    """Numbers of any kind by their exact values."""

    unit: int
    cell: int
    whole = False

    def of(self, value: Value) -> Near:
        assert value is not None
        assert not isinstance(value, str)
        exact = Fraction(value) * self.unit
        place = exact.numerator if exact.denominator == 1 else exact
        return Near(place, grid=self.cell)

    def at(self, number: int) -> Near:
        return Near(0, grid=self.cell) + number

    def most(self, number: int) -> Near:
        place = -(-number // self.cell) * self.cell
        return Near(place, -(number < place), grid=self.cell)

    def least(self, number: int) -> Near:
        place = number // self.cell * self.cell
        return Near(place, int(number > place), grid=self.cell)

    def offset(self, number: int) -> int:
        return number

    def bound(self, number: int) -> int:
        return _strict(number, self.cell)

    def end(self, *, above: bool) -> Near:
        return Near(0, level=1 if above else -1)


@dataclass(frozen=True)
class Texts:
    """Texts by code point; `known` are those that the scale counts, in order."""

    unit: int
    known: tuple[str, ...]
    whole = False

    def of(self, value: Value) -> Near:
        assert isinstance(value, str)
        return Near(value)

    def at(self, number: int) -> Near:
        whole, shade = _nearest(number, self.unit)
        return self._near(whole, shade)

    def most(self, number: int) -> Near:
        whole = -(-number // self.unit)
        return self._near(whole, -bool(number % self.unit))

    def least(self, number: int) -> Near:
        whole, rest = divmod(number, self.unit)
        return self._near(whole, int(bool(rest)))

    def offset(self, number: int) -> int:
        return number

    def bound(self, number: int) -> int:
        return _strict(number, self.unit)

    def end(self, *, above: bool) -> Near:
        return Near("", level=1 if above else -1)

    def _near(self, whole: int, shade: int) -> Near:
        if whole < 0:
            return self.end(above=False)
        if whole >= len(self.known):
            return self.end(above=True)
        return Near(self.known[whole], shade)


def typed(number: Fraction, type_: Type) -> Value:
    """A number as a value of a type."""
    if isinstance(type_, DecimalType):
        return Decimal(f"{int(number * 10**type_.scale)}E-{type_.scale}")
    if type_.kind is Kind.DOUBLE:
        return float(number)
    if type_.kind is Kind.BOOLEAN:
        return bool(number)
    return int(number)


def _image(value: float) -> int:
    bits: int = struct.unpack("<q", struct.pack("<d", value))[0]
    return bits if bits >= 0 else -(bits & 0x7FFF_FFFF_FFFF_FFFF)


def double_place(value: float) -> int:
    """The place of a DOUBLE in the order of all of them: both zeros have one."""
    return _image(value)


def double_at(place: int) -> float:
    """The DOUBLE of a place in the order of all DOUBLEs."""
    bits = place if place >= 0 else -place | -(1 << 63)
    value: float = struct.unpack("<d", struct.pack("<q", bits))[0]
    return value


def _strict(number: int, cell: int) -> int:
    """The whole place at or above a number, less one shade if it is above."""
    whole = -(-number // cell) * cell
    return whole - (number < whole)


def _nearest(number: int, cell: int) -> tuple[int, int]:
    """The whole place that a number is beside, and how many shades."""
    half = cell // 2
    whole, rest = divmod(number + half, cell)
    return whole, rest - half
