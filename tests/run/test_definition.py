"""Running untimed queries by definition agrees with DuckDB at every prefix: the same text, asked
of both.

Only the declarations are put into other words for DuckDB (STREAM becomes TABLE); the query is the
text that a user writes.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping

import duckdb
import pytest
from tests.strategies.spj import random_spj

from millpond.language import read_script
from millpond.run import DefinitionRun
from millpond.schema import Row

NAMED = {
    "a filter": ("SELECT b, a FROM s WHERE a > 1 AND b <= 3", "s"),
    "constants and NULL": ("SELECT 1, NULL, a, a FROM s WHERE 1 < 2", "s"),
    "a comparison with NULL": ("SELECT a FROM s WHERE a = NULL", "s"),
    "an empty range": ("SELECT DISTINCT a FROM s WHERE a BETWEEN 3 AND 1", "s"),
    "a product": ("SELECT * FROM s, t", "st"),
    "a join by JOIN": ("SELECT s.a, d FROM s JOIN t ON s.a = t.d AND b < e", "st"),
    "a self-join": ("SELECT x.a FROM s AS x, s AS y WHERE x.a < y.b", "s"),
    "a self-join without duplicates": ("SELECT DISTINCT x.a, y.a FROM s x, s y", "s"),
    "three inputs": ("SELECT s.a FROM s, t, s AS u WHERE s.a = t.d AND t.e >= u.b", "st"),
    "DISTINCT of a constant": ("SELECT DISTINCT 1 FROM s, t WHERE s.a > t.d", "st"),
    "DISTINCT of NULLs": ("SELECT DISTINCT a FROM s WHERE b >= b", "s"),
    "negative constants": ("SELECT a FROM s WHERE a > -(1 + 2) AND -1 >= b", "s"),
}
Streams = Mapping[str, tuple[str, ...]]
TABLES: Streams = {"s": ("a", "b"), "t": ("d", "e")}


def asked(database: duckdb.DuckDBPyConnection, sql: str) -> Counter[Row]:
    return Counter(database.execute(sql).fetchall())


def agree(streams: Streams, sql: str, rows: list[tuple[str, Row]]) -> None:
    """At every prefix, the sum of all changes is DuckDB's answer."""
    ddl = ";".join(
        f"CREATE STREAM {name} ({', '.join(f'{each} BIGINT' for each in columns)})"
        for name, columns in streams.items()
    )
    (query,) = read_script(f"{ddl};{sql}").queries
    run = DefinitionRun(query)
    summed: Counter[Row] = Counter()
    with duckdb.connect() as database:
        database.execute(ddl.replace("STREAM", "TABLE"))
        for stream, row in rows:
            marks = ", ".join("?" * len(row))
            database.execute(f"INSERT INTO {stream} VALUES ({marks})", row)
            right = asked(database, sql)
            if stream in {each.name for each in query.streams}:
                for changed, n in run.instant([(stream, row)]):
                    assert n > 0, "more input takes nothing back"
                    summed[changed] += n
            assert summed == right


def random_rows(
    rng: random.Random, streams: Streams, size: int, low: int, high: int
) -> list[tuple[str, Row]]:
    return [
        (
            name,
            tuple(None if rng.random() < 0.15 else rng.randint(low, high) for _ in streams[name]),
        )
        for name in rng.choices(list(streams), k=size)
    ]


@pytest.mark.parametrize("case", NAMED)
def test_each_kind_of_query_is_what_duckdb_says(case: str) -> None:
    sql, used = NAMED[case]
    streams = {name: TABLES[name] for name in used}
    for seed in range(3):
        agree(streams, sql, random_rows(random.Random(seed), streams, 12, -3, 4))


@pytest.mark.parametrize("chunk", range(4))
def test_random_queries_are_what_duckdb_says(chunk: int) -> None:
    for seed in range(chunk * 40, chunk * 40 + 40):
        rng = random.Random(seed)
        text = random_spj(rng, values=(0, 4), comparisons=(0, 4), self_joins=0.3)
        streams = {
            each.name: tuple(column.name for column in each.columns) for each in text.streams
        }
        try:
            agree(streams, text.sql, random_rows(rng, streams, 8, -1, 5))
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {text.text}") from error


def test_several_rows_of_one_instant_are_one_change() -> None:
    (query,) = read_script("CREATE STREAM s (a INT); SELECT x.a FROM s x, s y").queries
    run = DefinitionRun(query)
    assert dict(run.instant([("s", (1,)), ("s", (2,))])) == {(1,): 2, (2,): 2}
    assert dict(run.instant([])) == {}
    assert dict(run.instant([("s", (1,))])) == {(1,): 4, (2,): 1}


def test_units_are_the_values_of_all_input() -> None:
    (query,) = read_script("CREATE STREAM s (a INT, b INT); SELECT a FROM s").queries
    run = DefinitionRun(query)
    assert run.units() == 0
    list(run.instant([("s", (1, None)), ("s", (1, 2))]))
    assert run.units() == 4
