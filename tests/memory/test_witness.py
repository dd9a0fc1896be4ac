"""Witnesses, checked by DuckDB: every two subsets of the numbers get another response somewhere."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

import duckdb
import polars as pl
import pytest
from tests.strategies.aggregates import random_aggregate_query
from tests.strategies.spj import random_spj

from millpond.language import read_script
from millpond.memory import (
    Fed,
    MemoryClass,
    Verdict,
    Witness,
    check_script,
    verdict_of,
    witness_of,
)
from millpond.memory.witness import every_subset, some_subsets
from millpond.plan import Script
from millpond.run.respond import Responses

Answer = frozenset[tuple[tuple[object, ...], int]]
"""Rows and how often each is there."""

ALL_PAIRS = 6
"""Up to so many numbers, all subsets are compared."""


def proved(text: str, n: int) -> tuple[Script, Verdict, Witness | None]:
    script = read_script(text)
    query = script.queries[0]
    verdict = verdict_of(query)
    return script, verdict, witness_of(verdict, Responses(query), n)


def responses(
    script: Script, sql: str, fed: Sequence[tuple[Sequence[Fed], Sequence[Fed]]]
) -> list[tuple[Answer, Answer]]:
    """The answers of DuckDB before and after each probe, all in one query: every input has a column
    more, which says which of the runs a row belongs to."""
    tables: dict[str, list[tuple[object, ...]]] = {each.name: [] for each in script.catalog}
    for run, (before, probe) in enumerate(fed):
        for phase, rows in enumerate((before, [*before, *probe])):
            for name, row in rows:
                tables[name].append((*row, 2 * run + phase))
    with duckdb.connect() as connection:
        for stream in script.catalog:
            schema = {**dict.fromkeys(stream.names, pl.Int64), "run_": pl.Int64}
            frame = pl.DataFrame(tables[stream.name], schema=schema, orient="row")
            connection.register(stream.name, frame.to_arrow())
        found: list[list[tuple[object, ...]]] = [[] for _ in range(2 * len(fed))]
        for number, *values in connection.execute(_per_run(script, sql)).fetchall():
            found[number].append(tuple(values))
    answers = [frozenset((row, each.count(row)) for row in each) for each in found]
    return list(zip(answers[::2], answers[1::2], strict=True))


def _per_run(script: Script, sql: str) -> str:
    head, _, rest = sql.partition(" FROM ")
    inputs, _, where = rest.partition(" WHERE ")
    if not where:
        inputs, _, groups = inputs.partition(" GROUP BY ")
        condition = "TRUE"
    else:
        condition, _, groups = where.partition(" GROUP BY ")
    aliases = [each.alias for each in script.queries[0].scans]
    same = " AND ".join(f"{aliases[0]}.run_ = {each}.run_" for each in aliases)
    items = head.removeprefix("SELECT ")
    distinct = items.startswith("DISTINCT ")
    items = items.removeprefix("DISTINCT ")
    select = f"SELECT {'DISTINCT ' if distinct else ''}{aliases[0]}.run_, {items}"
    grouped = ""
    if groups or (script.queries[0].root.fields and "(" in items):
        grouped = " GROUP BY " + ", ".join(filter(None, [f"{aliases[0]}.run_", groups]))
    return f"{select} FROM {inputs} WHERE {same} AND ({condition}){grouped}"


def told_apart(script: Script, sql: str, witness: Witness, *, keeps_answer: bool) -> bool:
    """Whether DuckDB's responses differ for any two subsets; changes of a query that only adds
    rows are what its answer has more."""
    n = witness.n
    subsets = every_subset(n) if n <= ALL_PAIRS else some_subsets(n)
    fed = [(witness.fed(subset), probe) for subset in subsets for probe in witness.probes]
    found = responses(script, sql, fed)
    told = set()
    for number in range(len(subsets)):
        part = found[number * n : (number + 1) * n]
        told.add(tuple(after if keeps_answer else _more(before, after) for before, after in part))
    return len(told) == len(subsets)


def _more(before: Answer, after: Answer) -> Answer:
    known = dict(before)
    return frozenset((row, n - known.get(row, 0)) for row, n in after if n != known.get(row, 0))


def joins(rng: random.Random) -> tuple[str, str]:
    found = random_spj(rng, checks=0.2, self_joins=rng.choice([0, 0, 0.7]))
    return found.text, found.sql


def aggregates(rng: random.Random) -> tuple[str, str]:
    found = random_aggregate_query(
        rng, columns=(1, 2), comparisons=(0, 5), constants=(0, 2), values=(0, 2), checks=0.2
    )
    return found.text, found.sql.replace("VAR(", "VAR_SAMP(")  # DuckDB's name


def check(make: Callable[[random.Random], tuple[str, str]], seeds: range, n: int) -> int:
    """Every `linear` verdict has a witness that DuckDB agrees with; how many there were."""
    checked = 0
    for seed in seeds:
        text, sql = make(random.Random(seed))
        script, verdict, witness = proved(text, n)
        if verdict.memory is not MemoryClass.LINEAR:
            continue
        said = f"seed {seed}: {text}"
        assert witness is not None, said
        assert witness.n == n
        beyond(script, witness, said)
        assert told_apart(script, sql, witness, keeps_answer=make is aggregates), said
        checked += 1
    return checked


def beyond(script: Script, witness: Witness, said: str) -> None:
    """Rows are ones that the declarations allow."""
    columns = {each.name: each.columns for each in script.catalog}
    for rows in (*(each for pair in witness.prefix for each in pair), *witness.probes):
        for stream, row in rows:
            for column, value in zip(columns[stream], row, strict=True):
                assert value is not None or column.nullable, said
                assert value is None or column.check.admits(value), said


@pytest.mark.parametrize("make", [joins, aggregates])
def test_linear_verdicts_have_witnesses_that_duckdb_agrees_with(
    make: Callable[[random.Random], tuple[str, str]],
) -> None:
    assert check(make, range(40), 4) > 8


@pytest.mark.heavy
@pytest.mark.parametrize("make", [joins, aggregates])
@pytest.mark.parametrize(("start", "n"), [(1_000, 4), (1_300, 6), (1_600, 8), (1_700, 12)])
def test_linear_verdicts_have_witnesses_at_length(
    make: Callable[[random.Random], tuple[str, str]], start: int, n: int
) -> None:
    assert check(make, range(start, start + (300 if n <= ALL_PAIRS else 100)), n) > 15


@pytest.mark.parametrize(
    ("make", "seed", "n"),
    [
        # Columns that are bounded do not move: five values of six may be told apart.
        (joins, 1364, 6),
        (joins, 1679, 8),
        (joins, 1701, 12),
        (aggregates, 1647, 8),
        # Sums of few rows may differ where those of more are the same by chance.
        (aggregates, 1046, 4),
        (aggregates, 1452, 6),
        (aggregates, 1532, 6),
    ],
)
def test_a_line_serves_for_every_number(
    make: Callable[[random.Random], tuple[str, str]], seed: int, n: int
) -> None:
    assert check(make, range(seed, seed + 1), n) == 1


DDL = """CREATE STREAM s (a INT, b BIGINT, x DOUBLE, k VARCHAR, m DECIMAL(9, 2), d DATE NOT NULL);
CREATE STREAM t (d INT, y DOUBLE, k VARCHAR, m DECIMAL(9, 2));
CREATE STREAM u (a INT, ts BIGINT, WATERMARK FOR ts AS ts - 2);
"""

OF_EVERY_TYPE = [
    "SELECT DISTINCT k FROM s",
    "SELECT DISTINCT x FROM s WHERE x BETWEEN 0 AND 1",
    "SELECT DISTINCT d FROM s",
    "SELECT DISTINCT a + 1 FROM s",
    "SELECT s.a FROM s, t WHERE s.k = t.k AND s.a = 1",
    "SELECT s.a FROM s, t WHERE s.k = t.k AND s.k > 'm' AND s.a = 1",
    "SELECT s.a FROM s, t WHERE s.x < t.y AND s.a = 1",
    "SELECT 1 FROM s, t WHERE s.x < t.y AND s.x > 0 AND t.y < 1",
    "SELECT 1 FROM s, t WHERE s.m = t.m",
    "SELECT DISTINCT 1 FROM s, t WHERE s.a + 5 < t.d AND s.b < t.y",
    "SELECT 1 FROM s, t WHERE s.a - t.d <= 7",
    "SELECT DISTINCT a FROM s WHERE k LIKE 'x%' AND LENGTH(k) > 3",
    "SELECT DISTINCT a FROM s WHERE a <> 3 AND (b = 1 OR b > 7)",
    "SELECT a FROM s UNION SELECT d FROM t",
    "SELECT k, COUNT(*) FROM s GROUP BY k",
    "SELECT a, SUM(b) FROM s GROUP BY a HAVING COUNT(*) > 0",
    "SELECT COUNT(DISTINCT k) FROM s",
    "SELECT MEDIAN(x) FROM s",
    "SELECT MAX(s.m) FROM s, t WHERE s.x < t.y",
    "SELECT AVG(s.x) FROM s, t WHERE s.k < t.k",
    "SELECT DISTINCT a FROM u",
    "SELECT DISTINCT q FROM (SELECT a AS q FROM s WHERE b > 3) AS z WHERE q > 2",
]


@pytest.mark.parametrize("text", OF_EVERY_TYPE)
def test_columns_of_every_type_have_witnesses(text: str) -> None:
    script, verdict, witness = proved(DDL + text, 6)
    assert verdict.memory is MemoryClass.LINEAR
    assert witness is not None
    beyond(script, witness, text)


OF_THE_PAPER = {
    "Example 5.8": (
        "CREATE STREAM s (a INT, b INT); CREATE STREAM t (c INT); ",
        "SELECT s.a FROM s, t WHERE s.a > 10 AND s.b = t.c AND s.b = 10",
    ),
    "Example 5.9": (
        "CREATE STREAM s (a INT, b INT); CREATE STREAM t (c INT); ",
        "SELECT s.a FROM s, t WHERE s.a = 10 AND s.b < t.c AND s.b > 10 AND t.c > 10",
    ),
    "Example 5.12": (
        "CREATE STREAM s (a INT, b INT, c INT); CREATE STREAM t (d INT, e INT); ",
        "SELECT DISTINCT s.a FROM s, t WHERE s.a = 10 AND s.b > t.d AND s.c > t.e AND s.b > 10 "
        "AND s.c < 10 AND t.d > 10 AND t.e < 10",
    ),
}


@pytest.mark.parametrize("name", OF_THE_PAPER)
@pytest.mark.parametrize("n", [4, 6])
def test_the_examples_of_the_paper_have_witnesses_that_duckdb_agrees_with(
    name: str, n: int
) -> None:
    ddl, sql = OF_THE_PAPER[name]
    script, verdict, witness = proved(ddl + sql, n)
    assert verdict.memory is MemoryClass.LINEAR
    assert witness is not None
    assert told_apart(script, sql, witness, keeps_answer=False)
    stored = {s for inside, outside in witness.prefix for s, _ in (*inside, *outside)}
    asked = {stream for probe in witness.probes for stream, _ in probe}
    assert len(stored) == 1
    assert asked - stored, "rows of one stream are stored, and the other one asks"


FILLED = """CREATE STREAM s (a BIGINT, e ENUM('x', 'y') NOT NULL, b BOOLEAN NOT NULL,
    d DATE NOT NULL CHECK (d > DATE '2024-01-01'), f DOUBLE NOT NULL CHECK (f < 0),
    m DECIMAL(6, 2) NOT NULL CHECK (m > 1.5 AND m < 1.7), k TINYINT NOT NULL CHECK (k > 5),
    v VARCHAR NOT NULL CHECK (v > 'm'), w VARCHAR NOT NULL CHECK (w < 'a'),
    l ENUM('p', 'q') NOT NULL CHECK (l IN ('q')));
