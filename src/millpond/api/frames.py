"""Rows as Python programs have them: dicts, sequences, and frames of Arrow, Polars or pandas.

Columns of integers go from Arrow to the engine as they are, checked column by column; everything
else becomes rows.  Nothing here asks which library a frame is of: Polars and DuckDB hand out Arrow
by its C interface, and pandas is asked for it only if it is loaded already.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from millpond.api.values import said
from millpond.diagnostic import Diagnostic, InputError, did_you_mean
from millpond.program import Columns, IntArray
from millpond.schema import Column, IntegerType, Stream

if TYPE_CHECKING:
    import pyarrow as pa

Rows = Any
"""Dicts or sequences of values, one of them or many; or a frame."""


def table_of(rows: Rows) -> pa.Table | None:
    """A frame as an Arrow table; None for rows that are no frame."""
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(rows, pandas.DataFrame):
        import pyarrow as pa

        return pa.Table.from_pandas(rows, preserve_index=False)
    if hasattr(rows, "__arrow_c_stream__") or hasattr(rows, "__arrow_c_array__"):
        import pyarrow as pa

        return pa.table(rows)
    return None


def fitting(stream: Stream, table: pa.Table) -> pa.Table:
    """The columns of a stream, in its order, of a table that has these and no others."""
    wanted, there = stream.names, table.column_names
    extra = next((name for name in there if name not in wanted), None)
    if extra is not None:
        helps = did_you_mean(extra, wanted)
        raise _unfit(f"stream `{stream.name}` has no column `{extra}`", *helps)
    missing = next((name for name in wanted if name not in there), None)
    if missing is not None:
        raise _unfit(f"the rows of `{stream.name}` lack column `{missing}`")
    if len(there) > len(wanted):
        raise _unfit(f"the rows of `{stream.name}` have a column twice")
    return table.select(list(wanted))


def _unfit(message: str, *helps: str) -> InputError:
    return InputError(Diagnostic("MP303", message, helps=helps))


def columns_of(stream: Stream, table: pa.Table) -> Columns | None:
    """The columns of numbers that a fitting table is; None if they are no integers, or if some row
    is not one of the stream's: whoever looks at each row says which, and why."""
    values, nulls = {}, {}
    for column, chunked in zip(stream.columns, table.columns, strict=True):
        taken = _numbers(column, chunked)
        if taken is None:
            return None
        values[column.name], nulls[column.name] = taken
    return Columns(values, nulls, table.num_rows)


def _numbers(column: Column, chunked: pa.ChunkedArray) -> tuple[IntArray, IntArray] | None:
    import pyarrow as pa
    import pyarrow.compute as pc

    if not isinstance(column.type, IntegerType) or not pa.types.is_integer(chunked.type):
        return None
    if chunked.null_count and not column.nullable:
        return None
    try:
        array = chunked.combine_chunks().cast(pa.int64())
    except pa.ArrowInvalid:
        return None
    if isinstance(array, pa.ChunkedArray):  # of no chunk at all
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], pa.int64())
    nulls = np.zeros(len(array), dtype=np.uint8)
    if array.null_count:
        nulls = array.is_null().to_numpy(zero_copy_only=False).astype(np.uint8)
        array = pc.fill_null(array, 0)
    values: IntArray = array.to_numpy()
    return (values, nulls) if _all_admitted(column, values, nulls) else None


def _all_admitted(column: Column, values: IntArray, nulls: IntArray) -> bool:
    """Whether every value that is not NULL is of the column's type and passes its CHECK."""
    if not len(values):
        return True
    wrong = np.zeros(len(values), dtype=bool)
    low, high = column.values.low, column.values.high
    if column.values.empty:
        wrong[:] = True
    if low is not None and low > -(2**63):
        wrong |= values < low
    if high is not None and high < 2**63 - 1:
        wrong |= values > high
    if column.check.among is not None:
        listed = [int(each) for each in column.check.listed or () if each is not None]
        wrong |= ~np.isin(values, listed)
    wrong &= nulls == 0
    return not bool(wrong.any())


def dicts_of(stream: Stream, rows: Rows) -> Iterator[Any]:
    """Rows one by one, as dicts of plain values; what is none stays what it is."""
    if isinstance(rows, Mapping):
        rows = [rows]
    if isinstance(rows, str | bytes) or not isinstance(rows, Iterable):
        raise _unfit(
            f"rows of `{stream.name}` are dicts or a frame, and not {type(rows).__name__}",
            'push("s", [{"a": 1}]), or a frame of Polars, pandas or Arrow',
        )
    for row in rows:
        if isinstance(row, Mapping):
            yield {name: said(value) for name, value in row.items()}
        elif isinstance(row, Sequence) and not isinstance(row, str | bytes):
            yield _of_sequence(stream, row)
        else:
            yield row


def _of_sequence(stream: Stream, row: Sequence[Any]) -> Any:
    if len(row) != len(stream.names):
        return list(row)
    return dict(zip(stream.names, map(said, row), strict=True))


def dicts_of_table(table: pa.Table) -> Iterator[dict[str, Any]]:
    """The rows of a table one by one, as dicts of plain values."""
    columns = [_in_microseconds(each) for each in table.columns]
    for row in zip(*(each.to_pylist() for each in columns), strict=True):
        yield dict(zip(table.column_names, map(said, row), strict=True))


def _in_microseconds(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Times as numbers of microseconds, whatever unit and zone they come in."""
    import pyarrow as pa

    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", column.type.tz))
    elif pa.types.is_duration(column.type):
        column = column.cast(pa.duration("us"))
    else:
        return column
    return column.cast(pa.int64())
