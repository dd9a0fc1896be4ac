"""Programs of queries over columns of every type say what their definitions and DuckDB say."""

from __future__ import annotations

import random
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

import pytest
from tests.run.typed_runs import MOST_UNITS, agrees, by_definition
from tests.strategies.typed import Row, Typed, random_row, random_typed

from millpond.language import read_script
from millpond.memory import verdict_of
from millpond.plan import Script
from millpond.program import Program, laws
from millpond.program.codec import read_state, write_state
from millpond.run import (
    Arrivals,
    DefinitionRun,
    Emit,
    Event,
    LocalRun,
    Lowering,
    Op,
    Printer,
    Session,
)
from millpond.run.bulk import BulkLowering
from millpond.run.tick import TickLowering
from millpond.synopsis import program_of


def programs(seeds: range) -> list[Program]:
    return [found for seed in seeds if (found := agrees(seed)) is not None]


def test_random_queries_of_every_type_keep_every_law_and_agree_with_duckdb() -> None:
    found = programs(range(150))
    assert len(found) > 80
    assert any(not each.whole for each in found), "places that are no integers"
    assert any(each.tables for each in found), "keys that stand for values in a table"
    assert any(each.row_set for each in found), "rows that are told apart behind the steps"
    assert any(len(each.joins) > 1 for each in found), "several parts"


@pytest.mark.parametrize(
    "seed", [pytest.param(12_090, id="whole numbers one apart on a line with DOUBLEs")]
)
def test_a_query_that_was_run_wrong(seed: int) -> None:
    assert agrees(seed) is not None


@pytest.mark.heavy
@pytest.mark.parametrize("start", range(10_000, 18_000, 1_000))
def test_8000_random_queries_of_every_type_agree_with_duckdb(start: int) -> None:
    assert len(programs(range(start, start + 1_000))) > 500


@pytest.mark.heavy
def test_compiled_steps_of_typed_queries_agree_with_duckdb() -> None:
    found = [each for seed in range(20_000, 20_080) if (each := agrees(seed, compile_it=True))]
    assert len(found) > 40


# Regressions --------------------------------------------------------------------------------------

