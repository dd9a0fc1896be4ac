"""A sample of a stream: its columns as a table, and what could be declared of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from millpond.memory import Verdict
from millpond.memory.remedy import Remedy
from millpond.plan import Query
from millpond.plan.lengths import length
from millpond.plan.sql_stream import alter_sql, check_sql
from millpond.report.amounts import counted, rounded
from millpond.report.cells import cells, printable
from millpond.report.style import PLAIN, Style
from millpond.run.values import json_text, plain_text, short
from millpond.schema import Check, Column, Stream, Type, Value

if TYPE_CHECKING:
    from millpond.run.measure import MeasuredColumn, MeasuredTime, Sample
    from millpond.run.suggest import Suggestion

_SHOWN = 5
"""Values of a column that are listed."""
_HEAD = ("column", "type", "NULLs", "distinct", "values")


def remedy_lines(query: Query, remedy: Remedy | None) -> Iterator[str]:
    """What the data obeys that would bound a query, and how it is declared."""
    if remedy is None:
        return
    streams = {each.name: each for each in query.sources}
    said = [(streams[stream], name, check) for stream, name, check in remedy.checks]
    units = "" if remedy.units is None else f", at most {counted(remedy.units, 'unit')}"
    it = "it" if len(said) == 1 else "them"
    obeyed = " and ".join(_obeyed(*each) for each in said)
    yield f"your data obeys {obeyed}; declaring {it} makes {query.name} {remedy.memory}{units}"
    for stream, name, check in said:
        yield f"  + {alter_sql(stream, _column(stream, name), check)}"


def _obeyed(stream: Stream, name: str, check: Check) -> str:
    """A CHECK in few words."""
    listed = check.listed
    if listed is not None and len(listed) > _SHOWN:
        return f"{stream.name}.{name} IN ({len(listed)} values)"
    return f"{stream.name}.{check_sql(_column(stream, name), check)}"


def _column(stream: Stream, name: str) -> Column:
    column = stream.column(name)
    assert column is not None
    return column


def sample_lines(
    sample: Sample, uri: str, suggested: Sequence[Suggestion], style: Style = PLAIN
) -> Iterator[str]:
    """The measured columns as a table, times, and what the sample obeys."""
    yield f"{style.bold(sample.stream.name)}: {sample.rows} rows in {printable(uri)}"
    rows = [_HEAD, *(_cells(each) for each in sample.columns)]
    widths = [max(map(cells, column)) for column in zip(*rows, strict=True)]
    for number, row in enumerate(rows):
        padded = (
            each + " " * (width - cells(each)) for each, width in zip(row, widths, strict=True)
        )
        line = "  " + "  ".join(padded).rstrip()
        yield style.dim(line) if not number else line
    if sample.time is not None:
        yield f"  {_time_text(sample)}"
    if suggested:
        yield "  as far as these rows go, it obeys"
        yield from (f"    {each.text}" for each in suggested if each.kind != "not null")
        whole = [each.column for each in suggested if each.kind == "not null"]
        if whole:
            yield f"    NOT NULL: {', '.join(whole)}"


def _cells(found: MeasuredColumn) -> tuple[str, ...]:
    say = plain_text(found.column.type)
    if found.values is not None and len(found.values) <= _SHOWN:
        values = ", ".join(short(say(each)) for each in found.values)
    elif found.low is None:
        values = ""
    else:
        values = f"{short(say(found.low))} to {short(say(found.high))}"
    shown = (
        found.column.name,
        str(found.column.type),
        str(found.nulls),
        str(found.distinct),
        values,
    )
    return tuple(printable(each) for each in shown)


def _time_text(sample: Sample) -> str:
    from millpond.run.suggest import per_hour

    time = sample.time
    assert time is not None
    kind = time.column.type
    hourly = per_hour(sample)
    behind = (
        "in order" if not time.delay else f"up to {length(time.delay, kind).lower()} out of order"
    )
    most = f"at most {time.rows_per_instant} with one {time.column.name}"
    rate = "" if hourly is None else f", {rounded(-(-hourly // 1))} an hour"
    return f"rows come {behind}{rate}, {most}"


def sample_dict(
    sample: Sample, uri: str, suggested: Sequence[Suggestion], verdicts: Sequence[Verdict]
) -> dict[str, Any]:
    """The sample as JSON-ready data."""
    return {
        "uri": uri,
        "rows": sample.rows,
        "columns": [_column_dict(each) for each in sample.columns],
        "time": None if sample.time is None else _time_dict(sample, sample.time),
        "suggestions": [_suggestion(sample, each, verdicts) for each in suggested],
    }


def _column_dict(found: MeasuredColumn) -> dict[str, Any]:
    kind = found.column.type
    values = None if found.values is None else [_json(kind, each) for each in found.values]
    return {
        "name": found.column.name,
        "type": str(kind),
        "nulls": found.nulls,
        "distinct": found.distinct,
        "low": _json(kind, found.low),
        "high": _json(kind, found.high),
        "values": values,
    }


def _time_dict(sample: Sample, time: MeasuredTime) -> dict[str, Any]:
    from millpond.run.suggest import per_hour

    hourly = per_hour(sample)
    return {
        "column": time.column.name,
        "declared": sample.stream.time is not None,
        "first": _json(time.column.type, time.first),
        "last": _json(time.column.type, time.last),
        "instants": time.instants,
        "rows_per_instant": time.rows_per_instant,
        "delay": time.delay,
        "rows_per_hour": None if hourly is None else float(hourly),
    }


def _suggestion(sample: Sample, each: Suggestion, verdicts: Sequence[Verdict]) -> dict[str, Any]:
    mine = (sample.stream.name, each.column, each.check)
    return {
        "kind": each.kind,
        "column": each.column,
        "text": each.text,
        "sql": each.sql,
        "makes": [
            {
                "query": verdict.name,
                "memory": verdict.remedy.memory.value,
                "units": verdict.remedy.units,
                "with": [f"{stream}.{name}" for stream, name, _ in verdict.remedy.checks],
            }
            for verdict in verdicts
            if verdict.remedy is not None and each.check and mine in verdict.remedy.checks
        ],
    }


def _json(kind: Type, value: Value) -> Any:
    return json.loads(json_text(kind)(value))
