"""What one run commits another goes on with: the changes of both are those of one run."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.api.test_run import BELOW, DDL, PAIRS, PASSED, TIMED, UNBOUNDED, pushes, said

import millpond as mp


@pytest.mark.parametrize("sql", [PAIRS, BELOW, PASSED])
@pytest.mark.parametrize("seed", range(2))
def test_a_run_goes_on_where_another_was(sql: str, seed: int, tmp_path: Path) -> None:
    query = mp.Pond(DDL).query(sql)
    given, rng = pushes(seed), random.Random(seed)
    run = whole = query.start(keep_answer=True)
    expected = [said(whole.push(*each)) for each in given]
    run = query.start(keep_answer=True)
    found = []
    for stream, rows in given:
        if rng.random() < 0.2:
            run.checkpoint(tmp_path)
            run.push(stream, rows)
            run.close()
            run = query.resume(tmp_path, keep_answer=True)
        found.append(said(run.push(stream, pl.DataFrame(rows) if len(rows) > 9 else rows)))
    assert found == expected
    assert list(run.answer()) == list(whole.answer())
    assert run.rows == whole.rows
    run.close()


AGGREGATES = [
    "SELECT a, COUNT(*) AS n, SUM(b) AS total FROM s GROUP BY a",
    "SELECT AVG(b) AS mean, MIN(b) AS least, VAR_SAMP(b) AS spread FROM s",
    "SELECT a, MAX(m) AS most, AVG(m) AS mean, MIN(x) AS least FROM s GROUP BY a",
    "SELECT t.v, COUNT(*) AS n FROM s, t WHERE s.a = t.d GROUP BY t.v",
    "SELECT COUNT(DISTINCT a) AS n, MEDIAN(a) AS middle FROM s",
    "SELECT a, MEDIAN(d) AS middle FROM s, t WHERE a = d GROUP BY a",
    "SELECT DISTINCT v FROM t",
]


@pytest.mark.parametrize("sql", AGGREGATES)
def test_groups_and_values_of_every_type_go_on(sql: str, tmp_path: Path) -> None:
    pond = mp.Pond("""
        CREATE STREAM s (a TINYINT CHECK (a BETWEEN 0 AND 5), b BIGINT, x DOUBLE, m DECIMAL(5, 2));
        CREATE STREAM t (d INT CHECK (d BETWEEN 0 AND 9), v VARCHAR CHECK (v IN ('x', 'y')))
    """)
    query, rng = pond.query(sql), random.Random(1)
    run, whole, changed = query.start(), query.start(), 0
    for number in range(40):
        row: dict[str, Any] = {"d": rng.randint(0, 9), "v": rng.choice(["x", "y", None])}
        stream = rng.choice("st")
        if stream == "s":
            row = {"a": rng.randint(0, 5), "b": rng.choice([None, rng.randint(-9, 2**62)]),
                   "x": rng.random(), "m": f"{rng.randint(0, 99)}.50"}  # fmt: skip
        if number % 9 == 5:
            run.checkpoint(tmp_path)
            run.close()
            run = query.resume(tmp_path)
        expected = said(whole.push(stream, row))
        assert said(run.push(stream, row)) == expected
        changed += len(expected)
    assert changed
    assert list(run.answer()) == list(whole.answer())
    run.close()


def timed_pushes(seed: int) -> list[tuple[str, dict[str, Any]]]:
    rng, now = random.Random(seed), 0
    found: list[tuple[str, dict[str, Any]]] = []
    for _ in range(40):
        now += rng.randint(0, 2)
        stream, column = rng.choice([("s", "a"), ("t", "b")])
        ts = max(0, now - rng.randint(0, 2))
        found.append((stream, {column: rng.randint(0, 3), "ts": ts}))
    return found


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT s.a, t.b FROM s [RANGE 10], t [ROWS 2] WHERE s.a <= t.b",
        "SELECT a, COUNT(*) AS n FROM (SELECT ISTREAM a FROM s [RANGE 4]) [ROWS 3] GROUP BY a",
        "SELECT RSTREAM b FROM t [RANGE 6 SLIDE 3]",
    ],
)
def test_a_timed_run_goes_on_with_its_clocks(sql: str, tmp_path: Path) -> None:
    query = mp.Pond(TIMED).query(sql)
    given = timed_pushes(1)
    whole, run = query.start(**UNBOUNDED), query.start(**UNBOUNDED)
    expected, found = [], []
    for number, (stream, row) in enumerate(given):
        expected.append(said(whole.push(stream, row)))
        if number % 7 == 3:
            run.checkpoint(tmp_path)
            run.close()
            run = query.resume(tmp_path, **UNBOUNDED)
        found.append(said(run.push(stream, row)))
    expected.append(said(whole.end()))
    run.checkpoint(tmp_path)
    run.close()
    run = query.resume(tmp_path, **UNBOUNDED)
    found.append(said(run.end()))
    assert found == expected
    assert any(expected)
    assert (run.late, run.rows) == (whole.late, whole.rows)
    run.checkpoint(tmp_path)
    run.close()
    stream, row = next(each for each in given if f"FROM {each[0]}" in sql)
    with query.resume(tmp_path, **UNBOUNDED) as ended, pytest.raises(mp.InputError, match="MP310"):
        ended.push(stream, row)


def test_a_run_that_would_hold_too_much_is_where_it_was(tmp_path: Path) -> None:
    query = mp.Pond(DDL).query("SELECT s.b FROM s, t WHERE s.b = t.d")
    run = query.start(allow_unbounded=True, max_state=7)
    run.push("s", [{"a": 1, "b": 2}])
    units = run.units()
    with pytest.raises(mp.RefusedError, match="MP407") as refused:
        run.push("s", [{"a": 1, "b": number} for number in range(9)])
    assert refused.value.exit_code == 1
    assert (run.units(), run.rows) == (units, {"s": 1, "t": 0})
    run.checkpoint(tmp_path)
    run.close()
    with query.resume(tmp_path, allow_unbounded=True, max_state=100) as again:
        again.push("s", [{"a": 1, "b": number} for number in range(9)])
        assert [(each.n, each.at) for each in again.push("t", {"d": 2})] == [(2, 11)]


# Refused ----------------------------------------------------------------------------------------


def test_an_edited_query_is_told_what_has_changed(tmp_path: Path) -> None:
    pond = mp.Pond(DDL)
    with pond.query(PAIRS).start() as run:
        run.checkpoint(tmp_path)
    with pytest.raises(mp.UserError, match="MP405") as refused:
        pond.query(PAIRS.replace("d < 20", "d < 21")).resume(tmp_path)
    (note,) = refused.value.diagnostics[0].notes
    assert note == f"query q1 was: {PAIRS}; and is: {PAIRS.replace('d < 20', 'd < 21')}"
    with pytest.raises(mp.UserError, match="MP405") as refused:
        mp.Pond(DDL.replace("50", "60")).query(PAIRS).resume(tmp_path)
    assert "s was: CREATE STREAM s" in "".join(refused.value.diagnostics[0].notes)
    pond.query("select s.a from s join t on s.a = t.d where s.a > 10 AND t.d < 20").resume(
        tmp_path
    ).close()


def test_there_has_to_be_something_to_go_on_from(tmp_path: Path) -> None:
    query = mp.Pond(DDL).query(PAIRS)
    with pytest.raises(mp.UserError, match="nothing to go on from"):
        query.resume(tmp_path / "none")


def test_commits_of_another_run_are_left_alone(tmp_path: Path) -> None:
    query = mp.Pond(DDL).query(PAIRS)
    with query.start() as run:
        run.checkpoint(tmp_path)
        other = query.start()
        with pytest.raises(mp.UserError, match="in use by another run"):
            other.checkpoint(tmp_path)
    with pytest.raises(mp.UserError, match="the commits of another run"):
        other.checkpoint(tmp_path)
    with pytest.raises(mp.UserError, match="in use by another run"), query.resume(tmp_path):
        query.resume(tmp_path)


def test_an_answer_that_was_not_kept_is_not_there(tmp_path: Path) -> None:
    query = mp.Pond(DDL).query(PASSED)
    with query.start() as run:
        run.checkpoint(tmp_path)
    with pytest.raises(mp.UserError, match="has no answer"):
        query.resume(tmp_path, keep_answer=True)
    query.resume(tmp_path).close()


def test_a_limit_holds_for_frames_and_feeders_too() -> None:
    query = mp.Pond(DDL).query(PAIRS)
    for push in (
        lambda run: run.push("s", pl.DataFrame({"a": [11, 12, 13], "b": [1, 1, 1]})),
        lambda run: [run.feeder("s")(a, 1) for a in (11, 12, 13)],
    ):
        run = query.start(allow_unbounded=True, max_state=2)
        with pytest.raises(mp.RefusedError, match="MP407"):
            push(run)
        assert run.units() <= 2