REGRESSIONS: dict[str, tuple[str, list[tuple[str, Row]]]] = {
    "a BIGINT that is counted in hundredths passes 64 bits": (
        "CREATE STREAM s (a DECIMAL(7, 2), b BIGINT); CREATE STREAM t (d TINYINT);"
        "SELECT d, a FROM s, t WHERE a < b AND a BETWEEN 0 AND 1",
        [("t", (1,)), *(("s", (Decimal("0.50"), b)) for b in (2**63 - 1, -(2**63), 0, 1))],
    ),
    "an extreme of numbers past 64 bits": (
        "CREATE STREAM s (a DECIMAL(30, 2)); CREATE STREAM t (d DECIMAL(30, 2));"
        "SELECT DISTINCT 1 FROM s, t WHERE a < d",
        [("s", (Decimal(10**25),)), ("t", (Decimal(10**25),)), ("t", (Decimal(10**26),))],
    ),
    "a DECIMAL that equals an integer has fewer values than places": (
        "CREATE STREAM s (a BIGINT); CREATE STREAM t (d DECIMAL(5, 1) CHECK (d BETWEEN 0 AND 2));"
        "SELECT a FROM s, t WHERE a = d",
        [("s", (1,)), *(("t", (Decimal(d),)) for d in ("0.5", "1.0", "1.5", "0.0"))],
    ),
    "the set of rows given has gaps": (
        "CREATE STREAM s (a INT); SELECT DISTINCT a FROM s WHERE a IN (0, 2000000000)",
        [("s", (a,)) for a in (0, 1, 2_000_000_000, 2_000_000_000, 0)],
    ),
    "both sides of a comparison are clamped": (
        "CREATE STREAM s (a INT); CREATE STREAM u (i DOUBLE CHECK (i BETWEEN 0 AND 2));"
        "SELECT 1 FROM s, u WHERE i < a",
        [("u", (2.0,)), ("s", (3,)), ("s", (2,)), ("u", (1.5,)), ("s", (2**31 - 1,))],
    ),
    "a DOUBLE between the integers that it is compared with": (
        "CREATE STREAM u (a INT, i DOUBLE CHECK (i BETWEEN 0 AND 2)); SELECT a FROM u WHERE i = a",
        [("u", (0, 0.5)), ("u", (1, 1.0)), ("u", (2, -0.0 + 2))],
    ),
    "a row that arrives is compared with what is the same for all rows of another part": (
        "CREATE STREAM s (a DECIMAL(5, 1) NOT NULL); CREATE STREAM u (g INT);"
        "CREATE STREAM t (d BIGINT CHECK (d BETWEEN 0 AND 2), e INT);"
        "SELECT DISTINCT t.d FROM s, t, u WHERE s.a <= u.g AND u.g > 0 AND t.d < u.g "
        "AND t.e + 1 <= s.a AND t.e <> u.g AND s.a < 1.5",
        [("t", (1, 0)), ("u", (3,)), ("s", (Decimal("0.0"),)), ("s", (Decimal("1.0"),))],
    ),
    "no text lies at a number": (
        "CREATE STREAM s (a VARCHAR, b TINYINT); CREATE STREAM t (e VARCHAR, f DECIMAL(5, 1));"
        "SELECT b FROM s, t WHERE e <> a AND a IN ('a', 'ba') AND b <> f AND e BETWEEN '' AND 'ba' "
        "AND f IN (0.5, 1.5)",
        [("t", ("aa", Decimal("0.5"))), ("s", ("ba", -1)), ("t", ("b", Decimal("1.5")))],
    ),
    "the places of buckets pass 64 bits": (
        "CREATE STREAM s (a BIGINT, b BIGINT); CREATE STREAM t (d INT);"
        "SELECT a, b FROM s, t WHERE a BETWEEN 0 AND 9000000000000000000 "
        "AND b BETWEEN 0 AND 9000000000000000000 AND d = 1",
        [("t", (1,)), ("s", (2**62, 2**62 + 1)), ("s", (7, 2**62)), ("s", (2**62, 2**62 + 1))] * 40,
    ),
    "a row of two equal columns has its place past 64 bits": (
        "CREATE STREAM s (a INT); CREATE STREAM t (d BIGINT);"
        "SELECT DISTINCT d AS x, d AS y FROM s, t WHERE a <> d AND a BETWEEN 0 AND 5 "
        "AND d IN (0, 9007199254740993)",
        [("t", (9007199254740993,)), ("s", (0,)), ("t", (0,)), ("s", (3,))],
    ),
    "NULL is a value of a key": (
        "CREATE STREAM s (k ENUM('x', 'y')); CREATE STREAM t (d INT);"
        "SELECT k FROM s, t WHERE d = 1",
        [("s", (None,)), ("s", ("y",)), ("t", (1,)), ("s", (None,)), ("t", (2,))],
    ),
}


@pytest.mark.parametrize("name", REGRESSIONS)
def test_what_went_wrong_once(name: str) -> None:
    text, rows = REGRESSIONS[name]
    script = read_script(text)
    query = script.queries[0]
    program = program_of(query, verdict_of(query))
    arrivals = Arrivals(script.catalog)
    for at, (stream, row) in enumerate(rows, 1):
        arrivals.add(stream, row, at)
    expected = by_definition(query, arrivals)
    assert expected, "something comes out"
    for lowering in (TickLowering(program, compiled=False), BulkLowering(program)):
        batch = arrivals.batch(program)
        assert laws.run(lowering, batch, [2]) == expected
        laws.all_laws(lowering, batch, [3])


# Timed streams ------------------------------------------------------------------------------------


