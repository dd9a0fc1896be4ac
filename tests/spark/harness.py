"""Random tagged input in chunks, runs over it, and its answers by DuckDB."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa

from millpond.language import read_script
from millpond.memory import verdict_of
from millpond.plan import Script
from millpond.program import Program
from millpond.schema import Column, Stream
from millpond.synopsis import program_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Event = dict[str, dict[str, int | None]]
Row = tuple[int | None, ...]


class Pieces:
    """A sink that keeps the lines of each batch."""

    def __init__(self) -> None:
        self.said: dict[str, list[dict[str, Any]]] = {}

    def begin(self, *, fresh: bool) -> None:
        """Nothing to prepare."""

    def put(self, name: str, pieces: Iterable[bytes]) -> None:
        self.said[name] = [json.loads(line) for line in b"".join(pieces).splitlines()]

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [line for name in sorted(self.said) for line in self.said[name]]


def compiled(text: str) -> tuple[Script, dict[str, Program]]:
    """A script and the programs of its queries."""
    script = read_script(text)
    return script, {each.name: program_of(each, verdict_of(each)) for each in script.queries}


def random_events(rng: random.Random, streams: Sequence[Stream], size: int) -> list[Event]:
    """Rows around the constants of the queries, some of them with NULL."""
    low, high = rng.choice([(5, 25), (8, 12), (8, 13), (9, 21)])
    events: list[Event] = []
    for _ in range(size):
        stream = rng.choice(streams)
        events.append(
            {
                stream.name: {
                    column.name: None
                    if column.nullable and rng.random() < 0.05
                    else rng.randint(*_inside(column, low, high))
                    for column in stream.columns
                }
            }
        )
    return events


def _inside(column: Column, low: int, high: int) -> tuple[int, int]:
    """Some values around the constants, or those that the column was declared to have."""
    least, most = column.declared.low, column.declared.high
    if least is None or most is None:
        return low, high
    return least, most


def cut(rng: random.Random, events: Sequence[Event], pieces: int) -> list[list[Event]]:
    """The events in some chunks, empty ones among them."""
    ends = sorted(rng.randint(0, len(events)) for _ in range(pieces - 1))
    starts = [0, *ends]
    return [list(events[a:b]) for a, b in zip(starts, [*ends, len(events)], strict=True)]


def static(spark: SparkSession, script: Script, events: Sequence[Mapping[str, Any]]) -> DataFrame:
    """A tagged DataFrame of events, as one batch."""
    schema = pa.schema(
        (each.name, pa.struct([(name, pa.int64()) for name in each.names]))
        for each in script.catalog
    )
    return spark.createDataFrame(pa.Table.from_pylist(list(events), schema=schema))


def by_duckdb(script: Script, sql: Mapping[str, str], events: Sequence[Event]) -> dict[str, Any]:
    """The answers of queries over all of the events."""
    with duckdb.connect() as connection:
        for stream in script.catalog:
            rows = [event[stream.name] for event in events if stream.name in event]
            schema = pa.schema((name, pa.int64()) for name in stream.names)
            connection.register(stream.name, pa.Table.from_pylist(rows, schema=schema))
        return {name: Counter(connection.execute(text).fetchall()) for name, text in sql.items()}


def added(answers: dict[str, Counter[Row]], lines: Iterable[Mapping[str, Any]]) -> None:
    """Takes lines of changes into answers; lines of one query alone have no name."""
    for line in lines:
        answer = answers[line.get("query", next(iter(answers)))]
        row = tuple(line["row"].values())
        answer[row] += line.get("n", 1) if line["op"] == "+" else -line.get("n", 1)
        if not answer[row]:
            del answer[row]


def lines_of(folder: Path) -> list[dict[str, Any]]:
    """Everything that a sink folder holds, in order."""
    return [
        json.loads(line)
        for path in sorted(folder.glob("*.jsonl"))
        for line in path.read_text().splitlines()
    ]
