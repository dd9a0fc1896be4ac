"""Rows as an Arrow file, exactly: what is read is what was written.

A column has the Arrow type of its values where that holds all of them; integers of any size, and
decimals, are written as digits.  Beside the rows there may be columns of numbers: instants,
multiplicities.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

from millpond.schema import Kind, Row, Type, Value

_TYPES = {
    Kind.DOUBLE: pa.float64(),
    Kind.BOOLEAN: pa.bool_(),
    Kind.VARCHAR: pa.large_utf8(),
    Kind.DECIMAL: pa.large_utf8(),
    Kind.NULL: pa.null(),
}
"""Of everything that is not counted in integers."""

_LEAST, _MOST = -(2**63), 2**63 - 1


def rows_content(
    types: Sequence[Type], rows: Sequence[Row], **beside: Sequence[int | None]
) -> bytes:
    """The file of some rows, in the order of their columns' types."""
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(types)
    arrays = [_array(kind, column) for kind, column in zip(types, columns, strict=True)]
    names = [str(place) for place in range(len(types))]
    arrays += [_integers(each) for each in beside.values()]
    arrays.append(pa.nulls(len(rows)))  # A row of no columns is still a row.
    table = pa.Table.from_arrays(arrays, names=[*names, *beside, "@"])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def read_rows(
    types: Sequence[Type], content: bytes, *beside: str
) -> tuple[list[Row], list[list[int]]]:
    """The rows of a file, and the columns beside them; ValueError if it has others."""
    with pa.ipc.open_file(pa.BufferReader(content)) as reader:
        table = reader.read_all()
    if table.column_names != [*map(str, range(len(types))), *beside, "@"]:
        raise ValueError("other columns")
    columns = [
        _values(kind, column)
        for kind, column in zip(types, table.columns[: len(types)], strict=True)
    ]
    rows: list[Row] = list(zip(*columns, strict=True)) if columns else [()] * table.num_rows
    return rows, [_numbers(table.column(name)) for name in beside]


def _array(kind: Type, values: Sequence[Value]) -> Any:
    target = _TYPES.get(kind.kind)
    if target is None:
        return _integers(values)
    if kind.kind is Kind.DECIMAL:
        values = [None if each is None else str(each) for each in values]
    return pa.array(values, target)


def _integers(values: Sequence[Any]) -> Any:
    if any(each is not None and not _LEAST <= each <= _MOST for each in values):
        return pa.array([None if each is None else str(each) for each in values], pa.large_utf8())
    return pa.array(values, pa.int64())


def _values(kind: Type, column: pa.ChunkedArray) -> list[Any]:
    if kind.kind is Kind.DECIMAL:
        return [None if each is None else Decimal(each) for each in column.to_pylist()]
    if kind.kind in _TYPES:
        values: list[Any] = column.to_pylist()
        return values
    return _numbers(column)


def _numbers(column: pa.ChunkedArray) -> list[Any]:
    values: list[Any] = column.to_pylist()
    if pa.types.is_large_string(column.type):
        return [None if each is None else int(each) for each in values]
    return values
