"""The steps that are printed as SQL run on Spark as they are."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.program.sql_runs import batches, by_stream, counted, given, rounded
from tests.run.harness import BOUNDED_OF_TABLE_1, DDL, random_arrivals

from millpond.language import read_script
from millpond.memory import verdict_of
from millpond.plan.sql_spelling import SparkSpelling
from millpond.program.sql import sql_steps
from millpond.run.definition import DefinitionRun
from millpond.schema import Row
from millpond.synopsis import program_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MORE = {
    "groups": "SELECT s.a, COUNT(*), SUM(s.b), MIN(t.e) FROM s, t WHERE s.a = t.d AND s.a > 10 "
    "AND s.a < 20 GROUP BY s.a HAVING COUNT(*) > 1",
    "values": "SELECT COUNT(DISTINCT a), MEDIAN(b), AVG(c), VAR(c) FROM s "
    "WHERE a BETWEEN 9 AND 19 AND b BETWEEN 9 AND 19",
    "OR": "SELECT DISTINCT s.a FROM s, t WHERE (s.b < t.d OR s.c <> 11) AND s.a BETWEEN 9 AND 12",
}
QUERIES = {**BOUNDED_OF_TABLE_1, **MORE}


@pytest.fixture
def database(spark: SparkSession, tmp_path: Path) -> Iterator[SparkSession]:
    """Tables of these steps alone."""
    spark.sql(f"CREATE DATABASE steps LOCATION '{tmp_path}'")
    spark.sql("USE steps")
    yield spark
    spark.sql("USE default")
    spark.sql("DROP DATABASE steps CASCADE")


def agrees(spark: SparkSession, name: str, pieces: int) -> int:
    """Batch by batch, the changes; how many there were."""
    script = read_script(DDL + QUERIES[name])
    query = script.queries[0]
    program = program_of(query, verdict_of(query))
    steps = sql_steps(query, program, "spark")
    assert str(steps) == str(sql_steps(query, program, "duckdb")), "one text for both"
    rng = random.Random(name)
    arrivals = random_arrivals(rng, script, 30, 8, 21)
    definition = DefinitionRun(query)
    spelling = SparkSpelling()
    for each in steps.empty:
        spark.sql(each.text)
    seen = 0
    answer: Counter[Row] = Counter()
    for batch in batches(arrivals, [30 * k // pieces for k in range(1, pieces)]):
        rows = by_stream(batch)
        for stream in query.streams:
            schema = ", ".join(f"{x.name} {spelling.type(x.type)}" for x in stream.columns)
            types = [x.type for x in stream.columns]
            found = [tuple(map(given, types, row)) for row in rows.get(stream.name, ())]
            frame = spark.createDataFrame(found, schema)
            frame.createOrReplaceTempView(f"{stream.name}_batch")
        expected: Counter[Row] = Counter()
        for stream_name, row, _ in batch:
            for changed, n in definition.instant([(stream_name or "", row)]):
                expected[tuple(map(rounded, changed))] += n
        for each in steps.step:
            spark.sql(each.text)
        changes = counted(spark.sql(f"SELECT * FROM {steps.changes}").collect())
        assert changes == {row: n for row, n in expected.items() if n}
        seen += len(changes)
        answer.update(expected)
    if steps.answer is not None:
        kept = counted(spark.sql(steps.answer.text).collect(), weighted=steps.weighted)
        assert kept == {row: n for row, n in answer.items() if n}
    return seen


def test_spark_runs_the_text_as_it_is(database: SparkSession) -> None:
    assert agrees(database, "Q4 distinct", 2)


@pytest.mark.heavy
@pytest.mark.parametrize("name", QUERIES)
def test_spark_runs_the_text_of_every_query_of_table_1(database: SparkSession, name: str) -> None:
    assert agrees(database, name, 4)
