"""Tagged JSON lines in, checked rows out.

Every line is an event: a row of a declared stream, a change of a table, or a control line.  What
is wrong with one is a diagnostic with its line number; nothing is dropped silently, and nothing is
converted that does not come out the same.  A row that breaks what was promised of it
(`promises.py`) is a bad row like any other, and a bad row changes nothing.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple, Never

from millpond.diagnostic import Diagnostic, UserError, did_you_mean
from millpond.run.controls import Controls
from millpond.run.event import Event, Op, Reject
from millpond.run.promises import Kept, Promises
from millpond.run.values import BadRowError, Convert, Number, short, taker
from millpond.schema import Catalog, Form, IntegerType, Row, Stream, Value

CHUNK = 1 << 20
"""Bytes asked for at a time: what has arrived is worked on before more is waited for."""


_TAIL = 1024
"""Bytes by which an input is known again."""


class Mark(NamedTuple):
    """A place between two lines of an input: what stands before it, and what was promised there."""

    offset: int
    line: int
    tail: bytes
    promises: Kept


class TaggedReader:
    """Reads events of the streams and tables of a catalog; with `only`, bare rows of one of them.

    `promises` is given where several readers read parts of the same input.
    """

    def __init__(
        self,
        catalog: Catalog,
        name: str,
        *,
        only: Stream | None = None,
        promises: Promises | None = None,
    ) -> None:
        self._name = name
        self._only = only
        self._catalog = catalog
        self._promises = promises or Promises(catalog, interleaved=only is None)
        self._streams = {each.name: each for each in catalog}
        self._takers = {each.name: _takers(each) for each in catalog}
        self._controls = Controls(catalog, self._takers, self._promises)
        # What a value has to be to pass at once; whatever does not is looked at more closely.
        self._quick = {each.name: quick for each in catalog if (quick := _quick(each))}
        self._decoder = json.JSONDecoder(
            parse_constant=self._no_number, parse_float=Number, object_pairs_hook=_unique
        )
        self._line = 0
        self._offset = 0
        self._tail = b""
        self._start: Mark | None = None
        self.promises = self._promises

    def mark(self) -> Mark:
        """Where the next piece begins."""
        return Mark(self._offset, self._line, self._tail, self._promises.snapshot())

    def go_on(self, mark: Mark) -> None:
        """Reads on from a mark: what stands before it is passed over."""
        self._start = mark
        self._promises.restore(mark.promises)

    def read(self, path: str) -> Iterator[list[Event | Reject]]:
        """The events of the file at a path; `-` is standard input."""
        if path == "-":
            if sys.stdin is None:  # closed before we began
                raise _unopened("<stdin>", "standard input is closed")
            yield from self.chunks(sys.stdin.buffer)
            return
        with _opened(path) as file:
            yield from self.chunks(file)

    def chunks(self, file: BinaryIO) -> Iterator[list[Event | Reject]]:
        """The events of a file, in the pieces in which it arrives."""
        pending: list[bytes] = []
        if self._start is not None:
            pending += self._passed(file, self._start)
        while chunk := _read(file, CHUNK):
            whole, newline, rest = chunk.rpartition(b"\n")
            if newline:
                yield self._piece(b"".join([*pending, whole]), newline)
                pending = []
            if rest:
                pending.append(rest)
        if any(pending):
            yield self._piece(b"".join(pending), b"")

    def _passed(self, file: BinaryIO, start: Mark) -> list[bytes]:
        """Passes over what was read before; gives what was read too far."""
        tail = b""
        left = start.offset
        if _sought(file, start.offset - len(start.tail)):
            left = len(start.tail)
        while left and (chunk := _read(file, min(left, CHUNK))):  # a pipe is given from its start
            left -= len(chunk)
            tail = (tail + chunk)[-_TAIL:]
        if tail != start.tail:
            raise UserError(
                Diagnostic(
                    "MP405",
                    "the checkpoint does not fit: the input does not begin as the one that was "
                    "read before",
                    file=self._name,
                    helps=("give that input, with or without more behind it",),
                )
            )
        self._offset, self._line, self._tail = start.offset, start.line, start.tail
        if start.offset and not tail.endswith(b"\n"):  # it ended without an end of line
            first = _read(file, 1)
            self._offset += len(first)
            self._tail = (tail + first)[-_TAIL:]
            return [first] if first not in (b"", b"\n") else []
        return []

    def _piece(self, text: bytes, end: bytes) -> list[Event | Reject]:
        """The events of whole lines, which are behind us then."""
        events = self._lines(text)
        self._offset += len(text) + len(end)
        self._tail = (self._tail + text[-_TAIL:] + end)[-_TAIL:]
        return events

    def event(self, stream: str, values: Any, line: int) -> Event | Reject:
        """A row that did not come as a tagged line, checked in the same way."""
        self._line = line
        try:
            return self._arrived(self._streams[stream], values)
        except BadRowError as error:
            return self._reject(json.dumps({stream: values}, default=str), error)

    def bad(self, text: str, line: int, wrong: BadRowError) -> Reject:
        """A row that cannot be read at all."""
        self._line = line
        return self._reject(text, wrong)

    def _lines(self, text: bytes) -> list[Event | Reject]:
        events: list[Event | Reject] = []
        for raw in text.split(b"\n"):
            self._line += 1
            if self._line == 1:
                raw = raw.removeprefix(b"\xef\xbb\xbf")
            if not raw.strip():
                continue
            try:
                event = self._event(raw)
            except BadRowError as error:
                events.append(self._reject(raw.removesuffix(b"\r").decode(errors="replace"), error))
            else:
                if event.op is not Op.PUNCT:
                    events.append(event)
        return events

    def _reject(self, text: str, error: BadRowError) -> Reject:
        found = Diagnostic(
            error.code, error.message, file=self._name, line=self._line, helps=error.helps
        )
        return Reject(self._line, text, found)

    def _event(self, raw: bytes) -> Event:
        said = self._object(raw)
        if self._only is not None:
            return self._arrived(self._only, said)
        first = next((each for each in said if not each.startswith("@")), None)
        if first is None:
            return self._controls.line(said, self._line)
        stream = self._streams.get(first)
        if stream is None:
            self._fail(
                "MP302",
                f"unknown stream `{short(first)}`",
                *did_you_mean(first, self._catalog.names),
            )
        if len(said) == 1:
            return self._arrived(stream, said[first])
        return self._with_more(stream, first, said)

    def _with_more(self, stream: Stream, first: str, said: dict[str, Any]) -> Event:
        """A row with something beside it on its line."""
        for extra in said:
            if stream.is_stream and extra.startswith("@"):
                self._fail("MP308", f"a row of a stream takes no `{short(extra)}`")
            if extra != first and not extra.startswith("@"):
                self._fail(
                    "MP301",
                    f"one stream a line, not also `{short(extra)}`",
                    "put each row on a line of its own",
                )
        op, at = self._controls.of_table(stream, first, said)
        return self._arrived(stream, said[first], op, at)

    def _arrived(
        self, stream: Stream, values: Any, op: Op = Op.INSERT, at: int | None = None
    ) -> Event:
        """The event of a row that keeps every promise."""
        row = self._row(stream, values)
        if stream.form is Form.STREAM or stream.form is Form.FINITE:
            self._promises.arrive(stream, row)
        else:
            self._promises.change(stream, row, deleted=op is Op.DELETE)
        return Event(stream.name, row, self._line, op, at)

    def _object(self, raw: bytes) -> dict[str, Any]:
        """The JSON object of a line."""
        try:
            text = raw.decode("utf-8")  # of bytes, json would also take UTF-16 and UTF-32
            said = self._decoder.decode(text)
        except UnicodeDecodeError:
            self._fail("MP307", _NO_UTF8, "save the file as UTF-8")
        except _DuplicateKeyError as error:
            self._fail("MP303", f"the key `{error}` stands twice", "give each column once")
        except json.JSONDecodeError as error:
            self._fail(
                "MP301", f"not a JSON object: {error.msg} (column {error.colno})", self._like
            )
        except RecursionError:
            self._fail("MP301", "not a JSON object: it is nested too deeply", self._like)
        except ValueError:  # Python's limit on the digits of an integer
            self._fail(
                "MP305",
                "an integer with thousands of digits fits no type",
                "BIGINT holds 19 digits",
            )
        if not isinstance(said, dict) or not said:
            self._fail("MP301", "an event is an object", self._like)
        return said

    @property
    def _like(self) -> str:
        if self._only is None:
            return 'an event looks like {"s": {"a": 1}}'
        return 'a row looks like {"a": 1}'

    def _row(self, stream: Stream, values: Any) -> Row:
        if not isinstance(values, dict):
            self._fail(
                "MP303",
                f"a row of `{stream.name}` is an object of its columns",
                f"columns: {', '.join(stream.names)}",
            )
        quick = self._quick.get(stream.name)
        if quick is None:
            return self._row_with_care(stream, values)
        row: list[int] = []
        for name, low, high in quick:
            value = values.get(name)
            if type(value) is int and low <= value <= high:
                row.append(value)
        if len(row) == len(values) == len(stream.columns):
            return tuple(row)
        return self._row_with_care(stream, values)

    def _row_with_care(self, stream: Stream, values: dict[str, Any]) -> Row:
        """A row of columns that are not all integers, with NULLs, or with something wrong."""
        row: list[Value] = []
        for name, take in self._takers[stream.name].items():
            value = values.get(name)
            if value is not None:
                row.append(take(value))
            elif name in values:
                self._nullable(stream, name)
                row.append(None)
            else:
                self._no_extra(stream, values)
                self._fail(
                    "MP303",
                    f"a row of `{stream.name}` lacks column `{name}`",
                    "write NULL as null",
                )
        if len(values) > len(row):
            self._no_extra(stream, values)
        return tuple(row)

    def _nullable(self, stream: Stream, name: str) -> None:
        column = stream.columns[stream.names.index(name)]
        if not column.nullable:
            self._fail(
                "MP306",
                f"`{stream.name}.{name}` is NOT NULL, and the row has null there",
                "give a value, or drop NOT NULL",
            )
        if stream.time is not None and stream.time.column == name:
            self._fail(
                "MP306",
                f"`{stream.name}.{name}` is the time of the row, and the row has null there",
                "every row of a stream with a time column has a time",
            )

    def _no_extra(self, stream: Stream, values: dict[str, Any]) -> None:
        for name in values:
            if name not in self._takers[stream.name]:
                self._fail(
                    "MP303",
                    f"{'stream' if stream.is_stream else 'table'} `{stream.name}` has no column "
                    f"`{short(name)}`",
                    *did_you_mean(name, stream.names),
                )

    def _no_number(self, constant: str) -> Never:
        self._fail("MP304", f"{constant} is no value", "write null, or leave the row out")

    def _fail(self, code: str, message: str, *helps: str) -> Never:
        raise BadRowError(code, message, *helps)


_NO_UTF8 = "the line is not UTF-8 text"


def _takers(stream: Stream) -> dict[str, Convert]:
    return {each.name: taker(f"`{stream.name}.{each.name}`", each) for each in stream.columns}


def _quick(stream: Stream) -> list[tuple[str, float, float]]:
    """Each column and the integers that it takes, if they all take those from one to another."""
    found = []
    for each in stream.columns:
        if not isinstance(each.type, IntegerType) or each.check.among is not None:
            return []
        low, high = each.values.low, each.values.high
        ends = -math.inf if low is None else low, math.inf if high is None else high
        found.append((each.name, *ends))
    return found


class _DuplicateKeyError(ValueError):
    pass


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _DuplicateKeyError(short(key))
            seen.add(key)
    return made


def _read(file: BinaryIO, size: int) -> bytes:
    """What has arrived, up to a size, and nothing ahead of it."""
    fd = _descriptor(file)
    return os.read(fd, size) if fd is not None else file.read(size)


def _sought(file: BinaryIO, offset: int) -> bool:
    """Goes to a place of a file; false for what has no places, such as a pipe."""
    fd = _descriptor(file)
    try:
        if fd is None:
            file.seek(offset)
        else:
            os.lseek(fd, offset, os.SEEK_SET)
    except (OSError, ValueError):
        return False
    return True


def _descriptor(file: BinaryIO) -> int | None:
    """The file's descriptor, if it has one and nothing was read ahead of us."""
    try:
        return file.fileno()
    except (OSError, AttributeError, ValueError):
        return None


def _opened(path: str) -> BinaryIO:
    try:
        return open(path, "rb", buffering=0)
    except OSError as error:
        raise _unopened(path, error.strerror or str(error)) from None


def _unopened(name: str, why: str) -> UserError:
    helps = ("give a file of tagged JSON lines, or - for standard input",)
    return UserError(Diagnostic("MP404", f"cannot read the input: {why}", file=name, helps=helps))
