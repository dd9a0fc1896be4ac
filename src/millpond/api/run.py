"""A running query, for Python programs: rows in, changes out.

A `Run` is a session with one query; each stream that is pushed to is a source of its own.  One
call is one step: it is taken whole or, where something is wrong with a row of it, not at all.
Calls from several threads come one after the other, in some order.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from millpond.api.changes import Answer, Changes, Form, Told
from millpond.api.feeder import Feeder
from millpond.api.folder import Folder, Place, answer_json
from millpond.api.frames import Rows, columns_of, dicts_of, dicts_of_table, fitting, table_of
from millpond.api.values import python_value, said
from millpond.diagnostic import (
    Diagnostic,
    InputError,
    MillpondError,
    RefusedError,
    UserError,
    did_you_mean,
)
from millpond.plan import Query
from millpond.run import DefinitionRun, Emit, Event, LocalRun, Op, Reject, Session, TaggedReader
from millpond.run.output import change_order
from millpond.run.plain_json import promises_json, promises_of
from millpond.run.promises import Promises
from millpond.run.row_step import RowStep
from millpond.run.values import order_key
from millpond.schema import Catalog, IntegerType, Row, Stream

OnLate = Callable[[str, dict[str, Any]], None]
"""Is told of each row that came too late: its stream, and the row."""


class _Recorder:
    """Says changes as they are."""

    def changes(self, at: int, changes: Iterable[tuple[Row, int]]) -> list[Told]:
        return [(row, n, at) for row, n in sorted(changes, key=change_order)]

    def answer(self, at: int, answer: Mapping[Row, int]) -> Told:
        raise NotImplementedError("a run in Python says changes")

    def final(self, answer: Mapping[Row, int]) -> list[Told]:
        return []


class Run:
    """A query that runs in this process; `Query.start` makes one.

    >>> import millpond as mp
    >>> pond = mp.Pond("CREATE STREAM s (a INT, b INT); CREATE STREAM t (d INT)")
    >>> run = pond.query("SELECT DISTINCT s.a FROM s, t WHERE s.b < t.d AND s.a = 10").start()
    >>> [each.row for each in run.push("s", [{"a": 10, "b": 1}])]
    []
    >>> [each.row for each in run.push("t", [{"d": 2}])]
    [{'a': 10}]
    >>> run.units() <= 3
    True
    """

    def __init__(
        self,
        catalog: Catalog,
        query: Query,
        run: LocalRun | DefinitionRun,
        *,
        keep_answer: bool = False,
        limit: int | None = None,
        on_late: OnLate | None = None,
    ) -> None:
        self._catalog = catalog
        self._query = query
        self._form = Form.of(query)
        self._lock = threading.RLock()
        self._on_late = on_late
        self._promises = Promises(catalog, interleaved=False)
        self._reader = TaggedReader(catalog, "<push>", promises=self._promises)
        self._ended: set[str] = set()
        self._rows: Counter[str] = Counter()
        self._limit = limit
        self._answer: dict[Row, int] | None = {} if keep_answer else None
        self._failed: MillpondError | None = None
        self._before: Changes | None = None
        self._session = Session(
            catalog,
            [(query, run, _Recorder())],
            Emit.CHANGES,
            separate=True,
            late=None if on_late is None else self._late,
            limit=limit,
        )
        self._folder = Folder(catalog, query, self._session)
        numbers = all(isinstance(each.type, IntegerType) for each in query.fields)
        self._takes_columns = numbers and self._session.compiled and limit is None

    # Rows in, changes out

    def push(self, stream: str, rows: Rows) -> Changes:
        """Takes rows of a stream, or rows that come into a table; gives the changes they cause.

        `rows` are dicts (or one dict), sequences in the order of the columns, or a frame of Arrow,
        Polars or pandas.  If something is wrong with one of them none is taken, and the error
        names it.

        >>> import millpond as mp, polars as pl
        >>> run = mp.Pond("CREATE STREAM s (a INT)").query("SELECT a FROM s WHERE a > 10").start()
        >>> run.push("s", pl.DataFrame({"a": [11, 5]})).table.to_pydict()
        {'a': [11], 'n': [1], 'at': [1]}
        >>> run.push("s", [{"a": 12}, {"a": "13"}])
        Traceback (most recent call last):
        ...
        millpond.diagnostic.errors.InputError: MP304: row 2: `s.a` is INT, and the row has "13"
        """
        return self._pushed(self._source(stream), rows, Op.INSERT)

    def feeder(self, stream: str) -> Feeder:
        """What takes the rows of a stream one at a time: the fast path for a few values a call.

        >>> import millpond as mp
        >>> run = mp.Pond("CREATE STREAM s (a INT)").query("SELECT a FROM s WHERE a > 10").start()
        >>> feed = run.feeder("s")
        >>> feed(11), feed(5)
        ([((11,), 1, 1)], [])
        """
        source = self._source(stream)
        run = self._session.run_of(0)
        step = None
        if isinstance(run, LocalRun) and self._takes_columns:
            step = run.row_step(source.name)
        return Feeder(self, source, step, lambda values: self._one(source, values))

    def _fed(self, source: Stream, step: RowStep, row: tuple[int | None, ...]) -> list[Told] | None:
        """The changes that a row of a feeder causes; None where it has to go another way."""
        with self._lock:
            if self._failed is not None or source.name in self._ended:
                self._usable(source)
            told = self._session.advance_row(step, row)
            if told is None:
                return None
            self._rows[source.name] += 1
            if told and self._answer is not None:
                self._keep(Changes(self._form, told))
            return told

    def _one(self, source: Stream, values: tuple[Any, ...]) -> Iterator[Told]:
        changes = self._pushed(source, [values], Op.INSERT)
        for row, n, at in changes.told():
            yield self._form.row(row), n, self._form.at(at)

    def delete(self, table: str, rows: Rows) -> Changes:
        """Takes rows out of a table: of each, one that is equal in every column.

        >>> import millpond as mp
        >>> pond = mp.Pond("CREATE TABLE r (k INT); CREATE STREAM s (k INT)")
        >>> q = pond.query("SELECT s.k FROM s, r WHERE s.k = r.k")
        >>> run = q.start(allow_unbounded=True, max_state=100)
        >>> len(run.push("r", {"k": 1})), len(run.push("s", {"k": 1}))
        (0, 1)
        >>> [(each.op, each.row) for each in run.delete("r", {"k": 1})]
        [('-', {'k': 1})]
        """
        source = self._source(table)
        if source.is_stream:
            raise _wrong(
                f"`{source.name}` is a stream, and rows of a stream stay",
                f"CREATE TABLE {source.name} declares what rows come into and leave",
            )
        return self._pushed(source, rows, Op.DELETE)

    def advance(self, to: int | datetime | None = None) -> Changes:
        """Closes the instants below a time; of untimed streams, without `to`, an instant with no
        row.

        >>> import millpond as mp
        >>> pond = mp.Pond("CREATE STREAM s (a INT, ts BIGINT, WATERMARK FOR ts AS ts - 5)")
        >>> q = pond.query("SELECT COUNT(*) AS n FROM s [RANGE 10]")
        >>> run = q.start(allow_unbounded=True, max_state=1000)
        >>> [(each.row, each.at) for each in run.push("s", {"a": 1, "ts": 3})]
        []
        >>> [(each.row, each.n, each.at) for each in run.advance(to=4)]
        [({'n': 1}, 1, 3)]
        """
        timed = self._query.time_type
        if timed is None:
            if to is not None:
                raise _wrong("the streams of this query have no time to advance to", "advance()")
            return self._advanced([Event(None, (), 0, Op.TICK)])
        at = said(to)
        if type(at) is not int:
            raise _wrong(f"advance(to=...) takes {timed}, and not {to!r}", "run.advance(to=17)")
        return self._advanced([Event(None, (), 0, Op.TIME, at)])

    def end(self, stream: str | None = None) -> Changes:
        """Ends a stream, or all of them: it holds time back no more, and gets no more rows.

        When every stream of the query has ended, so have all instants through the largest
        timestamp.

        >>> import millpond as mp
        >>> columns = "(a INT, ts BIGINT) WITH (time = 'ts')"
        >>> pond = mp.Pond(f"CREATE STREAM s {columns}; CREATE STREAM t {columns}")
        >>> q = pond.query("SELECT a FROM s UNION ALL SELECT a FROM t")
        >>> run = q.start(allow_unbounded=True, max_state=1000)
        >>> len(run.push("s", [{"a": 1, "ts": 1}, {"a": 2, "ts": 2}]))
        0
        >>> [each.row for each in run.end("t")], [each.row for each in run.end()]
        ([{'a': 1}], [{'a': 2}])
        """
        with self._lock:
            self._usable()
            names = [self._source(stream)] if stream is not None else self._query.streams
            ending = [each.name for each in names if each.name not in self._ended]
            told = self._session.advance([Event(name, (), 0, Op.END) for name in ending])
            self._ended.update(ending)
            if ending and self._ended >= {each.name for each in self._query.streams}:
                told += self._session.finish()
            return self._told(told)

    def idle(self, stream: str) -> Changes:
        """Lets a stream hold time back no more, until its next row."""
        source = self._source(stream)
        return self._advanced([Event(source.name, (), 0, Op.END)])

    # Going on elsewhere

    def checkpoint(self, path: Place) -> None:
        """Commits all that the run holds to a folder, from which `Query.resume` goes on.

        The folder holds the commits of one run; the newest is the one that counts, and it is there
        wholly or not at all.

        >>> import millpond as mp, tempfile
        >>> pond = mp.Pond("CREATE STREAM s (a INT CHECK (a < 9)); CREATE STREAM t (b INT)")
        >>> q = pond.query("SELECT DISTINCT s.a FROM s, t WHERE s.a = t.b AND s.a > 0")
        >>> with tempfile.TemporaryDirectory() as folder, q.start() as run:
        ...     _ = run.push("s", {"a": 3})
        ...     run.checkpoint(folder)
        ...     run.close()
        ...     with q.resume(folder) as again:
        ...         print(again.rows, [each.row for each in again.push("t", {"b": 3})])
        {'s': 1, 't': 0} [{'a': 3}]
        """
        with self._lock:
            self._usable()
            beside = {
                "rows": dict(self._rows),
                "ended": sorted(self._ended),
                "promises": promises_json(self._promises.snapshot()),
                "answer": answer_json(self._answer),
            }
            self._folder.commit(path, beside)

    def _resumed(self, path: Place) -> Run:
        """This run, which has taken nothing yet, brought to the newest commit of a folder."""
        with self._lock:
            beside = self._folder.resume(path)
            self._rows = Counter(beside["rows"])
            self._ended = set(beside["ended"])
            self._promises.restore(promises_of(self._catalog, beside["promises"]))
            if self._answer is not None:
                self._answer = self._folder.answer(path, beside["answer"])
            return self

    def close(self) -> None:
        """Lets go of the folder of its checkpoint, if it has one; `with q.start() as run:` does."""
        with self._lock:
            self._folder.close()

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    # What it holds

    @property
    def rows(self) -> dict[str, int]:
        """How many rows of each stream, and changes of each table, it has taken."""
        return {each.name: self._rows[each.name] for each in self._catalog}

    def answer(self) -> Answer:
        """The answer now: after the last row, or, of timed streams, after the last closed instant.

        Of a query that remembers nothing it is kept only by `start(keep_answer=True)`.
        """
        with self._lock:
            rows = self._held_answer()
            return Answer(self._form, sorted(rows, key=lambda each: order_key(each[0])))

    def units(self) -> int:
        """Units of state held now: attribute values and counts."""
        with self._lock:
            return self._session.units()

    @property
    def before_failure(self) -> Changes | None:
        """What the step in which the run failed had changed before that; None while it runs.

        A run fails where an expression of its query has no value, and takes no step after that.
        """
        return self._before

    @property
    def late(self) -> int:
        """How many rows came too late: behind the closed time, when they came."""
        return self._session.late

    # Inside

    def _pushed(self, source: Stream, rows: Rows, op: Op) -> Changes:
        table = table_of(rows)
        if table is None:
            dicts = dicts_of(source, rows)
        else:
            table = fitting(source, table)
            columns = columns_of(source, table) if self._takes_columns else None
            if columns is not None and source.is_stream:
                with self._lock:
                    self._usable(source)
                    found = list(self._session.advance_columns(source.name, columns))
                    self._rows[source.name] += columns.size
                    return self._changed([Changes(self._form, delta) for _, delta in found])
            dicts = dicts_of_table(table)
        with self._lock:
            self._usable(source)
            before = self._promises.snapshot()
            events = self._checked(source, dicts, op)
            try:
                changes = self._advanced(events)
            except RefusedError:
                self._promises.restore(before)
                raise
            self._rows[source.name] += len(events)
            return changes

    def _checked(self, source: Stream, dicts: Iterable[Any], op: Op) -> list[Event]:
        """The rows of a step, if nothing is wrong with any of them."""
        before = self._promises.snapshot()
        events: list[Event] = []
        for number, values in enumerate(dicts, 1):
            found = self._reader.event(source.name, values, number)
            if isinstance(found, Reject):
                self._promises.restore(before)
                wrong = found.diagnostic
                said = f"row {number}: {wrong.message}"
                raise InputError(Diagnostic(wrong.code, said, helps=wrong.helps))
            events.append(found if op is Op.INSERT else found._replace(op=op))
        return events

    def _advanced(self, events: list[Event]) -> Changes:
        with self._lock:
            self._usable()
            before = None if self._limit is None else self._session.snapshot()
            told = self._session.advance(events)
            failure = self._session.failure
            if before is not None and isinstance(failure, RefusedError):
                self._session.restore(before)
                self._session.failure = None
                raise failure
            return self._told(told)

    def _told(self, told: list[Told]) -> Changes:
        changes = self._changed([Changes(self._form, told)])
        failure = self._session.failure
        if failure is not None:
            self._failed, self._before = failure, changes
            raise failure
        return changes

    def _changed(self, found: list[Changes]) -> Changes:
        changes = found[0] if found else Changes(self._form, ())
        if self._answer is not None:
            self._keep(changes)
        return changes

    def _keep(self, changes: Changes) -> None:
        assert self._answer is not None
        for row, n, _ in changes.told():
            total = self._answer.get(row, 0) + n
            if total:
                self._answer[row] = total
            else:
                del self._answer[row]

    def _held_answer(self) -> Iterable[tuple[Row, int]]:
        if self._answer is not None:
            return self._answer.items()
        run = self._session.run_of(0)
        if isinstance(run, DefinitionRun):
            return run.answer().items()
        found = run.answer()
        if found is None:
            raise _wrong(
                f"query {self._query.name} remembers nothing, so that its answer is not kept",
                "start(keep_answer=True) keeps it",
            )
        return [(row, n) for row, n, _ in found.rows()]

    def _source(self, name: str) -> Stream:
        source = self._catalog.get(name)
        if source is None:
            helps = did_you_mean(name, self._catalog.names)
            raise InputError(Diagnostic("MP302", f"unknown stream `{name}`", helps=helps))
        return source

    def _usable(self, source: Stream | None = None) -> None:
        if self._failed is not None:
            raise self._failed
        if source is not None and source.name in self._ended:
            raise InputError(
                Diagnostic(
                    "MP310",
                    f"a row of `{source.name}` after its end",
                    helps=(f'run.idle("{source.name}") lets time go on without ending it',),
                )
            )

    def _late(self, event: Event) -> None:
        assert self._on_late is not None
        assert event.stream is not None
        columns = self._source(event.stream).columns
        self._on_late(
            event.stream,
            {
                column.name: say(value) if value is not None and say is not None else value
                for column, value in zip(columns, event.row, strict=True)
                for say in (python_value(column.type),)
            },
        )


def _wrong(message: str, *helps: str) -> UserError:
    return UserError(Diagnostic("MP403", message, helps=helps))
