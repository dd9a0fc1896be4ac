"""How fast state grows at given rates, by hand-made figures; and against state that was counted."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction
from functools import partial

import pytest

from millpond.language import read_script
from millpond.memory import Pace, Rate, at_rates, verdict_of
from millpond.memory.pace import width
from millpond.plan import Query

DDL = """CREATE STREAM s (a INT, b BIGINT, k VARCHAR, ts TIMESTAMP, TIMESTAMP BY ts);
CREATE STREAM t (d INT, e BIGINT, ts TIMESTAMP, TIMESTAMP BY ts);
CREATE STREAM u (f SMALLINT, g VARCHAR(3), n BIGINT) WITH (time = 'n', unit = 'second');
"""
HOURLY = {name: Rate(Fraction(3600)) for name in ("s", "t", "u")}


def query_of(text: str) -> Query:
    return read_script(DDL + text).queries[0]


def paced(text: str, rates: dict[str, Rate] = HOURLY) -> Pace | None:
    query = query_of(text)
    return at_rates(query, verdict_of(query), rates).pace


@pytest.mark.parametrize(
    ("text", "rows", "size"),
    [
        ("SELECT DISTINCT a FROM s", 3600, 3600 * 4),
        ("SELECT DISTINCT a, b FROM s", 3600, 3600 * 12),
        ("SELECT DISTINCT a, b FROM s WHERE a BETWEEN 1 AND 9", 3600, 3600 * 12),
        ("SELECT DISTINCT a, b FROM s WHERE a = 9", 3600, 3600 * 8),
        ("SELECT DISTINCT k FROM s", 3600, 3600 * 16),
        ("SELECT DISTINCT g, f FROM u", 3600, 3600 * 5),
        ("SELECT s.a FROM s, t WHERE s.b < t.e AND s.a = 10", 7200, 7200 * 8),
        ("SELECT DISTINCT x.a FROM s AS x, s AS y WHERE x.a = y.a AND x.b < y.b", 3600, None),
        ("SELECT a, COUNT(*) FROM s GROUP BY a", 3600, 3600 * 4),
        ("SELECT COUNT(DISTINCT b) FROM s", 3600, 3600 * 8),
    ],
)
def test_every_row_of_what_grows_may_be_new(text: str, rows: int, size: int | None) -> None:
    found = paced(text)
    assert found is not None
    assert (found.rows % rows, found.per_hour, found.measured, found.without) == (
        0,
        True,
        False,
        (),
    )
    assert size is None or (found.rows, found.bytes) == (rows, size)


def test_what_is_bounded_has_no_pace() -> None:
    assert paced("SELECT DISTINCT a FROM s WHERE a BETWEEN 1 AND 9") is None
    assert paced("SELECT a FROM s") is None


def test_a_stream_without_a_rate_is_named() -> None:
    found = paced("SELECT s.a FROM s, t WHERE s.b < t.e AND s.a = 10", {"s": Rate(Fraction(10))})
    assert found is not None
    assert (found.rows, found.without) == (10, ("t",))
    assert found.phrase == "at most 10 rows and 80 bytes an hour, and what `t` brings"
    assert paced("SELECT DISTINCT d FROM t", {"s": Rate(Fraction(10))}) is None


def test_a_measured_share_makes_it_about_so_much() -> None:
    rates = {"s": Rate(Fraction(1000), lambda names: Fraction(len(names), 100))}
    found = paced("SELECT DISTINCT a, b FROM s", rates)
    assert found == Pace(20, 240, measured=True)
    assert found.phrase == "about 20 rows and 240 bytes an hour"


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("SELECT s.a FROM s [RANGE 1 HOUR], t [RANGE 30 MINUTE] WHERE s.a = t.d", 5400),
        ("SELECT DISTINCT f FROM u [RANGE 60]", 60),
        ("SELECT DISTINCT f FROM u [RANGE 1 MINUTE]", 60),
    ],
)
def test_windows_of_time_hold_what_comes_in_their_length(text: str, rows: int) -> None:
    query = query_of(text)
    verdict = at_rates(query, verdict_of(query), HOURLY)
    assert verdict.memory.value == "window"
    assert verdict.pace is not None
    assert (verdict.pace.rows, verdict.pace.per_hour) == (rows, False)


def _is(share: Fraction, _: Sequence[str]) -> Fraction:
    return share


def test_growth_is_never_more_than_said() -> None:
    """Distinct rows of what was drawn at random, against what the rate says."""
    rng = random.Random(7)
    for _ in range(50):
        rows = [(rng.randrange(30), rng.randrange(200)) for _ in range(rng.randrange(1, 400))]
        found = paced("SELECT DISTINCT a, b FROM s", {"s": Rate(Fraction(len(rows)))})
        assert found is not None
        new = Fraction(len(set(rows)), len(rows))
        about = paced(
            "SELECT DISTINCT a, b FROM s", {"s": Rate(Fraction(len(rows)), partial(_is, new))}
        )
        assert about is not None
        assert about.rows == len(set(rows)) <= found.rows == len(rows)


def test_widths_are_those_of_the_types() -> None:
    (stream,) = read_script(
        "CREATE STREAM s (a TINYINT, b SMALLINT, c INT, d BIGINT, e HUGEINT, f BOOLEAN, g DOUBLE, "
        "h DATE, i TIMESTAMP, j DECIMAL(9, 2), k DECIMAL(30, 2), l ENUM('x', 'y'), m VARCHAR(2), "
        "n VARCHAR)"
    ).catalog
    found = [width(stream, [each]) for each in stream.names]
    assert found == [1, 2, 4, 8, 16, 1, 8, 4, 8, 8, 16, 4, 2, 16]
