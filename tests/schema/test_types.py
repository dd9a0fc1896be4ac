"""Intervals and integer types, against plain sets of integers."""

from __future__ import annotations

import itertools

import pytest

from millpond.schema import BIGINT, INTEGER_TYPES, Check, Column, Interval

ENDS = (None, -3, -1, 0, 2, 4)
INTERVALS = [Interval(low, high) for low, high in itertools.product(ENDS, ENDS)]
WORLD = range(-6, 8)


def members(interval: Interval) -> set[int]:
    return {value for value in WORLD if value in interval}


def test_an_interval_holds_what_lies_between_its_ends() -> None:
    for each in INTERVALS:
        low = WORLD[0] if each.low is None else each.low
        high = WORLD[-1] if each.high is None else each.high
        assert members(each) == set(range(low, high + 1))


def test_meeting_is_the_intersection() -> None:
    for left, right in itertools.product(INTERVALS, INTERVALS):
        assert members(left.meet(right)) == members(left) & members(right)


def test_size_and_emptiness_count_the_members() -> None:
    for each in INTERVALS:
        if each.low is None or each.high is None:
            assert each.size is None
            assert not each.empty
        else:
            assert each.size == len(members(each))
            assert each.empty is (not members(each))


@pytest.mark.parametrize(
    ("interval", "text"),
    [
        (Interval(), "any value"),
        (Interval(1, 9), "1..9"),
        (Interval(-1, None), "-1.."),
        (Interval(None, 5), "..5"),
        (Interval(3, 3), "3"),
    ],
)
def test_an_interval_reads_as_a_range(interval: Interval, text: str) -> None:
    assert str(interval) == text


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("TINYINT", -128, 127),
        ("SMALLINT", -32768, 32767),
        ("INT", -2147483648, 2147483647),
        ("BIGINT", -9223372036854775808, 9223372036854775807),
    ],
)
def test_types_have_the_ranges_of_sql(name: str, low: int, high: int) -> None:
    assert INTEGER_TYPES[name].range == Interval(low, high)
    assert str(INTEGER_TYPES[name]) == name


def test_values_of_a_column_are_those_of_check_and_type() -> None:
    assert Column("a", BIGINT).values == BIGINT.range
    assert Column("a", BIGINT, check=Check(0, None)).values == Interval(0, 2**63 - 1)
    tiny = INTEGER_TYPES["TINYINT"]
    assert Column("a", tiny, check=Check(-500, 5)).values == Interval(-128, 5)
    open_ends = Check(0, 5, low_open=True, high_open=True)
    assert Column("a", tiny, check=open_ends).values == Interval(1, 4)
    listed = Check(2, None, among=(1, 3, 7))
    assert Column("a", tiny, check=listed).values == Interval(3, 7)
    assert Column("a", tiny, check=Check(9, None, among=(1,))).values.empty
