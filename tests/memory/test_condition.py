"""Conditions of WHERE taken apart: what becomes a set of values, a difference, or neither."""

from __future__ import annotations

from fractions import Fraction

import pytest

from millpond.language import read_script
from millpond.memory.attribute import Attribute
from millpond.memory.condition import (
    NEVER,
    Condition,
    Either,
    In,
    Opaque,
    Pair,
    Range,
    conditions,
    not_true,
)
from millpond.memory.flatten import flatten
from millpond.memory.normal_form import normal_form
from millpond.plan import Operator

DDL = """CREATE STREAM s (a INT, b INT NOT NULL, x DOUBLE, c VARCHAR, k BOOLEAN);
CREATE STREAM t (d INT);
"""
A, B, D = Attribute("s", "a"), Attribute("s", "b"), Attribute("t", "d")


def taken_apart(where: str) -> tuple[Condition, ...]:
    query = read_script(f"{DDL}SELECT 1 FROM s, t WHERE {where}").queries[0]
    (flat,) = flatten(query.root, distinct=False)
    return conditions(flat.predicates)


def ranges(where: str) -> tuple[tuple[Range, ...], bool]:
    """The only condition is about the values of one column."""
    (found,) = taken_apart(where)
    assert isinstance(found, In)
    return found.ranges, found.null


def point(value: int | str) -> Range:
    at = value if isinstance(value, str) else Fraction(value)
    return Range(at, at)


@pytest.mark.parametrize(
    ("where", "expected", "null"),
    [
        ("s.a BETWEEN 1 AND 3", [Range(Fraction(1), Fraction(3))], False),
        ("3 > s.a AND s.a >= 1", [Range(Fraction(1), Fraction(3), high_open=True)], False),
        ("s.a IN (1, 5)", [point(1), point(5)], False),
        ("s.a = 1 OR s.a = 5", [point(1), point(5)], False),
        ("NOT (s.a <> 1 AND s.a <> 5)", [point(1), point(5)], False),
        ("s.a IN (1, NULL)", [point(1)], False),
        ("s.a IS NULL", [], True),
        ("s.a IS NOT NULL", [Range()], False),
        ("s.a IS NULL OR s.a = 2", [point(2)], True),
        ("s.a IS NOT DISTINCT FROM 2", [point(2)], False),
        ("2 * s.a < 7", [Range(None, Fraction(7, 2), high_open=True)], False),
        ("s.a + 3 <= 5 - s.a", [Range(None, Fraction(1))], False),
        ("s.a - s.b < 4 - s.b", [Range(None, Fraction(4), high_open=True)], False),
        ("s.c = 'x' OR s.c IN ('y')", [point("x"), point("y")], False),
        ("s.k", [point(1)], False),
        ("NOT s.k", [point(0)], False),
        ("s.k = FALSE", [point(0)], False),
    ],
)
def test_values_of_one_column(where: str, expected: list[Range], null: bool) -> None:
    found = taken_apart(where)
    limits = [each for each in found if isinstance(each, In) and each.column != B]
    assert len(limits) == 1
    assert list(limits[0].ranges) == expected
    assert limits[0].null is null


def test_what_cancels_out_still_has_to_be_known() -> None:
    assert ranges("s.a < s.a + 1") == ((Range(),), False)
    assert any(isinstance(each, In | Opaque) for each in taken_apart("s.a - s.a < 3"))


def test_unequal_leaves_a_hole() -> None:
    below, above = ranges("s.a <> 3")[0]
    assert (below.high, below.high_open, above.low, above.low_open) == (
        Fraction(3),
        True,
        Fraction(3),
        True,
    )


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("s.a + 3 < t.d", Pair(A, D, Operator.LT, Fraction(-3))),
        ("s.a - t.d <= 5", Pair(A, D, Operator.LE, Fraction(5))),
        ("s.a - t.d >= 5", Pair(D, A, Operator.LE, Fraction(-5))),
        ("2 * s.a = 2 * t.d + 1", Pair(A, D, Operator.EQ, Fraction(1, 2))),
        ("NOT (s.a < t.d)", Pair(D, A, Operator.LE, Fraction(0))),
    ],
)
def test_differences_of_two_columns(where: str, expected: Pair) -> None:
    (found,) = taken_apart(where)
    assert isinstance(found, Pair)
    assert (found.left, found.right, found.op, found.offset) == (
        expected.left,
        expected.right,
        expected.op,
        expected.offset,
    )


@pytest.mark.parametrize(
    "where",
    ["s.c LIKE 'x%'", "s.a + 2 * t.d < 3", "s.a IS NOT DISTINCT FROM t.d", "s.a * t.d > 1"],
)
def test_what_order_says_nothing_of(where: str) -> None:
    assert [type(each) for each in taken_apart(where)] == [Opaque]


@pytest.mark.parametrize(
    "where",
    [
        "s.a > 3 AND s.a < 2",
        "s.a = NULL",
        "s.a NOT IN (1, NULL)",
        "s.a < s.a",
        "FALSE",
        "s.a IN (NULL)",
    ],
)
def test_what_is_never_true(where: str) -> None:
    assert NEVER in taken_apart(where)


def test_two_nulls_are_not_distinct() -> None:
    """`a IS NOT DISTINCT FROM a` is true where a is NULL."""
    assert not any(isinstance(each, In) for each in taken_apart("s.a IS NOT DISTINCT FROM s.a"))


def test_unequal_columns_are_two_alternatives() -> None:
    (found,) = taken_apart("s.a <> t.d")
    assert isinstance(found, Either)
    assert len(found.branches) == 2


def test_the_negation_of_a_comparison_lets_null_pass() -> None:
    query = normal_form(read_script(f"{DDL}SELECT 1 FROM s, t WHERE s.a < t.d").queries[0])
    assert query is not None
    found = not_true(query.conditions, query.columns)
    assert isinstance(found, Either)
    assert sum(isinstance(x, In) and x.null for each in found.branches for x in each) == 2
