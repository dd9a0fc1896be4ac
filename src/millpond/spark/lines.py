"""What a batch says: the contract's JSON lines, written by the driver or by Catalyst.

Both write the same bytes.  Values are integers or NULL; a name is escaped as JSON has it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from millpond.program import Delta

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Row = tuple[int | None, ...]


def order_of(row: Row) -> tuple[tuple[bool, int], ...]:
    """Rows sort by column: NULL first, then numbers by value."""
    return tuple((value is not None, value or 0) for value in row)


def change_lines(delta: Delta, query: str | None) -> Iterator[str]:
    """A line for each change of a consolidated delta."""
    for row, n, at in delta.rows():
        said = _head(query) | {
            "op": "+" if n > 0 else "-",
            "row": dict(zip(delta.names, row, strict=True)),
        }
        if abs(n) != 1:
            said["n"] = abs(n)
        yield _line(said | {"at": at})


def answer_line(names: Sequence[str], answer: Counter[Row], at: int, query: str | None) -> str:
    """The answer at an instant."""
    return _line(_head(query) | {"at": at, "answer": list(_items(names, answer))})


def final_lines(names: Sequence[str], answer: Counter[Row], query: str | None) -> Iterator[str]:
    """The last answer, one row a line."""
    for item in _items(names, answer):
        yield _line(_head(query) | item)


def written_lines(rows: DataFrame, names: Sequence[str], at: int, query: str | None) -> DataFrame:
    """The lines of `change_lines` for rows `out0`, ..., `amount` that only ever come in.

    They are sorted over all partitions, one after the other.
    """
    from pyspark.sql import functions as f

    pieces = [f.lit(_line(_head(query) | {"op": "+"})[:-1] + ', "row": {')]
    for k, name in enumerate(names):
        comma = ", " if k else ""
        pieces.append(f.lit(f"{comma}{json.dumps(name, ensure_ascii=False)}: "))
        pieces.append(f.coalesce(f.col(f"out{k}").cast("string"), f.lit("null")))
    amount = f.concat(f.lit(', "n": '), f.col("amount").cast("string"))
    pieces.append(f.lit("}"))
    pieces.append(f.when(f.col("amount") != 1, amount).otherwise(f.lit("")))
    pieces.append(f.lit(f', "at": {at}}}'))
    order = [f.col(f"out{k}").asc_nulls_first() for k in range(len(names))]
    return rows.orderBy(*order).select(f.concat(*pieces).alias("value"))


def _items(names: Sequence[str], answer: Counter[Row]) -> Iterator[dict[str, Any]]:
    for row in sorted(answer, key=order_of):
        yield {"row": dict(zip(names, row, strict=True)), "n": answer[row]}


def _head(query: str | None) -> dict[str, Any]:
    return {} if query is None else {"query": query}


def _line(said: dict[str, Any]) -> str:
    return json.dumps(said, ensure_ascii=False)
