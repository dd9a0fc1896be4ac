"""What Catalyst makes of a program is what the query means, by DuckDB, in any chunking."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.run.harness import BOUNDED_OF_TABLE_1, DDL
from tests.spark.harness import (
    Pieces,
    Row,
    added,
    by_duckdb,
    compiled,
    cut,
    random_events,
    static,
)

from millpond.program.expression import Arith, Compare, Field, Int, Local, Number
from millpond.spark.lowering import condition, number
from millpond.spark.stream import SparkRun

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERIES = BOUNDED_OF_TABLE_1 | {
    "constants": "SELECT 7 AS seven, s.a, NULL AS no FROM s, t WHERE s.a = t.d AND s.a = 10",
    "differences": "SELECT s.a FROM s, t WHERE s.a = t.d AND s.a > 10 AND s.a < s.b AND t.d < 20",
    "self-join": "SELECT x.a, y.b FROM s x, s y WHERE x.a = y.b AND x.a > 8 AND y.b < 14",
    "extremes": "SELECT DISTINCT s.a, t.e FROM s, t WHERE s.b < t.d AND s.a > 7 AND s.a < 13 "
    "AND t.e > 7 AND t.e < 13",
    "null keys": "SELECT u.k, s.a FROM s, u WHERE s.a = u.d AND s.a > 7 AND s.a < 13",
    "distinct null keys": "SELECT DISTINCT u.k FROM u WHERE u.d > 9",
    "two ranges": "SELECT DISTINCT s.a, t.d FROM s, t WHERE s.b <= t.d AND s.b > 5 AND s.b < 12 "
    "AND t.d > 5 AND t.d < 12 AND s.a > 5 AND s.a < 9",
}
TEXT = DDL + "CREATE STREAM u (d INT, k TINYINT CHECK (k BETWEEN 10 AND 12));\n"
SEED = 43  # One that gives every query something to say.
TOGETHER = ("Q1", "Q3", "Q4 distinct", "Q7", "self-join")


def agrees(spark: SparkSession, sql: dict[str, str], seed: int, folder: Path) -> int:
    """One random input: at each batch's end the changes so far are DuckDB's answer so far.

    Returns how many rows that is in the end.
    """
    rng = random.Random(f"{list(sql)} {seed}")
    text = TEXT + ";".join(f'CREATE QUERY "{name}" AS {query}' for name, query in sql.items())
    script, programs = compiled(text)
    read = {each.name: each for query in script.queries for each in query.streams}
    # Mostly rows that matter, and some of streams that no query reads.
    streams = [*read.values()] * 3 + list(script.catalog)
    events = random_events(rng, streams, rng.randint(1, 160))
    sink = Pieces()
    run = SparkRun(spark, script, programs, checkpoint=folder, sink=sink)
    answers: dict[str, Counter[Row]] = {name: Counter() for name in sql}
    seen = 0
    for batch, chunk in enumerate(cut(rng, events, rng.randint(1, 4))):
        run.process(static(spark, script, chunk), batch)
        seen += len(chunk)
        lines = sink.said[f"part-{batch:08d}"]
        added(answers, lines)
        assert answers == by_duckdb(script, sql, events[:seen]), (seed, batch)
        assert all(line["at"] == seen == run.at for line in lines)
        assert all(run.units()[name] <= program.certificate for name, program in programs.items())
    return sum(answer.total() for answer in answers.values())


@pytest.mark.parametrize("name", QUERIES)
def test_changes_add_up_to_the_answer_of_duckdb(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    assert agrees(spark, {name: QUERIES[name]}, SEED, tmp_path)


def test_several_queries_share_one_pass(spark: SparkSession, tmp_path: Path) -> None:
    assert agrees(spark, {name: QUERIES[name] for name in TOGETHER}, SEED, tmp_path)


@pytest.mark.heavy
@pytest.mark.parametrize("name", [*QUERIES, "together"])
def test_changes_add_up_to_the_answer_of_duckdb_on_500_inputs(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    sql = {each: QUERIES[each] for each in (TOGETHER if name == "together" else (name,))}
    for seed in range(500 // (len(QUERIES) + 1) + 1):
        agrees(spark, sql, seed, tmp_path / str(seed))


def test_sums_at_the_ends_of_64_bits_are_no_error(spark: SparkSession) -> None:
    from pyspark.sql import functions as f

    row = spark.range(1).select(f.struct(f.lit(2**63 - 1).alias("a")).alias("s"))
    passed = condition(Compare("<", Arith("+", Field("a"), Int(1)), Int(0)), f.col("s"))
    for ansi in ("true", "false"):
        spark.conf.set("spark.sql.ansi.enabled", ansi)
        assert row.where(passed).count() == 0
    spark.conf.unset("spark.sql.ansi.enabled")


@pytest.mark.parametrize("expression", [Local("w"), Arith("+", Local("w"), Int(1))])
def test_what_belongs_to_tick_steps_is_refused(expression: Number, spark: SparkSession) -> None:
    from pyspark.sql import functions as f

    with pytest.raises(TypeError, match="no number over the columns"):
        number(expression, f.col("s"))
