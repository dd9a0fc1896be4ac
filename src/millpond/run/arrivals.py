"""Accepted events of several streams, laid out in columns for each query that reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import cast

import numpy as np

from millpond.program import Batch, Columns, IntArray, Program
from millpond.schema import Catalog, Row


class Arrivals:
    """Rows in order of arrival with their instants; ticks are instants without a row."""

    def __init__(self, catalog: Catalog) -> None:
        self._names = {each.name: each.names for each in catalog}
        self._rows: dict[str, list[Row]] = {each.name: [] for each in catalog}
        self._order: list[tuple[str | None, int, int]] = []
        self._columns: dict[str, Columns] = {}

    def __len__(self) -> int:
        return len(self._order)

    def add(self, stream: str | None, row: Row, at: int) -> None:
        """One more arrival; a tick has no stream."""
        self._columns.clear()
        if stream is None:
            self._order.append((None, 0, at))
            return
        rows = self._rows[stream]
        self._order.append((stream, len(rows), at))
        rows.append(row)

    def __iter__(self) -> Iterator[tuple[str | None, Row, int]]:
        for stream, place, at in self._order:
            yield stream, (() if stream is None else self._rows[stream][place]), at

    @property
    def last(self) -> int:
        """The last instant."""
        return self._order[-1][2]

    def instants(self, streams: Sequence[str]) -> list[int]:
        """The instants of a query over these streams: their rows, and ticks."""
        wanted = {*streams, None}
        return [at for stream, _, at in self._order if stream in wanted]

    def batch(self, program: Program) -> Batch:
        """What a program has to see of the arrivals."""
        numbers = {each.name: number for number, each in enumerate(program.inputs)}
        return _batch(program, numbers, self._order, self._of)

    def _of(self, stream: str) -> Columns:
        """The rows of a stream that a program reads: of integers, or it would not be compiled."""
        if stream not in self._columns:
            rows = cast(Sequence[tuple[int | None, ...]], self._rows[stream])
            self._columns[stream] = Columns.of(self._names[stream], rows)
        return self._columns[stream]


def _batch(
    program: Program,
    numbers: Mapping[str, int],
    order: Sequence[tuple[str | None, int, int]],
    columns: Callable[[str], Columns],
) -> Batch:
    mine = [(numbers[s], place, at) for s, place, at in order if s is not None and s in numbers]
    table: IntArray = np.array(mine, dtype=np.int64).reshape(-1, 3)
    return Batch(
        np.ascontiguousarray(table[:, 0]),
        np.ascontiguousarray(table[:, 1]),
        np.ascontiguousarray(table[:, 2]),
        tuple(columns(each.name) for each in program.inputs),
        order[-1][2] if order else 0,
    )
