"""Verdicts on users' aggregates: Arasu, Theorems 8.3 and 8.4, which say what is enough."""

from __future__ import annotations

import pytest

from millpond.language import read_script
from millpond.memory import Bits, MemoryClass, Verdict, verdict_of, witness_of
from millpond.run.respond import Responses

DDL = (
    "CREATE STREAM s (a INT NOT NULL, b INT NOT NULL, c INT NOT NULL);"
    "CREATE STREAM t (d INT NOT NULL, e INT NOT NULL);\n"
    + "".join(
        f"CREATE AGGREGATE {name} (x INT) RETURNS INT AS 'no.such:Code' "
        f"WITH (class = '{kind}', duplicates = '{duplicates}'{units});\n"
        for name, kind, duplicates, units in (
            ("total", "distributive", "sensitive", ""),
            ("geomean", "algebraic", "sensitive", ", units = 2"),
            ("range_of", "algebraic", "insensitive", ", units = 2"),
            ("sketch", "algebraic", "insensitive", ", units = 4096"),
            ("mode", "holistic", "sensitive", ""),
            ("kinds", "holistic", "insensitive", ""),
        )
    )
)
SENSITIVE = ("total", "geomean", "mode")
INSENSITIVE = ("range_of", "sketch", "kinds")
HOLISTIC = ("mode", "kinds")
STATED = {"total": 1, "geomean": 2, "range_of": 2, "sketch": 4096}
EVERY = (*SENSITIVE, *INSENSITIVE)

every = pytest.mark.parametrize("name", EVERY)


def verdict(text: str) -> Verdict:
    return verdict_of(read_script(f"{DDL}SELECT {text}").queries[0])


def outside(text: str) -> str:
    """What is said of a query that is outside."""
    found = verdict(text)
    assert (found.memory, found.units) == (MemoryClass.OUTSIDE, None), text
    (reason,) = found.because
    return reason.text


# One stream: Theorem 8.3 -------------------------------------------------------------------------


@pytest.mark.parametrize("name", STATED)
def test_theorem_8_3_a_group_keeps_one_state_of_the_declared_units(name: str) -> None:
    assert verdict(f"{name}(b) FROM s").units == STATED[name]
    found = verdict(f"a, {name}(b) FROM s WHERE a BETWEEN 1 AND 4 GROUP BY a")
    assert found.units == 4 * STATED[name]
    assert [each.rule for each in found.because] == ["arasu 8.3"]
    assert found.bits is Bits.LOG


def test_theorem_8_3_a_state_of_many_units_is_one_in_the_formula() -> None:
    found = verdict("a, sketch(b), SUM(b) FROM s WHERE a BETWEEN 1 AND 4 GROUP BY a")
    assert found.formula == (
        "answer: 4 values of s.a x (4096 units of the state of sketch(s.b) + 1 sum of b)"
    )
    assert found.units == 4 * 4097
    assert found.state_bytes == 4 * 8 * 4098


@pytest.mark.parametrize("name", HOLISTIC)
def test_theorem_8_3_condition_2_a_holistic_one_keeps_all_values(name: str) -> None:
    bounded = verdict(f"a, {name}(b) FROM s WHERE a = 1 AND b BETWEEN 1 AND 5 GROUP BY a")
    assert bounded.units == 5
    assert bounded.bits is (Bits.LOG if name == "mode" else Bits.CONSTANT)
    said = outside(f"a, {name}(b) FROM s WHERE a = 1 GROUP BY a")
    assert "all values of `s.b` have to be known" in said
    assert "Theorem 8.3 says only what is enough" in said


@every
def test_theorem_8_3_condition_1_groups_without_bound_are_linear(name: str) -> None:
    found = verdict(f"c, {name}(b) FROM s WHERE b BETWEEN 1 AND 5 GROUP BY c")
    assert found.memory is MemoryClass.LINEAR
    assert [(each.code, each.attributes) for each in found.because] == [("MP214", ("s.c",))]
    both = verdict(f"c, {name}(b) FROM s GROUP BY c")
    assert [(each.code, each.attributes) for each in both.because] == [("MP214", ("s.c",))]


@every
def test_distinct_makes_a_sensitive_one_holistic(name: str) -> None:
    within = verdict(f"{name}(DISTINCT b) FROM s WHERE b BETWEEN 1 AND 5")
    assert within.units == (5 if name in (*SENSITIVE, "kinds") else STATED[name])
    if name in SENSITIVE:
        assert "`s.b`" in outside(f"{name}(DISTINCT b) FROM s")


@every
def test_what_filter_asks_of_one_stream_costs_nothing(name: str) -> None:
    plain = verdict(f"{name}(b) FROM s WHERE b BETWEEN 1 AND 5").units
    assert verdict(f"{name}(b) FILTER (WHERE c > 7) FROM s WHERE b BETWEEN 1 AND 5").units == plain


