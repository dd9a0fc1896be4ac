"""A column that can lie anywhere: as many places of it are counted as rows to join tell apart."""

from __future__ import annotations

import operator
import random
from fractions import Fraction

import pytest

from millpond.language import read_script
from millpond.memory import MemoryClass, verdict_of

OPERATORS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
DECLARED = "CREATE STREAM s (x DOUBLE NOT NULL); CREATE STREAM t (d INT NOT NULL);\n"


def test_places_of_a_double_are_those_that_rows_to_join_tell_apart() -> None:
    """`x op d + offset`, with d in a small range and a filter of x; answers of each eighth."""
    tight = 0
    for seed in range(300):
        rng = random.Random(seed)
        low = rng.randint(0, 3)
        partners = range(low, low + rng.randint(1, 5))
        op, offset = rng.choice(list(OPERATORS)), Fraction(rng.randint(-2, 4), 2)
        limits = [(rng.choice(list(OPERATORS)), Fraction(rng.randint(0, 12), 2))]
        limits = limits[: rng.randint(0, 1)]
        filters = "".join(f" AND s.x {each} {float(end)}" for each, end in limits)
        text = (
            f"SELECT t.d FROM s, t WHERE t.d BETWEEN {low} AND {partners[-1]} "
            f"AND s.x {op} t.d + {float(offset)}{filters}"
        )
        answers = {
            tuple(OPERATORS[op](x, d + offset) for d in partners)
            for x in (Fraction(eighth, 8) for eighth in range(-80, 160))
            if all(OPERATORS[each](x, end) for each, end in limits)
        }
        wanted = len([each for each in answers if any(each)])
        found = verdict_of(read_script(DECLARED + text).queries[0])
        assert found.memory in (MemoryClass.CONSTANT, MemoryClass.NONE), text
        kept = sum(each.units or 0 for each in found.state if each.of == "s")
        assert wanted <= kept <= wanted + 1, (text, kept, wanted)
        tight += kept == wanted
    assert tight > 270


MIXED = "CREATE STREAM s (b DECIMAL(5, 1), e INT); CREATE STREAM t (d INT);\n"


@pytest.mark.parametrize(
    ("text", "memory"),
    [
        ("1 FROM s, t WHERE d < b AND b < e AND e <= b + 0.5", MemoryClass.LINEAR),
        ("1 FROM s, t WHERE d < e AND b < e AND e <= b + 0.5", MemoryClass.LINEAR),
        ("DISTINCT 1 FROM s, t WHERE d < b AND b < e AND e <= b + 0.5", MemoryClass.CONSTANT),
    ],
)
def test_joins_that_follow_from_one_another_by_rounding_are_not_both_left_out(
    text: str, memory: MemoryClass
) -> None:
    """`d < b` gives `d < e`, hence `d <= e - 1`, hence `d <= b - 0.5`: the two say the same, and
    one of them has to be kept."""
    found = verdict_of(read_script(f"{MIXED}SELECT {text}").queries[0])
    assert found.memory is memory
    if memory is MemoryClass.CONSTANT:
        assert found.units == 3
