"""Columns of every type counted in integers."""

from __future__ import annotations

from fractions import Fraction

import pytest

from millpond.language import read_script
from millpond.memory import SpjQuery, normal_form
from millpond.memory.spj import Attribute
from millpond.order import PLAIN


def query(columns: str, where: str, inputs: str = "s") -> SpjQuery:
    text = f"CREATE STREAM s ({columns}); CREATE STREAM t (d INT, e DOUBLE);\n"
    found = normal_form(read_script(f"{text}SELECT 1 FROM {inputs} WHERE {where}").queries[0])
    assert found is not None
    return found


def test_integers_are_counted_as_they_are() -> None:
    spj = query("a INT", "s.a > 3")
    assert spj.scale.unit == 1
    assert spj.predicate.interval(Attribute("s", "a")).low == 4


def test_decimals_are_multiples_of_their_last_digit() -> None:
    spj = query("a DECIMAL(5, 2), b INT", "s.a > 1 AND s.a <= 1.5 AND s.b = 2")
    assert spj.scale.unit == 100
    assert spj.values[Attribute("s", "a")].size == 50
    assert spj.values[Attribute("s", "b")].size == 1


def test_between_two_constants_is_room_for_every_dense_column() -> None:
    spj = query("x DOUBLE, y DOUBLE", "s.x > 1 AND s.y > s.x AND s.y < 2")
    assert spj.satisfiable
    assert not spj.predicate.bounded(Attribute("s", "x"))
    assert spj.scale.of(Fraction(2)) - spj.scale.of(Fraction(1)) > 3


def test_a_whole_number_between_two_neighbours_is_none() -> None:
    dense = query("a INT, x DOUBLE", "s.a > 1 AND s.x > s.a AND s.x < 2")
    assert not dense.satisfiable


@pytest.mark.parametrize(
    ("column", "where", "size"),
    [
        ("a BOOLEAN", "s.a = s.a", 2),
        ("a TINYINT", "s.a = s.a", 256),
        ("a INT", "s.a = s.a", None),
        ("a SMALLINT", "s.a = s.a", None),
        ("a ENUM('x', 'y', 'z')", "s.a > 'x'", 2),
        ("a VARCHAR", "s.a >= 'x' AND s.a <= 'y'", None),
        ("a VARCHAR", "s.a IN ('x', 'y')", 2),
        ("a VARCHAR CHECK (a IN ('x', 'y'))", "s.a <> 'x'", 1),
        ("a INT CHECK (a IN (1, 5, 9))", "s.a > 1", 2),
        ("a INT", "s.a BETWEEN 1 AND 5 AND s.a <> 3", 4),
        ("a DOUBLE", "s.a BETWEEN 1 AND 5", None),
        ("a DOUBLE", "s.a IN (1, 2.5)", 2),
        ("a DATE", "s.a BETWEEN DATE '2024-01-01' AND DATE '2024-01-07'", 7),
    ],
)
def test_how_many_values_are_left(column: str, where: str, size: int | None) -> None:
    spj = query(column, where)
    assert spj.values[Attribute("s", "a")].size == size
    assert spj.predicate.bounded(Attribute("s", "a")) is (size is not None)


def test_plain_ranges_stay_plain() -> None:
    assert query("a INT, b INT", "s.a < s.b").values[Attribute("s", "a")] == PLAIN


def test_values_no_type_has_leave_null_only() -> None:
    spj = query("k BOOLEAN, a INT", "(s.k IS NULL OR (s.k <> TRUE AND s.k <> FALSE)) AND s.a = 1")
    assert Attribute("s", "k") in spj.void
    assert spj.satisfiable
    narrow = query("k SMALLINT, a INT", "(s.k IS NULL OR s.k > 40000) AND s.a = 1")
    assert narrow.satisfiable
    assert not query("k SMALLINT NOT NULL", "s.k IS NULL OR s.k > 40000").satisfiable
