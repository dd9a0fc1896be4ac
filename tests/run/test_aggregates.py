"""Bounded aggregate queries run: their changes are those of the definition at every instant."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import duckdb
import pytest
from tests.cli.harness import Done, millpond
from tests.run.aggregate_forms import (
    ABOVE,
    COMPUTED,
    DDL,
    FORMS,
    JOINED,
    ONE_STREAM,
    Change,
    by_definition,
    keeps_its_laws,
    ordered,
    random_rows,
)
from tests.run.harness import random_arrivals, random_cuts
from tests.strategies.aggregates import FUNCTIONS, random_aggregate_query
from tests.strategies.spj import naming

from millpond.language import read_script
from millpond.memory import MemoryClass, verdict_of
from millpond.plan import Script
from millpond.program import laws
from millpond.program.codec import read_state, write_state
from millpond.program.grouping import GroupedProgram
from millpond.program.lowered import Lowered
from millpond.run import Arrivals
from millpond.run import aggregate as run_aggregate
from millpond.run.aggregate import GroupedTick
from millpond.run.engine import LocalRun
from millpond.run.group_bulk import GroupedBulk
from millpond.synopsis import program_of


def grouped(text: str) -> tuple[Script, GroupedProgram]:
    """The script of a text with one aggregate query, and its program."""
    script = read_script(text)
    verdict = verdict_of(script.queries[0])
    program = program_of(script.queries[0], verdict)
    assert isinstance(program, GroupedProgram)
    assert program.certificate == verdict.units
    return script, program


@pytest.fixture(autouse=True)
def _every_batch_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few contributions go through the arrays, too."""
    monkeypatch.setattr(run_aggregate, "_FEW", 0)


def lowerings(program: GroupedProgram, *, compile_it: bool = False) -> tuple[Lowered, ...]:
    plain = GroupedTick(program, compiled=False), GroupedBulk(program)
    return (*plain, GroupedTick(program)) if compile_it else plain


# What one derives by hand -------------------------------------------------------------------------

HAND = "CREATE STREAM s (a INT, b INT, c INT); CREATE STREAM t (d INT, e INT);\n"


def changes_of(text: str, rows: list[tuple[str, tuple[int | None, ...]]]) -> list[object]:
    """What each lowering says, if all of them say the same."""
    script, program = grouped(HAND + text)
    arrivals = Arrivals(script.catalog)
    for at, (stream, row) in enumerate(rows, 1):
        arrivals.add(stream, row, at)
    batch = arrivals.batch(program)
    one, *others = (laws.run(each, batch) for each in lowerings(program))
    assert all(ordered(other) == ordered(one) for other in others)
    return list(ordered(one))


def test_example_8_7_a_sum_comes_as_often_as_rows_meet_it() -> None:
    text = (
        "SELECT a, d, SUM(b) FROM s, t WHERE a < 20 AND d < 20 AND a > 10 AND d > 10 GROUP BY a, d"
    )
    rows: list[tuple[str, tuple[int | None, ...]]] = [
        ("s", (11, 5, 0)), ("s", (11, None, 0)), ("t", (12, 0)), ("s", (11, 2, 0)), ("t", (12, 1)),
        ("s", (20, 9, 0)),
    ]  # fmt: skip
    assert changes_of(text, rows) == [
        (3, (11, 12, 5), 1),
        (4, (11, 12, 5), -1),
        (4, (11, 12, 7), 1),
        (5, (11, 12, 7), -1),
        (5, (11, 12, 14), 1),
    ]


def test_arasus_q3_with_a_count_by_key() -> None:
    text = "SELECT a, COUNT(*) FROM s, t WHERE a = d AND a > 10 AND d < 20 GROUP BY a"
    rows: list[tuple[str, tuple[int | None, ...]]] = [
        ("s", (11, 1, 1)), ("s", (11, 1, 1)), ("t", (11, 1)), ("t", (11, 1)), ("t", (20, 1)),
    ]  # fmt: skip
    assert changes_of(text, rows) == [
        (3, (11, 2), 1),
        (4, (11, 2), -1),
        (4, (11, 4), 1),
    ]


