"""Verdicts on self-joins against brute force, duplicates kept and removed."""

from __future__ import annotations

import random

import pytest
from tests.memory.brute_force_self_joins import grows
from tests.strategies.spj import naming, random_spj

from millpond.language import read_script
from millpond.memory import MemoryClass, verdict_of


def agree(seeds: range) -> tuple[int, int, int]:
    """How many both decided, how many brute force alone, and how many there were."""
    decided, outside, seen = 0, 0, 0
    for seed in seeds:
        rng = random.Random(seed)
        query = random_spj(
            rng, streams=(2, 3), columns=(1, 2), comparisons=(1, 5), constants=(0, 2),
            values=(0, 2), checks=rng.choice([0, 0, 0.4]), self_joins=0.9,
        )  # fmt: skip
        if not query.self_join or len(query.relevant) > 4:
            continue
        with naming(seed, query):
            found, growing = verdict_of(read_script(query.text).queries[0]), grows(query)
            seen += 1
            if growing is None:
                continue
            if found.memory is MemoryClass.OUTSIDE:
                assert query.distinct, "keeping duplicates, the criterion is exact"
                outside += 1
                continue
            assert found.bounded is not growing, found
            decided += 1
    return decided, outside, seen


def test_verdicts_on_self_joins_are_those_of_brute_force() -> None:
    decided, outside, seen = agree(range(150))
    assert decided > 60
    assert outside <= seen / 10


@pytest.mark.heavy
@pytest.mark.parametrize("start", range(1_000, 4_000, 500))
def test_verdicts_on_self_joins_are_those_of_brute_force_at_length(start: int) -> None:
    decided, outside, seen = agree(range(start, start + 500))
    assert decided > 200
    assert outside <= seen / 10
