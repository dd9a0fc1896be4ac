"""The input of a run, and how far it has been taken: one tagged file, or a source of each stream.

Input is read ahead of what queries are given, so that a position is that of what was taken: where
the piece begins that is being worked on, and how much of it is done.  Reading the same input again
from there gives the same events, cut into the same turns.
"""

from __future__ import annotations

import sys
from base64 import b64decode, b64encode
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from select import select
from typing import Any, Protocol

from millpond.diagnostic import Diagnostic, UserError
from millpond.run.event import Event, Op, Reject
from millpond.run.feed import merged
from millpond.run.ingest import Mark, TaggedReader
from millpond.run.plain_json import promises_json, promises_of
from millpond.run.promises import Promises
from millpond.run.sources import rows_of_file, rows_of_source, source_files
from millpond.schema import Catalog, Stream, Value

Item = Event | Reject
Position = Mapping[str, Any]

_TURN = 8192
"""Rows of one source before those of the next one."""


class Intake(Protocol):
    """Pieces of input, in order."""

    def __iter__(self) -> Iterator[list[Item]]: ...

    def took(self, items: Sequence[Item]) -> None:
        """The next items of what was given have been worked on."""
        ...

    def position(self) -> Position | None:
        """Behind what was taken; None where one cannot go on from."""
        ...

    def quiet(self, seconds: float) -> bool:
        """Whether nothing comes for so long; files are never quiet."""
        ...


class _Tables:
    """What tables hold at first: all of it comes before any row of a stream."""

    def __init__(
        self, catalog: Catalog, sources: Mapping[str, str], promises: Promises | None
    ) -> None:
        self._catalog = catalog
        self._sources = {
            each: sources[each.name]
            for each in catalog
            if each.name in sources and not each.is_stream
        }
        self._promises = promises
        self.waiting = 0
        """Rows that were given and not taken."""

    def pieces(self) -> Iterator[list[Item]]:
        for table, uri in self._sources.items():
            for piece in rows_of_source(self._catalog, table, uri, _TURN, self._promises):
                self.waiting += len(piece)
                yield piece

    def took(self, count: int) -> int:
        """How many of the next items are no longer of tables."""
        mine = min(count, self.waiting)
        self.waiting -= mine
        return count - mine


class TaggedIntake:
    """One tagged file, or standard input, behind the contents of tables.

    It knows its position if it is asked to keep `marks`: these are copies of all that was promised.
    """

    def __init__(
        self,
        catalog: Catalog,
        path: str,
        tables: Mapping[str, str],
        position: Position | None = None,
        *,
        marks: bool = True,
    ) -> None:
        self._path = path
        self._marks = marks
        self._catalog = catalog
        self._reader = TaggedReader(catalog, "<stdin>" if path == "-" else path)
        self._tables = _Tables(catalog, tables, self._reader.promises)
        self._given = position
        self._skip = 0
        if position is not None:
            self._skip = position["done"]
            self._reader.go_on(
                Mark(
                    position["offset"],
                    position["line"],
                    b64decode(position["tail"]),
                    promises_of(catalog, position["promises"]),
                )
            )
        self._ahead: deque[tuple[Mark, int]] = deque()
        self._done = 0

    def __iter__(self) -> Iterator[list[Item]]:
        if self._given is None:
            yield from self._tables.pieces()
        if not self._marks:
            yield from self._reader.read(self._path)
            return
        mark = self._reader.mark()
        for piece in self._reader.read(self._path):
            self._ahead.append((mark, len(piece)))
            mark = self._reader.mark()
            if self._skip:
                known = min(self._skip, len(piece))
                self._skip -= known
                self.took(piece[:known])
                piece = piece[known:]
            yield piece

    def took(self, items: Sequence[Item]) -> None:
        self._done += self._tables.took(len(items))
        while len(self._ahead) > 1 and self._done >= self._ahead[0][1]:
            self._done -= self._ahead.popleft()[1]

    def position(self) -> Position | None:
        if self._tables.waiting:
            return None
        if not self._ahead and self._given is not None:
            return self._given
        mark, size = self._ahead[0] if self._ahead else (self._reader.mark(), 0)
        done = self._done
        if done == size:
            mark, done = self._reader.mark(), 0
        return {
            "offset": mark.offset,
            "line": mark.line,
            "tail": b64encode(mark.tail).decode(),
            "promises": promises_json(mark.promises),
            "done": done,
        }

    def quiet(self, seconds: float) -> bool:
        if self._path != "-":
            return False
        try:
            ready, _, _ = select([sys.stdin.buffer.fileno()], [], [], seconds)
        except (OSError, ValueError, AttributeError):  # nothing that can be waited for
            return False
        return not ready


