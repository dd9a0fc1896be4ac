"""Places on lines as SQL: the numbers of values, the constants that lie there, and the way back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction

from millpond.plan.error import PlanError
from millpond.plan.sql_expression import Expressions, Level, Printed
from millpond.program.grouping import Slot
from millpond.program.line import Doubles, Line, Numbers, Position, Texts, Whole, double_at
from millpond.program.measured import Measured, OnAnyLine, Ordered, Text
from millpond.program.near import Near
from millpond.program.shown import Listed, OnLine
from millpond.schema import DecimalType, IntegerType, Kind, Type, Value

Values = Measured | OnAnyLine | Ordered | Text
"""What stands for values that SQL keeps as they are, but for places on lines of whole numbers."""

MOST_LISTED = 1_000
"""So many values are written one by one; more are no text to read."""

_TIMES: Mapping[tuple[str, Kind], tuple[str, str]] = {
    ("DuckDB", Kind.DATE): (
        "{} - DATE '1970-01-01'",
        "DATE '1970-01-01' + CAST({} AS INTEGER)",
    ),
    ("Spark", Kind.DATE): (
        "CAST(DATEDIFF({}, DATE '1970-01-01') AS BIGINT)",
        "DATE_ADD(DATE '1970-01-01', CAST({} AS INT))",
    ),
    ("DuckDB", Kind.TIMESTAMP): ("EPOCH_US({})", "MAKE_TIMESTAMP({})"),
    ("Spark", Kind.TIMESTAMP): ("UNIX_MICROS({})", "TIMESTAMP_MICROS({})"),
}
"""Days and microseconds since 1970, and back."""


class Places:
    """Places in the words of an engine."""

    def __init__(self, expressions: Expressions) -> None:
        self._expressions = expressions

    # Numbers of values -----------------------------------------------------------------------

    def number(self, value: Printed, type_: Type, line: Whole) -> str:
        """The place of a value on a line of whole numbers."""
        factor = Fraction(line.times, line.by)
        if type_.kind is Kind.BOOLEAN:
            return _times(f"CAST({value.text} AS INT)", factor)
        if type_.kind is Kind.INTEGER:
            return value.text if line.plain else _times(_wide(value, type_), factor)
        if isinstance(type_, DecimalType) and type_.precision <= 18:
            return f"CAST({value.within(Level.MULTIPLY)} * {decimal(factor)} AS BIGINT)"
        if type_.kind is Kind.DOUBLE and line.plain:
            text = value.within(Level.ATOM)
            whole = f"{text} = FLOOR({text}) AND ABS({text}) < 9e18"
            return f"CASE WHEN {whole} THEN CAST({text} AS BIGINT) END"
        if (self._engine, type_.kind) in _TIMES and line.plain:
            text = _TIMES[self._engine, type_.kind][0].format(value.within(Level.ADD))
            return f"({text})" if " - " in text else text
        raise PlanError(f"the places of a {type_} on this line are not built")

    # Constants -------------------------------------------------------------------------------

    def value(self, place: Position, line: Line, type_: Type | None = None) -> str:
        """The constant that lies at a place."""
        found, shade = _at(place, line)
        if shade or found is None:
            raise PlanError("no constant lies at a place beside all values")
        return self._constant(found, type_)

    def beside(self, value: str, place: Position, line: Line, type_: Type, *, below: bool) -> str:
        """Whether a value lies at a place or below it, or at it or above."""
        found, shade = _at(place, line)
        if found is None:
            return f"{value} IS NOT NULL" if (shade > 0) == below else "FALSE"
        within = shade >= 0 if below else shade <= 0
        op = ("<" if below else ">") + ("=" if within else "")
        return f"{value} {op} {self._constant(found, type_)}"

    def _constant(self, found: str | float | Fraction, type_: Type | None) -> str:
        spelling = self._expressions.spelling
        if isinstance(found, str):
            return spelling.text(found)
        if isinstance(found, float):
            return spelling.double(found)
        if type_ is not None and type_.kind in (Kind.DATE, Kind.TIMESTAMP):
            return spelling.value(int(found), type_)
        return decimal(found)

    # Values of numbers -----------------------------------------------------------------------

    def shown(
        self, slot: Slot | None, text: str, type_: Type, numbers: Sequence[int] | None = None
    ) -> str:
        """The value that an integer stands for; `numbers` are those that there are."""
        if isinstance(slot, OnAnyLine) and isinstance(slot.line, Whole):
            slot = OnLine(slot.line, slot.type)
        if slot is None or text == "NULL" or isinstance(slot, Values):
            return text
        if isinstance(slot, OnLine):
            return self._on_line(slot, text)
        if isinstance(slot, Listed):
            numbers = range(len(slot.values))
        if text.lstrip("-").isdigit():
            return self.literal(slot.value(int(text)), type_)
        if numbers is None or len(numbers) > MOST_LISTED:
            raise PlanError("a table of values is too long to read")
        if not numbers:
            return "NULL"
        values = {each: self.literal(slot.value(each), type_) for each in numbers}
        if all(str(number) == value for number, value in values.items()):
            return text
        arms = " ".join(f"WHEN {number} THEN {value}" for number, value in values.items())
        return f"CASE {text} {arms} END"

    def literal(self, value: Value, type_: Type) -> str:
        """A constant of a type."""
        if isinstance(value, int) and type_.kind is Kind.DECIMAL:
            return str(value)
        return self._expressions.spelling.value(value, type_)

    def _on_line(self, slot: OnLine, text: str) -> str:
        type_: Type = slot.type
        if type_.kind is Kind.INTEGER and slot.line.plain:
            return text
        if (self._engine, type_.kind) in _TIMES and slot.line.plain:
            return _TIMES[self._engine, type_.kind][1].format(text)
        factor = Fraction(slot.line.by, slot.line.times)
        if type_.kind is Kind.BOOLEAN:
            return f"{text} <> 0"
        if type_.kind not in (Kind.INTEGER, Kind.DECIMAL, Kind.DOUBLE):
            raise PlanError(f"the values of a {type_} on this line are not built")
        scaled = text if factor == 1 else f"{text} * {decimal(factor)}"
        return f"CAST({scaled} AS {self._expressions.spelling.type(type_)})"

    @property
    def _engine(self) -> str:
        return str(getattr(self._expressions, "engine", ""))


def _wide(value: Printed, type_: Type) -> str:
    narrow = isinstance(type_, IntegerType) and type_.bits is not None and type_.bits < 64
    return f"CAST({value.text} AS {'BIGINT' if narrow else 'DECIMAL(20, 0)'})"


def _times(text: str, factor: Fraction) -> str:
    return text if factor == 1 else f"{text} * {decimal(factor)}"


def _at(place: Position, line: Line) -> tuple[str | float | Fraction | None, int]:
    """The value at a place and on which side of it that lies; None beyond all values."""
    if isinstance(line, Whole):
        assert isinstance(place, int)
        return Fraction(place * line.by, line.times), 0
    if isinstance(line, Doubles):
        assert isinstance(place, int)
        found = double_at(place)
        infinite = found in (float("inf"), float("-inf"))
        return (None, 1 if found > 0 else -1) if infinite else (found, 0)
    if not isinstance(place, Near):
        raise PlanError("a number that stands for a place is compared with a value")
    level, value, shade = place.sort
    if level:
        return None, level
    if isinstance(line, Texts):
        assert isinstance(value, str)
        return value, shade
    assert isinstance(line, Numbers)
    assert not isinstance(value, str)
    return Fraction(value) / line.unit, shade


def decimal(number: Fraction) -> str:
    """A number as an exact constant of SQL; refused where it has no end."""
    if number.denominator == 1:
        return str(number.numerator)
    rest = number.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    if rest != 1:
        raise PlanError(f"{number} has no end as a decimal")
    digits = 0
    while (number * 10**digits).denominator != 1:
        digits += 1
    return f"{Decimal(int(number * 10**digits)).scaleb(-digits):f}"
