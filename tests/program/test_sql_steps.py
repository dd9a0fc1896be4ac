"""The steps that are printed as SQL change the answer as its definition does."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import duckdb
import pytest
from tests.program.sql_runs import DuckRun, batches, by_stream, rounded
from tests.run import aggregate_forms
from tests.run.aggregate_forms import DDL as FORMS_DDL
from tests.run.aggregate_forms import FORMS, random_rows
from tests.run.harness import BOUNDED_OF_TABLE_1, DDL, compiled, random_arrivals, random_cuts
from tests.strategies.aggregates import random_aggregate_query
from tests.strategies.spj import naming, random_spj
from tests.strategies.typed import random_row, random_typed

from millpond.language import read_script
from millpond.memory import verdict_of
from millpond.plan import Query
from millpond.plan.error import PlanError
from millpond.program import Program
from millpond.program.sql import sql_steps
from millpond.run import Arrivals
from millpond.run.definition import DefinitionRun
from millpond.schema import Row
from millpond.synopsis import program_of

MOST_UNITS = 20_000


def agrees(query: Query, program: Program, arrivals: Arrivals, cuts: list[int]) -> None:
    """Batch by batch: the changes, the answer that is kept, and its size."""
    definition = DefinitionRun(query)
    answer: Counter[Row] = Counter()
    with DuckRun(query, program) as run:
        for batch in batches(arrivals, cuts):
            expected: Counter[Row] = Counter()
            for stream, row, _ in batch:
                for changed, n in definition.instant([(stream or "", row)]):
                    expected[tuple(map(rounded, changed))] += n
            found = run.batch(by_stream(batch))
            assert found == {row: n for row, n in expected.items() if n}
            answer.update(expected)
            assert run.units() <= program.certificate
            kept = run.answer()
            assert kept is None or kept == {row: n for row, n in answer.items() if n}


def agrees_on_table_1(name: str, seed: int) -> None:
    rng = random.Random(f"{name} {seed}")
    script, program = compiled(DDL + BOUNDED_OF_TABLE_1[name])
    low, high = rng.choice([(5, 25), (8, 12), (9, 21), (-40, 60)])
    arrivals = random_arrivals(rng, script, rng.randint(1, 60), low, high)
    agrees(script.queries[0], program, arrivals, random_cuts(rng, len(arrivals)))


@pytest.mark.parametrize("name", BOUNDED_OF_TABLE_1)
def test_queries_of_table_1_agree_with_their_definition(name: str) -> None:
    for seed in range(3):
        agrees_on_table_1(name, seed)


@pytest.mark.parametrize("cuts", [[], [1, 2, 3, 4, 5, 6], [2, 5]])
@pytest.mark.parametrize("greatest", [False, True])
def test_of_a_bucket_the_best_value_is_kept(*, cuts: list[int], greatest: bool) -> None:
    script, program = compiled(DDL + BOUNDED_OF_TABLE_1["Q4 distinct"])
    arrivals = Arrivals(script.catalog)
    mine = [("s", (10, b, 0)) for b in (9, 3, 12)]
    others = [("t", (d, 0)) for d in ((2, 5, 1) if not greatest else (1, 8, 2))]
    for at, (stream, row) in enumerate([*others, *mine] if greatest else [*mine, *others], 1):
        arrivals.add(stream, row, at)
    agrees(script.queries[0], program, arrivals, cuts)


@pytest.mark.parametrize(("name", "golden"), [("Q3", "q3"), ("Q4 distinct", "q4")])
def test_the_text_of_arasus_queries(name: str, golden: str) -> None:
    script, program = compiled(DDL + BOUNDED_OF_TABLE_1[name])
    path = Path(__file__).parent / "steps" / f"{golden}.sql"
    assert str(sql_steps(script.queries[0], program)) == path.read_text(encoding="utf-8")


def agrees_on_a_random_query(seed: int) -> bool:
    """Whether a random query was bounded."""
    rng = random.Random(seed)
    text = random_spj(
        rng, streams=(1, 3), columns=(1, 3), ranges=0.7, checks=0.3, self_joins=0.15,
        types=("INT", "BIGINT", "TINYINT"),
    )  # fmt: skip
    with naming(seed, text):
        script = read_script(text.text)
        query = script.queries[0]
        verdict = verdict_of(query)
        if not verdict.bounded:
            return False
        program = program_of(query, verdict)
        low, high = rng.choice([(-1, 7), (-4, 10), (2, 5)])
        arrivals = random_arrivals(rng, script, rng.randint(1, 40), low, high, nulls=0.1)
        agrees(query, program, arrivals, random_cuts(rng, len(arrivals)))
    return True


def test_random_bounded_queries_agree_with_their_definition() -> None:
    assert sum(agrees_on_a_random_query(seed) for seed in range(40)) > 12


@pytest.mark.heavy
def test_2000_random_bounded_queries_agree_with_their_definition() -> None:
    assert sum(agrees_on_a_random_query(seed) for seed in range(1_000, 3_000)) > 700


def agrees_on_a_typed_query(seed: int) -> bool | None:
    """Whether a random query had steps in SQL; None if it was not bounded."""
    rng = random.Random(seed)
    text = random_typed(rng)
    try:
        script = read_script(text.text)
        query = script.queries[0]
        verdict = verdict_of(query)
        if not verdict.bounded or verdict.units is None or verdict.units > MOST_UNITS:
            return None
        program = program_of(query, verdict)
        arrivals = Arrivals(script.catalog)
        streams = [each.name for each in query.streams]
        for at in range(1, rng.randint(10, 40)):
            stream = rng.choice(streams)
            arrivals.add(stream, random_row(rng, text, stream, at), at)
        try:
            agrees(query, program, arrivals, random_cuts(rng, len(arrivals)))
        except PlanError:
            return False
    except BaseException as error:
        error.add_note(f"seed {seed}:\n{text.text}")
        raise
    return True


def test_random_queries_of_every_type_agree_with_their_definition_or_are_refused() -> None:
    found = Counter(agrees_on_a_typed_query(seed) for seed in range(35))
    assert found[True] > 10


@pytest.mark.heavy
def test_2000_random_queries_of_every_type_agree_or_are_refused() -> None:
    found = Counter(agrees_on_a_typed_query(seed) for seed in range(10_000, 12_000))
    assert found[True] > 500


def agrees_on_an_aggregate(seed: int) -> bool:
    """Whether a random aggregate query was bounded."""
    rng = random.Random(seed)
    text = random_aggregate_query(
        rng, streams=(1, 3), columns=(1, 3), comparisons=(1, 4), self_joins=0.15, checks=0.3,
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
        if not verdict.bounded or not verdict.runs:
            return False
        low, high = rng.choice([(-1, 7), (-4, 10), (2, 5)])
        arrivals = random_arrivals(rng, script, rng.randint(1, 40), low, high, nulls=0.1)
        cuts = random_cuts(rng, len(arrivals))
        agrees(query, program_of(query, verdict), arrivals, cuts)
    return True


def agrees_on_a_form(select: str, seed: int) -> bool:
    """Whether an aggregate query over columns of every type had steps in SQL."""
    script = read_script(f"{FORMS_DDL}SELECT {select}")
    query = script.queries[0]
    program = program_of(query, verdict_of(query))
    rng = random.Random(f"{select} {seed}")
    arrivals = random_rows(rng, script, rng.randint(1, 40))
    try:
        agrees(query, program, arrivals, random_cuts(rng, len(arrivals))[:3])
    except (PlanError, duckdb.OutOfRangeException):
        return False
    return True


@pytest.fixture
def sums_of_doubles_are_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """DuckDB adds DOUBLEs up one by one; ours are right whatever their order."""
    monkeypatch.setattr(aggregate_forms, "_DOUBLES", (0.0, 1.5, -2.25, 0.25, 8.0, 3.0))


def test_random_aggregate_queries_agree_with_their_definition() -> None:
    assert sum(agrees_on_an_aggregate(seed) for seed in range(25)) > 12


@pytest.mark.heavy
def test_2000_random_aggregate_queries_agree_with_their_definition() -> None:
    assert sum(agrees_on_an_aggregate(seed) for seed in range(1_000, 3_000)) > 800


@pytest.mark.usefixtures("sums_of_doubles_are_exact")
def test_aggregates_of_every_type_agree_with_their_definition_or_are_refused() -> None:
    found = Counter(agrees_on_a_form(select, 1) for select in FORMS[::3])
    assert found[True] > 12


@pytest.mark.heavy
@pytest.mark.usefixtures("sums_of_doubles_are_exact")
@pytest.mark.parametrize("seed", range(10))
def test_every_form_of_an_aggregate_agrees_with_its_definition_or_is_refused(seed: int) -> None:
    found = Counter(agrees_on_a_form(select, seed) for select in FORMS)
    assert found[True] > 35


def test_names_that_no_word_is_are_quoted() -> None:
    text = 'CREATE STREAM "s s" ("select" INT); CREATE STREAM t (d INT);'
    text += 'CREATE QUERY "\u00e9" AS SELECT x."select" FROM "s s" AS x, t WHERE x."select" = t.d '
    text += "AND t.d BETWEEN 1 AND 3"
    script, program = compiled(text)
    arrivals = Arrivals(script.catalog)
    for at, (stream, value) in enumerate([("s s", 1), ("t", 1), ("t", 4), ("t", 1)], 1):
        arrivals.add(stream, (value,), at)
    agrees(script.queries[0], program, arrivals, [1, 3])


def test_constants_of_several_lines_are_refused_and_not_indented() -> None:
    text = "CREATE STREAM s (k VARCHAR, a INT); CREATE STREAM t (d INT);"
    text += "SELECT k FROM s, t WHERE k IN ('x\n  y', 'z') AND a = d AND a BETWEEN 1 AND 2"
    script, program = compiled(text)
    with pytest.raises(PlanError, match="several lines"):
        sql_steps(script.queries[0], program)
