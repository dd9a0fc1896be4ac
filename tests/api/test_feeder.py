"""A row that is fed causes the changes that it causes when it is pushed."""

from __future__ import annotations

import random
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.api.test_run import BELOW, DDL, PAIRS, PASSED, TIMED, UNBOUNDED

import millpond as mp
from millpond.program import LARGEST
from millpond.run import LocalRun
from millpond.run.row_step import RowStep

RANGES = "SELECT s.a FROM s, t WHERE s.b < t.d AND t.d > 10 AND s.b < 20 AND s.a = 10"
QUERIES = [PAIRS, BELOW, PASSED, RANGES, "SELECT s.a, s.b FROM s WHERE s.a IS NULL"]
SHORT = "SELECT s.a FROM s, t WHERE s.a = t.d AND s.a BETWEEN 1 AND 3"

Rows = list[tuple[str, tuple[Any, ...]]]


def some_rows(seed: int, size: int = 300) -> Rows:
    rng = random.Random(seed)

    def value(low: int, high: int) -> int | None:
        return None if rng.random() < 0.05 else rng.randint(low, high)

    found: Rows = []
    for _ in range(size):
        if rng.random() < 0.5:
            found.append(("s", (rng.choice([10, value(0, 25)]), value(-5, 25))))
        else:
            found.append(("t", (rng.randint(0, 25),)))
    return found


def fed(run: mp.Run, rows: Rows) -> list[Any]:
    feeders = {name: run.feeder(name) for name in "st"}
    return [feeders[stream](*row) for stream, row in rows]


def pushed(run: mp.Run, rows: Rows) -> list[Any]:
    return [
        [(tuple(each.row.values()), each.n, each.at) for each in run.push(stream, [row])]
        for stream, row in rows
    ]


def step_of(run: mp.Run) -> RowStep | None:
    return run.feeder("s")._step


@pytest.mark.parametrize("sql", QUERIES)
@pytest.mark.parametrize("compiled", [False, True])
def test_what_is_fed_is_what_is_pushed(
    sql: str, compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = mp.Pond(DDL).query(sql)
    if compiled:  # whatever has been compiled before
        make = RowStep.__init__

        def made(self: RowStep, *arguments: Any) -> None:
            make(self, *arguments)
            self._compiled = True

        monkeypatch.setattr(RowStep, "__init__", made)
    rows = some_rows(1)
    run, other = query.start(keep_answer=True), query.start(keep_answer=True)
    assert step_of(run) is not None or "IS NULL" in sql
    expected = pushed(other, rows)
    assert fed(run, rows) == expected
    assert any(expected)
    assert (run.units(), run.rows) == (other.units(), other.rows)
    assert list(run.answer()) == list(other.answer())


def test_rows_may_be_fed_and_pushed_in_turns(tmp_path: Path) -> None:
    query = mp.Pond(DDL).query(PAIRS)
    rows, rng = some_rows(2), random.Random(2)
    run, found = query.start(), list[Any]()
    for start in range(0, len(rows), 20):
        some = rows[start : start + 20]
        found += fed(run, some) if rng.random() < 0.5 else pushed(run, some)
        if rng.random() < 0.3:
            run.checkpoint(tmp_path)
            run.close()
            run = query.resume(tmp_path)
    run.close()
    assert found == pushed(query.start(), rows)


@pytest.mark.parametrize("compiled", [False, True])
def test_counts_pass_64_bits_in_the_middle_of_a_row(compiled: bool) -> None:
    query = mp.Pond(DDL).query(SHORT)
    runs = query.start(), query.start()
    for run in runs:
        run.push("s", [(1, 1), (2, 1)])
        run.push("t", [(1,), (2,)])
        engine = run._session.run_of(0)
        assert isinstance(engine, LocalRun)
        for store in engine.state.stores:
            store.values[0][0] = LARGEST - 1
    rows: Rows = [
        ("s", (2, 0)),
        ("t", (1,)),
        ("s", (1, 0)),
        ("t", (1,)),
        ("s", (1, 0)),
        ("t", (2,)),
    ]
    step = step_of(runs[0])
    assert step is not None
    feeders = {name: runs[0].feeder(name) for name in "st"}
    for each in feeders.values():
        assert each._step is not None
        each._step._compiled = compiled
    found = [feeders[stream](*row) for stream, row in rows]
    assert found == pushed(runs[1], rows)
    assert max(abs(n) for told in found for _, n, _ in told) > LARGEST - 10
    engine = runs[0]._session.run_of(0)
    assert isinstance(engine, LocalRun)
    assert engine.state.wide


@pytest.mark.parametrize(
    ("row", "code"),
    [
        (("x", 1), "MP304"),
        ((1.0, 1), "MP304"),
        ((True, 1), "MP304"),
        ((51, 1), "MP306"),
        ((1, 2**63), "MP305"),
        ((1,), "MP303"),
        ((1, 2, 3), "MP303"),
    ],
)
def test_a_bad_row_is_refused(row: tuple[Any, ...], code: str) -> None:
    run = mp.Pond(DDL).query(PAIRS).start()
    feed = run.feeder("s")
    with pytest.raises(mp.InputError) as caught:
        feed(*row)
    assert caught.value.diagnostics[0].code == code
    assert run.rows["s"] == 0
    assert feed(1, 2**63 - 1) == []


def test_rows_of_any_query_can_be_fed() -> None:
    run = mp.Pond(TIMED).query("SELECT a FROM s [RANGE 4]").start(**UNBOUNDED)
    feed = run.feeder("s")
    assert feed(1, 5) == []
    assert feed(2, 9) == [((1,), 1, 5)]
    run.end()
    with pytest.raises(mp.InputError, match="MP310"):
        feed(3, 20)
    texts = mp.Pond("CREATE STREAM s (v VARCHAR, m DATE)").query("SELECT m, v FROM s")
    feed = texts.start(**UNBOUNDED).feeder("s")
    assert feed("x", "2013-01-31")[0][0][1] == "x"


def test_an_ended_stream_is_not_fed() -> None:
    run = mp.Pond(DDL).query(PAIRS).start()
    feed = run.feeder("s")
    run.end("s")
    with pytest.raises(mp.InputError, match="MP310"):
        feed(1, 1)


def test_threads_may_feed_at_once() -> None:
    query = mp.Pond(DDL).query(PAIRS)
    rows, run, found = some_rows(3, 2000), query.start(), list[Any]()
    barrier = threading.Barrier(4)

    def feed(place: int) -> None:
        barrier.wait()
        found.extend(fed(run, rows[place::4]))

    threads = [threading.Thread(target=feed, args=(place,)) for place in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    total = Counter[Any]()
    for told in found:
        for row, n, _ in told:
            total[row] += n
    alone = query.start()
    fed(alone, rows)
    assert {tuple(row.values()): n for row, n in alone.answer()} == +total
    assert {tuple(row.values()): n for row, n in run.answer()} == +total
