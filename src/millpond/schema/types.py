"""Types of columns and expressions, and the intervals of values that they, or a CHECK, allow.

A *type* says what a value may be at all; a *domain* is what verdicts may rely on (Arasu, section
9).  BOOLEAN, TINYINT and ENUM are both; INT and BIGINT are types only: a bound of 2^32 values is
no bound.

Values are plain Python ones: an integer for integers, for a DATE (days since 1970) and for a
TIMESTAMP or an INTERVAL (microseconds, in UTC); `bool`, `float`, `Decimal` and `str` for the rest;
None is NULL.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

Value = int | bool | float | Decimal | str | None
Row = tuple[Value, ...]


class Kind(StrEnum):
    """What kind of value a type holds; values of one kind compare with one another."""

    INTEGER = "integer"
    DECIMAL = "decimal"
    DOUBLE = "double"
    BOOLEAN = "boolean"
    VARCHAR = "varchar"
    DATE = "date"
    TIMESTAMP = "timestamp"
    INTERVAL = "interval"
    NULL = "null"

    @property
    def numeric(self) -> bool:
        return self in (Kind.INTEGER, Kind.DECIMAL, Kind.DOUBLE)


@dataclass(frozen=True)
class Interval:
    """The integers from `low` to `high`; None is no limit on that side."""

    low: int | None = None
    high: int | None = None

    def __contains__(self, value: int) -> bool:
        return (self.low is None or self.low <= value) and (self.high is None or value <= self.high)

    @property
    def empty(self) -> bool:
        return self.low is not None and self.high is not None and self.low > self.high

    @property
    def size(self) -> int | None:
        """How many integers there are; None if infinitely many."""
        if self.low is None or self.high is None:
            return None
        return max(0, self.high - self.low + 1)

    def meet(self, other: Interval) -> Interval:
        lows = [each for each in (self.low, other.low) if each is not None]
        highs = [each for each in (self.high, other.high) if each is not None]
        return Interval(max(lows, default=None), min(highs, default=None))

    def __str__(self) -> str:
        if self.low is None and self.high is None:
            return "any value"
        if self.low == self.high:
            return str(self.low)
        low = "" if self.low is None else str(self.low)
        high = "" if self.high is None else str(self.high)
        return f"{low}..{high}"


ANYTHING = Interval()


@dataclass(frozen=True)
class Type:
    """What a value may be: a name as SQL writes it, and a kind."""

    name: str
    kind: Kind

    @property
    def is_domain(self) -> bool:
        """Whether verdicts may rely on the type having few values."""
        return self.kind is Kind.BOOLEAN

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class IntegerType(Type):
    """A signed integer of `bits` bits; None for as many as it takes."""

    bits: int | None

    @property
    def is_domain(self) -> bool:
        return self.bits == 8

    @property
    def range(self) -> Interval:
        if self.bits is None:
            return ANYTHING
        return Interval(-(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class DecimalType(Type):
    """A decimal number of `precision` digits, `scale` of them behind the point."""

    precision: int
    scale: int

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class VarcharType(Type):
    """Text, of at most `length` characters if one is given; compared by code point."""

    length: int | None = None

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class EnumType(Type):
    """Text out of a list; compared by code point, like all text."""

    values: tuple[str, ...]

    @property
    def is_domain(self) -> bool:
        return True

    def __str__(self) -> str:
        return self.name


TINYINT = IntegerType("TINYINT", Kind.INTEGER, 8)
SMALLINT = IntegerType("SMALLINT", Kind.INTEGER, 16)
INT = IntegerType("INT", Kind.INTEGER, 32)
BIGINT = IntegerType("BIGINT", Kind.INTEGER, 64)
HUGEINT = IntegerType("HUGEINT", Kind.INTEGER, None)
"""Counts, sums and multiplicities: as many bits as they need."""
BOOLEAN = Type("BOOLEAN", Kind.BOOLEAN)
DOUBLE = Type("DOUBLE", Kind.DOUBLE)
DATE = Type("DATE", Kind.DATE)
TIMESTAMP = Type("TIMESTAMP", Kind.TIMESTAMP)
INTERVAL = Type("INTERVAL", Kind.INTERVAL)
NULL = Type("NULL", Kind.NULL)
VARCHAR = VarcharType("VARCHAR", Kind.VARCHAR)
INTEGER_TYPES = {each.name: each for each in (TINYINT, SMALLINT, INT, BIGINT)}


def decimal(precision: int, scale: int) -> DecimalType:
    """`DECIMAL(precision, scale)`."""
    return DecimalType(f"DECIMAL({precision}, {scale})", Kind.DECIMAL, precision, scale)


def varchar(length: int | None = None) -> VarcharType:
    """`VARCHAR`, or `VARCHAR(length)`."""
    return VARCHAR if length is None else VarcharType(f"VARCHAR({length})", Kind.VARCHAR, length)


def enum(values: tuple[str, ...]) -> EnumType:
    """`ENUM('x', 'y')`."""
    listed = ", ".join("'" + each.replace("'", "''") + "'" for each in values)
    return EnumType(f"ENUM({listed})", Kind.VARCHAR, values)
