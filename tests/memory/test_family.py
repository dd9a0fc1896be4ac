"""Self-joins that are called linear: the family that proves it, fed and answered by definition."""

from __future__ import annotations

import random
from itertools import combinations

import pytest
from tests.memory.by_definition import NULL
from tests.memory.self_joins import StreamRow, answer, normal
from tests.memory.test_core import random_self_join
from tests.strategies.spj import SpjText, naming, spj_text

from millpond.language import read_script
from millpond.memory import Attribute, MemoryClass, verdict_of
from millpond.memory.arasu import violations
from millpond.memory.core import core
from millpond.memory.family import Family, family_of

S = "CREATE STREAM s (a INT, b INT, c INT);\n"

Feed = list[tuple[str, StreamRow]]
"""Streams and their rows, in the order in which they come."""


def rows_of(family: Family, text: SpjText, aliases: list[str], number: int, numbers: int) -> Feed:
    streams = dict(text.inputs)
    found: Feed = []
    for alias in aliases:
        row = family.row(alias, number, numbers)
        found.append((streams[alias], {name: v for name, v in row.items() if v is not None}))
    return found


def check_family(family: Family, text: SpjText, numbers: int) -> None:
    """Whichever numbers' rows are stored, each probe gives its row iff its own number's are."""
    aliases = [alias for alias, _ in family.query.streams]
    stored = [each for each in aliases if each in family.stored]
    asking = [each for each in aliases if each not in family.stored]

    def told(numbers_in: tuple[int, ...], probe: int | None) -> frozenset[tuple[int, ...]]:
        fed = [
            each for number in numbers_in for each in rows_of(family, text, stored, number, numbers)
        ]
        if probe is not None:
            fed += rows_of(family, text, asking, probe, numbers)
        contents: dict[str, list[StreamRow]] = {each.name: [] for each in text.streams}
        for stream, row in fed:
            columns = next(each.columns for each in text.streams if each.name == stream)
            for column in columns:
                value = row.get(column.name)
                assert value is not None or not column.not_null or column.name not in row
                assert value is None or column.low is None or column.low <= value
                assert value is None or column.high is None or value <= column.high
            contents[stream].append(row)
        return answer(text, contents)

    def wanted(number: int) -> tuple[int, ...]:
        match = {alias: family.row(alias, number, numbers) for alias in aliases}
        return tuple(
            (NULL if (value := match[x.alias][x.column]) is None else value)
            if isinstance(x := each.value, Attribute)
            else x
            if isinstance(x, int)
            else 0
            for each in family.query.projection
        )

    every = tuple(range(1, numbers + 1))
    for size in range(numbers + 1):
        for inside in combinations(every, size):
            before = told(inside, None)
            for probe in every:
                given = wanted(probe) in told(inside, probe)
                assert wanted(probe) not in before, (inside, probe)
                assert given == (probe in inside), (inside, probe)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"{S}SELECT DISTINCT 1 FROM s, s AS t WHERE s.a = t.b AND s.b > 3", id="C2"),
        pytest.param(
            f"{S}SELECT DISTINCT 1 FROM s, s AS t WHERE s.a < t.a AND t.b < s.b", id="a staircase"
        ),
    ],
)
def test_a_family_proves_that_there_is_no_bound(text: str) -> None:
    found = verdict_of(read_script(text).queries[0])
    assert found.memory is MemoryClass.LINEAR
    plain = spj_text(text)
    family = family_of(normal(plain))
    assert family is not None
    check_family(family, plain, 5)


@pytest.mark.parametrize(
    ("text", "attributes"),
    [
        ("s1.a FROM s AS s1, s AS s2 WHERE s1.b < s2.b", ("s1.a",)),
        ("s1.a FROM s AS s1, s AS s2 WHERE s1.a = s2.a", ("s1.a",)),
    ],
)
def test_a_projected_column_without_bound_is_linear(text: str, attributes: tuple[str, ...]) -> None:
    found = verdict_of(read_script(f"{S}SELECT DISTINCT {text}").queries[0])
    assert found.memory is MemoryClass.LINEAR
    assert [(each.code, each.attributes) for each in found.because] == [("MP211", attributes)]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            "1 FROM s AS s1, s AS s2, s AS s3 WHERE s1.a < s2.a AND s2.a < s3.a",
            id="three distinct values",
        ),
    ],
)
def test_what_is_bounded_in_truth_is_never_called_linear(text: str) -> None:
    found = verdict_of(read_script(f"{S}SELECT DISTINCT {text}").queries[0])
    assert (found.memory, found.bounded) == (MemoryClass.OUTSIDE, None)
    assert [each.code for each in found.because] == ["MP220"]


def check_random(seeds: range) -> tuple[int, int]:
    """How many families were found and hold, and for how many failing queries there is none."""
    proved, outside = 0, 0
    for seed in seeds:
        text = random_self_join(seed)
        if not text.self_join:
            continue
        with naming(seed, text):
            query = core(normal(text))
            failed = violations(query)
            if not failed or not query.self_join or any(x.condition == "C1" for x in failed):
                continue
            family = family_of(query)
            if family is None:
                outside += 1
                continue
            proved += 1
            # The whole query answers as its core does; rows of the core's inputs are enough.
            check_family(family, text, random.Random(seed).choice([2, 4, 5]))
    return proved, outside


def test_families_hold_by_definition() -> None:
    proved, outside = check_random(range(400))
    assert proved > 10
    assert outside < proved


@pytest.mark.heavy
@pytest.mark.parametrize("start", range(10_000, 18_000, 2_000))
def test_families_hold_by_definition_at_length(start: int) -> None:
    proved, outside = check_random(range(start, start + 2_000))
    assert outside < proved
