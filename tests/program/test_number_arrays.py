"""Arithmetic over arrays of integers gives what Python's integers give, whatever their size."""

from __future__ import annotations

import random

import numpy as np
import pytest

from millpond.plan.folds import FOLDS, Fold, finished
from millpond.program import by_cell
from millpond.program.delta import IntArray
from millpond.program.finish import Numbers, finished_all
from millpond.program.grouping import Finish
from millpond.program.number_arrays import narrow, plus, room_for_sums, times, wide
from millpond.schema import BIGINT

SIZES = (3, 40, 55, 63, 70)


def numbers(rng: random.Random, size: int) -> tuple[list[int], IntArray]:
    """Some integers of any of several sizes, and an array of them, at times wider than need be."""
    bits = rng.choice(SIZES)
    values = [rng.randint(-(2**bits), 2**bits) for _ in range(size)]
    array = narrow(np.array(values, dtype=object))
    return values, wide(array) if rng.random() < 0.2 else array


@pytest.mark.parametrize("seed", range(60))
def test_sums_and_products_never_wrap(seed: int) -> None:
    rng = random.Random(seed)
    (one, first), (other, second) = numbers(rng, 40), numbers(rng, 40)
    assert plus(first, second).tolist() == [x + y for x, y in zip(one, other, strict=True)]
    assert times(first, second).tolist() == [x * y for x, y in zip(one, other, strict=True)]
    assert int(np.sum(room_for_sums(first))) == sum(one)


@pytest.mark.parametrize("seed", range(60))
def test_numbers_by_cell_are_exact(seed: int) -> None:
    rng = random.Random(seed)
    values, array = numbers(rng, 300)
    cells = [rng.randrange(9) for _ in values]
    there = np.array([rng.random() < 0.8 for _ in values])
    by = np.array(cells)
    assert by_cell.sums(by, array, 9).tolist() == [
        sum(x for x, cell in zip(values, cells, strict=True) if cell == each) for each in range(9)
    ]
    groups = [
        [
            x
            for x, cell, is_there in zip(values, cells, there, strict=True)
            if is_there and cell == each
        ]
        for each in range(9)
    ]
    assert by_cell.counts(by, there, 9).tolist() == [len(each) for each in groups]
    for fold, pick in ((Fold.LEAST, min), (Fold.GREATEST, max)):
        best = by_cell.best(fold, by, array, there, 9).tolist()
        assert all(x == pick(each) for x, each in zip(best, groups, strict=True) if each)


def test_large_sums_by_cell_are_added_up_in_parts() -> None:
    values = np.full(1_000, 2**62, dtype=np.int64)
    assert by_cell.sums(np.zeros(1_000, np.int64), values, 2).tolist() == [1_000 * 2**62, 0]


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("function", [each for each in FOLDS if not each.startswith("BOOL")])
def test_many_groups_are_finished_as_one_is(function: str, seed: int) -> None:
    rng = random.Random(f"{function} {seed}")
    groups = [numbers(rng, rng.randint(0, 4))[0] for _ in range(12)]
    made = {
        Fold.COUNT: [len(each) for each in groups],
        Fold.SUM: [sum(each) for each in groups],
        Fold.SQUARES: [sum(x * x for x in each) for each in groups],
        Fold.LEAST: [min(each, default=0) for each in groups],
        Fold.GREATEST: [max(each, default=0) for each in groups],
    }
    none = np.array([not each for each in groups])
    arrays = {
        fold: Numbers(narrow(np.array(values, dtype=object)), None if fold is Fold.COUNT else none)
        for fold, values in made.items()
        if fold in FOLDS[function]
    }
    finish = Finish(function, BIGINT, tuple((fold, 0) for fold in FOLDS[function]))
    assert finished_all(finish, arrays, len(groups)).listed() == [
        finished(
            function,
            {
                fold: None if not groups[place] and fold is not Fold.COUNT else made[fold][place]
                for fold in FOLDS[function]
            },
            BIGINT,
        )
        for place in range(len(groups))
    ]
