"""What has been promised of the rows to come, and whether a row keeps it.

A finite stream ends at its `until`, or where `{"@end": ...}` says so; `{"@punct": ...}` promises
that some values do not come again; `rows_per_instant` is a largest number of rows with one
timestamp; the contents of a static table are there before the first row of a stream, and of a
table only what it holds can be deleted.  Verdicts and engines rely on all of it, so that a row
which breaks a promise is a bad row, and leaves everything here as it was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from millpond.run.values import BadRowError, row_text, short, time_text
from millpond.schema import Catalog, Form, Row, Stream, Value

_PRUNED_EVERY = 4096
"""Instants counted between two clearings of those that are too far behind to matter."""


class Kept(NamedTuple):
    """Everything that has been promised and counted so far."""

    started: bool
    held: dict[str, Counter[Row]]
    watched: dict[str, Watched]


class Watched(NamedTuple):
    """What one stream has promised, and what was counted of it."""

    ended: bool
    gone: dict[tuple[int, ...], set[Row]]
    rows: Counter[int]
    largest: int | None


class Promises:
    """The promises of every stream and table of a catalog.

    `interleaved` says that the rows of all streams come through here in order of arrival, as in a
    tagged file: then what is far behind its own stream is late for every query.
    """

    def __init__(self, catalog: Catalog, *, interleaved: bool = True) -> None:
        self._started = False
        self._catalog = catalog
        self._interleaved = interleaved
        streams = [each for each in catalog if each.is_stream]
        reach = max((each.time.delay for each in streams if each.time is not None), default=0)
        self._reach = reach if interleaved else None
        self._watched = {
            each.name: _Watch(each, self._reach)
            for each in streams
            if each.until is not None or each.rows_per_instant is not None
        }
        self._held: dict[str, Counter[Row]] = {
            each.name: Counter() for each in catalog if not each.is_stream
        }

    def arrive(self, stream: Stream, row: Row) -> None:
        """One more row of a stream."""
        watch = self._watched.get(stream.name)
        if watch is not None:
            watch.arrive(row)
        self._started = True

    def change(self, table: Stream, row: Row, *, deleted: bool) -> None:
        """A row that comes into a table, or leaves it."""
        if table.form is Form.STATIC and self._started:
            raise BadRowError(
                "MP313",
                f"static table `{table.name}` changes after the first row of a stream",
                f"put its rows first, or declare CREATE TABLE {table.name}",
            )
        if not self._interleaved:
            return
        held = self._held[table.name]
        if not deleted:
            held[row] += 1
        elif held[row] > 1:
            held[row] -= 1
        elif held.pop(row, 0) == 0:
            said = row_text(table.names, (each.type for each in table.columns))(row)
            raise BadRowError(
                "MP312",
                f"table `{table.name}` does not hold {short(said)}",
                "a delete names every column of one row that was inserted before",
            )

    def end(self, stream: Stream) -> None:
        """No row of a finite stream comes any more."""
        self._watch(stream).end()

    def promise(self, stream: Stream, values: Mapping[int, Value]) -> None:
        """No row comes any more that has these values at these places."""
        self._watch(stream).promise(values)

    def snapshot(self) -> Kept:
        """All of it, to `restore` later."""
        held = {name: rows.copy() for name, rows in self._held.items()}
        return Kept(
            self._started, held, {name: each.snapshot() for name, each in self._watched.items()}
        )

    def restore(self, kept: Kept) -> None:
        """Goes back, or on, to what a snapshot says; streams that it does not name start anew."""
        self._started = kept.started
        self._held.update({name: rows.copy() for name, rows in kept.held.items()})
        for stream in self._catalog:
            if stream.name in kept.watched:
                self._watch(stream).restore(kept.watched[stream.name])
            elif stream.name in self._watched:
                self._watched[stream.name] = _Watch(stream, self._reach)

    def _watch(self, stream: Stream) -> _Watch:
        return self._watched.setdefault(stream.name, _Watch(stream, self._reach))


class _Watch:
    """What one stream has promised."""

    def __init__(self, stream: Stream, reach: int | None) -> None:
        self._stream = stream
        self._reach = reach
        self._time = stream.time_place
        self._ended = False
        self._gone: dict[tuple[int, ...], set[Row]] = {}
        self._rows: Counter[int] = Counter()
        self._largest: int | None = None
        self._cleared = _PRUNED_EVERY

    def snapshot(self) -> Watched:
        gone = {places: rows.copy() for places, rows in self._gone.items()}
        return Watched(self._ended, gone, self._rows.copy(), self._largest)

    def restore(self, watched: Watched) -> None:
        self._ended = watched.ended
        self._gone = {places: rows.copy() for places, rows in watched.gone.items()}
        self._rows = watched.rows.copy()
        self._largest = watched.largest
        self._cleared = len(self._rows) + _PRUNED_EVERY

    def arrive(self, row: Row) -> None:
        self._not_ended(row)
        self._not_gone(row)
        if self._stream.rows_per_instant is not None:
            self._count(row, self._stream.rows_per_instant)

    def end(self) -> None:
        if self._ended:
            raise BadRowError(
                "MP310", f"stream `{self._stream.name}` has ended before", "end a stream once"
            )
        self._ended = True

    def promise(self, values: Mapping[int, Value]) -> None:
        places = tuple(sorted(values))
        self._gone.setdefault(places, set()).add(tuple(values[place] for place in places))

    def _not_ended(self, row: Row) -> None:
        stream, until = self._stream, self._stream.until
        if self._ended:
            raise BadRowError(
                "MP310",
                f"a row of `{stream.name}` after its end",
                f'put {{"@end": "{stream.name}"}} behind its last row',
            )
        if until is not None and self._time is not None and _instant(row, self._time) > until:
            say = time_text(stream.time_type)
            raise BadRowError(
                "MP310",
                f"`{stream.name}` ends at {say(until)}, and the row is of {say(row[self._time])}",
                f"declare a later `until` for `{stream.name}`",
            )

    def _not_gone(self, row: Row) -> None:
        for places, gone in self._gone.items():
            values = tuple(row[place] for place in places)
            if values in gone:
                columns = [self._stream.columns[place] for place in places]
                say = row_text((each.name for each in columns), (each.type for each in columns))
                raise BadRowError(
                    "MP314",
                    f"a row of `{self._stream.name}` with {short(say(values))}, of which there "
                    "were to be no more",
                    "a @punct line promises that no later row has these values",
                )

    def _count(self, row: Row, most: int) -> None:
        """Counts rows of one timestamp, where a row can still change an answer."""
        if self._time is None:
            return
        at = _instant(row, self._time)
        largest = at if self._largest is None else max(self._largest, at)
        if self._reach is not None and at < largest - self._reach:
            return
        if self._rows[at] >= most:
            raise BadRowError(
                "MP311",
                f"`{self._stream.name}` has more than {most} "
                f"{'row' if most == 1 else 'rows'} at {time_text(self._stream.time_type)(at)}",
                "declare a larger rows_per_instant",
            )
        self._rows[at] += 1
        self._largest = largest
        if self._reach is not None and len(self._rows) > self._cleared:
            self._clear(largest - self._reach)

    def _clear(self, behind: int) -> None:
        self._rows = Counter({at: n for at, n in self._rows.items() if at >= behind})
        self._cleared = len(self._rows) + _PRUNED_EVERY


def _instant(row: Row, place: int) -> int:
    at = row[place]
    assert isinstance(at, int)
    return at
