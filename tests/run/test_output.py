"""Lines of output, and the order of the rows in them."""

from __future__ import annotations

import itertools
import json
import random
from collections import Counter

import pytest

from millpond.run.output import (
    Row,
    answer_items,
    answer_line,
    apply,
    change_line,
    final_lines,
    order_of,
)


def test_rows_are_in_order_of_their_columns_null_first() -> None:
    values = (None, -(10**30), -1, 0, 1, 9, 10, 10**30)
    rows: list[Row] = list(itertools.product(values, values))
    mixed = random.Random(1).sample(rows, len(rows))
    assert sorted(mixed, key=order_of) == rows


@pytest.mark.parametrize(
    ("n", "query", "line"),
    [
        (1, None, '{"op": "+", "row": {"a": 1, "b": null}, "at": 5}'),
        (2, None, '{"op": "+", "row": {"a": 1, "b": null}, "n": 2, "at": 5}'),
        (-1, None, '{"op": "-", "row": {"a": 1, "b": null}, "at": 5}'),
        (-3, "q", '{"query": "q", "op": "-", "row": {"a": 1, "b": null}, "n": 3, "at": 5}'),
        (10**30, None, f'{{"op": "+", "row": {{"a": 1, "b": null}}, "n": {10**30}, "at": 5}}'),
    ],
)
def test_a_change_is_a_line(n: int, query: str | None, line: str) -> None:
    assert change_line(("a", "b"), (1, None), n, 5, query) == line


def test_an_answer_is_a_line_of_rows_in_order_with_their_counts() -> None:
    answer: Counter[Row] = Counter({(2, 1): 1, (None, 3): 10**20, (1, 9): 2})
    items = [
        {"row": {"a": None, "b": 3}, "n": 10**20},
        {"row": {"a": 1, "b": 9}, "n": 2},
        {"row": {"a": 2, "b": 1}, "n": 1},
    ]
    assert answer_items(("a", "b"), answer) == items
    assert json.loads(answer_line(("a", "b"), answer, 7, None)) == {"at": 7, "answer": items}
    assert list(json.loads(answer_line(("a", "b"), answer, 7, "q"))) == ["query", "at", "answer"]
    assert [json.loads(each) for each in final_lines(("a", "b"), answer, None)] == items
    assert all(
        list(json.loads(each)) == ["query", "row", "n"]
        for each in final_lines(("a", "b"), answer, "q")
    )


def test_names_and_text_stand_in_lines_as_they_are() -> None:
    line = change_line(('ä "x"',), (1,), 1, 1, "日本")
    assert line == '{"query": "日本", "op": "+", "row": {"ä \\"x\\"": 1}, "at": 1}'


def test_an_empty_answer_is_a_line_and_no_last_rows() -> None:
    assert answer_line(("a",), Counter(), 1, None) == '{"at": 1, "answer": []}'
    assert list(final_lines(("a",), Counter(), None)) == []


def test_changes_add_up_and_rows_without_a_count_are_gone() -> None:
    answer: Counter[Row] = Counter()
    for n in (2, -1, 3, -4):
        apply(answer, (1,), n)
    apply(answer, (2,), 1)
    assert dict(answer) == {(2,): 1}
