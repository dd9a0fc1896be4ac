"""A session that goes on from a snapshot, or from a commit, says what it would have said.

Every kind of plan is among the queries, so that whatever one holds has to be in the snapshot.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from millpond.diagnostic import UserError
from millpond.language import read_script
from millpond.memory import verdict_of
from millpond.program.codec import write_file
from millpond.run import DefinitionRun, Emit, Event, LocalRun, Op, Printer, Session
from millpond.run.admission import admitted
from millpond.run.checkpoint import Checkpoint
from millpond.run.checkpoint_files import Runs
from millpond.run.plain_json import promises_json, promises_of
from millpond.run.promises import Promises
from millpond.run.rows_file import read_rows, rows_content
from millpond.run.values import BadRowError
from millpond.schema import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    HUGEINT,
    NULL,
    TIMESTAMP,
    VARCHAR,
    Catalog,
    Row,
    decimal,
)

DDL = """
CREATE STREAM s (a INT, x DECIMAL(6, 2), ts BIGINT, WATERMARK FOR ts AS ts - 2);
CREATE STREAM t (d INT, v VARCHAR, ts BIGINT) WITH (time = 'ts');
CREATE FINITE STREAM f (a INT, ts BIGINT) WITH (time = 'ts', until = 60);
CREATE TABLE r (k INT, m DECIMAL(6, 2));
CREATE TABLE n (k INT) WITH (retroactive = false);
"""
TIMED = {
    "joined": "SELECT s.x, t.v FROM s [RANGE 6], t [ROWS 3] WHERE s.a >= t.d",
    "slides": "SELECT a, COUNT(*) AS n FROM s [RANGE 8 SLIDE 4] GROUP BY a",
    "rows": "SELECT d FROM t [PARTITION BY d ROWS 3 SLIDE 2]",
    "given": "SELECT ISTREAM k, COUNT(*) AS n FROM s [RANGE 8 SLIDE 4], r WHERE a = k GROUP BY k",
    "restored": "SELECT ISTREAM_RESTORE d FROM t [RANGE 6 SLIDE 3]",
    "gone": "SELECT DSTREAM a FROM s [RANGE 3]",
    "all": "SELECT RSTREAM d FROM t [RANGE 6 SLIDE 3]",
    "nested": "SELECT COUNT(*) AS n FROM (SELECT ISTREAM a FROM s [RANGE 3]) [ROWS 4]",
    "deeper": "SELECT SUM(n) AS n FROM (SELECT ISTREAM COUNT(*) AS n FROM "
    "(SELECT DSTREAM d FROM t [RANGE 2]) [ROWS 3]) [RANGE 9]",
    "tumbles": "SELECT window_start, COUNT(*) AS n FROM TUMBLE(TABLE s, DESCRIPTOR(ts), 5) "
    "GROUP BY window_start",
    "hops": "SELECT window_end, SUM(d) AS n FROM HOP(TABLE t, DESCRIPTOR(ts), 2, 6) "
    "GROUP BY window_end",
    "sessions": "SELECT a, window_start, window_end FROM "
    "SESSION(TABLE s PARTITION BY a, DESCRIPTOR(ts), 4)",
    "padded": "SELECT s.a, t.v FROM s [RANGE 6] LEFT JOIN t [RANGE 6] ON s.a = t.d",
    "without": "SELECT a FROM s [RANGE 6] EXCEPT SELECT d FROM t [RANGE 6]",
    "unless": "SELECT a FROM s [RANGE 6] WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.k = s.a)",
    "at_the_time": "SELECT s.a FROM s [RANGE 9], n WHERE s.a = n.k",
    "mean": "SELECT AVG(x) AS x, MEDIAN(a) AS m FROM s [ROWS 5]",
    "passed": "SELECT a, x FROM s WHERE a > 1",
    "finite": "SELECT a FROM f WHERE a > 0",
}
UNTIMED = """
CREATE STREAM s (a INT, x DECIMAL(6, 2)); CREATE STREAM t (d INT, v VARCHAR);
CREATE STREAM f (a INT); CREATE TABLE r (k INT, m DECIMAL(6, 2)); CREATE TABLE n (k INT);
CREATE QUERY pairs AS SELECT s.a FROM s, t WHERE s.a = t.d AND s.a BETWEEN 0 AND 4;
CREATE QUERY grouped AS SELECT a, COUNT(*) AS n, MAX(x) AS x FROM s WHERE a BETWEEN 0 AND 4 GROUP BY a;
CREATE QUERY last AS SELECT x FROM s [ROWS 3];
CREATE QUERY held AS SELECT s.x, m FROM s, r WHERE a = k;
"""  # noqa: E501


Make = Callable[[], tuple[Session, Catalog, Runs]]


def whole(make: Make, events: list[Event]) -> list[str]:
    session, _, _ = make()
    said = [line for event in events for line in session.advance([event])]
    return said + session.finish()


def timed_events(rng: random.Random, size: int, *, timed: bool = True) -> Iterator[Event]:
    now, held = 0, list[Row]()
    for line in range(1, size + 1):
        now += rng.choice([0, 0, 1, 2])
        ts = (max(0, now - rng.choice([0, 0, 1, 5])),) if timed else ()
        a = rng.randint(0, 4)
        amount = rng.choice([None, Decimal(f"{rng.randint(0, 9)}.50")])
        match rng.choice("sssttttfrrn!e") if line > 5 else rng.choice("rn"):
            case "s":
                yield Event("s", (a, amount, *ts), line)
            case "t":
                yield Event("t", (a, rng.choice(["x", "ü", "", None]), *ts), line)
            case "f":
                yield Event("f", (a, *ts), line)
            case "n":
                yield Event("n", (a,), line)
            case "r" if held and rng.random() < 0.3:
                yield Event("r", held.pop(), line, Op.DELETE)
            case "r":
                held.append((a, amount))
                yield Event("r", held[-1], line)
            case "!" if timed:
                yield Event(None, (), line, Op.TIME, now + rng.choice([-4, -4, 2]))
            case "e" if timed and rng.random() < 0.2:
                yield Event("f", (), line, Op.END, 60)
            case _ if not timed:
                yield Event(None, (), line, Op.TICK)


def maker(text: str, emit: Emit, *, separate: bool, by_definition: bool = True) -> Make:
    script = read_script(text)
    several = len(script.queries) > 1

    def make() -> tuple[Session, Catalog, Runs]:
        runs: list[LocalRun | DefinitionRun] = [
            admitted(
                query, None if by_definition else verdict_of(query), every=emit is Emit.ANSWERS
            )
            for query in script.queries
        ]
        tellers = [Printer(query, several) for query in script.queries]
        session = Session(
            script.catalog,
            zip(script.queries, runs, tellers, strict=True),
            emit,
            separate=separate,
        )
        return session, script.catalog, list(zip(script.queries, runs, strict=True))

    return make


def goes_on(make: Make, events: list[Event], folder: Path, rng: random.Random) -> list[str]:
    """What is said by sessions each of which goes on where the last one was."""
    session, catalog, runs = make()
    said: list[str] = []
    checkpoint = Checkpoint(folder, catalog, runs)
    assert checkpoint.open(session) is None
    for number, event in enumerate(events):
        said += session.advance([event])
        if rng.random() < 0.3:
            kept = session.snapshot()
            session, _, _ = make()
            session.restore(kept)
        elif rng.random() < 0.15:
            checkpoint.commit(session, {"events": number})
            checkpoint.close()
            session, catalog, runs = make()
            checkpoint = Checkpoint(folder, catalog, runs)
            assert checkpoint.open(session) == {"events": number}
    checkpoint.close()
    return said + session.finish()


@pytest.mark.parametrize("emit", [Emit.CHANGES, Emit.ANSWERS])
@pytest.mark.parametrize("separate", [False, True])
def test_every_kind_of_timed_plan_goes_on(emit: Emit, separate: bool, tmp_path: Path) -> None:
    text = DDL + "".join(f"CREATE QUERY {name} AS {sql};" for name, sql in TIMED.items())
    for seed in range(2):
        make = maker(text, emit, separate=separate)
        events = list(timed_events(random.Random(seed), 40))
        expected = whole(make, events)
        rng = random.Random(seed)
        assert goes_on(make, events, tmp_path / f"{seed}", rng) == expected
        assert len({line.partition(",")[0] for line in expected}) > len(TIMED) - 4


@pytest.mark.parametrize("emit", [Emit.CHANGES, Emit.FINAL])
@pytest.mark.parametrize("by_definition", [False, True])
def test_untimed_plans_go_on(emit: Emit, by_definition: bool, tmp_path: Path) -> None:
    make = maker(UNTIMED, emit, separate=False, by_definition=by_definition)
    events = list(timed_events(random.Random(1), 60, timed=False))
    expected = whole(make, events)
    assert goes_on(make, events, tmp_path / "state", random.Random(1)) == expected
    assert len({line.partition(",")[0] for line in expected}) == 4


def test_nothing_that_a_snapshot_holds_changes_when_the_session_goes_on() -> None:
    make = maker(UNTIMED, Emit.CHANGES, separate=False, by_definition=False)
    events = list(timed_events(random.Random(2), 60, timed=False))
    session = make()[0]
    for event in events[:30]:
        session.advance([event])
    kept = session.snapshot()
    expected = [line for event in events[30:] for line in session.advance([event])]
    for _ in range(2):
        session.restore(kept)
        assert [line for event in events[30:] for line in session.advance([event])] == expected


# Files ------------------------------------------------------------------------------------------

VALUES: dict[Any, list[Any]] = {
    BIGINT: [0, -(2**63), 2**63 - 1, None],
    HUGEINT: [0, 2**63, -(10**40), None],
    decimal(6, 2): [Decimal("12.50"), Decimal("0"), Decimal("-1"), None],
    DOUBLE: [0.1, -1e308, 5e-324, None],
    BOOLEAN: [True, False, True, None],
    VARCHAR: ["", "ü\n\0", "x" * 1000, None],
    DATE: [0, -719_162, 2_932_896, None],
    TIMESTAMP: [0, -(10**20), 10**17, None],
    NULL: [None, None, None, None],
}


def test_rows_come_back_as_they_were_written() -> None:
    types = list(VALUES)
    rows: list[Row] = list(zip(*VALUES.values(), strict=True))
    content = rows_content(types, rows, n=[1, -1, 2**70, 0], at=[1, None, 3, 4])
    again, (n, at) = read_rows(types, content, "n", "at")
    assert again == rows
    assert [list(map(type, row)) for row in again] == [list(map(type, row)) for row in rows]
    assert (n, at) == ([1, -1, 2**70, 0], [1, None, 3, 4])


@pytest.mark.parametrize("size", [0, 3])
def test_rows_of_no_column_are_counted(size: int) -> None:
    assert read_rows([], rows_content([], [()] * size)) == ([()] * size, [])
    assert read_rows([BIGINT], rows_content([BIGINT], [])) == ([], [])


def test_other_columns_are_no_rows_of_ours() -> None:
    content = rows_content([BIGINT], [(1,)], at=[1])
    for types, beside in (([BIGINT, BIGINT], ("at",)), ([BIGINT], ()), ([BIGINT], ("n",))):
        with pytest.raises(ValueError, match="other columns"):
            read_rows(types, content, *beside)


def test_promises_come_back_as_they_were_made() -> None:
    script = read_script("""
        CREATE STREAM s (a INT, x DECIMAL(6, 2), ts BIGINT)
            WITH (time = 'ts', rows_per_instant = 2);
        CREATE TABLE r (k INT, m DECIMAL(6, 2)); SELECT a FROM s
    """)
    s, r = script.catalog
    promises = Promises(script.catalog)
    promises.change(r, (1, Decimal("2.50")), deleted=False)
    promises.arrive(s, (1, None, 5))
    promises.promise(s, {0: 7, 1: Decimal("1.50")})
    again = Promises(script.catalog)
    again.restore(promises_of(script.catalog, promises_json(promises.snapshot())))
    for each in (promises, again):
        before = each.snapshot()
        each.arrive(s, (1, None, 5))
        for row in ((1, None, 5), (7, Decimal("1.50"), 6)):
            with pytest.raises(BadRowError):
                each.arrive(s, row)
        with pytest.raises(BadRowError):
            each.change(r, (2, None), deleted=True)
        each.change(r, (1, Decimal("2.50")), deleted=True)
        each.restore(before)
        each.arrive(s, (1, None, 5))


def test_what_is_listed_and_not_there_is_refused(tmp_path: Path) -> None:
    make = maker(UNTIMED, Emit.CHANGES, separate=False)
    session, catalog, runs = make()
    checkpoint = Checkpoint(tmp_path, catalog, runs)
    checkpoint.open(session)
    checkpoint.commit(session, {})
    checkpoint.close()
    (file,) = (tmp_path / "commits").glob("*/query-0/log-0.arrow")
    write_file(file, rows_content([BIGINT], [(1,)]))
    with pytest.raises(UserError, match="MP405"):
        Checkpoint(tmp_path, catalog, runs).open(session)
