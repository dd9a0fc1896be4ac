"""Every way to run gives the changes of DuckDB over every prefix, in any chunking."""

from __future__ import annotations

import random

import pytest
from tests.run.harness import (
    BOUNDED_OF_TABLE_1,
    DDL,
    by_definition,
    by_duckdb,
    compiled,
    in_order,
    random_arrivals,
    random_cuts,
)
from tests.strategies.spj import naming, random_spj

from millpond.language import read_script
from millpond.memory import MemoryClass, verdict_of
from millpond.program import laws
from millpond.run.bulk import BulkLowering
from millpond.run.tick import TickLowering
from millpond.synopsis import program_of

FEW, MANY = 12, 500


def agree_on_table_1(name: str, seed: int) -> None:
    """One random input of one query, by definition, bulk, tick, interpreted, and by DuckDB."""
    rng = random.Random(f"{name} {seed}")
    sql = BOUNDED_OF_TABLE_1[name]
    script, program = compiled(DDL + sql)
    low, high = rng.choice([(5, 25), (8, 12), (9, 21), (-40, 60)])
    arrivals = random_arrivals(rng, script, rng.randint(1, 160), low, high)
    cuts = random_cuts(rng, len(arrivals))
    expected = in_order(by_duckdb(script.queries[0], sql, arrivals))
    assert in_order(by_definition(script.queries[0], arrivals)) == expected, seed
    batch = arrivals.batch(program)
    for lowering in (
        BulkLowering(program),
        TickLowering(program),
        TickLowering(program, compiled=False),
    ):
        assert laws.run(lowering, batch, cuts) == expected, (seed, lowering.name)


@pytest.mark.parametrize("name", BOUNDED_OF_TABLE_1)
def test_all_engines_agree_with_duckdb_on_every_prefix(name: str) -> None:
    for seed in range(FEW):
        agree_on_table_1(name, seed)


@pytest.mark.heavy
@pytest.mark.parametrize("name", BOUNDED_OF_TABLE_1)
def test_all_engines_agree_with_duckdb_on_every_prefix_of_500_inputs(name: str) -> None:
    for seed in range(MANY):
        agree_on_table_1(name, seed)


def agree_on_a_random_query(seed: int, *, compile_it: bool = False) -> bool:
    """A random query on a random input; whether it was a bounded one."""
    rng = random.Random(seed)
    text = random_spj(
        rng, streams=(1, 3), columns=(1, 3), ranges=0.7, checks=0.3, self_joins=0.15,
        types=("INT", "BIGINT", "TINYINT"),
    )  # fmt: skip
    with naming(seed, text):
        script = read_script(text.text)
        query = script.queries[0]
        verdict = verdict_of(query)
        if verdict.memory not in (MemoryClass.NONE, MemoryClass.CONSTANT):
            return False
        program = program_of(query, verdict)
        assert program.certificate == verdict.units
        low, high = rng.choice([(-1, 7), (-4, 10), (2, 5)])
        arrivals = random_arrivals(rng, script, rng.randint(1, 50), low, high, nulls=0.1)
        cuts = random_cuts(rng, len(arrivals))
        expected = in_order(by_duckdb(query, text.sql, arrivals))
        assert in_order(by_definition(query, arrivals)) == expected
        batch = arrivals.batch(program)
        bulk, tick = BulkLowering(program), TickLowering(program, compiled=compile_it)
        for lowering in (bulk, tick):
            assert laws.run(lowering, batch, cuts) == expected, lowering.name
            laws.all_laws(lowering, batch, cuts)
        laws.lowerings_agree(bulk, tick, batch, cuts)
    return True


def test_random_bounded_queries_keep_every_law_and_agree_with_duckdb() -> None:
    assert sum(agree_on_a_random_query(seed) for seed in range(150)) > 50


def test_a_best_value_is_at_hand_for_a_link_to_an_input_further_in() -> None:
    # s meets u only through t, and u's best value is compared with t's behind s.
    assert agree_on_a_random_query(1082)


@pytest.mark.heavy
def test_3000_random_queries_keep_every_law_and_agree_with_duckdb() -> None:
    assert sum(agree_on_a_random_query(seed) for seed in range(1000, 4000)) > 1000


@pytest.mark.heavy
def test_compiled_steps_of_random_queries_agree_with_duckdb() -> None:
    assert sum(agree_on_a_random_query(seed, compile_it=True) for seed in range(5000, 5060)) > 20
