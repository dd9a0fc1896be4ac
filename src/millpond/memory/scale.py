"""Columns of every type counted in integers, so that one order logic serves all (Arasu, section 9).

The unit is so small that every constant and every DECIMAL is a whole number of it, and that between
two neighbouring ones there is room for all columns that can lie anywhere (DOUBLE, text).  Texts are
counted by the rank of the constants among them.  With integer columns alone the unit is 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from math import lcm

from millpond.memory.attribute import Attribute, number
from millpond.memory.condition import In, Number, Range
from millpond.order import PLAIN, Values
from millpond.order.values import normal
from millpond.schema import Column, DecimalType, EnumType, Interval, Kind, Value

_EPOCH = datetime(1970, 1, 1)
_DIGITS = 12
"""Enough for every number of units between two texts."""

_GRIDS = (Kind.INTEGER, Kind.BOOLEAN, Kind.DATE, Kind.TIMESTAMP, Kind.INTERVAL)


@dataclass(frozen=True)
class Scale:
    """How numbers and texts become integers."""

    unit: int
    texts: tuple[str, ...]
    cell: int = 1
    """How many units there are between two whole places: room on either side of both for all that
    lies anywhere."""

    def of(self, value: Number) -> Fraction:
        """A constant in units."""
        if isinstance(value, str):
            return Fraction(self.texts.index(value) * self.unit)
        return value * self.unit

    def step(self, column: Column) -> int | None:
        """How far apart neighbouring values of a column are; None if they lie anywhere."""
        if column.type.kind in _GRIDS or isinstance(column.type, EnumType):
            return self.unit
        if isinstance(column.type, DecimalType):
            return self.unit // int(10**column.type.scale)
        return None

    def values(self, column: Column, said: In | None) -> Values:
        """What a row that matters can have in a column that is no NULL: by its type where that is a
        domain, by CHECK, and by what the query says of it."""
        step = self.step(column)
        limits = [self._spans(declared(column), step)]
        if said is not None:
            limits.append(self._spans(said.ranges, step))
        values = Values(step or 1, step is None, limits[0])
        for each in limits[1:]:
            values = values.meet(Values(spans=each))
        if step == 1 and len(values.spans) == 1:
            return PLAIN if values.anything else Values(spans=values.spans)
        return values

    def _spans(self, ranges: Iterable[Range], step: int | None) -> tuple[Interval, ...]:
        found = (self._span(each, step) for each in ranges)
        return normal(each for each in found if not each.empty)

    def _span(self, range_: Range, step: int | None) -> Interval:
        low = None if range_.low is None else self._inner(range_.low, range_.low_open, step, 1)
        high = None if range_.high is None else self._inner(range_.high, range_.high_open, step, -1)
        return Interval(low, high)

    def _inner(self, end: Number, is_open: bool, step: int | None, inwards: int) -> int:
        """The first value inside an end, in the direction given."""
        place, by = self.of(end), step or 1
        steps = place / by
        whole = -(-steps.numerator // steps.denominator) if inwards > 0 else steps.__floor__()
        if is_open and whole == steps:
            whole += inwards
        return whole * by

    def text(self, number: int) -> str:
        """A text that lies among the constants where a number of units does.

        Texts between two constants begin with the lower one; what follows is small enough not to
        reach a constant that begins the same.
        """
        place, rest = divmod(number, self.unit)
        last = len(self.texts) - 1
        if place > last:
            place, rest = last, rest + (place - last) * self.unit
        digits = f"{rest:0{_DIGITS}d}"
        return self.texts[place] + (f"!{digits}" if rest else "")

    def decimal(self, number: int) -> Decimal:
        """The DECIMAL of a number of units."""
        exact = Fraction(number, self.unit)
        return Decimal(exact.numerator) / Decimal(exact.denominator)

    def shown(self, column: Column, value: int) -> str:
        """A value of a column as text."""
        if column.type.kind is Kind.VARCHAR:
            place, rest = divmod(value, self.unit)
            return repr(self.texts[place]) if not rest and place < len(self.texts) else "..."
        exact = Fraction(value, self.unit)
        if column.type.kind is Kind.BOOLEAN:
            return str(bool(exact)).upper()
        try:
            if column.type.kind is Kind.DATE:
                return str(_EPOCH.date() + timedelta(days=int(exact)))
            if column.type.kind is Kind.TIMESTAMP:
                return (_EPOCH + timedelta(microseconds=int(exact))).isoformat()
        except OverflowError:
            return "..."  # beyond the calendar
        if exact.denominator == 1:
            return str(exact.numerator)
        return str(float(exact))


def scale_of(
    columns: Mapping[Attribute, Column],
    said: Mapping[Attribute, In],
    offsets: Iterable[Fraction],
    room: int = 1,
) -> Scale:
    """The scale of a query over these columns, with these constants; `room` makes it finer."""
    dense, unit, texts = 0, 1, {""}
    for each, column in columns.items():
        ranges = [*declared(column), *(said[each].ranges if each in said else ())]
        ends = [end for one in ranges for end in (one.low, one.high) if end is not None]
        if column.type.kind is Kind.VARCHAR:
            texts |= {end for end in ends if isinstance(end, str)}
            dense += not isinstance(column.type, EnumType)
        elif isinstance(column.type, DecimalType):
            unit = lcm(unit, 10**column.type.scale)
        elif column.type.kind is Kind.DOUBLE:
            dense += 1
            unit = lcm(unit, *(end.denominator for end in ends if isinstance(end, Fraction)))
    cell = 2 * dense + 3 if dense else 1
    if dense or unit > 1:
        unit = lcm(unit, *(each.denominator for each in offsets)) * cell
    return Scale(unit * room, tuple(sorted(texts)), cell * room)


def declared(column: Column) -> Sequence[Range]:
    """The values that a domain allows; a type is a domain only where it has few values."""
    check = column.check
    low, high = _constant(check.low), _constant(check.high)
    whole = Range(low, high, check.low_open, check.high_open)
    listed: Sequence[Value] | None = check.listed
    if isinstance(column.type, EnumType):
        among = column.type.values if listed is None else listed
        listed = [each for each in among if each is not None and check.admits(each)]
    if listed is not None:
        points = (_constant(each) for each in listed if each is not None)
        return [Range(each, each) for each in points]
    if column.type.kind is Kind.BOOLEAN:
        return [whole.meet(Range(Fraction(0), Fraction(1)))]
    if column.type.kind is Kind.VARCHAR:
        return [whole.meet(Range("", None))]
    if column.type.kind is Kind.INTEGER and column.type.is_domain:
        return [whole.meet(Range(Fraction(-128), Fraction(127)))]
    return [whole]


def _constant(value: Value) -> Number | None:
    if value is None or isinstance(value, str):
        return value
    return number(value)
