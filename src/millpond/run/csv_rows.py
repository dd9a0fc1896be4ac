"""Rows of a CSV file: a header with the columns in any order, and fields read by their types.

An empty field is NULL; of a text column only one without quotes is, and `""` is empty text.  Text
is taken as it stands, blanks around everything else are nothing.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

from millpond.run.event import Event, Reject
from millpond.run.ingest import TaggedReader
from millpond.run.unreadable import opened, unfit
from millpond.run.values import Number, short
from millpond.schema import Kind, Stream, Type

Read = Callable[[str], Any]


def csv_rows(reader: TaggedReader, stream: Stream, file: Path) -> Iterator[Event | Reject]:
    """The rows of a file, with the number of the line that each ends on."""
    with (
        opened(stream, file) as raw,
        # What is not UTF-8 stays recognisable as such, so that it can be refused row by row.
        io.TextIOWrapper(raw, encoding="utf-8-sig", errors="surrogateescape", newline="") as text,
    ):
        records = _records(file, text)
        names = _header(stream, file, next(records, (0, [], ""))[1])
        columns = {each.name: each for each in stream.columns}
        reads = [_read(columns[name].type) for name in names]
        texts = [columns[name].type.kind is Kind.VARCHAR for name in names]
        for number, fields, line in records:
            if not fields:
                continue
            if not line.isascii() and not _is_utf8(line):
                said = line.encode(errors="surrogateescape").decode(errors="replace")
                yield reader.unreadable(said.rstrip("\r\n"), number)
                continue
            values: list[Any] = [read(field) for read, field in zip(reads, fields, strict=False)]
            if '""' in line and "" in fields:
                for place, quoted in enumerate(_quoted(line, len(values))):
                    if quoted and texts[place] and not fields[place]:
                        values[place] = ""
            row = dict(zip(names, values, strict=False))
            if len(fields) > len(names):
                row[f"field {len(names) + 1}"] = None
            yield reader.event(stream.name, row, number)


def _header(stream: Stream, file: Path, fields: Sequence[str]) -> list[str]:
    names = [each.strip() for each in fields]
    if sorted(names) != sorted(stream.names):
        kind = "stream" if stream.is_stream else "table"
        raise unfit(
            file,
            f"the header has {_list(names)}, and {kind} `{stream.name}` has {_list(stream.names)}",
            "the first line names the columns, in any order",
        )
    return names


def _records(file: Path, text: TextIO) -> Iterator[tuple[int, list[str], str]]:
    """The fields of each record, with the number of its last line and its text."""
    read: list[str] = []

    def lines() -> Iterator[str]:
        for line in text:
            read.append(line)
            yield line

    records = csv.reader(lines())
    try:
        for fields in records:
            yield records.line_num, fields, "".join(read)
            read.clear()
    except csv.Error as error:
        raise unfit(file, f"line {records.line_num} is no csv: {error}") from None


def _quoted(line: str, width: int) -> list[bool]:
    """Which of the first fields of a record begin with a quote."""
    found: list[bool] = []
    at = 0
    while len(found) < width:
        quoted = line[at : at + 1] == '"'
        found.append(quoted)
        if quoted:
            at = _QUOTED.match(line, at).end()  # type: ignore[union-attr] # it begins with a quote
        at = line.find(",", at) + 1
        if not at:
            break
    return found


_QUOTED = re.compile(r'"(?:[^"]|"")*"?')


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


# Fields -----------------------------------------------------------------------------------------


def _read(kind: Type) -> Read:
    """What a field of a type says; text that says nothing of the kind stays, and is refused."""
    if kind.kind is Kind.VARCHAR:
        return lambda field: field or None
    made = _MADE.get(kind.kind)

    def read(field: str) -> Any:
        said = field.strip()
        if not said:
            return None
        return said if made is None else made(said)

    return read


def _integer(said: str) -> Any:
    return int(said) if _INTEGER.fullmatch(said) else said


def _number(said: str) -> Any:
    return Number(said) if _NUMBER.fullmatch(said) else said


def _boolean(said: str) -> Any:
    return _BOOLEANS.get(said.lower(), said)


_INTEGER = re.compile(r"[+-]?[0-9]{1,99}")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_BOOLEANS = {"true": True, "false": False}
_MADE: dict[Kind, Read] = {
    Kind.INTEGER: _integer,
    Kind.DOUBLE: _number,
    Kind.BOOLEAN: _boolean,
    Kind.TIMESTAMP: _integer,
    Kind.INTERVAL: _integer,
}


def _list(names: Sequence[str]) -> str:
    return ", ".join(f"`{short(each)}`" for each in names) or "no columns"
