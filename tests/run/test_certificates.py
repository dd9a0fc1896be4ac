"""The certificate is never exceeded, and Arasu's examples reach it."""

from __future__ import annotations

import random
from itertools import product

import pytest
from tests.run.harness import BOUNDED_OF_TABLE_1, DDL, compiled
from tests.strategies.spj import random_spj

from millpond.language import read_script
from millpond.memory import verdict_of
from millpond.program import laws
from millpond.program.lowered import Lowered
from millpond.run import Arrivals
from millpond.run.bulk import BulkLowering
from millpond.run.tick import TickLowering
from millpond.synopsis import program_of

CERTIFICATES = {
    "Q1": 0,
    "Q3": 18,
    "Q3 distinct": 27,
    "Q4 distinct": 3,
    "Q6 distinct": 3,
    "Q7": 20,
    "Q7 distinct": 3,
}


def every_kind_of_row(name: str) -> tuple[Arrivals, list[Lowered]]:
    """Rows on both sides of every constant, in an order of chance, each twice."""
    script, program = compiled(DDL + BOUNDED_OF_TABLE_1[name])
    rows: list[tuple[str, tuple[int | None, ...]]] = [
        *(("s", row) for row in product([9, 10, *range(11, 20), 20], [*range(9, 22), 99], [0, 30])),
        *(("t", row) for row in product([9, 10, *range(11, 22), 99], [-5, 10, 40])),
    ]
    rows *= 2
    random.Random(5).shuffle(rows)
    arrivals = Arrivals(script.catalog)
    for at, (stream, row) in enumerate(rows, 1):
        arrivals.add(stream, row, at)
    return arrivals, [BulkLowering(program), TickLowering(program, compiled=False)]


@pytest.mark.parametrize("name", BOUNDED_OF_TABLE_1)
def test_table_1_reaches_its_certificate_and_stays_there(name: str) -> None:
    arrivals, lowerings = every_kind_of_row(name)
    for lowered in lowerings:
        state = lowered.program.empty()
        assert lowered.program.certificate == CERTIFICATES[name]
        batch = arrivals.batch(lowered.program)
        laws.run(lowered, batch, range(0, len(arrivals), 97), state)
        assert state.units() == CERTIFICATES[name]


def test_the_certificate_is_checked_after_every_piece() -> None:
    arrivals, [lowered, *_] = every_kind_of_row("Q3")
    state = lowered.program.empty()
    state.filled[0] = 10
    with pytest.raises(laws.LawBroken, match="and the certificate is 18"):
        laws.run(lowered, arrivals.batch(lowered.program).slice(0, 400), (), state)


def share_reached(seed: int) -> float | None:
    """How much of the certificate of a random bounded query is reached by every row of a box that
    goes beyond its constants, in an order of chance; None where nothing is kept or it is large."""
    rng = random.Random(seed)
    text = random_spj(
        rng, streams=(1, 3), columns=(1, 2), comparisons=(1, 6), constants=(1, 3), ranges=0.8,
        checks=0.3, types=("INT",),
    )  # fmt: skip
    script = read_script(text.text)
    verdict = verdict_of(script.queries[0])
    if not verdict.units or verdict.shape is None or verdict.units > 2_000:
        return None
    program = program_of(script.queries[0], verdict)
    low, high = min(text.constants, default=0) - 3, max(text.constants, default=0) + 3
    rows: list[tuple[str, tuple[int | None, ...]]] = []
    for stream in script.catalog:
        values: list[list[int | None]] = []
        for column in stream.columns:
            inside = [x for x in range(low, high + 1) if x in column.declared]
            values.append([*inside, None] if column.nullable else list(inside))
        rows += [(stream.name, row) for row in product(*values)]
    rng.shuffle(rows)
    arrivals = Arrivals(script.catalog)
    for at, (stream_name, row) in enumerate(rows[:4_000], 1):
        arrivals.add(stream_name, row, at)
    lowered, state = TickLowering(program, compiled=False), program.empty()
    batch = arrivals.batch(program)
    laws.run(lowered, batch, range(0, len(arrivals), 500), state)
    return state.units() / verdict.units


def reached(seeds: range) -> list[float]:
    return [share for seed in seeds if (share := share_reached(seed)) is not None]


def test_random_queries_reach_half_of_their_certificates() -> None:
    found = reached(range(200))
    assert len(found) > 60
    assert sum(each >= 0.5 for each in found) >= 0.9 * len(found)


@pytest.mark.heavy
def test_random_queries_reach_half_of_their_certificates_at_length() -> None:
    found = reached(range(1_000, 3_000))
    assert sum(each >= 0.5 for each in found) >= 0.9 * len(found)
