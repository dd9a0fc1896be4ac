"""Output as a table with typed columns: parquet and CSV.

A row of the table is a row of output: `query` where there are several, `op` (`+` or `-`) for
changes, `n`, `at` unless it is the last answer, and then the query's own columns.  Several queries
share a file if their columns are the same.  COUNT, SUM and other HUGEINT columns are
DECIMAL(38, 0) in parquet; what does not fit there ends the run rather than being cut.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from millpond.diagnostic import Diagnostic, UserError
from millpond.plan import Query
from millpond.run.draft import Draft, writing
from millpond.run.output import change_order
from millpond.run.values import order_key, plain_text
from millpond.schema import (
    BIGINT,
    VARCHAR,
    DecimalType,
    IntegerType,
    Kind,
    Row,
    Type,
    Value,
)

if TYPE_CHECKING:
    import pyarrow as pa

_GROUP = 65_536
"""Rows of a row group."""


class Record(NamedTuple):
    """What a query says at an instant, in order: changes, or an answer."""

    query: str
    at: int | None
    rows: Sequence[tuple[Row, int]]


class Recorder:
    """Says a query's changes and answers as records."""

    def __init__(self, query: Query) -> None:
        self._name = query.name

    def changes(self, at: int, changes: Iterable[tuple[Row, int]]) -> list[Record]:
        rows = sorted(changes, key=change_order)
        return [Record(self._name, at, rows)] if rows else []

    def answer(self, at: int, answer: Mapping[Row, int]) -> Record:
        return Record(self._name, at, _in_order(answer))

    def final(self, answer: Mapping[Row, int]) -> list[Record]:
        return [Record(self._name, None, _in_order(answer))]


def parquet_sink(path: Path, queries: Sequence[Query], emit: str) -> TableSink:
    """A parquet file."""
    columns = _columns(path, queries, emit)
    return TableSink(path, queries, emit, lambda draft: _Parquet(draft, columns))


def csv_sink(path: Path, queries: Sequence[Query], emit: str) -> TableSink:
    """A CSV file: NULL is an empty field, empty text is in quotes."""
    columns = _columns(path, queries, emit)
    return TableSink(path, queries, emit, lambda draft: _Csv(draft, columns))


class TableSink:
    """Records as rows of one table."""

    def __init__(
        self, path: Path, queries: Sequence[Query], emit: str, table: Callable[[Draft], _Table]
    ) -> None:
        self._several = len(queries) > 1
        self._signed = emit == "changes"
        self._timed = emit != "final"
        self._draft = Draft(path)
        self._table = table(self._draft)

    def teller(self, query: Query, several: bool) -> Recorder:
        return Recorder(query)

    def write(self, said: Iterable[Record]) -> None:
        with writing(self._draft.path):
            for record in said:
                for row, n in record.rows:
                    self._table.add((*self._head(record, n), *row))

    def close(self) -> None:
        with writing(self._draft.path):
            self._table.close()
        self._draft.keep()

    def abandon(self) -> None:
        self._table.drop()
        self._draft.drop()

    def _head(self, record: Record, n: int) -> Iterator[Value]:
        if self._several:
            yield record.query
        if self._signed:
            yield "+" if n > 0 else "-"
        yield abs(n)
        if self._timed:
            yield record.at


def _in_order(answer: Mapping[Row, int]) -> list[tuple[Row, int]]:
    return [(row, answer[row]) for row in sorted(answer, key=order_key)]


def _columns(path: Path, queries: Sequence[Query], emit: str) -> list[tuple[str, Type]]:
    """The names and types of the table's columns."""
    first, *others = queries
    own = [(each.name, each.type) for each in first.fields]
    head: list[tuple[str, Type]] = [("query", VARCHAR)] if others else []
    if emit == "changes":
        head.append(("op", VARCHAR))
    head.append(("n", BIGINT))
    if emit != "final":
        head.append(("at", first.time_type or BIGINT))
    for each in others:
        same_time = each.time_type == first.time_type or emit == "final"
        if [(field.name, field.type) for field in each.fields] != own or not same_time:
            raise _wrong(
                path,
                f"queries {first.name} and {each.name} have different columns, and a table has "
                "one kind of rows",
                "--sink out.jsonl takes the output of any queries",
            )
    taken = {name for name, _ in head}
    for name, _ in own:
        if name.lower() in taken:
            raise _wrong(
                path,
                f"the query's column `{name}` has the name of a column of the sink",
                f"give it another name: {name} AS {name}_",
            )
    return head + own


def _wrong(path: Path, message: str, *helps: str) -> UserError:
    return UserError(Diagnostic("MP403", message, file=str(path), helps=helps))


class _Table(Protocol):
    def add(self, row: Row) -> None: ...

    def close(self) -> None: ...

    def drop(self) -> None: ...


# CSV --------------------------------------------------------------------------------------------


class _Csv:
    def __init__(self, draft: Draft, columns: Sequence[tuple[str, Type]]) -> None:
        self._file = draft.file
        self._fields = [_field(kind) for _, kind in columns]
        self._line(_quoted(name) for name, _ in columns)

    def add(self, row: Row) -> None:
        self._line(field(value) for field, value in zip(self._fields, row, strict=True))

    def close(self) -> None:
        """Every line has been written."""

    def drop(self) -> None:
        """There is nothing but lines."""

    def _line(self, fields: Iterable[str]) -> None:
        self._file.write((",".join(fields) + "\n").encode())


