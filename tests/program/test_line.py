"""Lines keep the order of values, and shades stand for `<`."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millpond.program import Doubles, Near, Numbers, Texts, Whole
from millpond.program.cells import text_of, value_of
from millpond.schema import BOOLEAN, DOUBLE, INT, Type, decimal

CELL = 7
UNIT = 10 * CELL
"""A scale of tenths, with room for two columns that lie anywhere."""

doubles = st.floats(allow_nan=False, allow_infinity=False)
numbers = st.one_of(doubles, st.integers(-(2**70), 2**70), st.decimals(-1000, 1000, places=2))
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)


@given(doubles, doubles)
def test_doubles_lie_in_their_order(x: float, y: float) -> None:
    line = Doubles(UNIT, CELL)
    assert (line.of(x) < line.of(y)) is (x < y)
    assert (line.of(x) == line.of(y)) is (x == y), "0.0 and -0.0 are one value"
    assert line.end(above=False) < line.of(x) < line.end(above=True)


@given(doubles)
def test_neighbouring_doubles_are_one_apart(x: float) -> None:
    line, above = Doubles(UNIT, CELL), math.nextafter(x, math.inf)
    if not math.isinf(above):
        assert line.of(above) == line.of(x) + 1


@given(numbers, numbers)
def test_numbers_of_any_kind_compare_by_their_exact_values(x: Any, y: Any) -> None:
    line = Numbers(UNIT, CELL)
    exact = Fraction(x) < Fraction(y)
    assert (line.of(x) < line.of(y)) is exact
    assert (line.of(x) + 1 <= line.of(y)) is exact, "one shade more is `<`"
    assert (line.of(x) <= line.of(y) - 1) is exact


@given(numbers, st.integers(-40, 40))
def test_whole_places_are_added_to_numbers_exactly(x: Any, tenths: int) -> None:
    line = Numbers(UNIT, CELL)
    assert line.of(x) + tenths * CELL == line.of(Fraction(x) + Fraction(tenths, 10))  # type: ignore[arg-type]


@given(texts, texts)
def test_texts_lie_in_the_order_of_code_points(x: str, y: str) -> None:
    line = Texts(UNIT, ("", "b"))
    assert (line.of(x) < line.of(y)) is (x < y)
    assert (line.of(x) + 1 <= line.of(y)) is (x < y)
    assert line.end(above=False) < line.of(x) < line.end(above=True)


@pytest.mark.parametrize("line", [Doubles(UNIT, CELL), Numbers(UNIT, CELL)])
def test_ends_of_the_scale_are_ends_of_the_line(line: Doubles | Numbers) -> None:
    """A bound that is no multiple of the cell is the whole place beside it, that place left out."""
    for number, x in product(range(-30, 31), (-0.5, -0.1, 0.0, 0.05, 0.1, 0.25, 0.3, 0.4)):
        place: Any = line.of(x)
        above = Fraction(-(-number // CELL), 10)
        below = Fraction(number // CELL, 10)
        exact, shaded = Fraction(x), bool(number % CELL)
        assert (place <= line.most(number)) is (exact < above if shaded else exact <= above)
        assert (place >= line.least(number)) is (exact > below if shaded else exact >= below)


@pytest.mark.parametrize(
    ("line", "value", "place", "type_"),
    [
        (Whole(), 7, 7, INT),
        (Whole(), True, 1, BOOLEAN),
        (Whole(100), Decimal("1.25"), 125, decimal(5, 2)),
        (Whole(1, 2), 6, 3, INT),
        (Whole(2), 1.5, 3, DOUBLE),
    ],
)
def test_whole_numbers_go_there_and_back(line: Whole, value: Any, place: int, type_: Type) -> None:
    assert line.of(value) == place
    back = line.back(place, type_)
    assert (back, type(back)) == (value, type(value))


def test_what_lies_between_whole_places_has_none() -> None:
    assert Whole().of(0.5) is None
    assert Whole(10).of(Decimal("0.25")) is None
    assert Whole(1, 2).of(7) is None


values = st.one_of(
    st.none(), st.booleans(), numbers, texts,
    st.builds(Near, texts, st.integers(-2, 2)),
    st.builds(lambda x, y: Near(x, y, grid=CELL), st.fractions(), st.integers(-2, 2)),
)  # fmt: skip


@given(values)
def test_values_of_a_state_are_read_as_they_were_written(value: Any) -> None:
    again = value_of(text_of(value))
    assert (again, type(again)) == (value, type(value))
