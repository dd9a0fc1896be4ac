"""A run of every query of a file over one interleaved input: arrivals in, lines out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from millpond.plan import Query
from millpond.run.arrivals import Arrivals
from millpond.run.definition import DefinitionRun
from millpond.run.engine import LocalRun
from millpond.run.output import Row, answer_line, apply, change_line, final_lines, order_of


class Emit(StrEnum):
    """What a run prints."""

    CHANGES = "changes"
    ANSWERS = "answers"
    FINAL = "final"


Change = tuple[int, Row, int]
"""Instant, row, multiplicity."""


class Running(Protocol):
    """One query under way, whatever runs it."""

    def advance(self, arrivals: Arrivals) -> Iterator[Change]:
        """The changes, in order of instant, unsorted inside one."""
        ...

    def units(self) -> int: ...


class Compiled:
    """A query that runs as a program."""

    def __init__(self, run: LocalRun) -> None:
        self._run = run

    def advance(self, arrivals: Arrivals) -> Iterator[Change]:
        delta = self._run.advance(arrivals.batch(self._run.program))
        for row, n, at in delta.rows():
            yield at, row, n

    def units(self) -> int:
        return self._run.units()


class ByDefinition:
    """A query that is asked again after every instant."""

    def __init__(self, query: Query) -> None:
        self._streams = {each.name for each in query.streams}
        self._run = DefinitionRun(query)

    def advance(self, arrivals: Arrivals) -> Iterator[Change]:
        for stream, row, at in arrivals:
            if stream in self._streams:
                for changed, n in self._run.instant([(stream, row)]):
                    yield at, changed, n

    def units(self) -> int:
        return self._run.units()


@dataclass
class _Entry:
    query: Query
    running: Running
    answer: Counter[Row]
    names: tuple[str, ...]
    streams: tuple[str, ...]


class Session:
    """Runs queries side by side and says their output in the order of the contract."""

    def __init__(
        self,
        queries: Sequence[tuple[Query, Running]],
        emit: Emit,
        *,
        instants: str = "all",
    ) -> None:
        self._entries = [
            _Entry(
                query,
                running,
                Counter(),
                tuple(each.name for each in query.fields),
                tuple(each.name for each in query.streams),
            )
            for query, running in queries
        ]
        self._emit = emit
        self._batched = instants == "batch"
        self._several = len(self._entries) > 1

    def advance(self, arrivals: Arrivals) -> list[str]:
        """The lines that a batch of arrivals causes."""
        if not len(arrivals):
            return []
        lines: list[tuple[int, int, str]] = []
        for place, entry in enumerate(self._entries):
            changes = list(entry.running.advance(arrivals))
            own = arrivals.instants(entry.streams)
            if self._batched:
                changes, own = _last_only(changes, own)
            lines += [(at, place, line) for at, line in self._said(entry, changes, own)]
        lines.sort(key=lambda each: each[:2])
        return [line for _, _, line in lines]

    def finish(self) -> Iterator[str]:
        """The lines that come at the end of input."""
        if self._emit is Emit.FINAL:
            for entry in self._entries:
                yield from final_lines(entry.names, entry.answer, self._name(entry))

    def units(self) -> int:
        """Units of state held by all queries."""
        return sum(entry.running.units() for entry in self._entries)

    def _name(self, entry: _Entry) -> str | None:
        return entry.query.name if self._several else None

    def _said(
        self, entry: _Entry, changes: list[Change], own: list[int]
    ) -> Iterator[tuple[int, str]]:
        name = self._name(entry)
        if self._emit is Emit.CHANGES:
            for at, row, n in sorted(changes, key=lambda e: (e[0], e[2] > 0, order_of(e[1]))):
                yield at, change_line(entry.names, row, n, at, name)
            return
        if self._emit is Emit.FINAL:
            for _, row, n in changes:
                apply(entry.answer, row, n)
            return
        by_instant: dict[int, list[Change]] = {}
        for change in changes:
            by_instant.setdefault(change[0], []).append(change)
        for at in own:
            for _, row, n in by_instant.get(at, ()):
                apply(entry.answer, row, n)
            yield at, answer_line(entry.names, entry.answer, at, name)


def _last_only(changes: list[Change], own: list[int]) -> tuple[list[Change], list[int]]:
    """The last instant of a batch, with all changes of the batch consolidated."""
    if not own:
        return [], []
    total: Counter[Row] = Counter()
    for _, row, n in changes:
        apply(total, row, n)
    return [(own[-1], row, n) for row, n in total.items()], own[-1:]