def timed_case(seed: int) -> tuple[Typed, Script, list[Event]] | None:
    """A random bounded query over timed streams, and rows that come a little out of order."""
    rng = random.Random(seed)
    text = random_typed(rng, timed=True)
    script = read_script(text.text)
    verdict = verdict_of(script.queries[0])
    if not verdict.runs or (verdict.units or 0) > MOST_UNITS:
        return None
    streams = [each.name for each in script.catalog]
    events, now = [], 0
    for line in range(1, rng.randint(2, 40)):
        now += rng.choice((0, 0, 1, 2))
        stream = rng.choice(streams)
        row = random_row(rng, text, stream, max(0, now - rng.choice((0, 0, 0, 1))))
        events.append(Event(stream, row, line, Op.INSERT))
    return text, script, events


def said(
    script: Script, events: Sequence[Event], emit: Emit, cuts: Sequence[int], *, slow: bool
) -> list[str]:
    """What a session prints, its input cut into pieces."""
    query = script.queries[0]
    run: LocalRun | DefinitionRun
    if slow:
        run = DefinitionRun(query, every=emit is Emit.ANSWERS)
    else:
        run = LocalRun(program_of(query, verdict_of(query)), lowering=Lowering.PLAIN, debug=True)
    session = Session(script.catalog, [(query, run, Printer(query, several=False))], emit)
    found: list[str] = []
    ends = [*sorted(cuts), len(events)]
    for start, end in zip([0, *ends], ends, strict=False):
        found += session.advance(events[start:end])
    return found + session.finish()


def timed_agrees(seed: int) -> bool:
    case = timed_case(seed)
    if case is None:
        return False
    text, script, events = case
    rng = random.Random(seed)
    try:
        for emit in Emit:
            expected = said(script, events, emit, [], slow=True)
            for _ in range(2):
                cuts = [rng.randint(0, len(events)) for _ in range(rng.randint(0, 4))]
                assert said(script, events, emit, cuts, slow=False) == expected, emit
    except BaseException as error:
        error.add_note(f"seed {seed}:\n{text.text}")
        raise
    return True


def test_programs_over_timed_streams_say_what_their_definitions_say() -> None:
    assert sum(timed_agrees(seed) for seed in range(60)) > 30


@pytest.mark.heavy
def test_1000_programs_over_timed_streams_say_what_their_definitions_say() -> None:
    assert sum(timed_agrees(seed) for seed in range(1_000, 2_000)) > 500


# State --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT DISTINCT 1 FROM s, t WHERE s.c < t.f",
        "SELECT DISTINCT 1 FROM s, t WHERE s.a + 0.5 < t.e",
        "SELECT DISTINCT 1 FROM s, t WHERE s.b < t.g",
        "SELECT DISTINCT s.k || t.f FROM s, t WHERE s.k = t.f",
        "SELECT s.k, t.m FROM s, t WHERE s.k IN ('a', 'b') AND t.m",
    ],
)
def test_state_of_any_type_is_read_as_it_was_written(sql: str, tmp_path: Path) -> None:
    script = read_script(
        "CREATE STREAM s (a INT, b BIGINT, c VARCHAR, k ENUM('a', 'b'));"
        f"CREATE STREAM t (e DOUBLE, f ENUM('a', 'b'), g DECIMAL(30, 3), m BOOLEAN); {sql}"
    )
    program = program_of(script.queries[0], verdict_of(script.queries[0]))
    rng, arrivals = random.Random(sql), Arrivals(script.catalog)
    for at in range(1, 60):
        if rng.random() < 0.5:
            row = (
                rng.randint(-3, 3),
                rng.choice((2**62, 5)),
                rng.choice("xyz\u00e9"),
                rng.choice("ab"),
            )
            arrivals.add("s", row, at)
        else:
            arrivals.add("t", (rng.random(), rng.choice("ab"), 10**20, rng.random() < 0.5), at)
    state = program.empty()
    TickLowering(program, compiled=False).advance(state, arrivals.batch(program))
    write_state(state, tmp_path)
    again = read_state(program, tmp_path)
    assert again.tables() == state.tables()
    assert again.units() == state.units() > 0
