"""The core of a self-join under DISTINCT asks what the query asks, with fewer inputs."""

from __future__ import annotations

import random

import pytest
from tests.memory.self_joins import answer, as_text, normal, random_contents
from tests.run.harness import by_duckdb, in_order, random_arrivals, random_cuts
from tests.strategies.spj import SpjText, naming, random_spj, spj_text

from millpond.language import read_script
from millpond.memory import MemoryClass, verdict_of
from millpond.memory.arasu import violations
from millpond.memory.core import core
from millpond.program import laws
from millpond.run.bulk import BulkLowering
from millpond.run.tick import TickLowering
from millpond.synopsis import program_of

S = "CREATE STREAM s (a INT, b INT);\n"
S_NOT_NULL = "CREATE STREAM s (a INT NOT NULL, b INT CHECK (b BETWEEN 1 AND 1));\n"
S1_S2 = "FROM s AS s1, s AS s2"


@pytest.mark.parametrize(
    ("text", "inputs", "units"),
    [
        pytest.param(
            f"{S}SELECT DISTINCT s1.a {S1_S2} WHERE s1.a = 10 AND s1.a = s2.a AND s1.b = s2.b "
            "AND s1.b > 10",
            ["s1"],
            1,
            id="example 8.1",
        ),
        pytest.param(
            f"{S}SELECT DISTINCT 1 {S1_S2} WHERE s1.a = s2.a", ["s1"], 1, id="errata a: not empty"
        ),
        pytest.param(
            f"{S}SELECT DISTINCT 1 {S1_S2}, s AS s3 WHERE s1.b = s2.a AND s3.a = s3.b",
            ["s3"],
            1,
            id="errata c: two fold onto a third only together",
        ),
        pytest.param(
            f"{S}SELECT DISTINCT s2.a {S1_S2} WHERE s1.a <= s2.a AND s2.a = 3",
            ["s2"],
            1,
            id="the one that is projected stays",
        ),
        pytest.param(
            f"{S}SELECT DISTINCT 1 {S1_S2} WHERE s1.a < 5 AND s2.a < 7",
            ["s1"],
            1,
            id="the narrower",
        ),
    ],
)
def test_what_folds(text: str, inputs: list[str], units: int) -> None:
    query = read_script(text).queries[0]
    found = verdict_of(query)
    assert found.shape is not None
    assert [alias for alias, _ in found.shape.query.streams] == inputs
    assert (found.memory, found.units) == (MemoryClass.CONSTANT, units)
    assert program_of(query, found).certificate == units


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            f"{S}SELECT DISTINCT 1 {S1_S2}, s AS s3 WHERE s1.a < s2.a AND s2.a < s3.a",
            id="three distinct values",
        ),
        pytest.param(f"{S}SELECT DISTINCT s1.a, s2.a {S1_S2}", id="both are projected"),
        pytest.param(
            f"{S}SELECT DISTINCT 1 {S1_S2} WHERE s1.a = 3 AND s2.b = 3", id="a NULL beside it"
        ),
        pytest.param(
            f"{S}SELECT DISTINCT 1 {S1_S2} WHERE s1.a = s1.a AND s2.b = s2.b", id="no NULLs"
        ),
        pytest.param(
            f"{S_NOT_NULL}SELECT DISTINCT s1.b {S1_S2} WHERE s2.b = 1 AND s2.a = 2",
            id="a CHECK of one value lets NULL pass",
        ),
        pytest.param("CREATE STREAM s (a INT); SELECT DISTINCT 1 FROM s", id="one input"),
        pytest.param(f"{S}SELECT 1 {S1_S2} WHERE s1.a = s2.a", id="duplicates kept"),
    ],
)
def test_what_does_not_fold(text: str) -> None:
    query = normal(spj_text(text))
    assert core(query).streams == query.streams


def test_what_the_dropped_inputs_imply_stays() -> None:
    query = normal(
        spj_text(
            "CREATE STREAM s (a INT);\nCREATE STREAM t (d INT);\nSELECT DISTINCT 1 "
            "FROM s, s AS s2, t, t AS t2 WHERE s.a = s2.a AND s2.a < t2.d AND t2.d <= t.d"
        )
    )
    small = core(query)
    (s, t) = small.predicate.elements
    assert len(small.streams) == 2
    assert small.predicate.bound(s, t) == -1


def random_self_join(seed: int) -> SpjText:
    rng = random.Random(seed)
    return random_spj(
        rng,
        streams=(2, rng.choice([2, 3, 4])),
        comparisons=(1, 6),
        values=(0, rng.choice([1, 2, 4])),
        distinct=True,
        checks=rng.choice([0, 0, 0.4]),
        self_joins=0.8,
    )


def check_equivalence(seeds: range) -> tuple[int, int]:
    """The core answers what the query does; how many queries there were, and how many folded."""
    checked, folded = 0, 0
    for seed in seeds:
        text = random_self_join(seed)
        if not text.self_join:
            continue
        with naming(seed, text):
            query = normal(text)
            small = core(query)
            checked += 1
            assert core(small) == small
            assert bool(violations(query)) >= bool(violations(small))
            if len(small.streams) == len(query.streams):
                assert small == query
                continue
            folded += 1
            plain = as_text(small, text)
            rng = random.Random(seed)
            low, high = -1, 4
            for _ in range(15):
                contents = random_contents(rng, text, 6, low, high, rng.choice([0, 0.3]))
                assert answer(plain, contents) == answer(text, contents), (plain.sql, contents)
    return checked, folded


def test_the_core_answers_what_the_query_does() -> None:
    checked, folded = check_equivalence(range(600))
    assert checked > 500
    assert folded > 150


@pytest.mark.heavy
@pytest.mark.parametrize("start", range(10_000, 20_000, 2_000))
def test_the_core_answers_what_the_query_does_at_length(start: int) -> None:
    check_equivalence(range(start, start + 2_000))


def engines_agree(seeds: range) -> int:
    """The program of a core gives the changes of DuckDB for the whole query."""
    checked = 0
    for seed in seeds:
        text = random_self_join(seed)
        with naming(seed, text):
            script = read_script(text.text)
            query = script.queries[0]
            found = verdict_of(query)
            if found.memory is not MemoryClass.CONSTANT or found.shape is None:
                continue
            if len(found.shape.query.streams) == len(text.inputs):
                continue
            checked += 1
            program = program_of(query, found)
            assert program.certificate == found.units
            rng = random.Random(seed)
            arrivals = random_arrivals(rng, script, rng.randint(1, 40), -1, 5, nulls=0.15)
            cuts = random_cuts(rng, len(arrivals))
            expected = in_order(by_duckdb(query, text.sql, arrivals))
            batch = arrivals.batch(program)
            for lowering in (BulkLowering(program), TickLowering(program, compiled=False)):
                assert laws.run(lowering, batch, cuts) == expected, lowering.name
    return checked


def test_engines_run_the_core() -> None:
    assert engines_agree(range(200)) > 12


@pytest.mark.heavy
def test_engines_run_the_core_at_length() -> None:
    assert engines_agree(range(1_000, 4_000)) > 300
