"""Lines of output, and the order of the rows in them."""

from __future__ import annotations

import io
import json
import random
from collections import Counter
from decimal import Decimal

import pytest

from millpond.diagnostic import Source, Span
from millpond.plan import Query, Scan
from millpond.run.event import Event, Op
from millpond.run.ingest import TaggedReader
from millpond.run.output import Printer, apply, tagged_line
from millpond.schema import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    HUGEINT,
    INT,
    TIMESTAMP,
    VARCHAR,
    Catalog,
    Column,
    Form,
    Row,
    Stream,
    Time,
    Type,
    decimal,
)


def query(time: Type | None = None, name: str = "q", **columns: Type) -> Query:
    """Everything of a stream with these columns."""
    made = tuple(Column(each, kind) for each, kind in columns.items())
    if time is not None:
        made = (*made, Column("ts", time))
    stream = Stream("s", made, time=None if time is None else Time("ts"))
    text = Source("q.sql", "SELECT * FROM s")
    return Query(name, Scan(stream, "s"), Span(text, 0, 15))


AB = query(a=INT, b=INT)


@pytest.mark.parametrize(
    ("n", "several", "line"),
    [
        (1, False, '{"op": "+", "row": {"a": 1, "b": null}, "at": 5}'),
        (2, False, '{"op": "+", "row": {"a": 1, "b": null}, "n": 2, "at": 5}'),
        (-1, False, '{"op": "-", "row": {"a": 1, "b": null}, "at": 5}'),
        (-3, True, '{"query": "q", "op": "-", "row": {"a": 1, "b": null}, "n": 3, "at": 5}'),
        (10**30, False, f'{{"op": "+", "row": {{"a": 1, "b": null}}, "n": {10**30}, "at": 5}}'),
    ],
)
def test_a_change_is_a_line(n: int, several: bool, line: str) -> None:
    assert Printer(AB, several).changes(5, [((1, None), n)]) == [line]


def test_changes_of_an_instant_are_all_minus_and_then_all_plus_each_in_order() -> None:
    rows: list[tuple[Row, int]] = [
        ((a, b), n) for n in (-1, 1) for a in (None, -1, 0, 10) for b in (None, 2, 9)
    ]
    lines = Printer(AB, False).changes(1, random.Random(1).sample(rows, len(rows)))
    found = [json.loads(each) for each in lines]
    assert [((*each["row"].values(),), 1 if each["op"] == "+" else -1) for each in found] == rows


def test_an_answer_is_a_line_of_rows_in_order_with_their_counts() -> None:
    answer: Counter[Row] = Counter({(2, 1): 1, (None, 3): 10**20, (1, 9): 2})
    items = [
        {"row": {"a": None, "b": 3}, "n": 10**20},
        {"row": {"a": 1, "b": 9}, "n": 2},
        {"row": {"a": 2, "b": 1}, "n": 1},
    ]
    alone, one_of_several = Printer(AB, False), Printer(AB, True)
    assert json.loads(alone.answer(7, answer)) == {"at": 7, "answer": items}
    assert alone.answer(7, answer) == json.dumps({"at": 7, "answer": items})
    assert list(json.loads(one_of_several.answer(7, answer))) == ["query", "at", "answer"]
    assert alone.final(answer) == [json.dumps(each) for each in items]
    assert one_of_several.final(answer) == [json.dumps({"query": "q"} | each) for each in items]


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        (HUGEINT, 10**40, str(10**40)),
        (decimal(9, 3), Decimal("1.5"), '"1.500"'),
        (decimal(38, 2), Decimal("-0.00"), '"0.00"'),
        (DOUBLE, 1e16, "1e+16"),
        (DOUBLE, -0.0, "0.0"),
        (DOUBLE, 1 / 3, "0.3333333333333333"),
        (BOOLEAN, True, "true"),
        (DATE, 0, '"1970-01-01"'),
        (TIMESTAMP, 1_357_016_400_000_000, '"2013-01-01T05:00:00Z"'),
        (VARCHAR, 'ä "b"\n', '"ä \\"b\\"\\n"'),
    ],
)
def test_values_are_said_by_their_types(kind: Type, value: object, said: str) -> None:
    (line,) = Printer(query(v=kind), False).final({(value,): 1})  # type: ignore[dict-item]
    assert line == f'{{"row": {{"v": {said}}}, "n": 1}}'


@pytest.mark.parametrize(
    ("time", "at", "said"),
    [
        (None, 5, "5"),
        (BIGINT, -5, "-5"),
        (TIMESTAMP, 1_500_000, '"1970-01-01T00:00:01.500000Z"'),
        (DATE, 1, '"1970-01-02"'),
    ],
)
def test_an_instant_is_said_as_the_time_column_is(time: Type | None, at: int, said: str) -> None:
    printer = Printer(query(time), False)
    row: Row = () if time is None else (at,)
    assert printer.changes(at, [(row, 1)])[0].endswith(f'"at": {said}}}')
    assert printer.answer(at, {}) == f'{{"at": {said}, "answer": []}}'


def test_names_and_text_stand_in_lines_as_they_are() -> None:
    made = query(None, "日本", **{'ä "x"': INT})
    (line,) = Printer(made, True).changes(1, [((1,), 1)])
    assert line == '{"query": "日本", "op": "+", "row": {"ä \\"x\\"": 1}, "at": 1}'


def test_an_empty_answer_is_a_line_and_no_last_rows() -> None:
    assert Printer(AB, False).answer(1, {}) == '{"at": 1, "answer": []}'
    assert Printer(AB, False).final({}) == []


def test_changes_add_up_and_rows_without_a_count_are_gone() -> None:
    answer: Counter[Row] = Counter()
    for n in (2, -1, 3, -4):
        apply(answer, (1,), n)
    apply(answer, (2,), 1)
    assert dict(answer) == {(2,): 1}


def test_a_tagged_line_is_read_as_the_event_that_it_was() -> None:
    catalog = Catalog()
    s = Stream("s", (Column("v", decimal(4, 2)), Column("ts", TIMESTAMP)), time=Time("ts"))
    r = Stream('r "ä"', (Column("k", INT), Column("w", VARCHAR)), form=Form.TABLE)
    catalog.add(s)
    catalog.add(r)
    events = [
        Event(r.name, (None, "x"), 1),
        Event(s.name, (Decimal("1.50"), 1_000_001), 2),
        Event(r.name, (None, "x"), 3, Op.DELETE, 7),
        Event(r.name, (1, ""), 4, Op.INSERT, 1_000_000),
    ]
    streams = {each.name: each for each in (s, r)}
    text = "\n".join(
        tagged_line(streams[each.stream or ""], each.row, each.op, each.at, TIMESTAMP)
        for each in events
    )
    (found,) = TaggedReader(catalog, "rows").chunks(io.BytesIO(text.encode() + b"\n"))
    assert found == events
