"""Expressions read as sums and as derived columns: what they say holds of every row."""

from __future__ import annotations

import random
from decimal import Decimal
from fractions import Fraction

import pytest

from millpond.language import read_script
from millpond.memory import MemoryClass, verdict_of
from millpond.memory.attribute import Attribute, derived_column, linear
from millpond.plan import Expression, Project
from millpond.plan.evaluate import compiled
from millpond.schema import Kind, Row, Value

DDL = """CREATE STREAM s (a INT, m DECIMAL(6, 2), x DOUBLE, d DATE, t TIMESTAMP, f BOOLEAN);
"""


def expression(text: str) -> tuple[Expression, Project]:
    root = read_script(f"{DDL}SELECT {text} AS it FROM s").queries[0].root
    assert isinstance(root, Project)
    return root.items[0].expression, root


def random_row(rng: random.Random) -> Row:
    return (
        rng.randint(-50, 50),
        Decimal(rng.randint(-2_000, 2_000)) / 100,
        rng.uniform(-20, 20),
        rng.randint(-30_000, 30_000),
        rng.randint(-(10**15), 10**15),
        rng.random() < 0.5,
    )


@pytest.mark.parametrize(
    "text",
    [
        "a % 7", "a % -7", "m % 3", "m % 2.5", "x % 3", "SIGN(a)", "SIGN(m)", "SIGN(x)",
        "MONTH(d)", "DAY(t)", "HOUR(t)", "MINUTE(t)", "SECOND(t)", "QUARTER(d)", "WEEK(d)",
        "DAYOFWEEK(d)", "DAYOFYEAR(d)", "CASE WHEN a > 0 THEN 'x' ELSE 'y' END",
        "CASE WHEN a > 0 THEN 1 WHEN a < -9 THEN 7 ELSE 2 END", "a > 3", "f AND a > 1",
    ],
)  # fmt: skip
def test_a_derived_column_has_no_value_beyond_its_range(text: str) -> None:
    found, root = expression(text)
    column, value = derived_column(found), compiled(found, root.input.fields)
    rng = random.Random(text)
    for _ in range(500):
        row = random_row(rng)
        given = value(row)
        assert given is None or column.check.admits(given), f"{given} of {row}"


@pytest.mark.parametrize(
    "text",
    ["a + 3", "3 - a", "-a", "2 * a + 1", "a * 2 - a", "m + 1", "m * 2 - 0.5", "a - m", "d + 5"],
)
def test_a_sum_is_what_it_is_read_as(text: str) -> None:
    found, root = expression(text)
    sum_, value = linear(found), compiled(found, root.input.fields)
    assert sum_ is not None
    places = {Attribute("s", each.name): place for place, each in enumerate(root.input.fields)}
    rng = random.Random(text)
    for _ in range(200):
        row = random_row(rng)
        terms = (factor * _number(row[places[x]]) for x, factor in sum_.terms.items())
        assert _number(value(row)) == sum(terms, sum_.constant)


def _number(value: Value) -> Fraction:
    assert isinstance(value, int | float | Decimal)
    return Fraction(value)


@pytest.mark.parametrize(
    "text", ["a * a", "a / 2", "x + 1", "ABS(a)", "d + INTERVAL '1' DAY", "a * m"]
)
def test_what_is_no_exact_sum_is_not_read_as_one(text: str) -> None:
    found, _ = expression(text)
    assert linear(found) is None


def test_a_remainder_of_a_decimal_is_no_whole_number() -> None:
    text = "SELECT DISTINCT a FROM s WHERE m % 3 = 2.5"
    found = verdict_of(read_script(DDL + text).queries[0])
    assert found.memory is MemoryClass.LINEAR
    kinds = {each.type.kind for each in (expression("m % 3")[0], expression("a % 3")[0])}
    assert kinds == {Kind.DECIMAL, Kind.INTEGER}
