"""The oracle for self-joins: on cases with known answers, and against states by definition."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from itertools import combinations, combinations_with_replacement, product

import numpy as np
import pytest
from tests.memory import brute_force
from tests.memory.brute_force_self_joins import classes, grows, irredundant
from tests.memory.by_definition import NULL, Rows, answers
from tests.strategies.spj import SpjText, naming, random_spj, spj_text

STREAMS = "CREATE STREAM s (a INT, b INT); CREATE STREAM t (d INT, e INT); "
TWO = "s AS s1, s AS s2"
THREE = "s AS s1, s AS s2, s AS s3"
SET = "SELECT DISTINCT"
BAG = "SELECT"


@pytest.mark.parametrize(
    ("text", "bounded"),
    [
        pytest.param(f"{SET} 1 FROM {TWO} WHERE s1.a = s2.a", True, id="S is not empty"),
        pytest.param(f"{SET} 1 FROM {TWO} WHERE s1.a < s2.a", True, id="two values"),
        pytest.param(
            f"{SET} 1 FROM {THREE} WHERE s1.a < s2.a AND s2.a < s3.a", True, id="three values"
        ),
        pytest.param(
            f"{SET} 1 FROM {THREE} WHERE s1.b = s2.a AND s3.a = s3.b", True, id="a joint fold"
        ),
        pytest.param(
            f"{SET} s1.a FROM {TWO} "
            "WHERE s1.a = 1 AND s1.a = s2.a AND s1.b = s2.b AND s1.b > 1 AND s2.a = 1",
            True,
            id="example 8.1",
        ),
        pytest.param(
            f"{SET} s1.a FROM {TWO} WHERE s1.a = 1 AND s2.a = 0 AND s1.b = s2.b",
            False,
            id="example 8.1 without the fold",
        ),
        pytest.param(f"{SET} s1.a FROM {TWO} WHERE s1.a = s2.b", False, id="projected equality"),
        pytest.param(f"{SET} 1 FROM {TWO} WHERE s1.a = s2.b", False, id="equality"),
        pytest.param(f"{SET} 1 FROM {TWO} WHERE s1.a < s2.b", True, id="one order"),
        pytest.param(
            f"{SET} 1 FROM {TWO} WHERE s1.a < s2.a AND s1.b < s2.b", False, id="a staircase"
        ),
        pytest.param(
            f"{SET} 1 FROM {TWO}, t WHERE s1.a = t.d AND s2.a = t.d", False, id="fold, then join"
        ),
        pytest.param(
            f"{SET} 1 FROM {TWO}, t WHERE s1.a < t.d AND s2.a < t.d", True, id="fold, then order"
        ),
        pytest.param(f"{BAG} s1.a FROM {TWO} WHERE s1.a = s2.a", False, id="bag, equality"),
        pytest.param(f"{BAG} 1 FROM {TWO} WHERE s1.a < s2.a", False, id="bag, order"),
        pytest.param(f"{BAG} 1 FROM {TWO}", True, id="bag, pairs"),
        pytest.param(
            f"{BAG} s1.a FROM {TWO} WHERE s1.a = s2.a AND s1.a > 0 AND s1.a < 3",
            True,
            id="bag, bounded",
        ),
        pytest.param(
            f"{BAG} s2.b FROM {TWO} WHERE s1.a = s2.a AND s1.a > 0 AND s1.a < 3",
            False,
            id="bag, projection",
        ),
    ],
)
def test_known_cases(text: str, bounded: bool) -> None:
    assert grows(spj_text(STREAMS + text)) is (not bounded)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        (f"{SET} 1 FROM {TWO} WHERE s1.a = s2.a", 1),
        (f"{SET} 1 FROM {TWO} WHERE s1.a < s2.a", 2),
        (f"{SET} 1 FROM {THREE} WHERE s1.a < s2.a AND s2.a < s3.a", 3),
        (f"{BAG} s1.a FROM {TWO} WHERE s1.a = s2.a AND s1.a > 0 AND s1.a < 3", 2),
    ],
)
def test_how_much_is_kept(text: str, size: int) -> None:
    """Two registers tell whether three values came: the third row is the end of it."""
    query = spj_text(STREAMS + text)
    assert (irredundant if query.distinct else classes)(query, "s", 2) == (size, True)


def test_without_self_joins_it_is_the_other_oracle() -> None:
    compared = 0
    for seed in range(60):
        query = random_spj(
            random.Random(seed), streams=(2, 2), columns=(1, 2), constants=(0, 2), values=(0, 1)
        )
        with naming(seed, query):
            found = grows(query)
            if found is not None:
                assert found == brute_force.grows(query, (4, 6))
                compared += 1
    assert compared >= 50


Row = tuple[int, ...]


class ByDefinition:
    """Streams of few rows, and what a query answers."""

    def __init__(self, query: SpjText) -> None:
        ends = query.constants or (0, 0)
        values = [*range(ends[0] - 1, ends[-1] + 2), NULL]
        self.query = query
        self.columns: dict[str, list[str]] = {name: [] for _, name in query.inputs}
        for each in query.relevant:
            alias, _, column = each.partition(".")
            found = self.columns[dict(query.inputs)[alias]]
            if column not in found:
                found.append(column)
        self.rows: dict[str, list[Row]] = {
            name: list(product(values, repeat=len(columns)))
            for name, columns in self.columns.items()
        }

    def answer(self, contents: Iterable[tuple[str, Row]]) -> Counter[tuple[int, ...]]:
        every = list(contents)
        inputs = []
        for alias, name in self.query.inputs:
            rows = [row for of, row in every if of == name]
            columns = tuple(f"{alias}.{each}" for each in self.columns[name])
            table = np.array(rows, dtype=np.int64).reshape(len(rows), len(columns))
            inputs.append(Rows(alias, columns, table))
        found = answers(self.query, inputs)
        return Counter(set(found)) if self.query.distinct else found

    def futures(self) -> list[tuple[tuple[str, Row], ...]]:
        """With as many rows as an output joins: what has been printed already shows then only."""
        every = [(name, row) for name, rows in self.rows.items() for row in rows]
        most = len(self.query.inputs) - (not self.query.distinct)
        return [
            each
            for size in range(1, most + 1)
            for each in combinations_with_replacement(every, size)
        ]

    def state(self, stream: str, rows: Iterable[Row]) -> tuple[object, ...]:
        """What is printed after each future, by definition."""
        before = [(stream, row) for row in rows]
        had = self.answer(before)
        after = (self.answer([*before, *future]) for future in self.futures())
        return tuple(frozenset((each - had).items()) for each in after)


def largest_told_apart(by_definition: ByDefinition, stream: str) -> int:
    """The size of the largest set of rows all of whose subsets are different states."""
    rows = by_definition.rows[stream]
    states = {
        frozenset(each): by_definition.state(stream, each)
        for size in range(len(rows) + 1)
        for each in combinations(rows, size)
    }
    return max(
        len(every)
        for every in states
        if len({states[each] for each in states if each <= every}) == 2 ** len(every)
    )


def small_queries(seeds: range, distinct: bool) -> Iterable[tuple[int, SpjText]]:
    """Queries over streams of one column or two, few enough for every subset of rows."""
    for seed in seeds:
        rng = random.Random(seed)
        query = random_spj(
            rng,
            streams=(2, 3),
            columns=(1, 1) if distinct else (1, 2),
            comparisons=(1, 3),
            constants=(0, 1),
            values=(0, 0),
            distinct=distinct,
            self_joins=0.9,
        )
        if query.self_join and len(query.relevant) <= 4:
            yield seed, query


def check_sets(seeds: range) -> int:
    compared = 0
    for seed, query in small_queries(seeds, distinct=True):
        by_definition = ByDefinition(query)
        with naming(seed, query):
            for stream in by_definition.rows:
                found = irredundant(query, stream, 1)
                assert found == (largest_told_apart(by_definition, stream), True)
                compared += 1
    return compared


def check_bags(seeds: range) -> int:
    compared = 0
    for seed, query in small_queries(seeds, distinct=False):
        by_definition = ByDefinition(query)
        with naming(seed, query):
            for stream, rows in by_definition.rows.items():
                states = {by_definition.state(stream, [row]) for row in rows}
                states.discard(by_definition.state(stream, []))
                assert classes(query, stream, 1).found == len(states)
                compared += 1
    return compared


def test_sets_of_rows_that_matter_are_those_whose_subsets_all_differ() -> None:
    assert check_sets(range(25)) >= 15


def test_rows_of_one_class_are_those_that_are_one_state() -> None:
    assert check_bags(range(12)) >= 8


@pytest.mark.heavy
@pytest.mark.parametrize("start", range(1000, 1200, 100))
def test_states_are_those_by_definition_at_length(start: int) -> None:
    assert check_sets(range(start, start + 100)) >= 60
    assert check_bags(range(start, start + 60)) >= 40
