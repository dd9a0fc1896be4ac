"""Stored tables that are read once each, in the best order (Arasu, section 9, last paragraph)."""

from __future__ import annotations

import random

import pytest
from tests.memory.brute_force import measures
from tests.strategies.spj import naming, random_spj

from millpond.language import read_script
from millpond.memory import MemoryClass, Verdict, normal_form, verdict_of
from millpond.memory.one_pass import reading_order

TABLES = """CREATE TABLE r (k INT, name VARCHAR); CREATE TABLE s (a INT, b INT);
CREATE STREAM t (d INT, e INT, ts BIGINT, TIMESTAMP BY ts);
"""


def verdict(text: str) -> Verdict:
    script = read_script(TABLES + text, stored=True)
    return verdict_of(script.queries[0], one_pass=True)


@pytest.mark.parametrize(
    ("text", "units", "order"),
    [
        ("SELECT name FROM r", 0, ""),
        ("SELECT s.b FROM r, s WHERE r.k = s.a AND s.a BETWEEN 1 AND 9", 9, "r, then s"),
        ("SELECT r.name FROM r, s WHERE r.k = s.a AND s.a BETWEEN 1 AND 9", 9, "s, then r"),
        ("SELECT t.ts FROM s, t WHERE s.a = t.d AND s.a IN (1, 2)", 2, "s, then t"),
        ("SELECT DISTINCT 1 FROM s, t WHERE s.a < t.d", 2, "s, then t"),
    ],
)
def test_bounded_when_read_in_an_order(text: str, units: int, order: str) -> None:
    found = verdict(text)
    assert (found.units, found.bounded) == (units, True)
    assert found.because[0].text.endswith(order or "once")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT s.b FROM r, s WHERE r.k = s.a",
        "SELECT s.b, r.name FROM r, s WHERE r.k = s.a AND s.a BETWEEN 1 AND 9",
        "SELECT 1 FROM s, t WHERE s.a < t.d",
        "SELECT DISTINCT b FROM s",
    ],
)
def test_no_order_helps(text: str) -> None:
    assert verdict(text).memory is MemoryClass.LINEAR


def test_a_column_may_be_compared_with_what_was_read_before() -> None:
    text = "SELECT DISTINCT 1 FROM r, s, t WHERE r.k < s.a AND s.b < t.d"
    spj = normal_form(read_script(TABLES + text, stored=True).queries[0])
    assert spj is not None
    assert reading_order(spj) == ("r", "s", "t")
    streamed = read_script(
        TABLES.replace("TABLE", "STREAM").replace(", ts BIGINT, TIMESTAMP BY ts", "") + text
    )
    assert verdict_of(streamed.queries[0]).memory is MemoryClass.LINEAR


def test_two_tables_against_counting_over_growing_boxes() -> None:
    """Keeping duplicates, one of two inputs has finitely many classes of rows."""
    compared = 0
    for seed in range(300):
        rng = random.Random(seed)
        query = random_spj(
            rng, streams=(2, 2), columns=(1, 2), comparisons=(1, 5), constants=(0, 2),
            values=(0, 2), distinct=False,
        )  # fmt: skip
        if len(query.relevant) > 5:
            continue
        with naming(seed, query):
            spj = normal_form(read_script(query.text).queries[0])
            assert spj is not None
            sizes = zip(measures(query, 5), measures(query, 7), strict=True)
            assert (reading_order(spj) is not None) == any(a == b for a, b in sizes)
        compared += 1
    assert compared > 100


def test_what_is_bounded_for_streams_is_for_tables() -> None:
    for seed in range(300):
        text = random_spj(random.Random(seed))
        script = read_script(text.text)
        if verdict_of(script.queries[0]).bounded:
            with naming(seed, text):
                assert verdict_of(script.queries[0], one_pass=True).bounded
