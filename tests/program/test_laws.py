"""The laws catch a lowering that breaks them."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest
from tests.run.harness import BOUNDED_OF_TABLE_1, DDL, compiled, random_arrivals

from millpond.program import Batch, Delta, Program, State, laws
from millpond.run.tick import TickLowering

CUTS = [13, 40, 77]


class Broken:
    """A lowering with one thing wrong."""

    def __init__(self, program: Program, wrong: Callable[[State, Batch, Delta], Delta]) -> None:
        self.program = program
        self._right = TickLowering(program, compiled=False)
        self._wrong = wrong

    def advance(self, state: State, batch: Batch) -> Delta:
        return self._wrong(state, batch, self._right.advance(state, batch))


def loses_the_last_change(state: State, batch: Batch, delta: Delta) -> Delta:
    return Delta(
        delta.names,
        tuple(each[:-1] for each in delta.values),
        tuple(None if each is None else each[:-1] for each in delta.nulls),
        delta.at[:-1],
        delta.weight[:-1],
    )


def says_the_first_change_twice(state: State, batch: Batch, delta: Delta) -> Delta:
    weight = delta.weight.copy()
    weight[:1] *= 2
    return Delta(delta.names, delta.values, delta.nulls, delta.at, weight)


def forgets_between_batches(state: State, batch: Batch, delta: Delta) -> Delta:
    for store in state.stores:
        for each in store.values:
            assert isinstance(each, np.ndarray)
            each[:] = 0
    state.filled[:] = 0
    return delta


def holds_more_than_it_says(state: State, batch: Batch, delta: Delta) -> Delta:
    state.filled[0] += 1
    return delta


def input_of(name: str) -> tuple[Program, Batch]:
    script, program = compiled(DDL + BOUNDED_OF_TABLE_1[name])
    arrivals = random_arrivals(random.Random(3), script, 120, 8, 22)
    return program, arrivals.batch(program)


@pytest.mark.parametrize("name", BOUNDED_OF_TABLE_1)
def test_a_right_lowering_keeps_every_law(name: str) -> None:
    program, batch = input_of(name)
    laws.all_laws(TickLowering(program, compiled=False), batch, CUTS)


@pytest.mark.parametrize(
    "wrong",
    [
        loses_the_last_change,
        says_the_first_change_twice,
        forgets_between_batches,
        holds_more_than_it_says,
    ],
)
def test_a_wrong_lowering_breaks_a_law(wrong: Callable[[State, Batch, Delta], Delta]) -> None:
    program, batch = input_of("Q3")
    with pytest.raises(laws.LawBroken):
        laws.all_laws(Broken(program, wrong), batch, CUTS)


def test_lowerings_that_differ_do_not_agree() -> None:
    program, batch = input_of("Q3")
    right = TickLowering(program, compiled=False)
    with pytest.raises(laws.LawBroken, match="only"):
        laws.lowerings_agree(right, Broken(program, loses_the_last_change), batch, CUTS)
