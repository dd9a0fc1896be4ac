"""Tagged JSON lines in, checked rows out.

Every line is an event: a row of a declared stream or a control line.  What is wrong with one is a
diagnostic with its line number; nothing is dropped silently, and nothing is converted.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, Never

from millpond.diagnostic import Diagnostic, InputError, UserError, did_you_mean
from millpond.schema import Catalog, Stream

CHUNK = 1 << 20
"""Bytes asked for at a time: what has arrived is worked on before more is waited for."""


@dataclass(frozen=True)
class Event:
    """A row that arrived, or an instant without one (`stream` None)."""

    stream: str | None
    row: tuple[int | None, ...]
    line: int


@dataclass(frozen=True)
class Reject:
    """A line that is no event, and why."""

    line: int
    text: str
    diagnostic: Diagnostic


class TaggedReader:
    """Reads events of the streams of a catalog; with `only`, bare rows of that stream."""

    def __init__(self, catalog: Catalog, name: str, *, only: Stream | None = None) -> None:
        self._name = name
        self._only = only
        self._catalog = catalog
        self._streams = {each.name: each for each in catalog}
        self._places = {
            each.name: {column.name: place for place, column in enumerate(each.columns)}
            for each in catalog
        }
        # What a value has to be to pass at once; whatever does not is looked at more closely.
        self._quick = {
            each.name: [(column.name, *column.ends) for column in each.columns] for each in catalog
        }
        self._decoder = json.JSONDecoder(parse_constant=self._no_number, object_pairs_hook=_unique)
        self._line = 0

    def read(self, path: str) -> Iterator[list[Event | Reject]]:
        """The events of the file at a path; `-` is standard input."""
        if path == "-":
            yield from self.chunks(sys.stdin.buffer)
            return
        with _opened(path) as file:
            yield from self.chunks(file)

    def chunks(self, file: BinaryIO) -> Iterator[list[Event | Reject]]:
        """The events of a file, in the pieces in which it arrives."""
        pending: list[bytes] = []
        fd = _descriptor(file)
        while chunk := os.read(fd, CHUNK) if fd is not None else file.read(CHUNK):
            whole, newline, rest = chunk.rpartition(b"\n")
            if newline:
                yield self._lines(b"".join([*pending, whole]))
                pending = []
            if rest:
                pending.append(rest)
        if pending:
            yield self._lines(b"".join(pending))

    def event(self, stream: str, values: Any, line: int) -> Event | Reject:
        """A row that did not come as a tagged line, checked in the same way."""
        self._line = line
        try:
            return Event(stream, self._row(self._streams[stream], values), line)
        except InputError as error:
            return Reject(line, json.dumps({stream: values}, default=str), error.diagnostics[0])

    def _lines(self, text: bytes) -> list[Event | Reject]:
        events: list[Event | Reject] = []
        for raw in text.split(b"\n"):
            self._line += 1
            if self._line == 1:
                raw = raw.removeprefix(b"\xef\xbb\xbf")
            if not raw.strip():
                continue
            try:
                events.append(self._event(raw))
            except InputError as error:
                events.append(
                    Reject(
                        self._line,
                        raw.removesuffix(b"\r").decode(errors="replace"),
                        error.diagnostics[0],
                    )
                )
        return events

    def _event(self, raw: bytes) -> Event:
        said = self._object(raw)
        if self._only is not None:
            return Event(self._only.name, self._row(self._only, said), self._line)
        first = next((each for each in said if not each.startswith("@")), None)
        if first is None:
            return self._control(said)
        stream = self._streams.get(first)
        if stream is None:
            self._fail(
                "MP302",
                f"unknown stream `{_short(first)}`",
                *did_you_mean(first, self._catalog.names),
            )
        for extra in said:
            if extra.startswith("@"):
                self._fail("MP308", f"a row of a stream takes no `{_short(extra)}`")
            if extra != first:
                self._fail(
                    "MP301",
                    f"one stream a line, not also `{_short(extra)}`",
                    "put each row on a line of its own",
                )
        return Event(stream.name, self._row(stream, said[first]), self._line)

    def _object(self, raw: bytes) -> dict[str, Any]:
        """The JSON object of a line."""
        try:
            text = raw.decode("utf-8")  # of bytes, json would also take UTF-16 and UTF-32
            said = self._decoder.decode(text)
        except UnicodeDecodeError:
            self._fail("MP307", "the line is not UTF-8 text", "save the file as UTF-8")
        except _DuplicateKeyError as error:
            self._fail("MP303", f"the key `{error}` stands twice", "give each column once")
        except json.JSONDecodeError as error:
            self._fail(
                "MP301", f"not a JSON object: {error.msg} (column {error.colno})", self._like
            )
        except RecursionError:
            self._fail("MP301", "not a JSON object: it is nested too deeply", self._like)
        except ValueError:  # Python's limit on the digits of an integer
            self._fail("MP305", "an integer with thousands of digits fits no type")
        if not isinstance(said, dict) or not said:
            self._fail("MP301", "an event is an object", self._like)
        return said

    @property
    def _like(self) -> str:
        if self._only is None:
            return 'an event looks like {"s": {"a": 1}}'
        return 'a row looks like {"a": 1}'

    def _control(self, said: dict[str, Any]) -> Event:
        key, *others = said
        if others:
            self._fail("MP308", f"`{_short(key)}` stands alone, not with `{_short(others[0])}`")
        if key == "@tick" and type(said[key]) is int and said[key] == 1:
            return Event(None, (), self._line)
        if key == "@tick":
            self._fail("MP308", "a tick is written as 1", 'write {"@tick": 1}')
        if key in ("@time", "@end", "@punct"):
            self._fail(
                "MP308",
                f"`{key}` is about timed streams, and those of this file are untimed",
                'write {"@tick": 1} for an instant with no row',
            )
        known = did_you_mean(key, ["@tick", "@time"])
        return self._fail("MP308", f"unknown control line `{_short(key)}`", *known)

    def _row(self, stream: Stream, values: Any) -> tuple[int | None, ...]:
        if not isinstance(values, dict):
            self._fail(
                "MP303",
                f"a row of `{stream.name}` is an object of its columns",
                f"columns: {', '.join(stream.names)}",
            )
        row: list[int | None] = []
        for name, low, high in self._quick[stream.name]:
            value = values.get(name)
            if type(value) is int and low <= value <= high:
                row.append(value)
        if len(row) == len(values) == len(stream.columns):
            return tuple(row)
        return self._row_with_care(stream, values)

    def _row_with_care(self, stream: Stream, values: dict[str, Any]) -> tuple[int | None, ...]:
        """A row with NULLs, or with something wrong."""
        row: list[int | None] = []
        for column in stream.columns:
            if column.name not in values:
                self._no_extra(stream, values)
                self._fail(
                    "MP303",
                    f"a row of `{stream.name}` lacks column `{column.name}`",
                    "write NULL as null",
                )
            value = values[column.name]
            if type(value) is int:
                if value not in column.values:
                    self._outside(stream, column.name, value)
                row.append(value)
            elif value is None and column.nullable:
                row.append(None)
            else:
                self._wrong(stream, column.name, value)
        if len(values) > len(row):
            self._no_extra(stream, values)
        return tuple(row)

    def _no_extra(self, stream: Stream, values: dict[str, Any]) -> None:
        for name in values:
            if name not in self._places[stream.name]:
                self._fail(
                    "MP303",
                    f"stream `{stream.name}` has no column `{_short(name)}`",
                    *did_you_mean(name, stream.names),
                )

    def _outside(self, stream: Stream, name: str, value: int) -> Never:
        column = stream.columns[self._places[stream.name][name]]
        if value not in column.type.range:
            self._fail(
                "MP305",
                f"{_short(str(value))} does not fit in `{stream.name}.{name}`: {column.type}",
                f"{column.type} holds {column.type.range}",
            )
        self._fail(
            "MP306",
            f"{value} is outside the CHECK of `{stream.name}.{name}`",
            f"the CHECK allows {column.check}",
        )

    def _wrong(self, stream: Stream, name: str, value: Any) -> Never:
        column = stream.columns[self._places[stream.name][name]]
        if value is None:
            self._fail(
                "MP306",
                f"`{stream.name}.{name}` is NOT NULL, and the row has null there",
                "give a value, or drop NOT NULL",
            )
        self._fail(
            "MP304",
            f"`{stream.name}.{name}` is {column.type}, and the row has {_short(json.dumps(value))}",
            "write an integer without quotes, point or exponent",
        )

    def _no_number(self, constant: str) -> Never:
        self._fail("MP304", f"{constant} is no value", "write null, or leave the row out")

    def _fail(self, code: str, message: str, *helps: str) -> Never:
        raise InputError(Diagnostic(code, message, file=self._name, line=self._line, helps=helps))


class _DuplicateKeyError(ValueError):
    pass


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _DuplicateKeyError(_short(key))
            seen.add(key)
    return made


def _short(text: str) -> str:
    """A piece of the user's data for a message: not too long, and text that can be written."""
    shown = text if len(text) <= 60 else text[:57] + "..."
    return shown.encode("utf-8", "backslashreplace").decode("utf-8")


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
        raise UserError(
            Diagnostic(
                "MP404",
                f"cannot read the input: {error.strerror or error}",
                file=path,
                helps=("give a file of tagged JSON lines, or - for standard input",),
            )
        ) from None
