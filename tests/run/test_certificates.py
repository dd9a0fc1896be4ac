"""The certificate is never exceeded, and Arasu's examples reach it."""

from __future__ import annotations

import random
from itertools import product

import pytest
from tests.run.harness import BOUNDED_OF_TABLE_1, DDL, compiled

from millpond.program import laws
from millpond.program.lowered import Lowered
from millpond.run import Arrivals
from millpond.run.bulk import BulkLowering
from millpond.run.tick import TickLowering

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
