"""Random input for a query, and its changes by DuckDB: an engine that nobody here wrote."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence

import duckdb
import polars as pl

from millpond.language import read_script
from millpond.memory import verdict_of
from millpond.plan import Query, Script
from millpond.program import Program
from millpond.run import Arrivals
from millpond.run.definition import DefinitionRun
from millpond.schema import Row
from millpond.synopsis import program_of

Change = tuple[int, Row, int]

DDL = "CREATE STREAM s (a INT, b INT, c INT);\nCREATE STREAM t (d INT, e INT);\n"

BOUNDED_OF_TABLE_1 = {
    "Q1": "SELECT s.a FROM s WHERE s.a > 10",
    "Q3": "SELECT s.a FROM s, t WHERE s.a = t.d AND s.a > 10 AND t.d < 20",
    "Q3 distinct": "SELECT DISTINCT s.a FROM s, t WHERE s.a = t.d AND s.a > 10 AND t.d < 20",
    "Q4 distinct": "SELECT DISTINCT s.a FROM s, t WHERE s.b < t.d AND s.a = 10",
    "Q6 distinct": "SELECT DISTINCT s.a FROM s, t WHERE s.b < t.d AND s.c < t.e AND s.b < t.e "
    "AND s.c < t.d AND s.a = 10",
    "Q7": "SELECT s.a FROM s, t WHERE s.b < t.d AND t.d > 10 AND s.b < 20 AND s.a = 10",
    "Q7 distinct": "SELECT DISTINCT s.a FROM s, t WHERE s.b < t.d AND t.d > 10 AND s.b < 20 "
    "AND s.a = 10",
}


def compiled(text: str) -> tuple[Script, Program]:
    """The script of a text with one bounded query, and its program."""
    script = read_script(text)
    return script, program_of(script.queries[0], verdict_of(script.queries[0]))


def random_arrivals(
    rng: random.Random, script: Script, size: int, low: int, high: int, nulls: float = 0.05
) -> Arrivals:
    """Rows of the query's streams, an instant each, inside what the columns allow."""
    arrivals = Arrivals(script.catalog)
    streams = script.queries[0].streams
    for at in range(1, size + 1):
        stream = rng.choice(streams)
        row: list[int | None] = []
        for column in stream.columns:
            values = column.values
            least = max(low, low if values.low is None else values.low)
            most = min(high, high if values.high is None else values.high)
            if column.nullable and rng.random() < nulls:
                row.append(None)
            elif least <= most:
                row.append(rng.randint(least, most))
            else:
                row.append(
                    values.low if values.low is not None and values.low > high else values.high
                )
        arrivals.add(stream.name, tuple(row), at)
    return arrivals


def random_cuts(rng: random.Random, size: int) -> list[int]:
    """Where to cut a batch: mostly in a few places, sometimes everywhere."""
    if rng.random() < 0.1:
        return list(range(size))
    return sorted(rng.sample(range(size), min(size, rng.randint(0, 6))))


def by_definition(query: Query, arrivals: Arrivals) -> list[Change]:
    """The changes by running the plan from scratch after every instant."""
    run = DefinitionRun(query)
    names = {each.name for each in query.streams}
    return [
        (at, changed, n)
        for stream, row, at in arrivals
        if stream in names
        for changed, n in run.instant([(stream or "", row)])
    ]


def by_duckdb(query: Query, sql: str, arrivals: Arrivals) -> list[Change]:
    """The changes between the answers of the same SQL over every prefix of the input."""
    rows: dict[str, list[Row]] = {each.name: [] for each in query.streams}
    instants: list[int] = []
    for stream, row, at in arrivals:
        if stream in rows:
            rows[stream].append((*row, at))
            instants.append(at)
    with duckdb.connect() as connection:
        for each in query.streams:
            names = [*each.names, "at_"]
            schema = dict.fromkeys(names, pl.Int64)
            frame = pl.DataFrame(rows[each.name], schema=schema, orient="row")
            connection.register(each.name, frame.to_arrow())
        connection.register("prefixes", pl.DataFrame({"p_": instants}).to_arrow())
        answers: dict[int, Counter[Row]] = {each: Counter() for each in instants}
        for p, *values in connection.execute(_over_prefixes(query, sql)).fetchall():
            answers[p][tuple(values)] += 1
    return changes_of(answers)


def _over_prefixes(query: Query, sql: str) -> str:
    """The SQL with the prefix as one more column, and each input cut at it."""
    head, _, rest = sql.partition(" FROM ")
    inputs, _, where = rest.partition(" WHERE ")
    cut = " AND ".join(f"{each.alias}.at_ <= p_" for each in query.scans)
    select, _, items = head.partition("SELECT ")
    distinct = items.startswith("DISTINCT ")
    items = items.removeprefix("DISTINCT ")
    condition = f"{cut} AND ({where})" if where else cut
    head = f"{select}SELECT {'DISTINCT ' if distinct else ''}p_, {items}"
    return f"{head} FROM prefixes, {inputs} WHERE {condition}"


def changes_of(answers: dict[int, Counter[Row]]) -> list[Change]:
    """The differences between consecutive answers."""
    before: Counter[Row] = Counter()
    found = []
    for at, answer in sorted(answers.items()):
        found += [
            (at, row, answer[row] - before[row])
            for row in {**before, **answer}
            if answer[row] != before[row]
        ]
        before = answer
    return found


def in_order(changes: Iterable[Change]) -> list[Change]:
    """Changes in the order of the contract."""
    return sorted(
        changes,
        key=lambda each: (each[0], each[2] > 0, [(v is not None, v or 0) for v in each[1]]),
    )


def accumulated(changes: Sequence[Change]) -> Counter[Row]:
    """The answer after some changes."""
    total: Counter[Row] = Counter()
    for _, row, n in changes:
        total[row] += n
    return total