def test_two_filters_are_two_states() -> None:
    for name, units in (("geomean", 2), ("SUM", 1), ("COUNT", 1)):
        text = f"{name}(b) FILTER (WHERE c > 7) AS x, {name}(b) FILTER (WHERE c < 7) AS y FROM s"
        assert verdict(text).units == 2 * units


def test_having_of_a_users_aggregate_hides_what_else_fails() -> None:
    assert "HAVING may hide it" in outside("c, COUNT(*) FROM s GROUP BY c HAVING geomean(b) > 3")
    assert verdict("a, COUNT(*) FROM s WHERE a = 1 GROUP BY a HAVING geomean(b) > 3").units == 3


# Several streams: Theorem 8.4 --------------------------------------------------------------------

JOINED = "FROM s, t WHERE a = d AND a BETWEEN 1 AND 9"


@every
def test_theorem_8_4_the_characteristic_query_is_enough(name: str) -> None:
    """It is projected on groups and on what is aggregated, with duplicates where they count."""
    for joined in (f"{JOINED} AND b BETWEEN 1 AND 3", "FROM s, t WHERE a < d AND b = 1 AND a = 2"):
        projection = "a, b" if name in SENSITIVE else "DISTINCT a, b"
        aggregated = verdict(f"a, {name}(b) {joined} GROUP BY a")
        assert aggregated.bounded is verdict(f"{projection} {joined}").bounded


@every
def test_theorem_8_4_the_aggregated_column_has_to_be_bounded(name: str) -> None:
    said = outside(f"a, {name}(b) {JOINED} GROUP BY a")
    assert "all values of `s.b` have to be known" in said
    assert "Theorem 8.4 says only what is enough" in said


def test_theorem_8_4_units_are_those_of_the_synopses_and_of_the_states() -> None:
    found = verdict(f"a, geomean(b), SUM(e) {JOINED} AND b BETWEEN 1 AND 3 GROUP BY a")
    assert found.formula == (
        "s: 9 values of a x 3 values of b x 1 count + t: 9 values of d x (1 sum of e + 1 count)"
        " + answer: 9 values of s.a x (2 units of the state of geomean(s.b) + 1 sum of e)"
    )
    assert found.units == 27 + 18 + 27


@every
def test_theorem_8_4_duplicates_matter_to_the_sensitive(name: str) -> None:
    """Which rows meet needs one extreme of each stream; how often they do needs all values."""
    text = f"{name}(b) FROM s, t WHERE a < d AND b BETWEEN 1 AND 3"
    if name in INSENSITIVE:
        assert verdict(text).memory is MemoryClass.CONSTANT
    else:
        assert "`s.a`, `t.d` are compared across streams" in outside(text)
        assert verdict(text.replace("(b)", "(DISTINCT b)")).bounded


@every
def test_theorem_8_4_one_sensitive_aggregate_counts_for_itself_alone(name: str) -> None:
    """MAX(b) asks of the other nothing, and gets nothing from it."""
    text = f"{name}(b), MAX(b) FROM s, t WHERE a < d AND b BETWEEN 1 AND 3"
    assert verdict(text).bounded is (None if name in SENSITIVE else True)


@every
def test_theorem_8_4_a_join_that_the_groups_alone_cannot_have_is_linear(name: str) -> None:
    within = "FROM s, t WHERE a = d AND b BETWEEN 1 AND 3"
    found = verdict(f"b, {name}(b) {within} GROUP BY b")
    assert found.memory is MemoryClass.LINEAR
    assert [(each.code, each.attributes) for each in found.because] == [("MP212", ("s.a", "t.d"))]
    # Without groups the function may be a constant, whatever joins.
    assert "`s.a`, `t.d` are joined by equality" in outside(f"{name}(b) {within}")


@every
def test_a_standard_aggregate_beside_it_is_decided_as_ever(name: str) -> None:
    found = verdict(f"{name}(b), COUNT(DISTINCT c) FROM s WHERE b BETWEEN 1 AND 3")
    assert found.memory is MemoryClass.LINEAR
    assert [(each.code, each.attributes) for each in found.because] == [("MP215", ("s.c",))]


# Witnesses ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "c, mode(b) FROM s GROUP BY c",
        "geomean(b) + 1 FROM s GROUP BY c",
        "c, geomean(b), COUNT(*) FROM s GROUP BY c HAVING COUNT(*) > 0",
        "b, total(b) FROM s, t WHERE a = d AND b BETWEEN 1 AND 3 GROUP BY b",
    ],
)
def test_a_witness_is_found_without_running_the_code(text: str) -> None:
    query = read_script(f"{DDL}SELECT {text}").queries[0]
    found = verdict_of(query)
    assert found.memory is MemoryClass.LINEAR
    assert witness_of(found, Responses(query), 3) is not None
