"""Numbers past 64 bits: counts, and products of counts, never wrap."""

from __future__ import annotations

import numpy as np
import pytest
from tests.run.harness import DDL, compiled

from millpond.program import Delta, Program, State
from millpond.run import Arrivals
from millpond.run.bulk import BulkLowering
from millpond.run.tick import TickLowering

JOIN = DDL + "SELECT s.a FROM s, t WHERE s.a = t.d AND s.a > 10 AND t.d < 20"
TRIPLE = (
    DDL + "CREATE STREAM u (g INT);\n"
    "SELECT s.a FROM s, t, u WHERE s.a = t.d AND t.d = u.g AND s.a > 10 AND t.d < 20"
)
SELF = DDL + "SELECT s.a FROM s, s AS r WHERE s.a = r.a AND s.a > 10 AND r.a < 20"
HUGE = 2**62


def state_with(program: Program, counts: dict[int, int]) -> State:
    """A state in which value 11 was seen that often by each store."""
    state = program.empty()
    state.fill([[(11, counts[number])] for number in range(len(state.stores))])
    return state


@pytest.mark.parametrize("how", ["bulk", "tick", "plain"])
@pytest.mark.parametrize(
    ("text", "held", "stream", "expected"),
    [
        (JOIN, {0: 1, 1: 2**63 - 1}, "s", [2**63 - 1] * 3),
        (JOIN, {0: 2**63 - 1, 1: 5}, "s", [5, 5, 5]),
        (JOIN, {0: 1, 1: 2**70}, "s", [2**70] * 3),
        (TRIPLE, {0: 1, 1: HUGE, 2: HUGE}, "s", [HUGE * HUGE] * 3),
        (TRIPLE, {0: 7, 1: HUGE, 2: 3}, "t", [21, 21, 21]),
        (SELF, {0: 2**63 - 1, 1: 2**63 - 1}, "s", [2**64 - 1, 2**64 + 1, 2**64 + 3]),
    ],
)
def test_counts_and_products_past_64_bits_are_exact(
    how: str, text: str, held: dict[int, int], stream: str, expected: list[int]
) -> None:
    script, program = compiled(text)
    lowering = (
        BulkLowering(program) if how == "bulk" else TickLowering(program, compiled=how == "tick")
    )
    state = state_with(program, held)
    arrivals = Arrivals(script.catalog)
    width = {"s": 3, "t": 2}[stream]
    for at in range(1, len(expected) + 1):
        arrivals.add(stream, (11,) * width, at)
    delta = lowering.advance(state, arrivals.batch(program)).consolidate()
    assert [n for _, n, _ in delta.rows()] == expected


def test_the_state_is_exact_after_a_count_passed_64_bits() -> None:
    script, program = compiled(JOIN)
    state = state_with(program, {0: 2**63 - 1, 1: 1})
    arrivals = Arrivals(script.catalog)
    for at in (1, 2):
        arrivals.add("s", (11, 0, 0), at)
    TickLowering(program).advance(state, arrivals.batch(program))
    assert state.tables()[0][1] == [(11, 2**63 + 1)]
    assert state.units() == 2


def test_consolidation_adds_up_past_64_bits() -> None:
    at = np.array([1, 1, 1], dtype=np.int64)
    row = np.array([5, 5, 5], dtype=np.int64)
    weight = np.array([HUGE, HUGE, HUGE], dtype=np.int64)
    delta = Delta(("a",), (row,), (None,), at, weight).consolidate()
    assert list(delta.rows()) == [((5,), 3 * HUGE, 1)]


@pytest.mark.parametrize("how", ["bulk", "tick", "plain"])
def test_the_ends_of_bigint_compare_without_wrapping(how: str) -> None:
    least, most = -(2**63), 2**63 - 1
    text = (
        "CREATE STREAM s (a BIGINT, b BIGINT); CREATE STREAM t (d BIGINT, e BIGINT);\n"
        "SELECT DISTINCT 1 FROM s, t WHERE s.a < t.d AND s.b <= t.d AND s.a <= t.e AND s.b < t.e"
    )
    script, program = compiled(text)
    lowering = (
        BulkLowering(program) if how == "bulk" else TickLowering(program, compiled=how == "tick")
    )
    for s_row, t_row, joins in [
        ((most, least), (most, most), False),
        ((most, most), (most, most), False),
        ((least, least), (least, least), False),
        ((most - 1, most - 1), (most, most), True),
        ((least, least), (least + 1, least + 1), True),
        ((most - 1, most), (most, most), False),
    ]:
        arrivals = Arrivals(script.catalog)
        arrivals.add("s", s_row, 1)
        arrivals.add("t", t_row, 2)
        delta = lowering.advance(program.empty(), arrivals.batch(program))
        assert (len(delta) == 1) is joins, (s_row, t_row)
