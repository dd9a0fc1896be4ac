"""Values as Python programs have them: dates, times and lengths of time as `datetime` does.

Inside, a date is a number of days and a timestamp one of microseconds (`schema/types.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

from millpond.schema import Kind, Type

Say = Callable[[Any], Any]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_DAY = _EPOCH.date()
_MICROSECOND = timedelta(microseconds=1)


def said(value: Any) -> Any:
    """A value of a Python program as the rows of a stream have it.

    >>> said(timedelta(seconds=1)), said(date(2013, 1, 31)), said("x")
    (1000000, '2013-01-31', 'x')
    """
    if value is None or type(value) in _AS_THEY_ARE:
        return value
    if isinstance(value, datetime):
        aware = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
        return (aware - _EPOCH) // _MICROSECOND
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value // _MICROSECOND
    item = getattr(value, "item", None)  # a scalar of NumPy
    return item() if callable(item) and getattr(value, "ndim", None) == 0 else value


_AS_THEY_ARE = frozenset({int, str, bool, float})


def python_value(kind: Type | None) -> Say | None:
    """What makes Python's own value of one of a type, NULL aside; None where it is one already.

    What lies outside the years 1 to 9999, where a window may end, stays a number.
    """
    return None if kind is None else _MADE.get(kind.kind)


def _or_number(make: Say) -> Say:
    def made(value: Any) -> Any:
        try:
            return make(value)
        except OverflowError:
            return value

    return made


_MADE: dict[Kind, Say] = {
    Kind.DATE: _or_number(lambda days: _FIRST_DAY + timedelta(days=days)),
    Kind.TIMESTAMP: _or_number(lambda count: _EPOCH + timedelta(microseconds=count)),
    Kind.INTERVAL: _or_number(lambda count: timedelta(microseconds=count)),
}
