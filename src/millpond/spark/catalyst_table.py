"""Joins of a stream with a table that is no stream: each row of the stream as the rows it becomes.

What the table holds is not read, so such a join is asked about twice.  *Open*: the columns of the
table may have any values, which is more than the table allows, so that a bound there is one.
*Pinned*: one row of the table with some constant in each column; where there is no bound for the
rows that meet it, there is none.  For that the table's columns may be compared with columns of the
stream by equality only, so that which constants it are does not matter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from enum import Enum, auto

from millpond.plan import ColumnRef, Expression, Literal, Scan
from millpond.schema import Column, Kind, Stream, Type, Value
from millpond.spark.catalyst import Expr, Operator
from millpond.spark.catalyst_expression import Missing
from millpond.spark.catalyst_types import said_of, type_of


class Tables(Enum):
    """How joins with tables are taken."""

    UNKNOWN = auto()
    OPEN = auto()
    PINNED = auto()


_CONSTANTS: dict[Kind, Value] = {
    Kind.INTEGER: 1,
    Kind.DECIMAL: Decimal(1),
    Kind.DOUBLE: 1.0,
    Kind.BOOLEAN: True,
    Kind.VARCHAR: "1",
    Kind.DATE: 1,
    Kind.TIMESTAMP: 1,
}


def table_columns(table: Operator) -> Iterator[tuple[int, str, Type | None, str]]:
    """The columns of a table: number, name, and type, with its name."""
    for output, said in zip(table.output, table.schema, strict=True):
        yield output.id, str(said["name"]), type_of(said["type"]), said_of(said["type"])


def pinned(table: Operator) -> dict[int, Expression | Missing]:
    """The columns of one row of the table."""
    return {
        id_: _missing(name, said)
        if type_ is None or type_.kind not in _CONSTANTS
        else Literal(_CONSTANTS[type_.kind], type_)
        for id_, name, type_, said in table_columns(table)
    }


def opened(table: Operator, scan: Scan) -> tuple[Scan, dict[int, Expression | Missing]]:
    """The stream with the columns of the table as columns of its own."""
    stream, columns = scan.stream, list(scan.stream.columns)
    found: dict[int, Expression | Missing] = {}
    for id_, name, type_, said in table_columns(table):
        if type_ is None:
            found[id_] = _missing(name, said)
            continue
        taken = {each.name.lower() for each in columns}
        called = next(x for x in _names(name) if x.lower() not in taken)
        columns.append(Column(called, type_))
        found[id_] = ColumnRef(scan.alias, called, type_, True)
    return replace(scan, stream=Stream(stream.name, tuple(columns))), found


def equates(condition: Expr) -> bool:
    """Whether a condition says of some columns that they are equal, and nothing else."""
    if condition.kind == "And":
        return all(map(equates, condition.children))
    plain = {each.kind for each in condition.nodes} <= {"EqualTo", "AttributeReference", "Cast"}
    return condition.kind == "EqualTo" and plain


def _names(name: str) -> Iterator[str]:
    yield name
    count = 2
    while True:
        yield f"{name}_{count}"
        count += 1


def _missing(name: str, said: str) -> Missing:
    return Missing(f"`{name}` of the table is of type {said}", None)
