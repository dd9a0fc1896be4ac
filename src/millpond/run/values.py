"""Values and JSON: what a column takes of what arrived, and how a value is said again, exactly.

Nothing is rounded or guessed on the way in: integers keep all their digits, a number with a point
or an exponent stays text (`Number`) until its column says what to make of it, and what does not
fit its type or its CHECK is refused with a code.  On the way out integers are JSON numbers of any
size, a DECIMAL is a string with its scale, a DOUBLE the shortest number that reads back as itself,
and dates, timestamps (UTC) and intervals are ISO-8601.  0.0 and -0.0 are one value, and are
said as 0.0.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable
from decimal import Context, Decimal
from typing import Any

from millpond.plan import moments
from millpond.schema import (
    INTERVAL,
    TIMESTAMP,
    Check,
    Column,
    DecimalType,
    EnumType,
    IntegerType,
    Kind,
    Row,
    Type,
    Value,
    VarcharType,
)

Convert = Callable[[Any], Value]
Order = tuple[tuple[bool, Any], ...]


class Number(str):
    """A JSON number with a point or an exponent, as it was written."""

    __slots__ = ()


class BadRowError(Exception):
    """What is wrong with a row: a code, a message, and hints."""

    def __init__(self, code: str, message: str, *helps: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.helps = helps


class _NoValueError(Exception):
    """Not a value of the type; the argument says what is one."""


class _NoFitError(Exception):
    """A value of the kind that the type does not hold; the argument says what it holds."""


# In ---------------------------------------------------------------------------------------------


def taker(where: str, column: Column) -> Convert:
    """What makes a column's value of one that arrived and is not NULL, or raises BadRowError.

    `where` names the column in messages.
    """
    convert = converter(column.type)
    admits = None if column.check.anything else column.check.admits

    def take(value: Any) -> Value:
        try:
            taken = convert(value)
        except _NoValueError as wanted:
            said = f"{where} is {column.type}, and the row has {shown(value)}"
            raise BadRowError("MP304", said, str(wanted)) from None
        except _NoFitError as held:
            said = f"{shown(value)} does not fit in {where}: {column.type}"
            raise BadRowError("MP305", said, str(held)) from None
        if admits is not None and not admits(taken):
            raise BadRowError(
                "MP306",
                f"{shown(value)} is outside the CHECK of {where}",
                f"the CHECK allows {check_text(column)}",
            )
        return taken

    return take


def converter(kind: Type) -> Convert:
    """What makes a value of a type of one that arrived, CHECK aside."""
    match kind:
        case IntegerType():
            return _integers(kind)
        case DecimalType():
            return _decimals(kind)
        case EnumType():
            return _listed(kind)
        case VarcharType():
            return _texts(kind)
    return _PLAIN[kind.kind]


def _integers(kind: IntegerType) -> Convert:
    held = kind.range

    def convert(value: Any) -> Value:
        if not isinstance(value, int) or isinstance(value, bool):
            raise _NoValueError("write an integer without quotes, point or exponent")
        if value not in held:
            raise _NoFitError(f"{kind} holds {held}")
        return value

    return convert


_DECIMAL = re.compile(r"[+-]?[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]{1,9})?")


def _decimals(kind: DecimalType) -> Convert:
    unit = Decimal((0, (1,), -kind.scale))
    exact = Context(prec=kind.precision + 1)
    whole, nothing = kind.precision - kind.scale, Decimal((0, (0,), -kind.scale))

    def convert(value: Any) -> Value:
        if type(value) in (str, Number):
            if not _DECIMAL.fullmatch(value):
                raise _NoValueError('write a number, or one in quotes as "12.50"')
            value = Decimal(value)
        elif type(value) is int:
            value = Decimal(value)
        elif type(value) is not Decimal or not value.is_finite():
            raise _NoValueError('write a number, or one in quotes as "12.50"')
        if not value:
            return nothing
        if value.adjusted() >= whole or _places(value) > kind.scale:
            raise _NoFitError(
                f"{kind} holds {whole} digits before the point and {kind.scale} behind it"
            )
        made: Decimal = value.quantize(unit, context=exact)
        return made

    return convert


def _places(value: Decimal) -> int:
    """How many digits behind the point a number other than 0 needs."""
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    return -exponent - (len(digits) - len("".join(map(str, digits)).rstrip("0")))


def _texts(kind: VarcharType) -> Convert:
    most = math.inf if kind.length is None else kind.length

    def convert(value: Any) -> Value:
        if type(value) is not str:
            raise _NoValueError("write text in quotes")
        if len(value) > most:
            raise _NoFitError(f"{kind} holds at most {most} characters, and these are {len(value)}")
        if not value.isascii() and _SURROGATE.search(value):
            raise _NoValueError("half of a surrogate pair is no character")
        return value

    return convert


_SURROGATE = re.compile("[\ud800-\udfff]")


def _listed(kind: EnumType) -> Convert:
    values = {each: each for each in kind.values}

    def convert(value: Any) -> Value:
        if type(value) is not str:
            raise _NoValueError("write text in quotes")
        if value not in values:
            shown_values = ", ".join(kind.values[:8]) + (", ..." if len(kind.values) > 8 else "")
            raise BadRowError(
                "MP306", f"{shown(value)} is not in the list of {short(kind.name)}",
                f"the list is {short(shown_values)}",
            )  # fmt: skip
        return values[value]

    return convert


def _boolean(value: Any) -> Value:
    if type(value) is not bool:
        raise _NoValueError("write true or false")
    return value


def _double(value: Any) -> Value:
    if type(value) not in (int, float, Number):
        raise _NoValueError("write a number without quotes")
    try:
        taken = float(value)
    except OverflowError:
        taken = math.inf
    if not math.isfinite(taken):
        if type(value) is float:
            raise _NoValueError("NaN and infinities are no values: write null")
        raise _NoFitError("DOUBLE holds numbers up to 1.797e308")
    return taken + 0.0


def _date(value: Any) -> Value:
    try:
        return moments.date_from(value)
    except (TypeError, AttributeError, ValueError):
        raise _NoValueError('write a date as "2013-01-31"') from None


def _timestamp(value: Any) -> Value:
    wanted = 'write a timestamp as "2013-01-31T05:00:00Z", or as an integer of microseconds'
    taken = _moment(value, moments.timestamp_from, TIMESTAMP, wanted)
    if taken not in moments.TIMESTAMPS:
        raise _NoFitError("TIMESTAMP holds the years 1 to 9999")
    return taken


def _interval(value: Any) -> Value:
    wanted = 'write a duration as "PT1M30S", or as an integer of microseconds'
    taken = _moment(value, moments.interval_from, INTERVAL, wanted)
    if taken not in moments.INTERVALS:
        raise _NoFitError("INTERVAL holds 64 bits of microseconds")
    return taken


def _moment(value: Any, read: Callable[[str], int], kind: Type, wanted: str) -> int:
    if type(value) is int:
        return value
    if type(value) is not str:
        raise _NoValueError(wanted)
    if _TOO_FINE.search(value):
        raise _NoFitError(f"{kind} holds microseconds: six digits behind the point")
    try:
        return read(value)
    except ValueError:
        raise _NoValueError(wanted) from None


_TOO_FINE = re.compile(r"[0-9]\.[0-9]{7}")


def _nothing(value: Any) -> Value:
    raise _NoValueError("write null")


_PLAIN: dict[Kind, Convert] = {
    Kind.BOOLEAN: _boolean,
    Kind.DOUBLE: _double,
    Kind.DATE: _date,
    Kind.TIMESTAMP: _timestamp,
    Kind.INTERVAL: _interval,
    Kind.NULL: _nothing,
}


# Out --------------------------------------------------------------------------------------------

_quoted: Callable[[Any], str] = json.JSONEncoder(ensure_ascii=False).encode


def plain_text(kind: Type) -> Callable[[Any], str]:
    """What says a value of a type, NULL aside, as text without quotes."""
    if isinstance(kind, DecimalType):
        scale = kind.scale
        return lambda value: f"{Decimal(value) if value else Decimal():.{scale}f}"
    return _SAID.get(kind.kind, str)


def json_text(kind: Type) -> Callable[[Value], str]:
    """What says a value of a type, or NULL, as JSON.

    >>> from millpond.schema import BIGINT, decimal
    >>> json_text(BIGINT)(2), json_text(BIGINT)(None)
    ('2', 'null')
    """
    plain = _quoted if kind.kind is Kind.VARCHAR else plain_text(kind)
    if kind.kind in (Kind.DECIMAL, Kind.DATE, Kind.TIMESTAMP, Kind.INTERVAL):
        return lambda value: "null" if value is None else f'"{plain(value)}"'
    return lambda value: "null" if value is None else plain(value)


def _double_text(value: Any) -> str:
    if not math.isfinite(value):
        raise ValueError(f"{value} is no value of JSON")
    return float.__repr__(float(value) + 0.0)


def _in_any_year(text_of: Callable[[int], str], era: int) -> Callable[[Any], str]:
    """Says also what lies outside the years 1 to 9999, where a window may end, with a signed year.

    The calendar repeats after an era of 400 years.
    """

    def say(value: int) -> str:
        try:
            return text_of(value)
        except (ValueError, OverflowError):
            eras, rest = divmod(value, era)
            said = text_of(rest)
            return f"{int(said[:4]) + 400 * eras:+05d}{said[4:]}"

    return say


_DAYS = 146_097
"""In 400 years."""

_SAID: dict[Kind, Callable[[Any], str]] = {
    Kind.BOOLEAN: lambda value: "true" if value else "false",
    Kind.DOUBLE: _double_text,
    Kind.DATE: _in_any_year(moments.date_text, _DAYS),
    Kind.TIMESTAMP: _in_any_year(moments.timestamp_text, _DAYS * moments.DAY),
    Kind.INTERVAL: moments.interval_text,
}


def time_text(kind: Type | None) -> Callable[[Value], str]:
    """What says an instant as JSON: a number, or ISO-8601."""
    return str if kind is None else json_text(kind)


def row_text(names: Iterable[str], kinds: Iterable[Type]) -> Callable[[Row], str]:
    """What says a row as a JSON object of its columns."""
    parts = [
        (f"{_quoted(name)}: ", json_text(kind)) for name, kind in zip(names, kinds, strict=True)
    ]
    return lambda row: (
        "{"
        + ", ".join([key + text(value) for (key, text), value in zip(parts, row, strict=True)])
        + "}"
    )


# Order, and words for messages ------------------------------------------------------------------


def order_key(row: Row) -> Order:
    """Rows sort by column: NULL first, false before true, numbers by value, text by code point."""
    return tuple((value is not None, 0 if value is None else value) for value in row)


def check_text(column: Column) -> str:
    """What a column's CHECK allows, as its values are written."""
    say = plain_text(column.type)

    def said(value: Value) -> Value:
        return None if value is None else say(value)

    check = column.check
    if check.among is not None:
        return short(", ".join(str(said(each)) for each in check.listed or ()))
    return str(Check(said(check.low), said(check.high), check.low_open, check.high_open))


def shown(value: Any) -> str:
    """A value that arrived, for a message."""
    if isinstance(value, Number):
        return short(value)
    return short(json.dumps(value, default=str))


def short(text: str) -> str:
    """A piece of the user's data for a message: not too long, and text that can be written."""
    cut = text if len(text) <= 60 else text[:57] + "..."
    return cut.encode("utf-8", "backslashreplace").decode("utf-8")
