"""The contract's output: JSON lines of changes, answers, or the last answer.

A run tells what happens by a `Teller`: one for each query, made by whatever the output goes to.
`Printer` tells it in lines; rows are sorted, so that two runs print the same bytes.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol, TypeVar

from millpond.plan import Query
from millpond.run.event import Op
from millpond.run.values import order_key, row_text, time_text
from millpond.schema import Row, Stream, Type

Said = TypeVar("Said")


class Teller(Protocol[Said]):
    """Says what a query's changes and answers are, in the terms of where they go."""

    def changes(self, at: int, changes: Iterable[tuple[Row, int]]) -> list[Said]:
        """The changes of an instant, one for each row, in any order."""
        ...

    def answer(self, at: int, answer: Mapping[Row, int]) -> Said:
        """The answer at an instant."""
        ...

    def final(self, answer: Mapping[Row, int]) -> list[Said]:
        """The last answer."""
        ...


class Printer:
    """Says a query's changes and answers in JSON lines; `several` queries go by their names."""

    def __init__(self, query: Query, several: bool) -> None:
        fields = query.fields
        self._row = row_text((each.name for each in fields), (each.type for each in fields))
        self._at = time_text(query.time_type)
        name = json.dumps(query.name, ensure_ascii=False)
        self._head = f'{{"query": {name}, ' if several else "{"

    def changes(self, at: int, changes: Iterable[tuple[Row, int]]) -> list[str]:
        """`{"op": "+", "row": {"a": 11}, "n": 2, "at": 5}`: all - before all +, each in order."""
        end = f', "at": {self._at(at)}}}'
        return [
            f'{self._head}"op": "{"+" if n > 0 else "-"}", "row": {self._row(row)}'
            + (f', "n": {abs(n)}' if abs(n) != 1 else "")
            + end
            for row, n in sorted(changes, key=change_order)
        ]

    def answer(self, at: int, answer: Mapping[Row, int]) -> str:
        """`{"at": 5, "answer": [{"row": {...}, "n": 1}, ...]}`."""
        items = ", ".join(f"{{{item}}}" for item in self._items(answer))
        return f'{self._head}"at": {self._at(at)}, "answer": [{items}]}}'

    def final(self, answer: Mapping[Row, int]) -> list[str]:
        """`{"row": {...}, "n": 1}`, one row a line."""
        return [f"{self._head}{item}}}" for item in self._items(answer)]

    def _items(self, answer: Mapping[Row, int]) -> Iterator[str]:
        for row in sorted(answer, key=order_key):
            yield f'"row": {self._row(row)}, "n": {answer[row]}'


def tagged_line(
    stream: Stream,
    row: Row,
    op: Op = Op.INSERT,
    at: int | None = None,
    time_type: Type | None = None,
) -> str:
    """A row, or a change of a table, as the line of tagged input that says it."""
    said = row_text(stream.names, (each.type for each in stream.columns))(row)
    line = f"{{{json.dumps(stream.name, ensure_ascii=False)}: {said}"
    if op is Op.DELETE:
        line += ', "@op": "delete"'
    if at is not None:
        line += f', "@at": {time_text(time_type)(at)}'
    return line + "}"


def change_order(change: tuple[Row, int]) -> tuple[bool, object]:
    """Changes of an instant sort all - before all +, and then as rows do."""
    row, n = change
    return n > 0, order_key(row)


def apply(answer: Counter[Row], row: Row, n: int) -> None:
    """Adds a change to an answer."""
    total = answer[row] + n
    if total:
        answer[row] = total
    else:
        del answer[row]
