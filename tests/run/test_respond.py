"""Asking one plan of many contents says what a run of its own for each of them says."""

from __future__ import annotations

import random

import pytest

from millpond.language import read_script
from millpond.run.respond import Responses
from millpond.schema import Row

DDL = """CREATE STREAM s (a INT, b INT, ts BIGINT, TIMESTAMP BY ts);
CREATE STREAM t (d INT, e INT, ts BIGINT, TIMESTAMP BY ts);
"""
QUERIES = [
    "SELECT s.a FROM s, t WHERE s.b < t.e AND s.a = t.d",
    "SELECT DISTINCT s.a, t.e FROM s, t WHERE s.b < t.e",
    "SELECT DISTINCT x.a FROM s AS x, s AS y WHERE x.a = y.a AND x.b < y.b",
    "SELECT a, COUNT(*), MAX(b) FROM s GROUP BY a",
    "SELECT COUNT(*) FROM s",
    "SELECT MEDIAN(b) FROM s WHERE a > 1",
    "SELECT a FROM s UNION SELECT d FROM t",
    "SELECT a FROM s EXCEPT SELECT d FROM t",
    "SELECT s.a FROM s LEFT JOIN t ON s.a = t.d",
    "SELECT a FROM s WHERE a NOT IN (SELECT d FROM t)",
    "SELECT q.a FROM (SELECT a, b + 1 AS c FROM s) AS q WHERE q.c > 2",
]
Fed = list[tuple[str, Row]]


def some(rng: random.Random, names: list[str]) -> Fed:
    rows: Fed = []
    for _ in range(rng.choice([0, 1, 2, 5])):
        values = [rng.choice([None, 0, 1, 2, 3]) for _ in range(2)]
        rows.append((rng.choice(names), (*values, 0)))
    return rows


@pytest.mark.parametrize("text", QUERIES)
def test_one_plan_says_what_a_run_says(text: str) -> None:
    query = read_script(DDL + text).queries[0]
    responses, names = Responses(query), [each.name for each in query.streams]
    rng = random.Random(3)
    assert responses._plain
    for _ in range(60):
        before = some(rng, names)
        for probe in (some(rng, names), some(rng, names), before):
            assert responses(before, probe) == responses._run(before, probe), (before, probe)


def test_windows_are_run() -> None:
    query = read_script(DDL + "SELECT DISTINCT a FROM s [RANGE 5]").queries[0]
    assert not Responses(query)._plain
