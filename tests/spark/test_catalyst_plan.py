"""A query means the same through Catalyst as through our own language: the same verdict on both."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from millpond.api.frame_text import script_of
from millpond.language import read_script
from millpond.memory import Verdict, verdict_of
from millpond.spark.catalyst import analysed_sql, session_of
from millpond.spark.catalyst_plan import translated

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STREAMS = {
    "s": "a INT, b BIGINT, y TINYINT",
    "t": "d INT, e BIGINT, o BOOLEAN",
}
DDL = "\n".join(f"CREATE STREAM {name} ({columns});" for name, columns in STREAMS.items())
NUMBERS = {"s": ("a", "b", "y"), "t": ("d", "e")}
QUERIES = 40


@pytest.fixture(scope="module")
def views(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    folder: Path = tmp_path_factory.mktemp("streams")
    for name, columns in STREAMS.items():
        (folder / name).mkdir()
        frame = spark.readStream.schema(columns).json(str(folder / name))
        frame.createOrReplaceTempView(name)
    return spark


def query(rng: random.Random) -> str:
    """A query that both languages have, with the meaning that they share."""
    inputs = rng.choice([("s s",), ("s s", "t t"), ("s s", "t t"), ("s s", "t t", "s x")])
    columns = [
        f"{alias}.{column}"
        for name, alias in (each.split() for each in inputs)
        for column in NUMBERS[name]
    ]
    said = f"FROM {', '.join(inputs)}"
    conditions = list(_conditions(rng, columns))
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    shown = rng.sample(columns, rng.randint(1, min(2, len(columns))))
    match rng.randrange(4):
        case 0:
            group = rng.choice(columns) + rng.choice(["", "", " % 5"])
            call = rng.choice(["COUNT(*)", "SUM({})", "MIN({})", "AVG({})", "COUNT(DISTINCT {})"])
            having = " HAVING COUNT(*) > 1" if rng.random() < 0.3 else ""
            value = call.format(rng.choice(columns))
            return f"SELECT {group} AS g, {value} AS v {said}{where} GROUP BY {group}{having}"
        case 1:
            inner = ", ".join(f"{each} AS c{i}" for i, each in enumerate(shown))
            return f"SELECT DISTINCT c0 FROM (SELECT {inner} {said}{where}) q WHERE q.c0 < 15"
        case 2:
            return f"SELECT DISTINCT {', '.join(shown)} {said}{where}"
    return f"SELECT {', '.join(shown)} {said}{where}"


def _conditions(rng: random.Random, columns: list[str]) -> Iterator[str]:
    for _ in range(rng.randint(0, 5)):
        one, other = rng.choice(columns), rng.choice(columns)
        op, low = rng.choice(["=", "<", "<=", "<>", ">="]), rng.randint(-3, 12)
        yield rng.choice(
            [
                f"{one} {op} {other}",
                f"{one} = {other}",
                f"{one} BETWEEN {low} AND {low + rng.randint(0, 9)}",
                f"{one} {op} {low}",
                f"{one} IN ({low}, {low + 2}, {low + 7})",
                f"NOT ({one} > {low} OR {other} < {low - 5})",
                f"{one} + {low} < {other}",
                f"{one} IS NOT NULL",
                f"({one} = {low} OR {one} = {other})",
            ]
        )


def agrees(spark: SparkSession, sql: str) -> Verdict:
    """The verdict, if it is the same on both roads."""
    (ours,) = read_script(f"{DDL}\n{sql}").queries
    plan = analysed_sql(spark, sql).plan
    (theirs,) = script_of(translated(plan, session_of(spark)), "q1").queries
    right, found = verdict_of(ours), verdict_of(theirs)
    assert (found.memory, found.units, found.bits) == (right.memory, right.units, right.bits), sql
    assert [x.attributes for x in found.because] == [x.attributes for x in right.because], sql
    return found


def test_random_queries_have_the_same_verdict_on_both_roads(views: SparkSession) -> None:
    rng = random.Random(11)
    classes = {agrees(views, query(rng)).memory.value for _ in range(QUERIES)}
    assert {"none", "constant", "linear"} <= classes


@pytest.mark.heavy
def test_many_random_queries_have_the_same_verdict_on_both_roads(views: SparkSession) -> None:
    rng = random.Random(12)
    for _ in range(1000):
        agrees(views, query(rng))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT DISTINCT s.a FROM s JOIN t ON s.a = t.d WHERE s.a > 10 AND t.d < 20",
        "SELECT s.y FROM s UNION ALL SELECT t.d FROM t",
        "SELECT s.y FROM s UNION SELECT CAST(NULL AS TINYINT) FROM t",
        "SELECT o, COUNT(*) FILTER (WHERE d > 3) AS n FROM t GROUP BY o",
        "SELECT CASE WHEN a > 3 THEN 'more' ELSE 'less' END AS k, COUNT(*) AS n FROM s GROUP BY 1",
        "WITH q AS (SELECT a, y FROM s WHERE y > 0) SELECT q.y, MAX(q.a) AS m FROM q GROUP BY q.y",
        "SELECT x.a FROM s x, s z WHERE x.a = z.a AND x.y = 3 AND z.b BETWEEN 1 AND 5 "
        "AND x.a BETWEEN 1 AND 9",
        "SELECT y, AVG(a) AS mean FROM s WHERE NOT (a <=> 3) GROUP BY y",
    ],
)
def test_forms_that_people_write_have_the_same_verdict_on_both_roads(
    views: SparkSession, sql: str
) -> None:
    agrees(views, sql)
