"""Verdicts on aggregate queries: against brute force, and against every derived LTO query."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from tests.memory.brute_force_aggregates import grows, measures
from tests.strategies.aggregates import AggregateQueryText, random_aggregate_query

from millpond.language import read_script
from millpond.memory import MemoryClass, verdict_of
from millpond.memory.aggregate import Asked, Grouped, Sort, aggregate_parts, failures
from millpond.memory.arasu import violates_by_enumeration
from millpond.memory.lto import lto_queries, max_ref, min_ref


def query_of(seed: int) -> AggregateQueryText:
    rng = random.Random(seed)
    return random_aggregate_query(
        rng,
        columns=(1, 2),
        comparisons=(0, 5),
        constants=(0, 2),
        values=(0, 2),
        checks=rng.choice([0, 0, 0.4]),
    )


def agree_with_brute_force(seeds: range) -> int:
    """No false "bounded", no false "linear", and never `outside`; how many were unbounded."""
    unbounded = 0
    for seed in seeds:
        query = query_of(seed)
        if len(query.body.relevant) > 5:
            continue
        found = verdict_of(read_script(query.text).queries[0])
        said = f"seed {seed}: {found}\n{query.text}"
        assert found.memory is not MemoryClass.OUTSIDE, said
        # Where the smaller boxes still fill up, larger ones decide.
        growing = grows(query) and (not found.bounded or grows(query, (8, 10)))
        assert found.bounded is not growing, said
        unbounded += growing
    return unbounded


@pytest.mark.parametrize("start", range(0, 160, 80))
def test_verdicts_on_aggregates_are_those_of_brute_force(start: int) -> None:
    assert agree_with_brute_force(range(start, start + 80)) > 10


@pytest.mark.heavy
@pytest.mark.parametrize("start", range(1_000, 5_000, 500))
def test_verdicts_on_aggregates_are_those_of_brute_force_at_length(start: int) -> None:
    assert agree_with_brute_force(range(start, start + 500)) > 100


@pytest.mark.parametrize("seed", [402, 1858])
def test_a_value_that_is_forced_counts_nothing(seed: int) -> None:
    # VAR of a constant, and AVG of a column that its group tells.
    agree_with_brute_force(range(seed, seed + 1))


def test_a_best_value_that_larger_boxes_settle() -> None:
    agree_with_brute_force(range(1878, 1879))


def fails_by_enumeration(part: Grouped) -> bool:
    """Theorems 8.5 and 8.6 to the letter, corrected, over every derived LTO query."""
    query = part.query
    if not query.satisfiable:
        return False
    if any(not query.predicate.bounded(x) for each in part.groups for x in each.attributes):
        return True
    single = len(query.streams) == 1
    for asked in part.asked or (None,):
        counts = asked is not None and asked.counts
        if not single and violates_by_enumeration(replace(query, distinct=not counts)):
            return True
        if asked is None:
            continue
        unbounded = any(not query.predicate.bounded(each) for each in asked.attributes)
        if asked.holistic and unbounded:
            return True
        if asked.sort is Sort.BEST and unbounded and not single and best_fails(part, asked):
            return True
    return False


def best_fails(part: Grouped, asked: Asked) -> bool:
    column = asked.column
    assert column is not None
    for derived in lto_queries(part.query.predicate, part.query.constants):
        refs = max_ref(derived, column.alias), min_ref(derived, column.alias)
        same, other = refs if asked.call.function == "MAX" else reversed(refs)
        if not derived.bounded(column) and (
            other or any(derived.offset(each, column) is None for each in same)
        ):
            return True
    return False


def agree_with_enumeration(seeds: range) -> int:
    """How many queries were compared: those in which nothing is beyond the theorem."""
    compared = 0
    for seed in seeds:
        text = query_of(seed)
        if len(text.body.relevant) > 5:
            continue
        parts = aggregate_parts(read_script(text.text).queries[0])
        assert parts is not None
        (part,) = parts
        if any(each.sort in (Sort.SCALELESS, Sort.MEDIAN) for each in part.asked):
            continue  # AVG and MEDIAN ignore streams that they are not joined with
        assert bool(failures(part)) == fails_by_enumeration(part), f"seed {seed}: {text.text}"
        compared += 1
    return compared


def test_the_polynomial_criterion_agrees_with_the_enumeration() -> None:
    assert agree_with_enumeration(range(250)) > 80


@pytest.mark.heavy
@pytest.mark.parametrize("start", range(10_000, 15_000, 1_000))
def test_the_polynomial_criterion_agrees_with_the_enumeration_at_length(start: int) -> None:
    assert agree_with_enumeration(range(start, start + 1_000)) > 300


# Certificates -----------------------------------------------------------------------------------


def enough(seeds: range) -> int:
    """What is kept is no less than an input has to tell apart; how many were compared."""
    compared = 0
    for seed in seeds:
        rng = random.Random(seed)
        query = random_aggregate_query(
            rng, columns=(1, 2), comparisons=(0, 5), constants=(1, 2), values=(0, 2), checks=0.5,
            ranges=0.7, groups=(0, 0),
        )  # fmt: skip
        if len(query.body.relevant) > 5:
            continue
        found = verdict_of(read_script(query.text).queries[0])
        if found.units is None:
            continue
        stored = sum(each.units or 0 for each in found.state if each.of == "stored answer")
        for place, (alias, _) in enumerate(query.body.inputs):
            kept = stored + sum(each.units or 0 for each in found.state if each.of == alias)
            least = max(each[place] for each in measures(query, 5).values())
            assert kept >= least, f"seed {seed}: {kept} of {alias} for {least}: {query.text}"
        compared += 1
    return compared


def test_what_is_kept_of_an_aggregate_is_enough() -> None:
    assert enough(range(200)) > 50


@pytest.mark.heavy
def test_what_is_kept_of_an_aggregate_is_enough_at_length() -> None:
    assert enough(range(1_000, 4_000)) > 800


@pytest.mark.parametrize(
    ("bounded", "kept"),
    [
        # For each of ten values of a the smallest b may be the one that joins.
        ("a", "10 values of a x 1 minimum of b"),
        # For each of ten values of b the largest a may be the one that joins.
        ("b", "10 values of b x 1 maximum of a"),
    ],
)
def test_a_best_value_is_kept_for_each_value_of_what_is_bounded(bounded: str, kept: str) -> None:
    ddl = "CREATE STREAM s (a INT, b INT); CREATE STREAM t (d INT); "
    text = f"SELECT MAX(s.a) FROM s, t WHERE s.b < t.d AND s.{bounded} BETWEEN 0 AND 9"
    found = verdict_of(read_script(ddl + text).queries[0])
    assert found.formula == f"s: {kept} + t: 1 maximum of d + answer: 1 maximum of a"
