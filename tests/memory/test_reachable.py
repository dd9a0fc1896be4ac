"""How many buckets rows reach, where enumerating rows is out of the question."""

from __future__ import annotations

import pytest

from millpond.language import read_script
from millpond.memory import verdict_of

PAIR = "SELECT DISTINCT a, b FROM s WHERE a <= b AND a >= {low} AND b <= {high}"


def emitted(columns: str, text: str) -> int | None:
    return verdict_of(read_script(f"CREATE STREAM s ({columns}); {text}").queries[0]).units


@pytest.mark.parametrize(
    "low",
    [0, -3, 2**53, 2**60 + 1, 2**63 - 6, -(2**63)],
    ids=["0", "-3", "2^53", "2^60 + 1", "2^63 - 6", "-2^63"],
)
def test_pairs_are_counted_wherever_they_lie(low: int) -> None:
    """Floats do not tell values past 2^53 apart, and 64-bit integers end at 2^63."""
    text = PAIR.format(low=low, high=low + 5)
    assert emitted("a BIGINT, b BIGINT", text) == 21


def test_constants_beyond_the_type_count_as_they_are_written() -> None:
    text = PAIR.format(low=2**63 - 3, high=2**63 + 2)
    assert emitted("a BIGINT, b BIGINT", text) == 21


@pytest.mark.parametrize(
    ("high", "units"),
    [
        pytest.param(999, 1000 * 1001 // 2, id="counted"),
        # Not dense: each bucket holds its key beside its row.
        pytest.param(3999, 4000**2 * 3, id="too many to count: their number without `a <= b`"),
    ],
)
def test_up_to_two_million_buckets_are_counted(high: int, units: int) -> None:
    assert emitted("a INT, b INT", PAIR.format(low=0, high=high)) == units


@pytest.mark.parametrize(
    ("columns", "text", "units"),
    [
        pytest.param(
            "a INT CHECK (a BETWEEN 0 AND 2), b INT CHECK (b BETWEEN 0 AND 1)",
            "SELECT DISTINCT a, b FROM s",
            4 * 3,
            id="NULL is a value of each",
        ),
        pytest.param(
            "a INT CHECK (a BETWEEN 0 AND 2), b INT CHECK (b BETWEEN 0 AND 1)",
            "SELECT DISTINCT a, b FROM s WHERE a > b",
            3,
            id="but not of compared ones",
        ),
        pytest.param(
            "a INT, b INT",
            "SELECT DISTINCT a, b, a FROM s WHERE a = b AND a >= 1 AND b <= 5",
            5,
            id="equal columns count once",
        ),
        pytest.param(
            "a INT, b INT, c INT",
            "SELECT DISTINCT a, b, c FROM s WHERE a < b AND b < c AND a >= 1 AND c <= 5",
            10,
            id="three in order",
        ),
    ],
)
def test_rows_of_the_answer(columns: str, text: str, units: int) -> None:
    assert emitted(columns, text) == units


def test_a_tail_meets_what_lies_in_it() -> None:
    """B below 10 is one bucket; it is met by every A, and `a < b` cuts the others."""
    script = read_script(
        "CREATE STREAM s (a INT, b INT); CREATE STREAM t (d INT); "
        "SELECT s.a FROM s, t WHERE s.b < t.d AND t.d > 10 AND s.b < 13 AND s.a < s.b AND s.a > 8"
    )
    found = verdict_of(script.queries[0])
    # B is 10 or less, 11 or 12: with A from 9 to 11 that is (9, <=10), (9, 10 x 11), (9..11 x 12).
    assert [each.units for each in found.state] == [1 + 2 + 3, 3]
