"""Random queries of every type run by their programs, beside their definition and DuckDB."""

from __future__ import annotations

import random
from collections import Counter
from datetime import date, datetime, timedelta
from typing import Any

import duckdb
from tests.run.harness import random_cuts
from tests.strategies.typed import Row, Typed, random_row, random_typed

from millpond.language import read_script
from millpond.memory import verdict_of
from millpond.plan import Query
from millpond.program import Program, laws
from millpond.run import Arrivals
from millpond.run.bulk import BulkLowering
from millpond.run.definition import DefinitionRun
from millpond.run.tick import TickLowering
from millpond.synopsis import program_of

Change = tuple[int, Row, int]
MOST_UNITS = 200_000


def agrees(seed: int, *, compile_it: bool = False) -> Program | None:
    """The program of a random query, if that is bounded, after it was compared with everything."""
    rng = random.Random(seed)
    text = random_typed(rng)
    try:
        return _compared(rng, text, compile_it=compile_it)
    except BaseException as error:
        error.add_note(f"seed {seed}:\n{text.text}")
        raise


def _compared(rng: random.Random, text: Typed, *, compile_it: bool) -> Program | None:
    script = read_script(text.text)
    query = script.queries[0]
    verdict = verdict_of(query)
    if not verdict.bounded or verdict.units is None or verdict.units > MOST_UNITS:
        return None
    program = program_of(query, verdict)
    assert program.certificate <= verdict.units
    arrivals = Arrivals(script.catalog)
    streams = [each.name for each in query.streams]
    for at in range(1, rng.randint(10, 60)):
        stream = rng.choice(streams)
        arrivals.add(stream, random_row(rng, text, stream, at), at)
    expected = by_definition(query, arrivals)
    batch, cuts = arrivals.batch(program), random_cuts(rng, len(arrivals))
    bulk, tick = BulkLowering(program), TickLowering(program, compiled=compile_it)
    for lowering in (tick, bulk):
        assert laws.run(lowering, batch, cuts) == expected, lowering.name
    laws.all_laws(rng.choice((tick, bulk)), batch, cuts)
    laws.lowerings_agree(bulk, tick, batch, cuts)
    total: Counter[Row] = Counter()
    for _, row, n in expected:
        total[row] += n
    assert by_duckdb(text, query, arrivals) == total, "DuckDB"
    return program


def by_definition(query: Query, arrivals: Arrivals) -> list[Change]:
    """The changes by running the plan from scratch after every instant, in the contract's order."""
    run = DefinitionRun(query)
    found = [
        (at, changed, n)
        for stream, row, at in arrivals
        for changed, n in run.instant([(stream or "", row)])
    ]
    return sorted(found, key=_order)


def _order(change: Change) -> tuple[Any, ...]:
    at, row, n = change
    return at, n > 0, [(each is not None, each) for each in row]


def by_duckdb(text: Typed, query: Query, arrivals: Arrivals) -> Counter[Row]:
    """The answer of the same SQL over all rows."""
    rows: dict[str, list[Row]] = {each: [] for each in text.columns}
    for stream, row, _ in arrivals:
        rows[stream or ""].append(row)
    with duckdb.connect() as connection:
        for name, columns in text.columns.items():
            types = {each: _duck(type_) for each, type_ in columns.items()}
            declared = ", ".join(f"{each} {type_}" for each, type_ in types.items())
            connection.execute(f"CREATE TABLE {name} ({declared})")
            marks = ", ".join("?" for _ in columns)
            for row in rows[name]:
                given = [_given(*each) for each in zip(types.values(), row, strict=True)]
                connection.execute(f"INSERT INTO {name} VALUES ({marks})", given)
        answer = connection.execute(text.sql).fetchall()
    return Counter(tuple(map(_taken, row)) for row in answer)


def _duck(type_: str) -> str:
    return "VARCHAR" if type_.startswith("ENUM") else type_


def _given(type_: str, value: Any) -> Any:
    if value is not None and type_ == "DATE":
        return date(1970, 1, 1) + timedelta(days=value)
    if value is not None and type_ == "TIMESTAMP":
        return datetime(1970, 1, 1) + timedelta(microseconds=value)
    return value


def _taken(value: Any) -> Any:
    if isinstance(value, datetime):
        return (value - datetime(1970, 1, 1)) // timedelta(microseconds=1)
    if isinstance(value, date):
        return (value - date(1970, 1, 1)).days
    return value
