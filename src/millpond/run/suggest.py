"""What a sample obeys and could be declared: ranges and lists, NOT NULL, keys, delays, windows.

A suggestion holds for the sample, and says nothing of rows to come.  Ranges have ends that a person
would choose, and are suggested only of columns whose values come again and again: what is new in
every row, as a number that counts up, has a range in the sample and none in the stream.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor

from millpond.memory.pace import hours_of
from millpond.plan.lengths import length
from millpond.plan.sql_stream import alter_sql, check_sql, watermark_sql
from millpond.run.measure import MeasuredColumn, MeasuredTime, Sample
from millpond.schema import Check, EnumType, IntegerType, Kind, Stream, Time, Value

OFTEN = 5
"""A value of a column with a range comes so often on average."""
_NARROW = 100
"""Ranges of so few values are taken as they are."""
_STEPS = (1, 2, 5)
_SECONDS = (
    1,
    2,
    5,
    10,
    15,
    30,
    60,
    120,
    300,
    600,
    900,
    1800,
    3600,
    7200,
    10800,
    21600,
    43200,
    86400,
)
_SECOND = 1_000_000


@dataclass(frozen=True)
class Suggestion:
    """Something that could be declared, as text of our language; `sql` is None for what cannot."""

    kind: str
    column: str
    text: str
    sql: str | None
    check: Check | None = None


def suggestions(sample: Sample) -> tuple[Suggestion, ...]:
    """What the sample obeys."""
    found = [each for column in sample.columns for each in _of_column(sample, column)]
    return (*found, *_of_time(sample))


def per_hour(sample: Sample) -> Fraction | None:
    """Rows an hour, where the time column says how long the sample is."""
    time = sample.time
    hours = None if time is None else _hours(sample.stream, time)
    return None if not hours else Fraction(sample.rows) / hours


def _hours(stream: Stream, time: MeasuredTime) -> Fraction | None:
    if stream.time is None:  # the first TIMESTAMP column
        return Fraction(time.length, 3600 * _SECOND)
    return hours_of(stream, time.length)


# Columns ----------------------------------------------------------------------------------------


def _of_column(sample: Sample, found: MeasuredColumn) -> Iterator[Suggestion]:
    column = found.column
    if not sample.rows:
        return
    check = None if _known(found) else _check(sample, found)
    if check is not None:
        said = check_sql(column, check)
        alter = alter_sql(sample.stream, column, check)
        yield Suggestion("check", column.name, said, alter, check)
    if column.nullable and not found.nulls:
        text = f"{column.name} NOT NULL"
        yield Suggestion("not null", column.name, text, f"{column.name} {column.type} NOT NULL")
    whole = column.type.kind in (Kind.INTEGER, Kind.VARCHAR)
    if whole and found.distinct == sample.rows > 1:
        text = f"no two rows have the same {column.name}: a key, as far as they go"
        yield Suggestion("key", column.name, text, None)


def _known(found: MeasuredColumn) -> bool:
    """Whether the declaration bounds the column already."""
    column = found.column
    if column.type.is_domain or isinstance(column.type, EnumType):
        return True
    check = column.check
    return check.among is not None or (check.low is not None and check.high is not None)


def _check(sample: Sample, found: MeasuredColumn) -> Check | None:
    """A list of few values, or a range of many that come often."""
    time = sample.time
    own_time = time is not None and time.column == found.column
    if own_time or not found.distinct or found.distinct * OFTEN > sample.rows:
        return None
    whole = found.column.type.kind is Kind.INTEGER
    few = None if found.values is None else Check(among=found.values)
    if found.column.type.kind in (Kind.DATE, Kind.TIMESTAMP, Kind.INTERVAL, Kind.BOOLEAN):
        return None
    if isinstance(found.low, int) and isinstance(found.high, int) and whole:
        if few is not None and found.high - found.low >= 2 * found.distinct:
            return few
        low, high = rounded_range(found.low, found.high)
        return Check(*_held(found, low, high))
    if few is not None:
        return few
    if isinstance(found.low, Decimal) and isinstance(found.high, Decimal):
        low, high = rounded_range(floor(found.low), ceil(found.high))
        return Check(Decimal(low).quantize(found.low), Decimal(high).quantize(found.high))
    return None


def _held(found: MeasuredColumn, low: int, high: int) -> tuple[Value, Value]:
    """The range as far as the type goes."""
    held = found.column.type
    assert isinstance(held, IntegerType)
    least, most = held.range.low, held.range.high
    return max(low, low if least is None else least), min(high, high if most is None else most)


def rounded_range(low: int, high: int) -> tuple[int, int]:
    """A range with round ends around another one.

    >>> rounded_range(1, 12), rounded_range(3, 9870), rounded_range(-43, 1301)
    ((1, 12), (0, 10000), (-100, 1400))
    """
    width = high - low
    if width < _NARROW:
        return low, high
    step = round_up(-(-width // 20))
    if 0 <= low <= width:
        low = 0
    if (high + 1) % step == 0 and low == 0:  # 0 to 999 is as round as 0 to 1000
        return low, high
    return low // step * step, -(-high // step) * step


def round_up(number: int) -> int:
    """
    >>> round_up(1), round_up(3), round_up(67), round_up(501)
    (1, 5, 100, 1000)
    """
    power = 1
    while True:
        for step in _STEPS:
            if step * power >= number:
                return step * power
        power *= 10


# Time -------------------------------------------------------------------------------------------


def _of_time(sample: Sample) -> Iterator[Suggestion]:
    stream, time = sample.stream, sample.time
    if time is None or time.delay * 2 > time.length:  # it is in no order
        return
    declared = stream.time
    timestamps = time.column.type.kind is Kind.TIMESTAMP
    delay = round_time(time.delay) if timestamps else time.delay and round_up(time.delay)
    name = time.column.name
    if declared is None or declared.delay < time.delay:
        said = watermark_sql(Time(name, delay), time.column.type)
        yield Suggestion("watermark", name, said, said)
    if stream.rows_per_instant is None and time.rows_per_instant * 10 <= sample.rows:
        most = round_up(time.rows_per_instant)
        said = f"WITH (rows_per_instant = {most})"
        yield Suggestion("rows per instant", name, said, said)
    yield from _window(sample, time)


def _window(sample: Sample, time: MeasuredTime) -> Iterator[Suggestion]:
    """What a window of an hour holds, or of a minute where the sample is short."""
    hourly, hours = per_hour(sample), _hours(sample.stream, time)
    if hourly is None or hours is None or sample.stream.time is None:
        return
    ticks = Fraction(time.length) / hours
    part = 1 if hours >= 1 else 60
    if ticks % part:
        return
    said = f"{sample.stream.name} [RANGE {length(int(ticks) // part, time.column.type)}]"
    rows = -(-hourly // part)
    held = "1 row" if rows == 1 else f"{rows} rows"
    yield Suggestion("window", time.column.name, f"{said} holds {held} on average", said)


def round_time(microseconds: int) -> int:
    """A delay in seconds, minutes, hours or days that is not shorter.

    >>> round_time(1), round_time(61_000_000), round_time(0)
    (1000000, 120000000, 0)
    """
    if not microseconds:
        return 0
    for seconds in _SECONDS:
        if seconds * _SECOND >= microseconds:
            return seconds * _SECOND
    day = _SECONDS[-1] * _SECOND
    return -(-microseconds // day) * day
