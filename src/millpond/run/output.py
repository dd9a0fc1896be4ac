"""The contract's output: JSON lines of changes, answers, or the last answer."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

Row = tuple[int | None, ...]


def order_of(row: Row) -> tuple[tuple[bool, int], ...]:
    """Rows sort by column: NULL first, then numbers by value."""
    return tuple((value is not None, value or 0) for value in row)


def change_line(names: Sequence[str], row: Row, n: int, at: int, query: str | None) -> str:
    """`{"op": "+", "row": {...}, "n": 2, "at": 5}`."""
    said: dict[str, Any] = {} if query is None else {"query": query}
    said["op"] = "+" if n > 0 else "-"
    said["row"] = dict(zip(names, row, strict=True))
    if abs(n) != 1:
        said["n"] = abs(n)
    said["at"] = at
    return json.dumps(said, ensure_ascii=False)


def answer_items(names: Sequence[str], answer: Counter[Row]) -> list[dict[str, Any]]:
    """The rows of an answer with their multiplicities, in order."""
    return [
        {"row": dict(zip(names, row, strict=True)), "n": answer[row]}
        for row in sorted(answer, key=order_of)
    ]


def answer_line(names: Sequence[str], answer: Counter[Row], at: int, query: str | None) -> str:
    """`{"at": 5, "answer": [{"row": {...}, "n": 1}, ...]}`."""
    said: dict[str, Any] = {} if query is None else {"query": query}
    return json.dumps(said | {"at": at, "answer": answer_items(names, answer)}, ensure_ascii=False)


def final_lines(names: Sequence[str], answer: Counter[Row], query: str | None) -> Iterable[str]:
    """The last answer, one row a line."""
    said: dict[str, Any] = {} if query is None else {"query": query}
    for item in answer_items(names, answer):
        yield json.dumps(said | item, ensure_ascii=False)


def apply(answer: Counter[Row], row: Row, n: int) -> None:
    """Adds a change to an answer."""
    total = answer[row] + n
    if total:
        answer[row] = total
    else:
        del answer[row]
