"""What a session holds as files of a commit, and back: clocks and counts in the manifest, rows as
Arrow files, the states of programs as `program/codec.py` writes them.

Every file has its checksum in the manifest, and the manifest its own.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from millpond.plan import Query
from millpond.program import State
from millpond.program.codec import (
    MANIFEST,
    damaged,
    read_file,
    read_manifest,
    read_state,
    write_file,
    write_manifest,
    write_state,
)
from millpond.program.commits import sync_folder
from millpond.run.clock import ClockKept
from millpond.run.contents import BEFORE, NEVER, Bag, HistoryKept, LogKept, Moment
from millpond.run.definition import DefinitionRun
from millpond.run.engine import LocalRun
from millpond.run.event import Event, Op
from millpond.run.kept import (
    AnswersKept,
    DefinitionKept,
    EntryKept,
    FeedKept,
    HeldKept,
    SessionKept,
)
from millpond.run.rows_file import read_rows, rows_content
from millpond.schema import Row, Stream, Type

Runs = Sequence[tuple[Query, LocalRun | DefinitionRun]]


# Writing ----------------------------------------------------------------------------------------


class Writer:
    """Puts what a session holds into a folder."""

    def __init__(self, folder: Path, runs: Runs) -> None:
        self._folder = folder
        self._runs = runs
        self._files: dict[str, str] = {}

    def write(self, number: int, kept: SessionKept, beside: Mapping[str, Any]) -> None:
        queries = []
        for place, ((query, run), entry) in enumerate(zip(self._runs, kept.entries, strict=True)):
            name = f"query-{place}"
            (self._folder / name).mkdir()
            queries.append(self._entry(name, query, run, entry))
            sync_folder(self._folder / name)
        write_manifest(
            self._folder / MANIFEST,
            {
                "commit": number,
                "at": kept.now,
                "started": kept.started,
                "late": kept.late,
                "queries": queries,
                "held": {
                    kind: {
                        "said": one.said,
                        "lines": [[_moment(at), *rest] for at, *rest in one.lines],
                    }
                    for kind, one in kept.held.items()
                },
                "beside": dict(beside),
                "files": self._files,
            },
        )

    def _entry(
        self, name: str, query: Query, run: LocalRun | DefinitionRun, entry: EntryKept
    ) -> dict[str, Any]:
        types = [each.type for each in query.fields]
        self._bag(f"{name}/answer.arrow", types, entry.answer)
        if isinstance(entry.run, State):
            write_state(entry.run, self._folder / name)
            content = (self._folder / name / MANIFEST).read_bytes()
            self._files[f"{name}/{MANIFEST}"] = hashlib.sha256(content).hexdigest()
            said: dict[str, Any] = {}
        else:
            assert isinstance(run, DefinitionRun)
            said = self._definition(name, query, run, entry.run)
        if entry.feed is not None:
            said["feed"] = self._feed(name, query, entry.feed)
        return said

    def _definition(
        self, name: str, query: Query, run: DefinitionRun, kept: DefinitionKept
    ) -> dict[str, Any]:
        sources = {each.name: each for each in query.sources}
        for place, (stream, log) in enumerate(kept.logs.items()):
            self._log(f"{name}/log-{place}.arrow", _types(sources[stream]), log)
        for place, (table, history) in enumerate(kept.tables.items()):
            changes = history.changes[: history.size]
            self._put(
                f"{name}/table-{place}.arrow",
                rows_content(
                    _types(sources[table]),
                    [row for row, _ in changes],
                    inserts=[int(inserts) for _, inserts in changes],
                    at=[None if math.isinf(at) else int(at) for at in history.at[: history.size]],
                ),
            )
        self._log(f"{name}/ticks.arrow", [], kept.ticks)
        for place, (plan, said) in enumerate(zip(run.answers(), kept.answers, strict=True)):
            self._bag(f"{name}/plan-{place}.arrow", [each.type for each in plan.fields], said.last)
        for place, (derived, log) in enumerate(zip(run.derived(), kept.derived, strict=True)):
            types = [each.type for each in derived.fields]
            self._log(f"{name}/derived-{place}.arrow", types, log)
        self._bag(f"{name}/said.arrow", [each.type for each in query.fields], kept.said)
        return {
            "plans": [
                [_moment(each.now), None if each.asked is None else _moment(each.asked)]
                for each in kept.answers
            ]
        }

    def _feed(self, name: str, query: Query, feed: FeedKept) -> dict[str, Any]:
        waiting: dict[str, list[tuple[int, int, Event]]] = {}
        for each in sorted(feed.waiting, key=lambda one: one[:2]):
            assert each[2].stream is not None
            waiting.setdefault(each[2].stream, []).append(each)
        for place, source in enumerate(query.sources):
            events = waiting.get(source.name, [])
            self._put(
                f"{name}/waiting-{place}.arrow",
                rows_content(
                    _types(source),
                    [event.row for _, _, event in events],
                    at=[at for at, _, _ in events],
                    arrived=[arrived for _, arrived, _ in events],
                    line=[event.line for _, _, event in events],
                    deletes=[int(event.op is Op.DELETE) for _, _, event in events],
                    asked=[event.at for _, _, event in events],
                ),
            )
        clock = feed.clock
        return {
            "arrived": feed.arrived,
            "end": _moment(feed.end),
            "clock": [_moment(clock.now), _moment(clock.read), _moment(clock.largest)],
            "marks": {stream: _moment(mark) for stream, mark in clock.marks.items()},
        }

    def _log(self, name: str, types: Sequence[Type], log: LogKept) -> None:
        self._put(name, rows_content(types, log.rows[: log.size], at=log.at[: log.size]))

    def _bag(self, name: str, types: Sequence[Type], bag: Bag) -> None:
        self._put(name, rows_content(types, list(bag), n=list(bag.values())))

    def _put(self, name: str, content: bytes) -> None:
        self._files[name] = write_file(self._folder / name, content)


# Reading ----------------------------------------------------------------------------------------


class Reader:
    """Takes what a session held out of a folder."""

    def __init__(self, folder: Path, runs: Runs) -> None:
        self._folder = folder
        self._runs = runs
        self._files: Mapping[str, str] = {}

    def read(self, number: int) -> tuple[SessionKept, dict[str, Any]]:
        said = read_manifest(self._folder / MANIFEST)
        if said.get("commit") != number:
            damaged(self._folder / MANIFEST, "is of another commit")
        self._files = said["files"]
        entries = [
            self._entry(f"query-{place}", query, run, each)
            for place, ((query, run), each) in enumerate(
                zip(self._runs, said["queries"], strict=True)
            )
        ]
        held = {
            kind: HeldKept(
                one["said"], [(_when(at), place, n, lines) for at, place, n, lines in one["lines"]]
            )
            for kind, one in said["held"].items()
        }
        kept = SessionKept(said["at"], said["started"], said["late"], entries, held)
        return kept, said["beside"]

    def _entry(
        self, name: str, query: Query, run: LocalRun | DefinitionRun, said: Mapping[str, Any]
    ) -> EntryKept:
        answer = self._bag(f"{name}/answer.arrow", [each.type for each in query.fields])
        held: State | DefinitionKept
        if isinstance(run, LocalRun):
            read_file(self._folder / name / MANIFEST, self._files[f"{name}/{MANIFEST}"])
            held = read_state(run.program, self._folder / name)
        else:
            held = self._definition(name, query, run, said)
        feed = self._feed(name, query, said["feed"]) if "feed" in said else None
        return EntryKept(held, feed, answer)

    def _definition(
        self, name: str, query: Query, run: DefinitionRun, said: Mapping[str, Any]
    ) -> DefinitionKept:
        sources = {each.name: each for each in query.sources}
        fresh = run.snapshot()
        logs = {
            stream: self._log(f"{name}/log-{place}.arrow", _types(sources[stream]))
            for place, stream in enumerate(fresh.logs)
        }
        tables = {}
        for place, table in enumerate(fresh.tables):
            rows, (inserts, at) = self._rows(
                f"{name}/table-{place}.arrow", _types(sources[table]), "inserts", "at"
            )
            changes = [(row, bool(each)) for row, each in zip(rows, inserts, strict=True)]
            moments = [_since(each) for each in at]
            tables[table] = HistoryKept(changes, moments, len(rows))
        plans = [
            AnswersKept(
                _when(now),
                None if asked is None else _when(asked),
                self._bag(f"{name}/plan-{place}.arrow", [each.type for each in plan.fields]),
            )
            for place, (plan, (now, asked)) in enumerate(
                zip(run.answers(), said["plans"], strict=True)
            )
        ]
        derived = [
            self._log(f"{name}/derived-{place}.arrow", [one.type for one in each.fields])
            for place, each in enumerate(run.derived())
        ]
        given = self._bag(f"{name}/said.arrow", [each.type for each in query.fields])
        ticks = self._log(f"{name}/ticks.arrow", [])
        return DefinitionKept(logs, tables, ticks, plans, derived, given)

    def _feed(self, name: str, query: Query, said: Mapping[str, Any]) -> FeedKept:
        waiting: list[tuple[int, int, Event]] = []
        for place, source in enumerate(query.sources):
            names = "at", "arrived", "line", "deletes", "asked"
            rows, beside = self._rows(f"{name}/waiting-{place}.arrow", _types(source), *names)
            for row, at, arrived, line, deletes, asked in zip(rows, *beside, strict=True):
                op = Op.DELETE if deletes else Op.INSERT
                waiting.append((at, arrived, Event(source.name, row, line, op, asked)))
        now, read, largest = map(_when, said["clock"])
        marks = {stream: _when(mark) for stream, mark in said["marks"].items()}
        clock = ClockKept(now, read, largest, marks)
        return FeedKept(sorted(waiting), said["arrived"], _when(said["end"]), clock)

    def _log(self, name: str, types: Sequence[Type]) -> LogKept:
        rows, (at,) = self._rows(name, types, "at")
        return LogKept(rows, at, len(rows))

    def _bag(self, name: str, types: Sequence[Type]) -> Bag:
        rows, (counts,) = self._rows(name, types, "n")
        return Counter(dict(zip(rows, counts, strict=True)))

    def _rows(
        self, name: str, types: Sequence[Type], *beside: str
    ) -> tuple[list[Row], list[list[int]]]:
        path = self._folder / name
        if name not in self._files:
            damaged(path, "is not listed in the manifest")
        content = read_file(path, self._files[name])
        try:
            return read_rows(types, content, *beside)
        except (pa.ArrowException, ValueError):
            damaged(path, "has other columns than this query keeps")


def _types(stream: Stream) -> list[Type]:
    return [each.type for each in stream.columns]


def _since(at: int | None) -> Moment:
    """When a change of a table took effect: its first contents have no instant."""
    return BEFORE if at is None else at


def _moment(at: Moment) -> int | str:
    if math.isinf(at):
        return "before" if at < 0 else "never"
    return int(at)


def _when(said: int | str) -> Moment:
    if isinstance(said, str):
        return BEFORE if said == "before" else NEVER
    return said
