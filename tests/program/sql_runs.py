"""The printed steps of a query, run in DuckDB batch by batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from itertools import pairwise
from typing import Any

import duckdb

from millpond.plan import Query
from millpond.plan.sql_spelling import DuckDbSpelling
from millpond.program import Program
from millpond.program.sql import SqlSteps, sql_steps
from millpond.run import Arrivals
from millpond.schema import Kind, Row, Stream, Type

EPOCH = date(1970, 1, 1), datetime(1970, 1, 1)

Arrival = tuple[str | None, Row, int]


class DuckRun:
    """What the steps of a query do, batch by batch."""

    def __init__(self, query: Query, program: Program) -> None:
        self.steps: SqlSteps = sql_steps(query, program)
        self._program = program
        self._streams = query.streams
        self._connection = duckdb.connect()
        for each in query.streams:
            self._connection.execute(f'CREATE TABLE "{each.name}_batch" ({declared(each)})')
        self._all(self.steps.empty)

    def __enter__(self) -> DuckRun:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def batch(self, rows: Mapping[str, Sequence[Row]]) -> Counter[Row]:
        """The changes that a batch causes."""
        for each in self._streams:
            self._connection.execute(f'DELETE FROM "{each.name}_batch"')
            marks = ", ".join("?" for _ in each.columns)
            types = [column.type for column in each.columns]
            for row in rows.get(each.name, ()):
                values = [given(*pair) for pair in zip(types, row, strict=True)]
                self._connection.execute(
                    f'INSERT INTO "{each.name}_batch" VALUES ({marks})', values
                )
        self._all(self.steps.step)
        if not self.steps.changes:
            return Counter()
        return counted(self._rows(f"SELECT * FROM {self.steps.changes}"))

    def answer(self) -> Counter[Row] | None:
        """The answer that the stores say; None if nothing is kept."""
        if self.steps.answer is None:
            return None
        return counted(self._rows(self.steps.answer.text), weighted=self.steps.weighted)

    def units(self) -> int:
        """What the tables of the stores hold: a row for each bucket that holds something."""
        total = 0
        for name, store in zip(self.steps.stores, self._program.empty().stores, strict=True):
            if name:
                ((rows,),) = self._rows(f"SELECT COUNT(*) FROM {name}")
                total += rows * store.units_per_bucket
        return total

    def _all(self, statements: Iterable[Any]) -> None:
        for each in statements:
            self._connection.execute(each.text)

    def _rows(self, text: str) -> list[tuple[Any, ...]]:
        return self._connection.execute(text).fetchall()


def declared(stream: Stream) -> str:
    spelling = DuckDbSpelling()
    return ", ".join(
        f"{spelling.name(each.name)} {spelling.type(each.type)}" for each in stream.columns
    )


def given(type_: Type, value: Any) -> Any:
    if value is not None and type_.kind is Kind.DATE:
        return EPOCH[0] + timedelta(days=value)
    if value is not None and type_.kind is Kind.TIMESTAMP:
        return EPOCH[1] + timedelta(microseconds=value)
    return value


def taken(value: Any) -> Any:
    if isinstance(value, datetime):
        return (value - EPOCH[1]) // timedelta(microseconds=1)
    return (value - EPOCH[0]).days if isinstance(value, date) else value


def rounded(value: Any) -> Any:
    """DOUBLEs as far as aggregates of them have to be right."""
    return float(f"{value:.9g}") if isinstance(value, float) else value


def counted(rows: Iterable[Sequence[Any]], *, weighted: bool = True) -> Counter[Row]:
    """Rows with their multiplicities, the last column if they have one."""
    found: Counter[Row] = Counter()
    for row in rows:
        *values, n = row if weighted else (*row, 1)
        found[tuple(rounded(taken(each)) for each in values)] += n
    return found


def batches(arrivals: Arrivals, cuts: Sequence[int]) -> list[list[Arrival]]:
    """The rows between cuts; no batch is empty."""
    rows = list(arrivals)
    ends = [0, *cuts, len(rows)]
    parts = [rows[low:high] for low, high in pairwise(ends)]
    return [each for each in parts if each]


def by_stream(batch: Iterable[Arrival]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for stream, row, _ in batch:
        found.setdefault(stream or "", []).append(row)
    return found
