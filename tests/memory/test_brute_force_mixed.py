"""Verdicts over whole and dense columns together, against counting over boxes that grow and are
refined: no false "bounded", and no false "linear"."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from tests.memory.brute_force import largest_irredundant
from tests.memory.by_definition import Rows, Truths, box, joined, own_output, responses
from tests.strategies.spj import SpjText, naming, random_spj, spj_text

from millpond.language import read_script
from millpond.memory import MemoryClass, Verdict, verdict_of


def refined(query: SpjText, by: int) -> SpjText:
    """The same with `by` places from one whole number to the next."""
    times = [
        replace(
            each,
            left=each.left * by if isinstance(each.left, int) else each.left,
            right=each.right * by if isinstance(each.right, int) else each.right,
        )
        for each in query.comparisons
    ]
    streams = [
        replace(
            stream,
            columns=tuple(
                replace(
                    each,
                    low=None if each.low is None else each.low * by,
                    high=None if each.high is None else each.high * by,
                )
                for each in stream.columns
            ),
        )
        for stream in query.streams
    ]
    return replace(query, streams=tuple(streams), comparisons=tuple(times))


def rows_of(query: SpjText, alias: str, margin: int, by: int) -> Rows:
    """The rows of a box that pass the filters of their input; whole columns are whole."""
    ends = query.constants or (0, 0)
    fine = refined(query, by)
    rows = box(fine, alias, (ends[0] - margin) * by, (ends[-1] + margin) * by)
    for each in rows.columns:
        if query.column(each).type == "INT":
            rows = rows.take(np.flatnonzero(rows.of(each) % by == 0))
    filters = tuple(each for each in fine.comparisons if set(each.columns) <= set(rows.columns))
    return rows.take(np.flatnonzero(joined(replace(fine, comparisons=filters), [rows])))


def measures(query: SpjText, margin: int, by: int, most: int | None = None) -> list[int]:
    """For each input the number of classes, or the size of the largest irredundant family."""
    rows = [rows_of(query, alias, margin, by) for alias, _ in query.inputs]
    found = []
    for each in rows:
        joins = responses(refined(query, by), each.alias, rows)
        output = own_output(query, each)[joins.any(axis=1)]
        joins = joins[joins.any(axis=1)]
        if not query.distinct:
            found.append(len(_distinct(np.concatenate([output, joins], axis=1))))
            continue
        families = 0
        for value in np.unique(output, axis=0):
            limit = None if most is None else most - families
            if limit is None or limit > 0:
                same = joins[(output == value).all(axis=1)]
                families += largest_irredundant(_distinct(same), limit)
        found.append(families)
    return found


def _distinct(table: Truths) -> Truths:
    return table if len(table) == 0 else np.unique(table, axis=0)


BOXES = ((3, 3), (4, 4))
"""How far beyond the constants, and how fine."""
FAR_BOXES = ((6, 3), (8, 4))
"""Where some answers settle only; they take long."""


def grows(query: SpjText, boxes: tuple[tuple[int, int], tuple[int, int]] = BOXES) -> bool:
    """Whether some input has more to tell apart in the larger box than in the smaller one."""
    if len(query.inputs) == 1 and not query.distinct:
        return False
    small = measures(query, *boxes[0])
    large = measures(query, *boxes[1], max(small, default=0) + 1)
    return any(one < other for one, other in zip(small, large, strict=True))


def check_the_number(query: SpjText, found: Verdict) -> None:
    """What is kept of an input is no less than what has to be told apart."""
    for (alias, _), least in zip(query.inputs, measures(query, *BOXES[0]), strict=True):
        of = alias if len(query.inputs) > 1 else "emitted rows"
        units = sum(each.units or 0 for each in found.state if each.of == of)
        assert units >= least, f"{alias}: {units} units for {least} states that differ"


def check(seeds: range, most_columns: int) -> int:
    """The verdict is the oracle's; how many queries there were."""
    compared = 0
    for seed in seeds:
        rng = random.Random(seed)
        query = random_spj(
            rng,
            streams=(1, 2),
            columns=(1, 2),
            comparisons=(1, 5),
            constants=(0, 2),
            values=(0, 2),
            checks=rng.choice([0, 0, 0.4]),
            types=("INT", "DOUBLE"),
        )
        if len(query.relevant) > most_columns:
            continue
        with naming(seed, query):
            found = verdict_of(read_script(query.text).queries[0])
            if found.memory is MemoryClass.NONE and not query.distinct:
                continue
            if found.bounded == grows(query):
                assert found.bounded == (not grows(query, FAR_BOXES)), found
            if found.bounded:
                check_the_number(query, found)
        compared += 1
    return compared


DDL = "CREATE STREAM s (x DOUBLE, y DOUBLE, a INT); CREATE STREAM t (d INT, e DOUBLE); "


@pytest.mark.parametrize(
    ("text", "bounded"),
    [
        ("SELECT 1 FROM s, t WHERE s.x < t.d AND t.d >= 1 AND t.d <= 3", True),
        ("SELECT 1 FROM s, t WHERE s.x < t.d AND t.d >= 1", False),
        ("SELECT 1 FROM s, t WHERE s.x < t.e AND t.e >= 1 AND t.e <= 3", False),
        ("SELECT DISTINCT 1 FROM s, t WHERE s.x < t.e AND t.e >= 1 AND t.e <= 3", True),
        ("SELECT DISTINCT 1 FROM s, t WHERE s.x < t.e AND s.y < t.d", False),
        (
            "SELECT DISTINCT 1 FROM s, t WHERE s.x < t.e AND s.y < t.d AND t.d >= 1 AND t.d <= 3",
            True,
        ),
        ("SELECT s.a FROM s, t WHERE s.a = t.e AND s.a >= 1 AND s.a <= 3", True),
        ("SELECT s.x FROM s, t WHERE s.x = t.e AND s.x >= 1 AND s.x <= 3", False),
        ("SELECT DISTINCT s.x FROM s WHERE s.x > 1 AND s.x < 2", False),
        ("SELECT DISTINCT s.x FROM s, t WHERE s.x = t.d AND t.d >= 1 AND t.d <= 3", True),
        ("SELECT 1 FROM s, t WHERE s.x <= 1 AND t.e > s.x AND t.e > 0", False),
        ("SELECT 1 FROM s, t WHERE t.e > s.x AND s.x < 2 AND s.x >= 0 AND t.e >= 1", False),
        ("SELECT 1 FROM s, t WHERE t.e < s.x AND s.x = s.a AND s.x >= 1 AND s.a <= 2", True),
        ("SELECT 1 FROM s, t WHERE t.d = t.e AND s.x <= t.e AND t.d >= 0 AND t.d <= 2", True),
    ],
)
def test_what_a_whole_number_does_for_a_dense_column(text: str, bounded: bool) -> None:
    query = spj_text(DDL + text)
    assert verdict_of(read_script(DDL + text).queries[0]).bounded is bounded
    assert grows(query) is (not bounded)


@pytest.mark.parametrize("start", range(0, 240, 60))
def test_mixed_verdicts_are_those_of_brute_force(start: int) -> None:
    assert check(range(start, start + 60), most_columns=3) >= 20


@pytest.mark.heavy
@pytest.mark.parametrize("start", range(10_000, 13_000, 250))
def test_mixed_verdicts_are_those_of_brute_force_at_length(start: int) -> None:
    assert check(range(start, start + 250), most_columns=4) >= 100
