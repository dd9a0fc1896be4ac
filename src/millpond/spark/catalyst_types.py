"""Spark's types as ours, and Spark's constants as values of them."""

from __future__ import annotations

import re
from datetime import datetime
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from millpond.plan import Literal
from millpond.plan.moments import date_from, microseconds_of
from millpond.schema import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    NULL,
    SMALLINT,
    TIMESTAMP,
    TINYINT,
    VARCHAR,
    DecimalType,
    IntegerType,
    Kind,
    Type,
    Value,
    decimal,
)

_TYPES: dict[str, Type] = {
    "byte": TINYINT,
    "short": SMALLINT,
    "integer": INT,
    "long": BIGINT,
    "boolean": BOOLEAN,
    "float": DOUBLE,
    "double": DOUBLE,
    "string": VARCHAR,
    "date": DATE,
    "timestamp": TIMESTAMP,
    "timestamp_ntz": TIMESTAMP,
    "void": NULL,
}
_DECIMAL = re.compile(r"decimal\((\d+),(-?\d+)\)")


def type_of(said: Any) -> Type | None:
    """The type that Spark's JSON names; None for what we have none for, as structs.

    >>> print(type_of("long"), type_of("decimal(10,2)"), type_of("binary"))
    BIGINT DECIMAL(10, 2) None
    """
    if not isinstance(said, str):
        return None
    found = _DECIMAL.fullmatch(said)
    if found is not None:
        precision, scale = int(found[1]), int(found[2])
        return decimal(precision, scale) if 0 <= scale <= precision else None
    return _TYPES.get(said)


def said_of(said: Any) -> str:
    """The type as people say it."""
    return said if isinstance(said, str) else str(said.get("type", "nested"))


def literal_of(text: Any, said: Any, zone: str) -> Literal | None:
    """A constant out of its text; None where the text does not tell it.  Spark writes a TIMESTAMP
    in the zone of the session.

    >>> str(literal_of("1.50", "decimal(3,2)", "UTC"))
    '1.50'
    """
    type_ = type_of(said)
    if type_ is None:
        return None
    if text is None:
        return Literal(None)
    value = _value(str(text), type_, "UTC" if said == "timestamp_ntz" else zone)
    return None if value is None else Literal(value, type_)


def _value(text: str, type_: Type, zone: str) -> Value:
    try:
        match type_.kind:
            case Kind.INTEGER:
                return int(text)
            case Kind.DECIMAL:
                return Decimal(text)
            case Kind.DOUBLE:
                value = float(text)
                return value if value - value == 0 else None
            case Kind.BOOLEAN:
                return text == "true"
            case Kind.VARCHAR:
                return text
            case Kind.DATE:
                return date_from(text)
            case Kind.TIMESTAMP:
                return microseconds_of(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)))
    except (ValueError, ArithmeticError, LookupError):
        return None
    return None


def widens(source: Type, target: Type) -> bool:
    """Whether a cast leaves every value the same number or text.

    >>> widens(INT, BIGINT), widens(INT, DOUBLE), widens(BIGINT, DOUBLE)
    (True, True, False)
    """
    if source == target or source is NULL:
        return True
    if isinstance(source, IntegerType) and source.bits is not None:
        if isinstance(target, IntegerType):
            return target.bits is None or source.bits <= target.bits
        if isinstance(target, DecimalType):
            return target.precision - target.scale >= len(str(source.range.high))
        return target is DOUBLE and source.bits <= 32
    if isinstance(source, DecimalType) and isinstance(target, DecimalType):
        whole = target.precision - target.scale >= source.precision - source.scale
        return whole and target.scale >= source.scale
    return source.kind is target.kind and source.kind in (Kind.DOUBLE, Kind.VARCHAR)
