"""The oracle for aggregates: on cases with known answers, and against answers by definition."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from statistics import median

import numpy as np
import pytest
from tests.memory.brute_force_aggregates import GROUPS, Box, grows, measures
from tests.memory.by_definition import Rows, Values, joined
from tests.strategies.aggregates import (
    AggregateQueryText,
    AggregateText,
    aggregate_text,
    random_aggregate_query,
)
from tests.strategies.spj import naming

STREAMS = (
    "CREATE STREAM s (a INT, b INT, c INT); CREATE STREAM t (d INT, e INT); "
    "CREATE STREAM u (g INT); "
)
WITHIN = "s.a > 0 AND s.a < 3"
"""Bounds s.a."""

BOUNDED = {
    "theorem 8.5": [
        "SUM(s.a) FROM s",
        "s.a, MIN(s.b), VAR(s.b), AVG(s.b) FROM s WHERE {within} GROUP BY s.a",
        "MEDIAN(s.a), COUNT(DISTINCT s.a) FROM s WHERE {within}",
    ],
    "example 8.7": [
        "s.a, t.d, SUM(s.b) FROM s, t WHERE {within} AND t.d > 0 AND t.d < 3 GROUP BY s.a, t.d"
    ],
    "theorem 8.6 as printed": [
        "COUNT(*), SUM(s.b), AVG(t.d) FROM s, t",
        "SUM(s.b) FROM s, t WHERE s.a = t.d AND {within}",
        "MAX(s.a) FROM s, t WHERE s.a > t.d",
        "MIN(s.a) FROM s, t WHERE s.a < t.d",
        "MAX(t.d) FROM s, t WHERE s.a < t.d",
        "COUNT(DISTINCT s.a) FROM s, t WHERE s.b < t.d AND {within}",
    ],
    "a value that is forced": [
        "SUM(s.a) FROM s, t WHERE s.b < t.d AND s.a = 0",
        "AVG(s.a), MEDIAN(s.a), VAR(s.a) FROM s, t WHERE s.b < t.d AND s.a = 1",
        "s.a, AVG(s.a) FROM s, t WHERE s.b < t.d AND {within} GROUP BY s.a",
    ],
    "multiples of a bag have its average": [
        "AVG(t.e) FROM s, t, u WHERE s.a < u.g",
        "MEDIAN(t.e) FROM s, t, u WHERE s.a < u.g AND t.e > 0 AND t.e < 3",
    ],
}

UNBOUNDED = {
    "theorem 8.5": [
        "s.b, SUM(s.a) FROM s GROUP BY s.b",
        "MEDIAN(s.a) FROM s",
        "COUNT(DISTINCT s.a) FROM s WHERE s.a > 0",
        "MIN(s.b), MEDIAN(s.b) FROM s WHERE {within}",
    ],
    "the stored answer": ["t.d, MAX(s.a) FROM s, t WHERE s.b < t.d GROUP BY t.d"],
    "theorem 8.6 as printed": [
        "COUNT(*) FROM s, t WHERE s.a < t.d",
        "SUM(t.e) FROM s, t WHERE s.a = t.d",
        "SUM(s.a) FROM s, t WHERE s.b < t.d AND s.a = 1",
        "AVG(s.a) FROM s, t WHERE s.b < t.d AND {within}",
        "MAX(s.a) FROM s, t WHERE s.b = t.d",
        "MAX(t.e) FROM s, t WHERE s.a < t.d",
        "COUNT(DISTINCT s.a) FROM s, t WHERE s.b < t.d",
        "MEDIAN(s.a) FROM s, t WHERE s.b < t.d AND {within}",
    ],
    "theorem 8.6 corrected": [
        "MAX(s.a) FROM s, t WHERE s.b < t.d",
        "MIN(s.a) FROM s, t WHERE s.b > t.d",
        "MAX(s.a) FROM s, t WHERE s.a < t.d",
    ],
    "a value that is not forced enough": [
        "SUM(s.a) FROM s, t WHERE s.b = t.d AND s.a = 0",
        "VAR(t.e) FROM s, t, u WHERE s.a < u.g",
        "AVG(t.e) FROM s, t, u WHERE s.a < u.g AND s.b = t.d AND s.b > 0 AND s.b < 3",
    ],
}


def _cases(cases: dict[str, list[str]]) -> list[tuple[str, str]]:
    return [(why, text.format(within=WITHIN)) for why, each in cases.items() for text in each]


@pytest.mark.parametrize(("why", "text"), _cases(BOUNDED))
def test_bounded(why: str, text: str) -> None:
    assert not grows(aggregate_text(f"{STREAMS}SELECT {text}")), why


@pytest.mark.parametrize(("why", "text"), _cases(UNBOUNDED))
def test_unbounded(why: str, text: str) -> None:
    assert grows(aggregate_text(f"{STREAMS}SELECT {text}")), why


@pytest.mark.parametrize(
    ("text", "name", "numbers"),
    [
        ("s.a, SUM(s.b) FROM s, t WHERE s.a > 10 AND s.a < 20 GROUP BY s.a", "SUM(s.b)", [9, 1]),
        ("SUM(s.b) FROM s, t WHERE s.a = t.d AND s.a > 10 AND s.a < 20", "SUM(s.b)", [9, 9]),
        ("AVG(s.b) FROM s", "AVG(s.b)", [2]),
        ("VAR(s.b) FROM s", "VAR(s.b)", [3]),
        ("MAX(s.a) FROM s, t WHERE s.a > t.d", "MAX(s.a)", [1, 0]),
        ("MAX(s.a) FROM s, t WHERE s.a > t.d", GROUPS, [1, 1]),
        ("MEDIAN(s.a) FROM s WHERE s.a > 10 AND s.a < 20", "MEDIAN(s.a)", [8]),
    ],
)
def test_how_many_numbers_are_kept(text: str, name: str, numbers: list[int]) -> None:
    """The median is what lies on either side of each of eight thresholds."""
    assert measures(aggregate_text(f"{STREAMS}SELECT {text}"), 3)[name] == numbers


Bags = list[tuple[Rows, Values]]
Answer = dict[tuple[int, ...], tuple[Fraction | None, ...]]


def answer(query: AggregateQueryText, bags: Bags) -> Answer:
    """The answer by definition; a bag is rows and how often each occurs."""
    found = np.argwhere(joined(query.body, [rows for rows, _ in bags]))
    times = np.ones(len(found), dtype=np.int64)
    values: dict[str, Values] = {}
    for place, (rows, often) in enumerate(bags):
        times *= often[found[:, place]]
        values |= {each: rows.of(each)[found[:, place]] for each in rows.columns}
    groups: defaultdict[tuple[int, ...], list[int]] = defaultdict(list)
    for at in range(len(found)):
        groups[tuple(int(values[each][at]) for each in query.groups)].append(at)
    return {
        group: tuple(
            aggregated(
                each,
                [
                    value
                    for at in places
                    for value in [1 if each.column is None else int(values[each.column][at])]
                    * int(times[at])
                ],
            )
            for each in query.aggregates
        )
        for group, places in groups.items()
    }


def aggregated(aggregate: AggregateText, values: list[int]) -> Fraction | None:
    chosen = set(values) if aggregate.distinct else values
    number, total = len(chosen), sum(chosen)
    match aggregate.function:
        case "COUNT":
            return Fraction(number)
        case "SUM":
            return Fraction(total)
        case "MIN":
            return Fraction(min(chosen))
        case "MAX":
            return Fraction(max(chosen))
        case "AVG":
            return Fraction(total, number)
        case "MEDIAN":
            return Fraction(median(map(Fraction, chosen)))
        case "VAR" if number == 1:
            return None
        case "VAR":
            squares = sum(each * each for each in chosen)
            return (squares - Fraction(total * total, number)) / (number - 1)
    raise AssertionError(aggregate)


def state(query: AggregateQueryText, found: Box, place: int, bag: Values) -> list[bytes]:
    """All that the oracle says a bag of one input leaves behind."""
    left = []
    for name in (GROUPS, *(each.sql for each in query.aggregates)):
        for part in found.parts(place, name):
            total = bag[part.rows] @ part.table()
            left.append((total if part.counted else total > 0).tobytes())
    return left


def random_bag(rng: random.Random, size: int, most: int, rows: int) -> Values:
    bag = np.zeros(size, dtype=np.int64)
    for _ in range(rng.randint(0, rows) if size else 0):
        bag[rng.randrange(size)] += rng.randint(1, most)
    return bag


def answers_differ(
    query: AggregateQueryText, found: Box, place: int, bags: tuple[Values, Values], future: Bags
) -> bool:
    after = []
    for bag in bags:
        mine = found.inputs[place], bag + future[place][1]
        all_ = [*future[:place], mine, *future[place + 1 :]]
        kept = [np.flatnonzero(often) for _, often in all_]
        after.append(
            answer(
                query,
                [
                    (rows.take(some), often[some])
                    for (rows, often), some in zip(all_, kept, strict=True)
                ],
            )
        )
    return after[0] != after[1]


def check(seeds: range) -> tuple[int, int]:
    """Bags with one state are never told apart, the others are; how many there were of each."""
    same = different = 0
    for seed in seeds:
        rng = random.Random(seed)
        query = random_aggregate_query(
            rng, columns=(1, 2), comparisons=(0, 3), constants=(0, 2), values=(0, 2)
        )
        found = Box(query, 1)
        place = rng.randrange(len(found.inputs))
        size = len(found.inputs[place])
        if not size or len(query.body.relevant) > 5:
            continue
        # The variance says nothing of a single row: rows come in pairs.
        often = 2 if any(each.function == "VAR" for each in query.aggregates) else 1
        by_state: defaultdict[tuple[bytes, ...], list[Values]] = defaultdict(list)
        for _ in range(60):
            bag = often * random_bag(rng, size, 2, 3)
            by_state[tuple(state(query, found, place, bag))].append(bag)
        several = [each for each in by_state.values() if len(each) > 1]
        kinds = list(by_state.values())
        with naming(seed, query.body):
            for _ in range(4):
                if several:
                    one, other = rng.sample(rng.choice(several), 2)
                    for future in futures(rng, found, 15):
                        assert not answers_differ(query, found, place, (one, other), future)
                    same += 1
                if len(kinds) > 1:
                    one, other = (rng.choice(each) for each in rng.sample(kinds, 2))
                    assert any(
                        answers_differ(query, found, place, (one, other), future)
                        for future in futures(rng, found, 3000)
                    ), (one, other)
                    different += 1
    return same, different


def futures(rng: random.Random, found: Box, number: int) -> Iterator[Bags]:
    for _ in range(number):
        yield [
            (rows, random_bag(rng, len(rows), rng.choice([1, 3, 20]), rng.choice([1, 2, 4])))
            for rows in found.inputs
        ]


@pytest.mark.parametrize("start", range(0, 40, 20))
def test_states_are_those_that_answers_tell_apart(start: int) -> None:
    same, different = check(range(start, start + 20))
    assert same >= 10
    assert different >= 10


@pytest.mark.heavy
@pytest.mark.parametrize("start", range(1000, 1400, 100))
def test_states_are_those_that_answers_tell_apart_at_length(start: int) -> None:
    same, different = check(range(start, start + 100))
    assert same >= 50
    assert different >= 50
