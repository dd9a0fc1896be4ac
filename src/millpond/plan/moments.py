"""Dates, timestamps and intervals: their texts, their parts, and their ranges.

A DATE counts days since 1970-01-01, a TIMESTAMP microseconds since then in UTC, an INTERVAL
microseconds.  Years go from 1 to 9999.  Texts are ISO-8601: `2013-01-31`, `2013-01-31T12:30:00Z`
(reading also takes a blank for the T, another zone, and a date alone), `PT1M30S`.  An interval has
a fixed length, so that months and years are no part of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

from millpond.schema.types import Interval

SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
WEEK = 7 * DAY

_MICROSECOND = timedelta(microseconds=1)
_EPOCH = datetime(1970, 1, 1)
_EPOCH_DAY = date(1970, 1, 1).toordinal()

DATES = Interval(date.min.toordinal() - _EPOCH_DAY, date.max.toordinal() - _EPOCH_DAY)
TIMESTAMPS = Interval(
    (datetime.min - _EPOCH) // _MICROSECOND, (datetime.max - _EPOCH) // _MICROSECOND
)
INTERVALS = Interval(-(1 << 63), (1 << 63) - 1)

_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)", re.ASCII)
_TIMESTAMP = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)"
    r"(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,6}))?)?"
    r"(?: ?(?:(Z)|([+-])(\d\d)(?::?(\d\d))?))?)?",
    re.ASCII | re.IGNORECASE,
)
_INTERVAL = re.compile(
    r"(-)?P(?=.)(?:(\d+)W)?(?:(\d+)D)?"
    r"(?:T(?=.)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.(\d{1,6}))?S)?)?",
    re.ASCII,
)


def date_of(days: int) -> date:
    """The calendar's day of a DATE."""
    return date.fromordinal(days + _EPOCH_DAY)


def days_of(day: date) -> int:
    """The DATE of a day of the calendar."""
    return day.toordinal() - _EPOCH_DAY


def datetime_of(timestamp: int) -> datetime:
    """The calendar's moment of a TIMESTAMP, in UTC and without a zone."""
    return _EPOCH + timedelta(microseconds=timestamp)


def microseconds_of(moment: datetime) -> int:
    """The TIMESTAMP of a moment of the calendar, which is in UTC if it has no zone."""
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC).replace(tzinfo=None)
    return (moment - _EPOCH) // _MICROSECOND


def date_text(days: int) -> str:
    """
    >>> date_text(0)
    '1970-01-01'
    """
    return date_of(days).isoformat()


def timestamp_text(timestamp: int) -> str:
    """
    >>> timestamp_text(1_500_000)
    '1970-01-01T00:00:01.500000Z'
    """
    return datetime_of(timestamp).isoformat() + "Z"


def interval_text(interval: int) -> str:
    """
    >>> interval_text(90_000_000)
    'PT1M30S'
    """
    minutes, microseconds = divmod(abs(interval), MINUTE)
    hours, minutes = divmod(minutes, 60)
    seconds, fraction = divmod(microseconds, SECOND)
    parts = f"{hours}H" * (hours > 0) + f"{minutes}M" * (minutes > 0)
    if microseconds or not parts:
        parts += f"{seconds}{f'.{fraction:06}' if fraction else ''}S"
    return f"{'-' if interval < 0 else ''}PT{parts}"


def date_from(text: str) -> int:
    """The DATE that a text says; ValueError if it says none."""
    found = _DATE.fullmatch(text.strip(" "))
    if found is None:
        raise ValueError(f"{text!r} is no date")
    return days_of(date(*map(int, found.groups())))


def timestamp_from(text: str) -> int:
    """The TIMESTAMP that a text says; ValueError if it says none."""
    found = _TIMESTAMP.fullmatch(text.strip(" "))
    if found is None:
        raise ValueError(f"{text!r} is no timestamp")
    *fields, fraction, _, sign, hours, minutes = found.groups()
    year, month, day, hour, minute, second = (int(each or 0) for each in fields)
    result = microseconds_of(datetime(year, month, day, hour, minute, second))
    result += _fraction(fraction)
    if sign is not None:
        offset = _offset(int(hours), int(minutes or 0))
        result -= offset if sign == "+" else -offset
    if result not in TIMESTAMPS:
        raise ValueError(f"{text!r} is outside the years 1 to 9999")
    return result


def interval_from(text: str) -> int:
    """The INTERVAL that a text says; ValueError if it says none."""
    found = _INTERVAL.fullmatch(text.strip(" "))
    if found is None:
        raise ValueError(f"{text!r} is no interval")
    sign, *counts, fraction = found.groups()
    units = (WEEK, DAY, HOUR, MINUTE, SECOND)
    length = sum(int(count or 0) * unit for count, unit in zip(counts, units, strict=True))
    length += _fraction(fraction)
    return -length if sign else length


def _fraction(digits: str | None) -> int:
    return int((digits or "").ljust(6, "0"))


def _offset(hours: int, minutes: int) -> int:
    if hours > 23 or minutes > 59:
        raise ValueError(f"{hours}:{minutes} is no time zone")
    return hours * HOUR + minutes * MINUTE


PARTS: dict[str, Callable[[datetime], int]] = {
    "YEAR": lambda moment: moment.year,
    "QUARTER": lambda moment: (moment.month + 2) // 3,
    "MONTH": lambda moment: moment.month,
    "WEEK": lambda moment: moment.isocalendar().week,
    "DAY": lambda moment: moment.day,
    "DAYOFYEAR": lambda moment: moment.timetuple().tm_yday,
    "DAYOFWEEK": lambda moment: moment.isoweekday() % 7,
    "ISODOW": lambda moment: moment.isoweekday(),
    "HOUR": lambda moment: moment.hour,
    "MINUTE": lambda moment: moment.minute,
    "SECOND": lambda moment: moment.second,
    "MILLISECOND": lambda moment: moment.second * 1000 + moment.microsecond // 1000,
    "MICROSECOND": lambda moment: moment.second * SECOND + moment.microsecond,
}
"""Parts of a moment.  A week is ISO's, a day of the week counts from Sunday = 0 (ISODOW from
Monday = 1), and what is smaller than a second counts from the minute, as EXTRACT has it."""

_FIXED = {
    "MICROSECOND": 1,
    "MILLISECOND": 1000,
    "SECOND": SECOND,
    "MINUTE": MINUTE,
    "HOUR": HOUR,
    "DAY": DAY,
}
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
UNITS = (*_FIXED, "WEEK", *_MONTHS)
"""What a TIMESTAMP can be cut down to."""


def truncated(unit: str, timestamp: int) -> int:
    """The start of the unit of the calendar that a TIMESTAMP lies in; weeks start on Monday."""
    word = unit.strip().upper()
    word = word.removesuffix("S") if word.removesuffix("S") in UNITS else word
    if word in _FIXED:
        return timestamp - timestamp % _FIXED[word]
    if word == "WEEK":
        # 1970-01-01 was a Thursday, three days into its week.
        return timestamp - (timestamp + 3 * DAY) % WEEK
    if word not in _MONTHS:
        raise ValueError(f"{unit!r} is none of {', '.join(UNITS).lower()}")
    moment = datetime_of(timestamp)
    month = moment.month - (moment.month - 1) % _MONTHS[word]
    return microseconds_of(datetime(moment.year, month, 1))


def part(name: str) -> Callable[[Any], int]:
    """The function that takes a part out of a TIMESTAMP."""
    of = PARTS[name]
    return lambda timestamp: of(datetime_of(timestamp))
