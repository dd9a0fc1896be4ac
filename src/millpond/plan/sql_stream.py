"""Declarations of streams, tables and aggregates as text that reads back to the same ones."""

from __future__ import annotations

from collections.abc import Iterator

from millpond.plan.lengths import units
from millpond.plan.sql_spelling import Spelling
from millpond.schema import Check, Column, Kind, Stream, Time, Type, UserAggregate

_SPELLING = Spelling()


def stream_sql(stream: Stream) -> str:
    """`CREATE STREAM s (a INT, ...);` and its kin."""
    parts = [_column(each) for each in stream.columns]
    if stream.time is not None:
        parts.append(_watermark(stream.time, stream.time_type))
    options = ", ".join(_options(stream))
    behind = f" WITH ({options})" if options else ""
    name = _SPELLING.name(stream.name)
    return f"CREATE {stream.form} {name} ({', '.join(parts)}){behind};"


def aggregate_sql(declared: UserAggregate) -> str:
    """`CREATE AGGREGATE f (x DOUBLE) ...;`."""
    name = _SPELLING.name(declared.name)
    argument = f"{_SPELLING.name(declared.argument)} {_SPELLING.type(declared.takes)}"
    duplicates = "sensitive" if declared.sensitive else "insensitive"
    units = "" if declared.units is None else f", units = {declared.units}"
    return (
        f"CREATE AGGREGATE {name} ({argument}) RETURNS {_SPELLING.type(declared.returns)} "
        f"LANGUAGE python AS {_SPELLING.text(declared.code)} "
        f"WITH (class = '{declared.kind}', duplicates = '{duplicates}'{units});"
    )


def check_sql(column: Column, check: Check) -> str:
    """What a CHECK says of a column, as the condition of one."""
    return " AND ".join(_check(column.name, column.type, check))


def alter_sql(stream: Stream, column: Column, check: Check) -> str:
    """`ALTER STREAM s ADD CHECK (...);`."""
    form = "STREAM" if stream.is_stream else "TABLE"
    return f"ALTER {form} {_SPELLING.name(stream.name)} ADD CHECK ({check_sql(column, check)});"


def watermark_sql(time: Time, type_: Type | None) -> str:
    """`WATERMARK FOR ts AS ts - 2`."""
    return _watermark(time, type_)


def _column(column: Column) -> str:
    words = [_SPELLING.name(column.name), _SPELLING.type(column.type)]
    if not column.nullable:
        words.append("NOT NULL")
    if not column.check.anything:
        words.append(f"CHECK ({' AND '.join(_check(column.name, column.type, column.check))})")
    return " ".join(words)


def _check(name: str, type_: Type, check: Check) -> Iterator[str]:
    name = _SPELLING.name(name)
    low, high = (_SPELLING.value(each, type_) for each in (check.low, check.high))
    closed = not check.low_open and not check.high_open
    if closed and check.low is not None and check.high is not None:
        yield f"{name} BETWEEN {low} AND {high}"
    else:
        if check.low is not None:
            yield f"{name} {'>' if check.low_open else '>='} {low}"
        if check.high is not None:
            yield f"{name} {'<' if check.high_open else '<='} {high}"
    if check.among is not None:
        listed = ", ".join(_SPELLING.value(each, type_) for each in check.among)
        yield f"{name} IN ({listed})"


def _watermark(time: Time, type_: Type | None) -> str:
    name = _SPELLING.name(time.column)
    behind = ""
    if time.delay:
        behind = f" - {time.delay}"
        if type_ is not None and type_.kind is Kind.TIMESTAMP:
            count, word = units(time.delay)
            behind = f" - INTERVAL '{count}' {word}"
    return f"WATERMARK FOR {name} AS {name}{behind}"


def _options(stream: Stream) -> Iterator[str]:
    if stream.time is not None and stream.time.unit is not None:
        yield f"unit = {_SPELLING.text(stream.time.unit)}"
    if stream.until is not None:
        yield f"until = {stream.until}"
    if stream.rows_per_instant is not None:
        yield f"rows_per_instant = {stream.rows_per_instant}"
    if not stream.retroactive:
        yield "retroactive = false"
