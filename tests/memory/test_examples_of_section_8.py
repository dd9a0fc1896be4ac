"""Arasu, section 8, by number: redundant inputs, and each condition of each theorem on aggregates.

`test_errata_of_arasu.py` has what the theorems leave out.
"""

from __future__ import annotations

import pytest
from tests.memory.self_joins import normal
from tests.strategies.spj import spj_text

from millpond.language import read_script
from millpond.memory import MemoryClass, Verdict, verdict_of
from millpond.memory.core import core

STREAMS = (
    "CREATE STREAM s (a INT, b INT, c INT); CREATE STREAM t (d INT, e INT); "
    "CREATE STREAM u (g INT);\n"
)


def verdict(text: str) -> Verdict:
    return verdict_of(read_script(f"{STREAMS}SELECT {text}").queries[0])


def bounded(text: str) -> bool | None:
    return verdict(text).bounded


def failed(text: str) -> list[tuple[str, tuple[str, ...]]]:
    found = verdict(text)
    assert found.memory is MemoryClass.LINEAR
    return [(each.rule, each.attributes) for each in found.because]


@pytest.mark.parametrize(
    ("condition", "redundant"),
    [
        pytest.param("s1.a > 3 AND s1.a = s2.a AND s2.b > s2.a AND s1.b > s1.a", True, id="covers"),
        pytest.param("s1.a > 3 AND s1.a = s2.a AND s2.b > s2.a", True, id="covered by the other"),
        pytest.param("s1.a = s2.a AND s1.b > 3 AND s2.b < 3", False, id="1: a filter of its own"),
        pytest.param("s1.a < s2.a", False, id="2: a join that the other has not"),
    ],
)
def test_definition_8_2_redundant_inputs(condition: str, redundant: bool) -> None:
    text = f"{STREAMS}SELECT DISTINCT 1 FROM s AS s1, s AS s2 WHERE {condition}"
    assert len(core(normal(spj_text(text))).streams) == (1 if redundant else 2)


def test_definition_8_2_condition_3_what_is_projected_has_to_be_equal() -> None:
    body = "FROM s AS s1, s AS s2 WHERE s1.a > 3 AND s2.a > 3"
    for projected, inputs in (("s1.a", 1), ("s1.a, s2.a", 2)):
        text = f"{STREAMS}SELECT DISTINCT {projected} {body}"
        assert len(core(normal(spj_text(text))).streams) == inputs
    text = f"{STREAMS}SELECT DISTINCT s1.a, s2.a {body} AND s1.a = s2.a"
    assert len(core(normal(spj_text(text))).streams) == 1


# One stream: Theorems 8.3 and 8.5 -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("aggregate", "units"),
    [
        ("SUM(b)", 1),
        ("COUNT(*)", 1),
        ("COUNT(b)", 1),
        ("MIN(b)", 1),
        ("MAX(b)", 1),
        ("AVG(b)", 2),
        ("VAR(b)", 3),
        ("STDDEV(b)", 3),
        ("COUNT(DISTINCT b)", None),
        ("MEDIAN(b)", None),
        ("SUM(DISTINCT b)", None),
        ("MAX(DISTINCT b)", 1),
    ],
)
def test_theorem_8_5_each_aggregate_of_a_column_without_bound(
    aggregate: str, units: int | None
) -> None:
    found = verdict(f"{aggregate} FROM s")
    assert found.units == units
    if units is None:
        assert [(each.rule, each.code) for each in found.because] == [("arasu 8.5 C2", "MP215")]
    grouped = verdict(f"a, {aggregate} FROM s WHERE a BETWEEN 1 AND 4 GROUP BY a")
    assert grouped.units == (None if units is None else 4 * units)


@pytest.mark.parametrize(
    ("aggregate", "units"),
    [("COUNT(DISTINCT b)", 5), ("MEDIAN(b)", 5), ("SUM(DISTINCT b)", 5)],
)
def test_theorem_8_5_holistic_aggregates_of_a_bounded_column(aggregate: str, units: int) -> None:
    assert verdict(f"{aggregate} FROM s WHERE b BETWEEN 1 AND 5").units == units


@pytest.mark.parametrize("aggregate", ["SUM(b)", "COUNT(*)", "MAX(b)", "COUNT(DISTINCT b)"])
def test_theorem_8_5_condition_1_groups_without_bound(aggregate: str) -> None:
    text = f"a, {aggregate} FROM s WHERE a > 1 AND b BETWEEN 1 AND 4 GROUP BY a"
    assert failed(text) == [("arasu 8.5 C1", ("s.a",))]


def test_section_8_2_the_answer_is_kept_and_without_aggregates_too() -> None:
    assert verdict("a FROM s WHERE a BETWEEN 1 AND 3 GROUP BY a").units == 3
    assert failed("a FROM s GROUP BY a") == [("arasu 8.5 C1", ("s.a",))]


def test_section_8_2_several_aggregates_are_one_query_each() -> None:
    """The paper's A G SUM(B), MAX(C) over `A = 10`."""
    both = verdict("a, SUM(b), MAX(c) FROM s WHERE a = 10 GROUP BY a")
    one = verdict("a, SUM(b) FROM s WHERE a = 10 GROUP BY a")
    other = verdict("a, MAX(c) FROM s WHERE a = 10 GROUP BY a")
    assert (both.units, one.units, other.units) == (2, 1, 1)
    assert bounded("a, SUM(b), MEDIAN(c) FROM s WHERE a = 10 GROUP BY a") is False


