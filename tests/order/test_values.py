"""Sets of numbers: grids, dense ones and lists, against going through them one by one."""

from __future__ import annotations

import random

import pytest

from millpond.order import PLAIN, Values
from millpond.order.values import normal
from millpond.schema import Interval

FAR = 40
"""Further than any end that the random sets have."""


def random_values(rng: random.Random) -> Values:
    spans = []
    for _ in range(rng.randint(0, 3)):
        low, high = sorted((rng.randint(-12, 12), rng.randint(-12, 12)))
        spans.append(
            Interval(
                None if rng.random() < 0.15 else low,
                None if rng.random() < 0.15 else high,
            )
        )
    step = rng.choice([1, 1, 2, 3, 5])
    return Values(step, step == 1 and rng.random() < 0.3, normal(spans))


def members(values: Values) -> set[int]:
    """What is in a set, as far as the test looks."""
    return {
        each
        for each in range(-FAR, FAR + 1)
        if (values.dense or each % values.step == 0) and any(each in span for span in values.spans)
    }


@pytest.mark.parametrize("seed", range(200))
def test_questions_are_answered_as_by_going_through_the_numbers(seed: int) -> None:
    rng = random.Random(seed)
    values = random_values(rng)
    there = members(values)
    for limit in range(-16, 17):
        assert values.floor(limit) == max((x for x in there if x <= limit), default=None)
        assert values.ceiling(limit) == min((x for x in there if x >= limit), default=None)
    limits = Interval(*sorted((rng.randint(-15, 15), rng.randint(-15, 15))))
    assert members(values.within(limits)) == {x for x in there if x in limits}
    other = Values(values.step, values.dense, random_values(rng).spans)
    assert members(values.meet(other)) == there & members(other)
    assert members(Values(spans=normal([*values.spans, *other.spans]))) >= there | members(other)
    shift = rng.randint(-3, 3) * values.step
    near = range(-FAR + 20, FAR - 19)
    assert {x for x in members(values.moved(shift)) if x in near} == {
        x + shift for x in there if x + shift in near
    }
    if values.size is not None:
        assert len(there) == values.size
    else:
        assert values.dense or values.spans[0].low is None or values.spans[-1].high is None


@pytest.mark.parametrize(
    ("values", "size"),
    [
        pytest.param(PLAIN, None, id="the integers"),
        pytest.param(Values(spans=(Interval(3, 9),)), 7, id="a range"),
        pytest.param(Values(5, spans=(Interval(-6, 11),)), 4, id="multiples of five"),
        pytest.param(Values(5, spans=(Interval(6, 9),)), 0, id="between two of them"),
        pytest.param(Values(dense=True, spans=(Interval(3, 4),)), None, id="dense"),
        pytest.param(Values(dense=True, spans=(Interval(3, 3),)), 1, id="a dense point"),
        pytest.param(Values.points([5, 1, 5]), 2, id="a list"),
        pytest.param(Values.points([]), 0, id="nothing"),
    ],
)
def test_size(values: Values, size: int | None) -> None:
    assert values.size == size


def test_the_hull_of_nothing_is_empty() -> None:
    assert Values.points([]).hull.empty
    assert Values.points([4, -1]).hull == Interval(-1, 4)


def test_normal_spans_are_in_order_and_apart() -> None:
    assert normal([Interval(5, 9), Interval(None, 1), Interval(7, 12), Interval(0, 2)]) == (
        Interval(None, 2),
        Interval(5, 12),
    )
    assert normal([Interval(4, None), Interval(1, 2), Interval(6, 7)]) == (
        Interval(1, 2),
        Interval(4, None),
    )
