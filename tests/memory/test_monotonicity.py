"""More rows to tell apart, or more to say of them, never takes fewer units.

Not so for joins: without `s.a = t.d`, Q3 of Table I has no need of t's column, and 10 units do
instead of 18.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.strategies.spj import ColumnText, SpjText, naming, random_spj

from millpond.language import read_script
from millpond.memory import verdict_of


def units(query: SpjText) -> int | None:
    return verdict_of(read_script(query.text).queries[0]).units


def with_a_wider_check(query: SpjText, rng: random.Random) -> SpjText | None:
    ranged = [(s, c) for s in query.streams for c in s.columns if c.low is not None]
    if not ranged:
        return None
    chosen = rng.choice(ranged)

    def widened(column: ColumnText) -> ColumnText:
        low = None if column.low is None else column.low - rng.randint(0, 2)
        high = None if column.high is None else column.high + rng.randint(0, 2)
        return replace(column, low=low, high=high)

    streams = tuple(
        replace(s, columns=tuple(widened(c) if (s, c) == chosen else c for c in s.columns))
        for s in query.streams
    )
    return replace(query, streams=streams)


def with_a_wider_range(query: SpjText, rng: random.Random) -> SpjText | None:
    places = [
        at
        for at, each in enumerate(query.comparisons)
        if isinstance(each.right, int) and each.op in ("<", "<=", ">", ">=")
    ]
    if not places:
        return None
    place = rng.choice(places)
    chosen = query.comparisons[place]
    assert isinstance(chosen.right, int)
    step = rng.randint(1, 2) * (1 if chosen.op in ("<", "<=") else -1)
    wider = replace(chosen, right=chosen.right + step)
    return replace(
        query,
        comparisons=(*query.comparisons[:place], wider, *query.comparisons[place + 1 :]),
    )


def with_another_column(query: SpjText, rng: random.Random) -> SpjText | None:
    left = [each for each in query.columns if each not in query.projection]
    if not left or query.distinct:
        return None  # under DISTINCT a column more may be one that joins do not have to keep apart
    return replace(query, projection=(*query.projection, rng.choice(left)))


def check(change: Callable[[SpjText, random.Random], SpjText | None], seeds: range) -> int:
    compared = 0
    for seed in seeds:
        rng = random.Random(seed)
        query = random_spj(
            rng, columns=(1, 2), comparisons=(1, 4), constants=(1, 3), ranges=0.8, checks=0.6,
        )  # fmt: skip
        changed = change(query, rng)
        if changed is None:
            continue
        before, after = units(query), units(changed)
        if before is None or after is None:
            continue
        with naming(seed, changed):
            assert after >= before, query.text
        compared += before > 0
    return compared


@pytest.mark.parametrize("change", [with_a_wider_check, with_a_wider_range, with_another_column])
def test_units_never_fall(change: Callable[[SpjText, random.Random], SpjText | None]) -> None:
    assert check(change, range(500)) > 30


@pytest.mark.heavy
@pytest.mark.parametrize("change", [with_a_wider_check, with_a_wider_range, with_another_column])
def test_units_never_fall_at_length(
    change: Callable[[SpjText, random.Random], SpjText | None],
) -> None:
    assert check(change, range(1_000, 6_000)) > 300


def test_without_its_join_q3_needs_less() -> None:
    ddl = "CREATE STREAM s (a INT); CREATE STREAM t (d INT); "
    joined = "SELECT s.a FROM s, t WHERE s.a = t.d AND s.a > 10 AND s.a < 20"
    crossed = "SELECT s.a FROM s, t WHERE s.a > 10 AND s.a < 20"
    found = [verdict_of(read_script(ddl + each).queries[0]).units for each in (joined, crossed)]
    assert found == [18, 10]