def test_theorem_8_6_the_greatest_value_that_something_lies_below() -> None:
    rows: list[tuple[str, tuple[int | None, ...]]] = [
        ("s", (0, 7, 0)), ("t", (7, 0)), ("t", (6, 0)), ("s", (0, 5, 0)), ("s", (0, 9, 0)),
    ]  # fmt: skip
    assert changes_of("SELECT MAX(b) FROM s, t WHERE b > d", rows) == [
        (1, (None,), 1),
        (3, (None,), -1),
        (3, (7,), 1),
        (5, (7,), -1),
        (5, (9,), 1),
    ]


def test_one_group_of_everything_is_there_from_the_first_instant_on() -> None:
    text = "SELECT COUNT(*), SUM(b), MEDIAN(a) FROM s WHERE a BETWEEN 1 AND 9"
    assert changes_of(text, [("s", (0, 1, 1)), ("s", (None, 1, 1)), ("s", (4, None, 1))]) == [
        (1, (0, None, None), 1),
        (3, (0, None, None), -1),
        (3, (1, None, 4.0), 1),
    ]


def test_section_8_2_several_aggregates_of_one_group() -> None:
    """The paper's A G SUM(B), MAX(C) over `A = 10`."""
    text = (
        "SELECT a, SUM(b), MAX(c), MEDIAN(b) FROM s WHERE a = 10 AND b BETWEEN 0 AND 9 GROUP BY a"
    )
    rows: list[tuple[str, tuple[int | None, ...]]] = [
        ("s", (10, 3, 1)), ("s", (9, 3, 1)), ("s", (10, 4, 8)), ("s", (10, 9, 5)),
    ]  # fmt: skip
    assert changes_of(text, rows) == [
        (1, (10, 3, 1, 3.0), 1),
        (3, (10, 3, 1, 3.0), -1),
        (3, (10, 7, 8, 3.5), 1),
        (4, (10, 7, 8, 3.5), -1),
        (4, (10, 16, 8, 4.0), 1),
    ]


# Every form and type ------------------------------------------------------------------------------


def agree_on_a_form(select: str, seed: int, *, compile_it: bool = False) -> None:
    script, program = grouped(f"{DDL}SELECT {select}")
    rng = random.Random(f"{select} {seed}")
    arrivals = random_rows(rng, script, rng.randint(1, 40))
    expected = by_definition(script.queries[0], arrivals)
    cuts = random_cuts(rng, len(arrivals))
    batch = arrivals.batch(program)
    keeps_its_laws(program, lowerings(program, compile_it=compile_it), batch, cuts, expected)


@pytest.mark.parametrize("select", FORMS)
def test_each_form_gives_the_changes_of_its_definition(select: str) -> None:
    agree_on_a_form(select, 1)


@pytest.mark.heavy
@pytest.mark.parametrize("select", FORMS)
def test_each_form_gives_the_changes_of_its_definition_on_60_inputs(select: str) -> None:
    for seed in range(60):
        agree_on_a_form(select, seed)


def test_a_join_through_compiled_steps() -> None:
    agree_on_a_form(JOINED[1], 1, compile_it=True)


@pytest.mark.heavy
@pytest.mark.parametrize("select", [*JOINED, COMPUTED[5], ABOVE[1]])
def test_each_join_through_compiled_steps(select: str) -> None:
    agree_on_a_form(select, 2, compile_it=True)


# Random queries -----------------------------------------------------------------------------------


