"""What Spark and Flink would keep: one case for each way to keep, or to refuse.

What Spark does was tried on Spark 4.3: three batches of a hundred rows a stream, in the output mode
that takes the query, `numRowsTotal` of every operator after each.
"""

from __future__ import annotations

from fractions import Fraction

import pytest

from millpond.language import read_script
from millpond.memory import Elsewhere, Rate, at_rates, verdict_of

DDL = """CREATE STREAM s (a INT, b INT, k TINYINT, ts TIMESTAMP,
    WATERMARK FOR ts AS ts - INTERVAL '10' SECOND);
CREATE STREAM t (d INT, e INT, k TINYINT, ts TIMESTAMP,
    WATERMARK FOR ts AS ts - INTERVAL '10' SECOND);
"""


def found(text: str) -> dict[str, Elsewhere]:
    query = read_script(DDL + text).queries[0]
    rates = {name: Rate(Fraction(100)) for name in ("s", "t")}
    return {each.engine: each for each in at_rates(query, verdict_of(query), rates).elsewhere}


BOTH = "every row of s and t that passes its filters"


@pytest.mark.parametrize(
    ("text", "memory", "keeps", "rows"),
    [
        ("SELECT a FROM s WHERE a > 1", "none", "nothing", None),
        ("SELECT a FROM s UNION ALL SELECT d FROM t", "none", "nothing", None),
        ("SELECT s.a FROM s, t WHERE s.a = t.d", "linear", BOTH, 200),
        ("SELECT s.a FROM s JOIN t ON s.a = t.d AND t.d < 9", "linear", BOTH, 200),
        ("SELECT s.a FROM s, t WHERE s.a = t.d AND s.ts <= t.ts", "linear", "every row of s that "
         "passes its filters", 100),
        ("SELECT s.a FROM s, t WHERE s.a = t.d AND s.ts = t.ts", "window",
         "rows of s and t until the watermark has passed their range of time", None),
        ("SELECT s.a FROM s, t WHERE s.a = t.d AND s.ts <= t.ts AND s.ts > t.ts - INTERVAL '20' "
         "SECOND", "window", "rows of s and t until the watermark has passed their range of time",
         None),
        ("SELECT x.a FROM s AS x, s AS y WHERE x.a = y.b", "linear",
         "every row of x and y that passes its filters", 200),
        ("SELECT DISTINCT a FROM s", "linear", "every distinct row of its answer", 100),
        ("SELECT DISTINCT a, ts FROM s", "window",
         "every distinct row of its answer until the watermark has passed its time", None),
        ("SELECT DISTINCT a FROM s WHERE a BETWEEN 1 AND 9", "constant",
         "every distinct row of its answer", None),
        ("SELECT a FROM s UNION SELECT d FROM t", "linear", "every distinct row of its answer",
         None),
        ("SELECT a, COUNT(*) FROM s GROUP BY a", "linear", "every group of s.a", 100),
        ("SELECT k, COUNT(*) FROM s GROUP BY k", "constant", "every group of s.k", None),
        ("SELECT COUNT(*) FROM s", "constant", "one row of aggregates", None),
        ("SELECT MEDIAN(a) FROM s", "linear", "every value of s.a", 100),
        ("SELECT s.b, COUNT(*) FROM s, t WHERE s.a = t.d GROUP BY s.b", "linear",
         f"every group of s.b; {BOTH}", 200),
    ],
)  # fmt: skip
def test_what_spark_would_keep(text: str, memory: str, keeps: str, rows: int | None) -> None:
    spark = found(text)["Spark"]
    assert spark.memory == memory
    assert {*spark.keeps.split("; ")} == {*keeps.split("; ")}
    assert (None if spark.pace is None else spark.pace.rows) == rows


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("SELECT s.a FROM s, t WHERE s.b < t.e", "a join of streams without an equality"),
        ("SELECT s.a FROM s, t WHERE s.a = 10 AND t.d = 10", "a join of streams without"),
        ("SELECT s.a FROM s LEFT JOIN t ON s.a = t.d", "an outer join of streams without"),
        ("SELECT a FROM s WHERE a IN (SELECT d FROM t)", "a subquery over a stream"),
        ("SELECT a FROM s WHERE NOT EXISTS (SELECT 1 FROM t WHERE t.d = s.a)", "a subquery over"),
        ("SELECT a FROM s EXCEPT SELECT d FROM t", "EXCEPT and INTERSECT of streams"),
        ("SELECT a FROM s INTERSECT SELECT d FROM t", "EXCEPT and INTERSECT of streams"),
        ("SELECT COUNT(DISTINCT a) FROM s", "an aggregate of DISTINCT values"),
        ("SELECT k, COUNT(*) FROM (SELECT a, k, COUNT(*) AS n FROM s GROUP BY a, k) AS q "
         "GROUP BY k", "an aggregate of aggregates"),
        ("SELECT DISTINCT a FROM s [ROWS 10]", "windows of rows over streams"),
    ],
)  # fmt: skip
def test_what_spark_would_refuse(text: str, refused: str) -> None:
    spark = found(text)["Spark"]
    assert spark.memory == "refused"
    assert spark.keeps.startswith(refused)
    assert spark.pace is None


@pytest.mark.parametrize(
    ("text", "memory", "rows"),
    [
        ("SELECT s.a FROM s, t WHERE s.b < t.e", "linear", 200),
        ("SELECT s.a FROM s, t WHERE s.a = t.d AND s.ts <= t.ts", "linear", 200),
        ("SELECT s.a FROM s, t WHERE s.a = t.d AND s.ts = t.ts", "window", None),
        ("SELECT COUNT(DISTINCT a) FROM s", "linear", 100),
        ("SELECT COUNT(DISTINCT k) FROM s", "constant", None),
        ("SELECT s.a FROM s LEFT JOIN t ON s.a = t.d", "linear", 200),
        ("SELECT a FROM s", "none", None),
    ],
)
def test_what_flink_would_keep(text: str, memory: str, rows: int | None) -> None:
    flink = found(text)["Flink"]
    assert flink.memory == memory
    assert (None if flink.pace is None else flink.pace.rows) == rows
    assert "table.exec.state.ttl not set" in flink.given


def test_windows_of_time_are_written_as_ranges_there() -> None:
    both = found("SELECT s.a FROM s [RANGE 1 MINUTE], t [RANGE 1 MINUTE] WHERE s.a = t.d")
    assert [each.memory for each in both.values()] == ["window", "window"]
    assert all("range of time" in each.given for each in both.values())
