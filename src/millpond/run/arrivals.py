"""Accepted events of several streams, laid out in columns for each query that reads them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from millpond.program import (
    Batch,
    Columns,
    Failure,
    InputStream,
    IntArray,
    Preparer,
    Program,
)
from millpond.schema import Row, Stream


class Arrivals:
    """Rows in order of arrival with their instants; ticks are instants without a row."""

    def __init__(self, catalog: Iterable[Stream]) -> None:
        streams = list(catalog)
        self._streams = {each.name: each for each in streams}
        self._rows: dict[str, list[Row]] = {each.name: [] for each in streams}
        self._order: list[tuple[str | None, int, int]] = []
        self._columns: dict[InputStream, tuple[Columns, Failure | None]] = {}

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
        """What a program has to see of the arrivals, up to one that an expression of the program
        has no value for."""
        inputs = program.inputs
        prepared = [self._prepared(each) for each in inputs]
        numbers = {each.name: number for number, each in enumerate(inputs)}
        mine = [
            (numbers[stream], place, at)
            for stream, place, at in self._order
            if stream is not None and stream in numbers
        ]
        failed = None
        for number, (_, failure) in enumerate(prepared):
            if failure is not None:
                end = next(n for n, row in enumerate(mine) if row[:2] == (number, failure.row))
                failed = mine[end][2], failure.error
                end = next(n for n, row in enumerate(mine) if row[2] == failed[0])
                mine = mine[:end]
        table: IntArray = np.array(mine, dtype=np.int64).reshape(-1, 3)
        return Batch(
            np.ascontiguousarray(table[:, 0]),
            np.ascontiguousarray(table[:, 1]),
            np.ascontiguousarray(table[:, 2]),
            tuple(columns for columns, _ in prepared),
            self._order[-1][2] if self._order else 0,
            tuple(self._rows[each.name] for each in inputs) if program.shown is not None else (),
            failed,
            next((at for stream, _, at in self._order if stream is None), None),
        )

    def _prepared(self, input_: InputStream) -> tuple[Columns, Failure | None]:
        """The columns that a program reads of a stream; computed once, whoever reads them."""
        if input_ not in self._columns:
            preparer = Preparer(input_, self._streams[input_.name])
            self._columns[input_] = preparer.columns(self._rows[input_.name])
        return self._columns[input_]


def batch_of(program: Program, stream: str, columns: Columns, first: int) -> Batch | None:
    """Rows of one stream as a batch, an instant each from `first` on; None if nobody reads it."""
    names = [each.name for each in program.inputs]
    if stream not in names:
        return None
    size = columns.size
    return Batch(
        np.full(size, names.index(stream), dtype=np.int64),
        np.arange(size, dtype=np.int64),
        np.arange(first, first + size, dtype=np.int64),
        tuple(
            columns if each.name == stream else Columns.of(each.columns, ())
            for each in program.inputs
        ),
        first + size - 1,
    )