class CsvLines:
    """Lines of CSV for output that comes piece by piece."""

    def __init__(self, queries: Sequence[Query], emit: str, columns: Sequence[str]) -> None:
        self._several = len(queries) > 1
        self._emit = emit
        self.head = ",".join(map(_quoted, columns)) + "\n"

    def teller(self, query: Query) -> CsvTeller:
        """What says a query's output in such lines."""
        return CsvTeller(query, self._several, self._emit)


class CsvTeller:
    """Says a query's changes and answers in lines of CSV."""

    def __init__(self, query: Query, several: bool, emit: str) -> None:
        self._head = _quoted(query.name) + "," if several else ""
        self._signed = emit == "changes"
        self._at = _field(query.time_type or BIGINT)
        self._fields = [_field(each.type) for each in query.fields]

    def changes(self, at: int, changes: Iterable[tuple[Row, int]]) -> list[str]:
        return self._lines(at, sorted(changes, key=change_order))

    def answer(self, at: int, answer: Mapping[Row, int]) -> str:
        return "\n".join(self._lines(at, _in_order(answer)))

    def final(self, answer: Mapping[Row, int]) -> list[str]:
        return self._lines(None, _in_order(answer))

    def _lines(self, at: int | None, rows: Iterable[tuple[Row, int]]) -> list[str]:
        when = "" if at is None else f",{self._at(at)}"
        return [
            self._head
            + (f"{'+' if n > 0 else '-'}," if self._signed else "")
            + ",".join([f"{abs(n)}{when}", *self._values(row)])
            for row, n in rows
        ]

    def _values(self, row: Row) -> Iterator[str]:
        return (field(value) for field, value in zip(self._fields, row, strict=True))


def csv_lines(path: Path, queries: Sequence[Query], emit: str) -> CsvLines:
    """What says the output of some queries as the lines of a CSV file."""
    return CsvLines(queries, emit, [name for name, _ in _columns(path, queries, emit)])


def _field(kind: Type) -> Callable[[Value], str]:
    say: Callable[[Any], str] = _quoted if kind.kind is Kind.VARCHAR else plain_text(kind)
    return lambda value: "" if value is None else say(value)


def _quoted(text: str) -> str:
    if text and text == text.strip() and not any(each in text for each in ',"\r\n'):
        return text
    return '"' + text.replace('"', '""') + '"'


# Parquet ----------------------------------------------------------------------------------------


class _Parquet:
    def __init__(self, draft: Draft, columns: Sequence[tuple[str, Type]]) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self._path = draft.path
        self._columns = columns
        self._schema = pa.schema([(name, arrow_type(kind)) for name, kind in columns])
        self._writer = pq.ParquetWriter(draft.file, self._schema)
        self._rows: list[Row] = []

    def add(self, row: Row) -> None:
        self._rows.append(row)
        if len(self._rows) == _GROUP:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._writer.close()

    def drop(self) -> None:
        import pyarrow as pa

        # Left open, it would write its end into a closed file when it is collected.
        with suppress(OSError, pa.ArrowException):
            self._writer.close()
        self._writer.is_open = False

    def _flush(self) -> None:
        import pyarrow as pa

        if not self._rows:
            return
        arrays = [
            self._array(name, kind, list(values))
            for (name, kind), values in zip(
                self._columns, zip(*self._rows, strict=True), strict=True
            )
        ]
        self._writer.write_table(pa.Table.from_arrays(arrays, schema=self._schema))
        self._rows = []

    def _array(self, name: str, kind: Type, values: list[Any]) -> Any:
        import pyarrow as pa

        try:
            return arrow_array(values, kind)
        except (pa.ArrowException, OverflowError) as error:
            said = f"column `{name}` has a value that parquet's {arrow_type(kind)} does not hold"
            raise UserError(
                Diagnostic(
                    "MP406",
                    said,
                    file=str(self._path),
                    notes=(str(error).splitlines()[0],),
                    helps=("--sink out.jsonl holds numbers of any size",),
                )
            ) from None


def arrow_array(values: list[Any], kind: Type) -> Any:
    """Values as an Arrow array: dates and times are integers here, and so are HUGEINTs."""
    import pyarrow as pa

    target = arrow_type(kind)
    if kind.kind in (Kind.TIMESTAMP, Kind.INTERVAL):
        return pa.array(values, pa.int64()).cast(target)
    if kind.kind is Kind.DATE:
        return pa.array(values, pa.int32()).cast(target)
    if isinstance(kind, IntegerType) and kind.bits is None:
        values = [None if each is None else Decimal(each) for each in values]
    return pa.array(values, target)


def arrow_type(kind: Type) -> pa.DataType:
    """The Arrow type of the values of a type."""
    import pyarrow as pa

    if isinstance(kind, DecimalType):
        wide = pa.decimal128 if kind.precision <= 38 else pa.decimal256
        return wide(kind.precision, kind.scale)
    if isinstance(kind, IntegerType):
        sizes = {8: pa.int8(), 16: pa.int16(), 32: pa.int32(), 64: pa.int64()}
        return pa.decimal128(38, 0) if kind.bits is None else sizes[kind.bits]
    return {
        Kind.BOOLEAN: pa.bool_(),
        Kind.DOUBLE: pa.float64(),
        Kind.VARCHAR: pa.string(),
        Kind.DATE: pa.date32(),
        Kind.TIMESTAMP: pa.timestamp("us", tz="UTC"),
        Kind.INTERVAL: pa.duration("us"),
        Kind.NULL: pa.null(),
    }[kind.kind]
