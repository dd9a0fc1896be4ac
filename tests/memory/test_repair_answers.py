"""What repairs say of the answers holds on random input, by running both queries by definition."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from tests.memory.repaired import S_T, edited, fixes_of
from tests.strategies.aggregates import random_aggregate_query
from tests.strategies.spj import random_spj

from millpond.language import read_script
from millpond.memory import Fix
from millpond.plan import Query, Script
from millpond.run.definition import DefinitionRun
from millpond.schema import Row, Stream

Input = list[tuple[str, Row]]

FEW = 3
"""How many rows the windows of repairs are made to hold here."""
_VALUES: tuple[int, ...] = (*range(-2, 9), *range(998, 1002), 1009, 1011)
"""On both sides of the ranges of repairs."""


def answer(query: Query, rows: Input) -> Counter[Row]:
    """The answer after the last row."""
    run, found = DefinitionRun(query), Counter[Row]()
    logs = run.contents.logs
    for at, (stream, row) in enumerate(rows, 1):
        if stream in logs:
            logs[stream].add(row, at)
        for refresh in run.refreshes(at, inclusive=True):
            for changed, n in refresh.changes:
                found[changed] += n
    return +found


def random_input(rng: random.Random, script: Script, length: int) -> Input:
    streams = list(script.catalog)
    rows: Input = []
    for _ in range(length):
        stream = rng.choice(streams)
        rows.append((stream.name, tuple(_value(rng, stream, each) for each in stream.names)))
    return rows


def _value(rng: random.Random, stream: Stream, name: str) -> int | None:
    column = stream.column(name)
    assert column is not None
    if column.nullable and rng.random() < 0.05:
        return None
    allowed = [each for each in _VALUES if column.check.admits(each)]
    return rng.choice(allowed)


def stay(query: Query, other: Query) -> list[int]:
    """The places of the columns that the other one still has."""
    names = [each.name for each in other.fields]
    return [place for place, each in enumerate(query.fields) if each.name in names]


def projected(rows: Counter[Row], places: list[int]) -> Counter[Row]:
    found = Counter[Row]()
    for row, n in rows.items():
        found[tuple(row[place] for place in places)] += n
    return found


def taken(repaired: Script, rows: Input) -> Input:
    """The rows that the CHECKs of a file let pass: others are bad rows."""
    kept = []
    for name, row in rows:
        stream = repaired.catalog.get(name)
        assert stream is not None
        values = zip(stream.columns, row, strict=True)
        if all(value is None or column.check.admits(value) for column, value in values):
            kept.append((name, row))
    return kept


def obeying(script: Script, fix: Fix, rows: Input) -> Input:
    """The rows inside the ranges of a repair."""
    kept = rows
    for of, column, low, high in _ranges(script, fix):
        stream = script.catalog.get(of)
        assert stream is not None
        place = stream.names.index(column)
        kept = [
            (name, row)
            for name, row in kept
            if name != of or (isinstance(value := row[place], int) and low <= value <= high)
        ]
    return kept


_RANGE = re.compile(r"(\w+)\.(\w+) (?:BETWEEN (-?\d+) AND (-?\d+)|<= (-?\d+)|>= (-?\d+))")
_FAR = 10**9


def _ranges(script: Script, fix: Fix) -> Iterator[tuple[str, str, int, int]]:
    aliases = {each.alias: each.stream.name for each in script.queries[0].scans}
    for alias, column, low, high, most, least in _RANGE.findall(fix.text):
        yield (
            aliases[alias],
            column,
            int(low or least or -_FAR),
            int(high or most or _FAR),
        )


def last(rows: Input, count: int) -> Input:
    """The last rows of each stream."""
    kept: Input = []
    seen = Counter[str]()
    for name, row in reversed(rows):
        seen[name] += 1
        if seen[name] <= count:
            kept.append((name, row))
    return kept[::-1]


def holds(script: Script, fix: Fix, rows: Input) -> bool:
    """Whether the answers are what the repair says that they are."""
    query = script.queries[0]
    repaired = edited(script, fix.sql.replace("[ROWS 1000]", f"[ROWS {FEW}]"))
    other = repaired.queries[0]
    places = stay(query, other)
    if fix.keeps_answers == "narrower input":
        rows = obeying(script, fix, taken(repaired, rows))
    if fix.keeps_answers == "recent only":
        windowed = fix.sql.count("[ROWS 1000]") == len(query.scans)
        only = fix.text.startswith("keep a window") and ";" not in fix.text
        if not (windowed and only):
            return True
        return answer(other, rows) == answer(query, last(rows, FEW))
    before, after = projected(answer(query, rows), places), answer(other, taken(repaired, rows))
    match fix.keeps_answers:
        case "same" | "narrower input":
            return before == after
        case "subset":
            return after <= before
        case "fewer duplicates":
            return set(after) == set(before) and after <= before
    return False


QUERIES = (
    "SELECT a FROM s, t WHERE b < d AND a = 1 UNION ALL SELECT f FROM z",
    "SELECT a FROM s, t WHERE b < d AND a = 1 UNION SELECT f FROM z",
    "SELECT x.a FROM (SELECT a, b FROM s WHERE c > 1) AS x, t WHERE x.b < t.d AND x.a = 1",
    "SELECT DISTINCT a FROM s WHERE EXISTS (SELECT 1 FROM t WHERE t.d = s.a)",
    "SELECT DISTINCT a, 1 AS n FROM s WHERE b > 2 OR c < 3",
    "SELECT a, COUNT(*) AS n, COUNT(DISTINCT b) AS m FROM s WHERE c < 5 GROUP BY a",
    "SELECT COUNT(DISTINCT b) AS m, MAX(c) AS n FROM s",
    "SELECT MAX(a) AS n FROM s JOIN t ON b < d AND c > e GROUP BY c HAVING COUNT(*) > 1",
    "SELECT DISTINCT a FROM s, t WHERE b < d AND c < e AND a = 1",
    "SELECT x.a FROM s AS x, s AS y WHERE x.a = y.b",
    "SELECT 1 FROM s, t WHERE b < d",
)
"""Forms that random queries do not have."""


def check(script: Script, rng: random.Random, inputs: int) -> Counter[str]:
    """Every repair of a query on some inputs; how many of each relation there were."""
    found = Counter[str]()
    for fix in fixes_of(script):
        for _ in range(inputs):
            rows = random_input(rng, script, rng.randrange(1, 16))
            assert holds(script, fix, rows), (script.source.text, fix, rows)
        found[fix.keeps_answers] += 1
    return found


@pytest.mark.parametrize("text", QUERIES)
def test_answers_of_queries_of_every_form(text: str) -> None:
    assert check(read_script(S_T + text), random.Random(text), 6)


def check_seeds(seeds: range) -> Counter[str]:
    found = Counter[str]()
    for seed in seeds:
        rng = random.Random(seed)
        few: dict[str, Any] = {"streams": (1, 2), "columns": (1, 2), "comparisons": (0, 3)}
        if seed % 3:
            text = random_spj(rng, checks=rng.choice([0, 0.3]), **few).text
        else:
            text = random_aggregate_query(rng, **few).text
        found += check(read_script(text), rng, 4)
    return found


def test_answers_of_random_queries() -> None:
    found = check_seeds(range(60))
    assert set(found) >= {"subset", "narrower input", "recent only"}


@pytest.mark.heavy
@pytest.mark.parametrize("start", range(1_000, 1_400, 100))
def test_answers_of_random_queries_at_length(start: int) -> None:
    check_seeds(range(start, start + 100))
