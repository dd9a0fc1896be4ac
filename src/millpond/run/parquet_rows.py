"""Rows of a parquet file: the declared columns, where their Arrow types convert without loss.

An integer of any width may stand for an integer, and is checked row by row; narrow ones and all
floats stand for DOUBLE.  A timestamp of any unit and zone is an instant; one without a zone is
UTC, and nanoseconds have to be whole microseconds.  Columns that were not declared are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from millpond.diagnostic import did_you_mean
from millpond.plan.moments import date_text, timestamp_text
from millpond.run.event import Event, Reject
from millpond.run.ingest import TaggedReader
from millpond.run.unreadable import unfit, unreadable
from millpond.schema import Column, Kind, Stream

if TYPE_CHECKING:
    import pyarrow as pa

Values = Callable[[Any], list[Any]]
"""The values of an Arrow array, as tagged input would have them."""


def parquet_rows(reader: TaggedReader, stream: Stream, file: Path) -> Iterator[Event | Reject]:
    """The rows of a file, with their numbers."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(file) as opened:
            names = list(stream.names)
            columns = [_values(stream, each, opened.schema_arrow, file) for each in stream.columns]
            number = 0
            for batch in opened.iter_batches(columns=names):
                lists = [
                    values(batch.column(name)) for name, values in zip(names, columns, strict=True)
                ]
                for row in zip(*lists, strict=True):
                    number += 1
                    yield reader.event(stream.name, dict(zip(names, row, strict=True)), number)
    except (OSError, pa.ArrowException) as error:
        raise unreadable(stream.name, str(file), str(error).splitlines()[0]) from None


def fits(stream: Stream, file: Path) -> None:
    """Raises what keeps a file from being read as rows of the stream, if anything does."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(file) as opened:
            for each in stream.columns:
                _values(stream, each, opened.schema_arrow, file)
    except (OSError, pa.ArrowException) as error:
        raise unreadable(stream.name, str(file), str(error).splitlines()[0]) from None


def _values(stream: Stream, column: Column, schema: pa.Schema, file: Path) -> Values:
    place = schema.get_field_index(column.name)
    if place < 0:
        raise unfit(
            file,
            f"the source of `{stream.name}` has no column `{column.name}`",
            *did_you_mean(column.name, schema.names),
        )
    found = schema.field(place).type
    values = _conversion(found, column.type.kind)
    if values is None:
        raise unfit(
            file,
            f"column `{column.name}` is {found} in the file, declared is {column.type}",
            f"declare the column as the file has it, or write it as {column.type}",
        )
    return values


def _conversion(found: pa.DataType, kind: Kind) -> Values | None:
    """How values of an Arrow type become those of a kind; None if something could get lost."""
    import pyarrow.types as pat

    if pat.is_null(found):
        return _plain
    if pat.is_dictionary(found):
        inner = _conversion(found.value_type, kind)
        return None if inner is None else lambda array: inner(array.dictionary_decode())
    match kind:
        case Kind.INTEGER | Kind.DECIMAL if pat.is_integer(found):
            return _plain
        case Kind.DECIMAL if pat.is_decimal(found):
            return _plain
        case Kind.DOUBLE if pat.is_floating(found) or _narrow(found):
            return _plain
        case Kind.BOOLEAN if pat.is_boolean(found):
            return _plain
        case Kind.VARCHAR if _is_text(found):
            return _plain
        case Kind.DATE if pat.is_date32(found):
            return _dates
        case Kind.TIMESTAMP if pat.is_timestamp(found):
            return _instants(found.unit)
        case Kind.INTERVAL if pat.is_duration(found):
            return _instants(found.unit)
    return None


def _narrow(found: pa.DataType) -> bool:
    """Whether a DOUBLE holds every integer of a type."""
    import pyarrow.types as pat

    return bool(pat.is_integer(found)) and found.bit_width <= 32


def _is_text(found: pa.DataType) -> bool:
    import pyarrow.types as pat

    return bool(pat.is_string(found) or pat.is_large_string(found) or pat.is_string_view(found))


def _plain(array: Any) -> list[Any]:
    values: list[Any] = array.to_pylist()
    return values


def _dates(array: Any) -> list[Any]:
    import pyarrow as pa

    return [None if each is None else _date(each) for each in array.cast(pa.int32()).to_pylist()]


def _date(days: int) -> str:
    try:
        return date_text(days)
    except (ValueError, OverflowError):
        return f"day {days} from 1970-01-01"


_PER_UNIT = {"s": 1_000_000, "ms": 1000, "us": 1}


def _instants(unit: str) -> Values:
    import pyarrow as pa

    if unit == "ns":
        return lambda array: [_of_nanoseconds(each) for each in array.cast(pa.int64()).to_pylist()]
    factor = _PER_UNIT[unit]
    return lambda array: [
        None if each is None else each * factor for each in array.cast(pa.int64()).to_pylist()
    ]


def _of_nanoseconds(value: int | None) -> Any:
    """Microseconds; text with nine digits, which is refused, for what is no whole number."""
    if value is None:
        return None
    microseconds, rest = divmod(value, 1000)
    if not rest:
        return microseconds
    seconds, nanoseconds = divmod(value, 1_000_000_000)
    return f"{timestamp_text(seconds * 1_000_000)[:19]}.{nanoseconds:09d}Z"