"""


def test_columns_that_do_not_matter_hold_what_their_declarations_admit() -> None:
    """An ENUM held 'a', and a range that is open at its end held any number."""
    script, _, witness = proved(FILLED + "SELECT DISTINCT a FROM s", 2)
    assert witness is not None
    beyond(script, witness, FILLED)
    (_, row), *_ = witness.prefix[0][0]
    assert (row[1], row[9]) == ("x", "q")


FROM_A_THRESHOLD_ON = [
    "SELECT a FROM s GROUP BY a HAVING COUNT(*) > 3",
    "SELECT a FROM s GROUP BY a HAVING COUNT(*) > 100",
    "SELECT a, COUNT(*) FROM s GROUP BY a HAVING COUNT(*) = 7",
    "SELECT a, SUM(b) FROM s GROUP BY a HAVING SUM(b) > 1000",
    "SELECT a FROM s GROUP BY a HAVING MAX(b) > 100",
    "SELECT a FROM s GROUP BY a HAVING COUNT(*) > 1 AND SUM(b) > 10",
    "SELECT a FROM s GROUP BY a HAVING COUNT(DISTINCT k) > 2",
    "SELECT a FROM s GROUP BY a HAVING AVG(x) > 37.5",
    "SELECT a FROM s GROUP BY a HAVING COUNT(*) FILTER (WHERE k = 'x') >= 3",
    "SELECT a, SUM(CASE WHEN k = 'x' THEN 1 ELSE 0 END) AS n FROM s GROUP BY a "
    "HAVING SUM(CASE WHEN k = 'x' THEN 1 ELSE 0 END) > 2",
    "SELECT DISTINCT COUNT(*) FROM s GROUP BY a",
    "SELECT a FROM s GROUP BY a HAVING MAX(b) IS NOT NULL",
]


@pytest.mark.parametrize("text", FROM_A_THRESHOLD_ON)
def test_groups_that_show_from_a_threshold_on_have_witnesses(text: str) -> None:
    script = read_script(DDL + text)
    (verdict,) = check_script(script, Responses, witness=4)
    assert verdict.memory is MemoryClass.LINEAR
    assert verdict.witness is not None
    beyond(script, verdict.witness, text)
    with duckdb.connect() as connection:
        rows = "a BIGINT, b BIGINT, x DOUBLE, k VARCHAR, m DECIMAL(9, 2), d DATE"
        connection.execute(f"CREATE TABLE s ({rows})")
        told = {
            tuple(after(connection, text, verdict.witness.fed(subset), probe) for probe in probes)
            for probes in (verdict.witness.probes,)
            for subset in every_subset(4)
        }
    assert len(told) == 16


def after(
    connection: duckdb.DuckDBPyConnection, sql: str, before: Sequence[Fed], probe: Sequence[Fed]
) -> tuple[str, ...]:
    """DuckDB's answer after some rows."""
    connection.execute("DELETE FROM s")
    rows = [(*row[:5], "2024-01-01") for _, row in (*before, *probe)]
    frame = pl.DataFrame(rows, schema=["a", "b", "x", "k", "m", "d"], orient="row")
    connection.register("rows", frame.to_arrow())
    connection.execute("INSERT INTO s SELECT * FROM rows")
    return tuple(sorted(map(repr, connection.execute(sql).fetchall())))


