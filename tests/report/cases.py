"""One query of each memory class, as the tests of rendering use them."""

from __future__ import annotations

from millpond.language import read_script
from millpond.memory import Verdict, repairs, verdict_of
from millpond.plan import Query

STREAMS = "CREATE STREAM s (a INT, b INT);\nCREATE STREAM t (d INT, e INT); "
STREAMS += "CREATE STREAM w (f INT, ts BIGINT, TIMESTAMP BY ts);\n"

QUERIES = {
    "none": "SELECT a FROM s WHERE a > 10",
    "constant": "SELECT s.a FROM s, t WHERE s.a = t.d AND s.a > 10 AND t.d < 20",
    "emitted": "SELECT DISTINCT s.a FROM s, t WHERE s.a = t.d AND s.a > 10 AND t.d < 20 AND b < e",
    "impractical": "SELECT DISTINCT a FROM s WHERE a BETWEEN 1 AND 100000000000",
    "linear": "SELECT s.a FROM s, t WHERE s.b < t.e AND s.a = 10",
    "window": "SELECT f FROM w [RANGE 10]",
    "outside": "SELECT s.a FROM s LEFT JOIN t ON s.a = t.d",
    "empty": "SELECT a FROM s WHERE a > 1 AND a < 1",
}


def decided(case: str) -> tuple[Query, Verdict]:
    """The query of that name, and the verdict on it without repairs."""
    (query,) = read_script(STREAMS + QUERIES[case], "file.sql").queries
    return query, verdict_of(query)


def repaired(case: str) -> Verdict:
    """The verdict with its repairs."""
    from dataclasses import replace

    script = read_script(STREAMS + QUERIES[case], "file.sql")
    (query,) = script.queries
    verdict = verdict_of(query)
    return replace(verdict, fixes=repairs(script, query, verdict, read_script))
