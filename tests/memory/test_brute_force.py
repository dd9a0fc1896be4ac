"""Verdicts against counting over growing boxes: no false "bounded", and no false "linear"."""

from __future__ import annotations

import random

import numpy as np
import pytest
from tests.memory.brute_force import grows, largest_irredundant, measures
from tests.strategies.spj import SpjText, naming, random_spj, spj_text

from millpond.language import read_script
from millpond.memory import MemoryClass, Verdict, verdict_of

STREAMS = "CREATE STREAM s (a INT, b INT, c INT); CREATE STREAM t (d INT, e INT); "


TABLE_1 = {
    "Q1": ("s.a FROM s WHERE s.a > 1", True, False),
    "Q2": ("s.a FROM s, t WHERE s.a = t.d", False, False),
    "Q3": ("s.a FROM s, t WHERE s.a = t.d AND s.a > 1 AND t.d < 4", True, True),
    "Q4": ("s.a FROM s, t WHERE s.b < t.d AND s.a = 1", False, True),
    "Q5": ("s.a FROM s, t WHERE s.b < t.d AND s.c < t.e AND s.a = 1", False, False),
    "Q6": (
        "s.a FROM s, t WHERE s.b < t.d AND s.c < t.e AND s.b < t.e AND s.c < t.d AND s.a = 1",
        False,
        True,
    ),
    "Q7": ("s.a FROM s, t WHERE s.b < t.d AND t.d > 1 AND s.b < 4 AND s.a = 1", True, True),
}


@pytest.mark.parametrize("name", TABLE_1)
def test_the_oracle_finds_table_1_by_itself(name: str) -> None:
    """Table I with smaller constants."""
    text, kept, distinct = TABLE_1[name]
    assert grows(spj_text(f"{STREAMS}SELECT {text}"), (3, 5)) == (not kept)
    assert grows(spj_text(f"{STREAMS}SELECT DISTINCT {text}"), (3, 5)) == (not distinct)


@pytest.mark.parametrize(
    ("text", "classes"),
    [
        ("SELECT s.a FROM s, t WHERE s.a = t.d AND s.a > 10 AND t.d < 20", [9, 9]),
        ("SELECT s.a FROM s, t WHERE s.b < t.d AND t.d > 10 AND s.b < 20 AND s.a = 10", [10, 10]),
        ("SELECT DISTINCT s.a FROM s, t WHERE s.b < t.d AND s.a = 10", [1, 1]),
        ("SELECT DISTINCT s.a FROM s, t WHERE s.a = t.d AND s.a > 10 AND t.d < 20", [9, 9]),
    ],
)
def test_the_oracle_counts_what_the_paper_keeps(text: str, classes: list[int]) -> None:
    assert measures(spj_text(STREAMS + text), 3) == classes


@pytest.mark.parametrize(
    ("table", "size"),
    [
        ([[1, 0], [0, 1]], 2),
        ([[1, 0], [0, 1], [1, 1]], 2),
        ([[1, 1, 0], [0, 1, 1], [1, 0, 1]], 2),
        ([[1, 0, 0], [1, 1, 0], [1, 1, 1]], 1),
        ([[0, 0]], 0),
    ],
)
def test_irredundant_families(table: list[list[int]], size: int) -> None:
    assert largest_irredundant(np.array(table, dtype=np.bool_)) == size


def check(seeds: range, most_columns: int) -> int:
    """The verdict is the oracle's; how many queries there were."""
    compared = 0
    for seed in seeds:
        rng = random.Random(seed)
        query = random_spj(
            rng,
            columns=(1, 2),
            comparisons=(1, 6),
            constants=(0, 2),
            values=(0, 2),
            checks=rng.choice([0, 0, 0.4]),
        )
        if len(query.relevant) > most_columns:
            continue
        with naming(seed, query):
            found = verdict_of(read_script(query.text).queries[0])
            if found.memory is MemoryClass.NONE and not query.distinct:
                continue
            assert found.bounded == (not grows(query)), found
            if found.bounded:
                _check_the_number(query, found)
        compared += 1
    return compared


def _check_the_number(query: SpjText, found: Verdict) -> None:
    """What is kept of an input is no less than what has to be told apart."""
    for (alias, _), least in zip(query.inputs, measures(query, 4), strict=True):
        of = alias if len(query.inputs) > 1 else "emitted rows"
        units = sum(each.units or 0 for each in found.state if each.of == of)
        assert units >= least, f"{alias}: {units} units for {least} states that differ"


@pytest.mark.parametrize("start", range(0, 160, 40))
def test_verdicts_are_those_of_brute_force(start: int) -> None:
    assert check(range(start, start + 40), most_columns=5) >= 10


@pytest.mark.heavy
@pytest.mark.parametrize("start", range(10_000, 12_000, 250))
def test_verdicts_are_those_of_brute_force_at_length(start: int) -> None:
    assert check(range(start, start + 250), most_columns=6) >= 100