def agree_on_a_random_query(seed: int, *, compile_it: bool = False) -> set[str]:
    """A random query on a random input; the functions of a bounded one that runs."""
    rng = random.Random(seed)
    text = random_aggregate_query(
        rng, streams=(1, 4), columns=(1, 3), comparisons=(1, 4), self_joins=0.15, checks=0.3,
        ranges=0.7, types=("INT", "BIGINT", "TINYINT"),
    )  # fmt: skip
    having = f" HAVING COUNT(*) > {rng.randint(0, 3)}" if rng.random() < 0.15 else ""
    sql = text.sql + having
    if rng.random() < 0.1:
        sql = sql.replace("SELECT", "SELECT DISTINCT", 1)
    with naming(seed, text.body):
        script = read_script(text.body.ddl + sql)
        query = script.queries[0]
        verdict = verdict_of(query)
        if verdict.memory is not MemoryClass.CONSTANT or not verdict.runs:
            return set()
        program = program_of(query, verdict)
        assert isinstance(program, GroupedProgram)
        assert program.certificate == verdict.units
        low, high = rng.choice([(-1, 7), (-4, 10), (2, 5)])
        arrivals = random_arrivals(rng, script, rng.randint(1, 50), low, high, nulls=0.1)
        cuts = random_cuts(rng, len(arrivals))
        expected = by_definition(query, arrivals)
        made = lowerings(program, compile_it=compile_it)
        keeps_its_laws(program, made, arrivals.batch(program), cuts, expected)
        answer_is_that_of_duckdb(script, sql, arrivals, expected)
        row_by_row_is_the_same(program, script, arrivals, expected)
    return {each.function + (" DISTINCT" if each.distinct else "") for each in text.aggregates}


def row_by_row_is_the_same(
    program: GroupedProgram, script: Script, arrivals: Arrivals, expected: list[Change]
) -> None:
    """The fast path for one row at a time, where there is one."""
    run = LocalRun(program)
    catalog = {each.name: each for each in script.catalog}
    steps = {each.name: run.row_step(each.name) for each in program.inputs}
    places = {
        each.name: [catalog[each.name].names.index(column) for column in each.columns]
        for each in program.inputs
    }
    said: list[Change] = []
    for stream, row, at in arrivals:
        step = steps.get(stream or "")
        if step is None:
            return
        values = [row[place] for place in places[stream or ""]]
        told = step(run.state, values, at)  # type: ignore[arg-type]
        if told is None:
            return
        said += [(at_, row_, n) for row_, n, at_ in told]
    assert ordered(said) == expected


def answer_is_that_of_duckdb(
    script: Script, sql: str, arrivals: Arrivals, changes: list[Change]
) -> None:
    """The changes add up to what DuckDB says of all rows."""
    total: Counter[tuple[object, ...]] = Counter()
    for _, row, n in changes:
        total[row] += n
    with duckdb.connect() as connection:
        for stream in script.queries[0].streams:
            columns = ", ".join(f"{each} BIGINT" for each in stream.names)
            connection.execute(f"CREATE TABLE {stream.name} ({columns})")
            rows = [row for name, row, _ in arrivals if name == stream.name]
            if rows:
                marks = ", ".join("?" for _ in stream.names)
                connection.executemany(f"INSERT INTO {stream.name} VALUES ({marks})", rows)
        said = connection.execute(sql.replace("VAR(", "VAR_SAMP(")).fetchall()
    assert sorted(map(_rounded, said)) == sorted(map(_rounded, total.elements()))


def _rounded(row: tuple[object, ...]) -> list[tuple[bool, float]]:
    return [(each is None, 0.0 if each is None else float(f"{each:.9g}")) for each in row]


def agree_on_random_queries(seeds: range, *, compile_it: bool = False) -> tuple[int, set[str]]:
    found = [agree_on_a_random_query(seed, compile_it=compile_it) for seed in seeds]
    return sum(map(bool, found)), set().union(*found)


def test_random_bounded_queries_agree_with_the_definition_and_duckdb() -> None:
    count, functions = agree_on_random_queries(range(60))
    assert count > 30
    assert functions >= {*FUNCTIONS, "COUNT DISTINCT"}


@pytest.mark.heavy
def test_4000_random_queries_agree_with_the_definition_and_duckdb() -> None:
    count, _ = agree_on_random_queries(range(1_000, 5_000))
    assert count > 2_000


@pytest.mark.heavy
def test_compiled_steps_of_random_queries_agree_with_the_definition() -> None:
    count, _ = agree_on_random_queries(range(6_000, 6_060), compile_it=True)
    assert count > 20


# Through the command -----------------------------------------------------------------------------


def both_ways(folder: Path, text: str, lines: list[str]) -> tuple[Done, Done]:
    """What a run says, and what running by definition says."""
    (folder / "q.sql").write_text(text)
    (folder / "rows.jsonl").write_text("\n".join(lines) + "\n")
    given = ("run", str(folder / "q.sql"), "--input", str(folder / "rows.jsonl"))
    return millpond(*given), millpond(*given, "--engine", "definition")


