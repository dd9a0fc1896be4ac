"""CHECKs that data obeys: what they make of a query is what declaring them makes of it."""

from __future__ import annotations

import pytest

from millpond.language import read_script
from millpond.memory import MemoryClass, verdict_of
from millpond.memory.remedy import Known, remedy
from millpond.plan.sql_stream import alter_sql
from millpond.schema import Check

DDL = "CREATE STREAM s (a INT, b BIGINT, k VARCHAR);\nCREATE STREAM t (d INT, e BIGINT);\n"
RANGE, WIDE, LIST = Check(1, 9), Check(0, 500), Check(among=("x", "y"))
KNOWN: list[Known] = [
    ("s", "a", RANGE), ("s", "b", WIDE), ("s", "k", LIST), ("t", "d", RANGE), ("t", "e", WIDE),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("SELECT DISTINCT a FROM s", ["s.a"]),
        ("SELECT DISTINCT a, k FROM s", ["s.a", "s.k"]),
        ("SELECT DISTINCT a, b, k FROM s", ["s.a", "s.b", "s.k"]),
        ("SELECT s.a FROM s, t WHERE s.a = t.d", ["s.a"]),
        ("SELECT s.a FROM s, t WHERE s.b < t.e AND s.a = 5", ["s.b"]),
        ("SELECT k, COUNT(*) FROM s GROUP BY k", ["s.k"]),
        ("SELECT COUNT(DISTINCT x.a) FROM s AS x", ["s.a"]),
        ("SELECT DISTINCT k FROM (SELECT k, b FROM s) AS q", ["s.k"]),
        ("SELECT a FROM s UNION SELECT d FROM t", ["s.a", "t.d"]),
    ],
)
def test_the_fewest_checks_that_bound_a_query_are_found(text: str, columns: list[str]) -> None:
    script = read_script(DDL + text)
    (query,) = script.queries
    verdict = verdict_of(query)
    assert verdict.memory is MemoryClass.LINEAR
    found = remedy(query, verdict, KNOWN)
    assert found is not None
    assert sorted(f"{stream}.{name}" for stream, name, _ in found.checks) == columns
    declared = ""
    for stream, name, check in found.checks:
        owner = next(each for each in query.streams if each.name == stream)
        column = owner.column(name)
        assert column is not None
        declared += alter_sql(owner, column, check)
    again = verdict_of(read_script(DDL + declared + text).queries[0])
    assert (again.memory, again.units) == (found.memory, found.units)
    assert again.memory is MemoryClass.CONSTANT


def test_of_as_many_checks_those_that_take_fewer_units_are_found() -> None:
    (query,) = read_script(DDL + "SELECT s.a FROM s, t WHERE s.a = t.d").queries
    for known in ([("s", "a", WIDE), ("t", "d", RANGE)], [("s", "a", RANGE), ("t", "d", WIDE)]):
        found = remedy(query, verdict_of(query), known)
        assert found is not None
        assert [check for _, _, check in found.checks] == [RANGE]


def test_what_stays_without_a_bound_has_no_remedy() -> None:
    (query,) = read_script(DDL + "SELECT DISTINCT a, b FROM s").queries
    assert remedy(query, verdict_of(query), [("s", "a", RANGE)]) is None
    assert remedy(query, verdict_of(query), []) is None


def test_a_bounded_query_needs_none() -> None:
    (query,) = read_script(DDL + "SELECT DISTINCT a FROM s WHERE a BETWEEN 1 AND 4").queries
    assert remedy(query, verdict_of(query), KNOWN) is None


def test_what_is_over_the_budget_is_no_remedy() -> None:
    (query,) = read_script(DDL + "SELECT DISTINCT b FROM s").queries
    assert remedy(query, verdict_of(query), KNOWN, budget=100) is None
