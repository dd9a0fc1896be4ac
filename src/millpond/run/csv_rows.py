"""Rows of a CSV file: a header with the columns in any order, and fields read by their types.

An empty field is NULL; of a text column only one without quotes is, and `""` is empty text.  Text
is taken as it stands, blanks around everything else are nothing.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from millpond.run.event import Event, Reject
from millpond.run.ingest import TaggedReader
from millpond.run.unreadable import opened, unfit
from millpond.run.values import BadRowError, Number, short
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
        names = _header(stream, file, next(records, _Record(1, [], "")))
        columns = {each.name: each for each in stream.columns}
        reads = [_read(columns[name].type) for name in names]
        texts = [columns[name].type.kind is Kind.VARCHAR for name in names]
        for record in records:
            number, fields, line = record.line, record.fields, record.text
            if not fields and not record.wrong:
                continue
            wrong = _wrong(record, len(names))
            if wrong is not None:
                said = line.encode(errors="surrogateescape").decode(errors="replace")
                yield reader.bad(said.rstrip("\r\n"), number, wrong)
                continue
            values: list[Any] = [read(field) for read, field in zip(reads, fields, strict=True)]
            if '""' in line and "" in fields:
                for place, quoted in enumerate(_quoted(line, len(values))):
                    if quoted and texts[place] and not fields[place]:
                        values[place] = ""
            yield reader.event(stream.name, dict(zip(names, values, strict=True)), number)


@dataclass(frozen=True)
class _Record:
    """The fields of a record, the number of its last line and its text; or what is wrong."""

    line: int
    fields: list[str]
    text: str
    wrong: str = ""


def _wrong(record: _Record, width: int) -> BadRowError | None:
    """What keeps a record from being a row at all."""
    if not record.text.isascii() and not _is_utf8(record.text):
        return BadRowError("MP307", "the line is not UTF-8 text", "save the file as UTF-8")
    if record.wrong:
        return BadRowError("MP301", f"not a record of csv: {record.wrong}", _QUOTES)
    found = len(record.fields)
    if found != width:
        said = "1 field" if found == 1 else f"{found} fields"
        return BadRowError(
            "MP303", f"the row has {said}, and the header {width}", "a NULL is an empty field"
        )
    return None


_QUOTES = 'a text with a comma, a quote or a line break stands in quotes: "5"" nails, steel"'


def _header(stream: Stream, file: Path, record: _Record) -> list[str]:
    names = [each.strip() for each in record.fields]
    if record.wrong or sorted(names) != sorted(stream.names):
        kind = "stream" if stream.is_stream else "table"
        raise unfit(
            file,
            f"the header has {_list(names)}, and {kind} `{stream.name}` has {_list(stream.names)}",
            "the first line names the columns, in any order",
            line=1,
        )
    return names


def _records(file: Path, text: TextIO) -> Iterator[_Record]:
    """The records of a file; after one that is none, the next line begins another."""
    read: list[str] = []

    def lines() -> Iterator[str]:
        for line in text:
            read.append(line)
            yield line

    csv.field_size_limit(_LONGEST)
    records = csv.reader(lines(), strict=True)
    while True:
        first = records.line_num + 1
        try:
            fields = next(records)
        except StopIteration:
            return
        except csv.Error as error:
            if len(read) > 1 or sum(map(len, read)) > _LONGEST:  # a quote that nothing closes
                said = "a quote is not closed"
            else:
                said = str(error)
            yield _Record(first, [], "".join(read), said)
        else:
            yield _Record(records.line_num, fields, "".join(read))
        read.clear()


_LONGEST = 1 << 27
"""Characters of one field: without any limit a quote that nothing closes takes all memory."""


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