def test_an_instant_without_a_row_is_the_first_one_too(tmp_path: Path) -> None:
    text = "CREATE STREAM s (a INT);\nSELECT COUNT(*) FROM s WHERE a > 3;"
    done, expected = both_ways(tmp_path, text, ['{"@tick": 1}', '{"s": {"a": 5}}'])
    assert done.out == expected.out
    assert done.out.splitlines()[0] == '{"op": "+", "row": {"count": 0}, "at": 1}'


@pytest.mark.parametrize(
    ("select", "rows"),
    [
        pytest.param(
            "SELECT a, SUM(w) FROM s WHERE a BETWEEN 0 AND 3 GROUP BY a;",
            ['{"s": {"a": 1, "w": 1.7e308, "b": 1}}', '{"s": {"a": 2, "w": 1, "b": 1}}'] * 2,
            id="a sum outside DOUBLE",
        ),
        pytest.param(
            "SELECT a, COUNT(*) FILTER (WHERE CAST(s.b * t.b AS TINYINT) > 0) FROM s, t "
            "WHERE a BETWEEN 0 AND 3 GROUP BY a;",
            [
                '{"s": {"a": 1, "w": 1, "b": 1}}',
                '{"t": {"b": 100}}',
                '{"s": {"a": 2, "w": 1, "b": 100}}',
            ],
            id="a condition of two inputs",
        ),
    ],
)
def test_what_has_no_value_ends_the_run_as_by_definition(
    select: str, rows: list[str], tmp_path: Path
) -> None:
    text = f"CREATE STREAM s (a INT, w DOUBLE, b TINYINT); CREATE STREAM t (b TINYINT);\n{select}"
    done, expected = both_ways(tmp_path, text, rows)
    assert (done.code, done.codes) == (2, ["MP309"])
    assert (done.out, done.err) == (expected.out, expected.err)


# Large numbers, and state ------------------------------------------------------------------------


@pytest.mark.parametrize("select", ["SUM(b), VAR(b), AVG(b)", "a, SUM(b), STDDEV(b)"])
@pytest.mark.parametrize("joined", [False, True])
def test_sums_past_64_bits_are_exact(select: str, *, joined: bool) -> None:
    ddl = "CREATE STREAM s (a INT, b BIGINT); CREATE STREAM t (d INT);\n"
    where = ", t WHERE a = d AND a BETWEEN 1 AND 2" if joined else " WHERE a BETWEEN 1 AND 2"
    by = " GROUP BY a" if select.startswith("a") else ""
    script, program = grouped(f"{ddl}SELECT {select} FROM s{where}{by}")
    arrivals = Arrivals(script.catalog)
    large = 2**63 - 1
    for at, value in enumerate([large, large, -large - 1, 7, large, None, -large - 1], 1):
        arrivals.add("s", (1 + at % 2, value), 2 * at)
        if joined:
            arrivals.add("t", (1 + at // 2 % 2,), 2 * at + 1)
    expected = by_definition(script.queries[0], arrivals)
    made = lowerings(program, compile_it=joined and not by)
    keeps_its_laws(program, made, arrivals.batch(program), [3, 5, 6, 8], expected)


@pytest.mark.parametrize("select", [ONE_STREAM[1], ONE_STREAM[4], JOINED[0], JOINED[5]])
def test_state_goes_through_files(select: str, tmp_path: Path) -> None:
    script, program = grouped(f"{DDL}SELECT {select}")
    arrivals = random_rows(random.Random(select), script, 60)
    expected = by_definition(script.queries[0], arrivals)
    first, last = laws.pieces(arrivals.batch(program), [30])
    lowered = GroupedBulk(program)
    state = program.empty()
    said = laws.run(lowered, first, state=state)
    write_state(state, tmp_path / "state")
    again = read_state(program, tmp_path / "state")
    assert again.tables() == state.tables()
    assert ordered([*said, *laws.run(lowered, last, state=again)]) == expected
