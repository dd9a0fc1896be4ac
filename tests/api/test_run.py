"""A run in Python says what the command line says, whatever its rows come as."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import millpond as mp

DDL = """
CREATE STREAM s (a INT CHECK (a BETWEEN 0 AND 50), b BIGINT);
CREATE STREAM t (d INT NOT NULL);
"""
PAIRS = "SELECT s.a FROM s, t WHERE s.a = t.d AND s.a > 10 AND t.d < 20"
BELOW = "SELECT DISTINCT s.a FROM s, t WHERE s.b < t.d AND s.a BETWEEN 1 AND 5"
PASSED = "SELECT b, a FROM s WHERE a > 10"

Pushed = tuple[str, list[dict[str, Any]]]
Road = Callable[[list[dict[str, Any]]], Any]


def pushes(seed: int, size: int = 30) -> list[Pushed]:
    rng = random.Random(seed)

    def row(stream: str) -> dict[str, Any]:
        if stream == "t":
            return {"d": rng.randint(0, 25)}
        a = None if rng.random() < 0.1 else rng.randint(0, 25)
        return {"a": a, "b": None if rng.random() < 0.1 else rng.randint(-5, 25)}

    found = []
    for _ in range(size):
        stream = rng.choice("st")
        found.append((stream, [row(stream) for _ in range(rng.choice((0, 1, 1, 5, 40)))]))
    return found


def arrow(rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(rows) if rows else pa.table({"d": pa.array([], pa.int64())})


def chunked(rows: list[dict[str, Any]]) -> pa.Table:
    whole = arrow(rows)
    return pa.concat_tables([whole.slice(0, 1), whole.slice(1)])


ROADS: dict[str, Road] = {
    "dicts": list,
    "one by one": lambda rows: (each for each in rows),
    "sequences": lambda rows: [tuple(each.values()) for each in rows],
    "numpy": lambda rows: [
        {name: None if value is None else np.int64(value) for name, value in row.items()}
        for row in rows
    ],
    "arrow": arrow,
    "arrow in chunks": chunked,
    "batch": lambda rows: pa.RecordBatch.from_pylist(rows) if rows else [],
    "polars": lambda rows: pl.DataFrame(rows) if rows else [],
    "small": lambda rows: arrow(rows).cast(
        pa.schema([(name, pa.int8()) for name in arrow(rows).column_names])
    ),
}


def said(changes: mp.Changes) -> list[tuple[tuple[Any, ...], int, int]]:
    return [(tuple(each.row.values()), each.n, each.at) for each in changes]


def through(query: mp.Query, given: Sequence[Pushed], road: Road) -> list[Any]:
    run = query.start(debug=True)
    found = []
    for stream, rows in given:
        if rows or road is list:
            found += said(run.push(stream, road(rows)))
    return found


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("sql", [PAIRS, BELOW, PASSED])
def test_rows_say_the_same_by_every_road(sql: str, road: str) -> None:
    query = mp.Pond(DDL).query(sql)
    for seed in range(3):
        given = pushes(seed)
        expected = through(query, given, list)
        assert expected
        assert through(query, given, ROADS[road]) == expected


@pytest.mark.parametrize("sql", [PAIRS, BELOW])
def test_answers_are_the_changes_added_up(sql: str) -> None:
    query = mp.Pond(DDL).query(sql)
    run, total = query.start(), Counter[Any]()
    for stream, rows in pushes(7):
        for row, n, _ in said(run.push(stream, rows)):
            total[row] += n
        assert {tuple(row.values()): n for row, n in run.answer()} == +total


def test_an_answer_that_nothing_remembers_is_kept_if_asked_for() -> None:
    query = mp.Pond(DDL).query(PASSED)
    with pytest.raises(mp.UserError, match="remembers nothing"):
        query.start().answer()
    run = query.start(keep_answer=True)
    run.push("s", pl.DataFrame({"a": [11, 11, 5], "b": [1, 1, 1]}))
    assert list(run.answer()) == [({"b": 1, "a": 11}, 2)]


# Tables -----------------------------------------------------------------------------------------


def test_a_table_has_the_types_of_the_query() -> None:
    pond = mp.Pond("""
        CREATE STREAM e (i SMALLINT, x DOUBLE, m DECIMAL(6, 2), b BOOLEAN, v VARCHAR, d DATE,
                         at TIMESTAMP, WATERMARK FOR at AS at)
    """)
    run = pond.query("SELECT * FROM e").start(allow_unbounded=True, max_state=1000)
    row = {
        "i": 1, "x": 1.5, "m": Decimal("12.50"), "b": True, "v": "x", "d": date(2013, 1, 31),
        "at": datetime(2013, 1, 31, 5, tzinfo=UTC),
    }  # fmt: skip
    assert not run.push("e", row)
    changes = run.end()
    (change,) = changes
    assert change == (row, 1, row["at"])
    assert changes.table.schema == pa.schema(
        {
            "i": pa.int16(), "x": pa.float64(), "m": pa.decimal128(6, 2), "b": pa.bool_(),
            "v": pa.string(), "d": pa.date32(),
            "at": pa.timestamp("us", "UTC"), "n": pa.int64(), "at_": pa.timestamp("us", "UTC"),
        }
    )  # fmt: skip
    (again,) = changes.to_polars().drop("n", "at_").to_dicts()
    assert again == row
    other = pond.query("SELECT * FROM e").start(allow_unbounded=True, max_state=1000)
    other.push("e", changes.table.drop_columns(["n", "at_"]))
    assert list(other.end()) == [change], "what comes out goes in"


def test_a_frame_of_any_library_takes_changes() -> None:
    run = mp.Pond(DDL).query(PASSED).start()
    changes = run.push("s", [{"a": 11, "b": None}])
    assert pl.DataFrame(changes).to_dicts() == [{"b": None, "a": 11, "n": 1, "at": 1}]
    assert pa.table(changes) == changes.table


def test_a_notebook_gets_a_table_with_nothing_to_run_in_it() -> None:
    pond = mp.Pond("CREATE STREAM s (v VARCHAR)")
    run = pond.query("SELECT v FROM s").start(allow_unbounded=True, max_state=1000)
    changes = run.push("s", [{"v": "<script>"}, *({"v": None} for _ in range(30))])
    html = changes._repr_html_()
    assert "&lt;script&gt;" in html
    assert "<script>" not in html
    assert "<th>n</th><th>at</th>" in html
    assert "and 11 more rows" in html


def test_a_notebook_gets_a_verdict_as_text() -> None:
    html = mp.Pond(DDL).query(BELOW).verdict._repr_html_()
    assert html.startswith("<pre>q1: constant")
    assert "&lt;" in mp.Pond(DDL).query("SELECT b FROM s, t WHERE b < d").verdict._repr_html_()


def test_a_notebook_gets_a_picture_of_a_plan() -> None:
    explained = mp.Pond(DDL).query(PAIRS).explain()
    assert explained._repr_svg_().startswith("<svg")
    assert "keeps a count" in str(explained)


# Bad rows ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bad", "code", "says"),
    [
        ({"a": "x", "b": 1}, "MP304", "row 3: `s.a` is INT"),
        ({"a": 1.5, "b": 1}, "MP304", "row 3: `s.a` is INT"),
        ({"a": 2**40, "b": 1}, "MP305", "row 3: 1099511627776 does not fit in `s.a`"),
        ({"a": 51, "b": 1}, "MP306", "row 3: 51 is outside the CHECK of `s.a`"),
        ({"a": 1}, "MP303", "row 3: a row of `s` lacks column `b`"),
        ({"a": 1, "b": 1, "c": 1}, "MP303", "row 3: stream `s` has no column `c`"),
        (7, "MP303", "row 3: a row of `s` is an object"),
        ((1, 2, 3), "MP303", "row 3: a row of `s` is an object"),
    ],
)
def test_a_bad_row_is_named_and_no_row_is_taken(bad: Any, code: str, says: str) -> None:
    run = mp.Pond(DDL).query(PAIRS).start()
    with pytest.raises(mp.InputError) as caught:
        run.push("s", [{"a": 11, "b": 1}, {"a": 11, "b": 1}, bad])
    (found,) = caught.value.diagnostics
    assert (found.code, found.line, found.file) == (code, None, None)
    assert found.message.startswith(says)
    assert run.units() == 0
    assert said(run.push("t", [{"d": 11}])) == []


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"a": [11, 51], "b": [1, 1]}, "MP306"),
        ({"a": [11, 2**31], "b": [1, 1]}, "MP305"),
        ({"a": [11.0, 11.0], "b": [1, 1]}, "MP304"),
        ({"a": [11, 11]}, "MP303"),
        ({"a": [11, 11], "b": [1, 1], "c": [1, 1]}, "MP303"),
    ],
)
def test_a_bad_frame_is_refused_whole(values: dict[str, Any], code: str) -> None:
    run = mp.Pond(DDL).query(PAIRS).start()
    with pytest.raises(mp.InputError) as caught:
        run.push("s", pl.DataFrame(values))
    assert caught.value.diagnostics[0].code == code
    assert run.units() == 0


def test_null_where_none_may_be_is_found_in_frames_too() -> None:
    run = mp.Pond(DDL).query(PAIRS).start()
    with pytest.raises(mp.InputError, match=r"row 2: `t\.d` is NOT NULL"):
        run.push("t", pa.table({"d": pa.array([1, None])}))


def test_numbers_past_64_bits_in_a_frame_are_named() -> None:
    run = mp.Pond(DDL).query(PAIRS).start()
    with pytest.raises(mp.InputError, match="MP305: row 1"):
        run.push("s", pa.table({"a": pa.array([2**63], pa.uint64()), "b": pa.array([1])}))


def test_unknown_streams_are_named() -> None:
    with pytest.raises(mp.InputError, match="MP302: unknown stream `u`"):
        mp.Pond(DDL).query(PAIRS).start().push("u", [])


def test_rows_that_are_none_are_refused() -> None:
    for rows in (7, "text"):
        with pytest.raises(mp.InputError, match="rows of `s` are dicts or a frame"):
            mp.Pond(DDL).query(PAIRS).start().push("s", rows)


# Queries ----------------------------------------------------------------------------------------


def test_a_query_without_a_bound_is_refused_unless_it_is_allowed() -> None:
    query = mp.Pond(DDL).query("SELECT s.b FROM s, t WHERE s.b = t.d")
    with pytest.raises(mp.RefusedError) as refused:
        query.start()
    assert refused.value.exit_code == 1
    assert any("allow_unbounded=True" in each for each in refused.value.diagnostics[0].helps)
    for wrong in ({"allow_unbounded": True}, {"max_state": 5}):
        with pytest.raises(mp.UserError, match="go together"):
            query.start(**wrong)


def test_a_text_has_one_query() -> None:
    pond = mp.Pond(DDL)
    for text in ("", "CREATE STREAM u (a INT)", f"{PAIRS}; {PAIRS}"):
        with pytest.raises(mp.UserError):
            pond.query(text)
    assert pond.query("CREATE QUERY named AS SELECT a FROM s").name == "named"
    assert pond.query(PAIRS, name="other").verdict.name == "other"
    assert mp.Pond().query("CREATE STREAM u (a INT); SELECT a FROM u").name == "q1"


# Time -------------------------------------------------------------------------------------------

TIMED = """
CREATE STREAM s (a INT, ts BIGINT, WATERMARK FOR ts AS ts - 2);
CREATE STREAM t (b INT, ts BIGINT) WITH (time = 'ts');
"""
UNBOUNDED: dict[str, Any] = {"allow_unbounded": True, "max_state": 10_000}


def test_streams_that_are_pushed_have_a_clock_each() -> None:
    pond = mp.Pond(TIMED)
    late: list[Any] = []
    query = pond.query("SELECT s.a, t.b FROM s [RANGE 10], t [RANGE 10]")
    run = query.start(**UNBOUNDED, on_late=lambda stream, row: late.append((stream, row)))
    assert said(run.push("s", [{"a": 1, "ts": 100}, {"a": 2, "ts": 99}])) == []
    assert said(run.push("t", [{"b": 5, "ts": 99}])) == [], "s may still say 98"
    assert said(run.push("t", [{"b": 6, "ts": 101}])) == []
    assert run.late == 0
    assert said(run.push("s", [{"a": 3, "ts": 103}])) == [
        ((2, 5), 1, 99),
        ((1, 5), 1, 100),
    ]
    assert said(run.push("t", [{"b": 7, "ts": 100}])) == []
    assert (run.late, late) == (1, [("t", {"b": 7, "ts": 100})])
    found = said(run.idle("s"))
    assert found == [], "t says nothing after 101"
    found = said(run.push("t", [{"b": 8, "ts": 105}]))
    assert {((2, 6), 1, 101), ((3, 6), 1, 103)} <= set(found)
    assert run.advance(to=106).table.column("at").to_pylist() == [105, 105, 105]
    assert run.end("s") is not None
    with pytest.raises(mp.InputError, match="MP310"):
        run.push("s", [{"a": 1, "ts": 200}])
    run.end()
    assert {tuple(row.values()) for row, _ in run.answer()} >= {(3, 8)}


def test_time_cannot_be_set_where_there_is_none() -> None:
    run = mp.Pond(DDL).query(PAIRS).start()
    with pytest.raises(mp.UserError, match="no time"):
        run.advance(to=3)
    assert said(run.advance()) == []
    assert said(run.push("s", [{"a": 11, "b": 1}]) or run.push("t", [{"d": 11}])) == [((11,), 1, 3)]


# Failures ---------------------------------------------------------------------------------------


def test_a_run_whose_expression_has_no_value_stops() -> None:
    run = mp.Pond("CREATE STREAM s (b BIGINT)").query("SELECT b * b FROM s").start(**UNBOUNDED)
    with pytest.raises(mp.MillpondError, match="MP309"):
        run.push("s", [{"b": 2}, {"b": 2**40}, {"b": 3}])
    assert run.before_failure is not None
    assert said(run.before_failure) == [((4,), 1, 1)]
    with pytest.raises(mp.MillpondError, match="MP309"):
        run.push("s", [{"b": 2}])


# Threads ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("sql", [PAIRS, BELOW])
def test_pushes_of_several_threads_come_in_some_order(sql: str) -> None:
    query = mp.Pond(DDL).query(sql)
    given = [each for seed in range(4) for each in pushes(seed, 40)]
    run, log = query.start(), list[Any]()
    barrier = threading.Barrier(4)

    def push(place: int) -> None:
        barrier.wait()
        for number, (stream, rows) in enumerate(given[place::4]):
            changes = run.push(stream, pl.DataFrame(rows) if rows and number % 2 else rows)
            log.append(said(changes))

    threads = [threading.Thread(target=push, args=(place,)) for place in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    total = Counter[Any]()
    for changes in log:
        for row, n, _ in changes:
            total[row] += n
    alone = query.start()
    for stream, rows in given:
        alone.push(stream, rows)
    assert {tuple(row.values()): n for row, n in alone.answer()} == +total