# Several streams: Theorems 8.4 and 8.6 ------------------------------------------------------------


def test_example_8_7_sums_are_pushed_below_the_join() -> None:
    found = verdict(
        "a, d, SUM(b) FROM s, t WHERE a < 20 AND d < 20 AND a > 10 AND d > 10 GROUP BY a, d"
    )
    assert found.formula == (
        "s: 9 values of a x 1 sum of b + t: 9 values of d x 1 count"
        " + answer: 9 values of s.a x 9 values of t.d x 1 sum of b"
    )
    assert found.units == 9 + 9 + 81


def test_theorem_8_4_the_characteristic_query_is_enough() -> None:
    """It is projected on groups and on what is aggregated, with duplicates where they count."""
    joined = "FROM s, t WHERE a = d AND a BETWEEN 1 AND 9 AND b BETWEEN 1 AND 3"
    for aggregate, projection in (
        ("MEDIAN(b)", "a, b"),
        ("COUNT(DISTINCT b)", "DISTINCT a, b"),
        ("MAX(b)", "DISTINCT a, b"),
    ):
        assert bounded(f"{projection} {joined}")
        assert bounded(f"a, {aggregate} {joined} GROUP BY a")


COUNTING = ["COUNT(*)", "SUM(b)", "AVG(b)", "VAR(b)"]
HOLISTIC = ["MEDIAN(b)", "COUNT(DISTINCT b)"]
BEST = ["MIN(b)", "MAX(b)"]


@pytest.mark.parametrize("aggregate", [*COUNTING, *BEST])
def test_theorem_8_6_c1_a_bounded_join(aggregate: str) -> None:
    assert bounded(f"{aggregate} FROM s, t WHERE a = d AND a BETWEEN 1 AND 9")
    assert bounded(f"{aggregate} FROM s, t")
    assert bounded(
        f"c, {aggregate} FROM s, t WHERE a < d AND a BETWEEN 1 AND 9 AND c = 1 GROUP BY c"
    )


@pytest.mark.parametrize("aggregate", [*COUNTING, *BEST, *HOLISTIC])
def test_theorem_8_6_c1_the_reduced_characteristic_query_is_not_bounded(aggregate: str) -> None:
    within = " AND b BETWEEN 1 AND 3"
    assert failed(f"{aggregate} FROM s, t WHERE a = d{within}")[0] == (
        "arasu 8.6 C1",
        ("s.a", "t.d"),
    )
    assert failed(f"c, {aggregate} FROM s, t WHERE a = 1{within} GROUP BY c")[0] == (
        "arasu 8.6 C1",
        ("s.c",),
    )


@pytest.mark.parametrize("aggregate", [*COUNTING, "MEDIAN(b)", *BEST, "COUNT(DISTINCT b)"])
def test_theorem_8_6_c1_duplicates_matter_to_some(aggregate: str) -> None:
    """Which rows meet needs one extreme of each stream; how often they do needs all values."""
    counts = aggregate in (*COUNTING, "MEDIAN(b)")
    assert bounded(f"{aggregate} FROM s, t WHERE a < d AND b BETWEEN 1 AND 3") is not counts


@pytest.mark.parametrize("aggregate", HOLISTIC)
def test_theorem_8_6_c2_holistic_aggregates(aggregate: str) -> None:
    joined = "FROM s, t WHERE a = d AND a BETWEEN 1 AND 9"
    assert bounded(f"{aggregate} {joined} AND b BETWEEN 1 AND 3")
    assert failed(f"{aggregate} {joined}") == [("arasu 8.6 C2", ("s.b",))]


@pytest.mark.parametrize(
    ("text", "is_bounded"),
    [
        pytest.param("MAX(b) FROM s, t WHERE a = d AND a = 3", True, id="MaxRef is empty"),
        pytest.param("MAX(b) FROM s, t WHERE b > d", True, id="MaxRef is the column"),
        pytest.param(
            "MAX(b) FROM s, t WHERE b > d AND a = b", True, id="MaxRef is one class with it"
        ),
        pytest.param("MAX(b) FROM s, t WHERE a > d", False, id="MaxRef is another column"),
        pytest.param("MAX(b) FROM s, t WHERE b > d AND a > d", False, id="MaxRef has another, too"),
        pytest.param(
            "MAX(b) FROM s, t WHERE a > d AND b BETWEEN 1 AND 3", True, id="the column is bounded"
        ),
        pytest.param("MIN(b) FROM s, t WHERE b < d", True, id="MinRef is the column"),
        pytest.param("MIN(b) FROM s, t WHERE a < d", False, id="MinRef is another column"),
        pytest.param("MAX(b) FROM s, t, u WHERE d < g", True, id="joins of other streams"),
    ],
)
def test_theorem_8_6_c3_best_values(text: str, is_bounded: bool) -> None:
    assert bounded(text) is is_bounded
    if not is_bounded:
        assert failed(text)[0][0] == "arasu 8.6 C3"