@pytest.mark.parametrize(
    "having", ["SUM(a * a) < 100", "COUNT(*) < 3 AND SUM(a * a) < 50", "MAX(ABS(a)) < 40"]
)
def test_groups_of_which_only_a_few_ever_show_are_not_called_linear(having: str) -> None:
    """19 groups and their sums are enough for the first, and eight of them prove nothing."""
    script = read_script(f"{DDL} SELECT a FROM s GROUP BY a HAVING {having}")
    (verdict,) = check_script(script, Responses)
    assert verdict.memory is MemoryClass.OUTSIDE


def test_a_bounded_query_has_none() -> None:
    _, verdict, witness = proved(DDL + "SELECT DISTINCT a FROM s WHERE a IN (1, 2)", 4)
    assert (verdict.memory, witness) == (MemoryClass.CONSTANT, None)


def test_rows_before_a_probe_are_an_instant_and_the_probe_is_the_next() -> None:
    _, _, witness = proved(DDL + "SELECT DISTINCT a FROM u", 3)
    assert witness is not None
    assert {row[1] for pair in witness.prefix for rows in pair for _, row in rows} == {1}
    assert {row[1] for rows in witness.probes for _, row in rows} == {2}


def test_a_witness_that_does_not_tell_apart_is_found_out() -> None:
    text = "CREATE STREAM s (a INT); SELECT DISTINCT a FROM s"
    script, _, witness = proved(text, 4)
    assert witness is not None
    assert told_apart(script, "SELECT DISTINCT s.a FROM s", witness, keeps_answer=False)
    blunt = replace(witness, probes=(witness.probes[0],) * 4)
    assert not told_apart(script, "SELECT DISTINCT s.a FROM s", blunt, keeps_answer=False)


def test_values_leave_every_bounded_range_behind() -> None:
    """A CHECK of 0..99 is a bound, and no witness can be made of it."""
    text = "CREATE STREAM s (a INT CHECK (a BETWEEN 0 AND 99), b INT); SELECT DISTINCT b FROM s"
    _, _, witness = proved(text, 30)
    assert witness is not None
    values = {row[1] for inside, _ in witness.prefix for _, row in inside}
    assert len(values) == 30