class SourcesIntake:
    """A source of each stream, in turns; those of timed streams are one, in the order of time."""

    def __init__(
        self, catalog: Catalog, sources: Mapping[str, str], position: Position | None = None
    ) -> None:
        self._catalog = catalog
        self._sources = {
            each: sources[each.name] for each in catalog if each.name in sources and each.is_stream
        }
        self._tables = _Tables(catalog, sources, None)
        self._fresh = position is None
        said = position or {}
        self._taken: dict[str, int] = {each.name: 0 for each in self._sources}
        self._taken.update(said.get("taken", {}))
        self._ended: set[str] = set(said.get("ended", ()))
        self._counts: dict[str, list[int]] = {each.name: [] for each in self._sources}
        self._counts.update(said.get("counts", {}))
        self._marks: dict[str, int] = dict(said.get("marks", {}))
        self._delays = {each.name: each.time.delay for each in self._sources if each.time}
        self._times = {each.name: each.time_place for each in self._sources}
        self._turn: int = said.get("turn", 0)
        self._within: int = said.get("within", 0)
        self._ahead: deque[tuple[int, int]] = deque()
        self._files = {each.name: _files(each, uri) for each, uri in self._sources.items()}
        for name, listed in said.get("files", {}).items():
            _known(name, listed, self._files.get(name, []))

    def __iter__(self) -> Iterator[list[Item]]:
        if self._fresh:
            yield from self._tables.pieces()
        ring: list[Iterator[list[Item]] | None] = list(self._ring())
        turn, before = self._turn, self._within
        while any(each is not None for each in ring):
            rows = ring[turn]
            piece = None if rows is None else next(rows, None)
            if piece is None:
                ring[turn], before, self._within = None, 0, self._within - before
            else:
                # The first piece may be the rest of one.
                self._ahead.append((turn, len(piece) + before))
                before = 0
                yield piece
            turn = (turn + 1) % len(ring)

    def _ring(self) -> Iterator[Iterator[list[Item]]]:
        """The sources that take turns, each from where it was taken to."""
        timed = {each: uri for each, uri in self._sources.items() if each.time is not None}
        done = {each: self._files_done(each) for each in self._sources}
        taken = {
            each.name: self._taken[each.name] - sum(self._counts[each.name][: done[each]])
            for each in self._sources
        }
        for each, uri in self._sources.items():
            if each.time is None:
                yield _after(self._rows(each, uri, done[each]), taken[each.name])
        if timed:
            rows = {each: self._rows(each, uri, done[each]) for each, uri in timed.items()}
            last = len(self._sources) - len(timed)
            yield merged(
                rows,
                _TURN,
                taken=taken,
                ended=set(self._ended),
                marks=dict(self._marks),
                within=self._within if self._turn == last else 0,
            )

    def _files_done(self, stream: Stream) -> int:
        """How many files are behind what was taken, and need not be read again."""
        if stream.rows_per_instant is not None:  # which counts every row
            return 0
        left, done = self._taken[stream.name], 0
        for count in self._counts[stream.name]:
            if count > left:
                break
            left, done = left - count, done + 1
        return done

    def _rows(self, stream: Stream, uri: str, done: int) -> Iterator[list[Item]]:
        """The rows of a source behind its first files."""
        kind, files = source_files(stream.name, uri)
        promises = Promises(self._catalog, interleaved=False)
        counts = self._counts[stream.name]
        for place in range(done, len(files)):
            count = 0
            for piece in rows_of_file(self._catalog, stream, kind, files[place], _TURN, promises):
                count += len(piece)
                yield [
                    replace(each, source=stream.name) if isinstance(each, Reject) else each
                    for each in piece
                ]
            if place == len(counts) and place < len(files) - 1:  # the last one may grow
                counts.append(count)

    def took(self, items: Sequence[Item]) -> None:
        rest = self._tables.took(len(items))
        for each in items[len(items) - rest :]:
            name = each.stream if isinstance(each, Event) else each.source
            assert name is not None
            if isinstance(each, Event) and each.op is Op.END:
                self._ended.add(name)
            else:
                self._taken[name] += 1
                self._ended.discard(name)
                place = self._times[name]
                if place is not None and isinstance(each, Event):
                    self._come(name, each.row[place])
        self._within += rest
        while self._ahead and self._within >= self._ahead[0][1]:
            turn, size = self._ahead.popleft()
            self._within -= size
            self._turn = turn + 1

    def _come(self, name: str, at: Value) -> None:
        assert isinstance(at, int)
        mark = at - self._delays[name]
        self._marks[name] = max(self._marks.get(name, mark), mark)

    def position(self) -> Position | None:
        if self._tables.waiting:
            return None
        ring = sum(each.time is None for each in self._sources)
        ring += ring < len(self._sources)
        return {
            "taken": self._taken,
            "ended": sorted(self._ended),
            "counts": self._counts,
            "marks": self._marks,
            "turn": self._turn % max(1, ring),
            "within": self._within,
            "files": self._files,
        }

    def quiet(self, seconds: float) -> bool:
        return False


def _after(pieces: Iterator[list[Item]], count: int) -> Iterator[list[Item]]:
    """What comes behind the first items, cut as it was."""
    for piece in pieces:
        known = min(count, len(piece))
        count -= known
        if known < len(piece):
            yield piece[known:]


def _files(stream: Stream, uri: str) -> list[list[Any]]:
    """The files of a source and their sizes: by these it is known again."""
    _, files = source_files(stream.name, uri)
    return [[each.name, each.stat().st_size] for each in files]


def _known(name: str, before: Sequence[Sequence[Any]], now: Sequence[Sequence[Any]]) -> None:
    """Refuses a source that does not begin as the one that was read before; it may have grown."""
    same = [list(each) for each in before] == [list(each) for each in now[: len(before)]]
    if not same and before:
        *whole, (last, size) = before
        there = [list(each) for each in now]
        same = there[: len(whole)] == [list(each) for each in whole] and any(
            each[0] == last and each[1] >= size for each in there[len(whole) : len(before)]
        )
    if not same:
        raise UserError(
            Diagnostic(
                "MP405",
                f"the checkpoint does not fit: the source of `{name}` is not the one that was read "
                "before",
                helps=("give that source, with or without files behind those that it had",),
            )
        )
