"""Figure 2 of Arasu against the theorems to the letter: every derived LTO query, one by one."""

from __future__ import annotations

import random

import pytest
from tests.strategies.spj import SpjText, naming, random_spj

from millpond.language import read_script
from millpond.memory import SpjQuery, normal_form
from millpond.memory.arasu import trivial, violates_by_enumeration, violations
from millpond.memory.lto import lto_queries


def query(text: SpjText) -> SpjQuery:
    found = normal_form(read_script(text.text).queries[0])
    assert found is not None
    return found


def small_enough(text: SpjText, most: int) -> bool:
    """Whether the LTO queries can be gone through: about as many as places for the columns of each
    stream among the constants and among each other."""
    count = 1
    for alias, _ in text.inputs:
        for place in range(len(text.of(alias))):
            count *= 2 * (len(text.constants) + place) + 1
    return count <= most


def check(seeds: range, *, streams: tuple[int, int], most: int) -> tuple[int, int]:
    """Both ways of deciding agree; how many queries there were, and how many were unbounded."""
    compared, unbounded = 0, 0
    for seed in seeds:
        rng = random.Random(seed)
        text = random_spj(
            rng,
            streams=streams,
            checks=rng.choice([0, 0, 0.3]),
            values=(0, rng.choice([1, 3, 6])),
            self_joins=rng.choice([0, 0, 0.3]),
        )
        if not small_enough(text, most):
            continue
        with naming(seed, text):
            spj = query(text)
            expected = violates_by_enumeration(spj)
            found = violations(spj)
            assert bool(found) == expected, [
                f"{each.condition} {each.attributes}" for each in found
            ]
            for violation in found:
                assert violation.attributes, violation.condition
                assert not any(map(spj.predicate.bounded, violation.attributes)), violation
        if not trivial(spj):
            compared += 1
            unbounded += expected
    return compared, unbounded


@pytest.mark.parametrize("start", range(0, 1_000, 250))
def test_figure_2_agrees_with_the_enumeration(start: int) -> None:
    compared, unbounded = check(range(start, start + 250), streams=(1, 3), most=20_000)
    assert compared > 50
    assert 20 < unbounded < compared - 20


@pytest.mark.heavy
@pytest.mark.parametrize("start", range(10_000, 24_000, 1_000))
def test_figure_2_agrees_with_the_enumeration_at_length(start: int) -> None:
    compared, _ = check(range(start, start + 1_000), streams=(1, 3), most=200_000)
    assert compared > 500


@pytest.mark.heavy
def test_figure_2_agrees_with_the_enumeration_for_four_streams() -> None:
    compared, unbounded = check(range(50_000, 53_000), streams=(4, 4), most=50_000)
    assert compared > 1_000
    assert 20 < unbounded < compared - 20


def test_definition_4_3_each_stream_of_a_derived_query_is_totally_ordered() -> None:
    derived_queries, others = 0, 0
    for seed in range(150):
        text = random_spj(random.Random(seed), streams=(1, 2), columns=(1, 2), constants=(1, 2))
        if not small_enough(text, 500):
            continue
        with naming(seed, text):
            spj = query(text)
            for derived in lto_queries(spj.predicate, spj.constants):
                derived_queries += 1
                for alias, _ in spj.streams:
                    assert derived.totally_ordered(spj.of(alias), spj.constants)
            others += not all(
                spj.predicate.totally_ordered(spj.of(alias), spj.constants)
                for alias, _ in spj.streams
            )
    assert derived_queries > 500
    assert others > 50
