"""Self-joins evaluated by definition: the inputs of one stream all hold its rows."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import numpy as np
from tests.memory.by_definition import NULL, Rows, answers
from tests.strategies.spj import ComparisonText, SpjText

from millpond.language import read_script
from millpond.memory import Attribute, SpjQuery, normal_form

StreamRow = Mapping[str, int]
"""Column to value; columns that are not there hold NULL."""


def normal(text: SpjText) -> SpjQuery:
    found = normal_form(read_script(text.text).queries[0])
    assert found is not None
    return found


def as_text(query: SpjQuery, text: SpjText) -> SpjText:
    """The query as plain data, over the declarations of `text`."""
    compared = [
        ComparisonText(str(each.left), str(each.op), str(each.right)) for each in query.pairs
    ]
    for column, limit in query.limits.items():
        (only,) = limit.ranges
        compared.append(ComparisonText(str(column), "=", str(column)))
        for end, is_open, ops in (
            (only.low, only.low_open, (">=", ">")),
            (only.high, only.high_open, ("<=", "<")),
        ):
            if end is not None:
                compared.append(ComparisonText(str(column), ops[is_open], int(end)))
    return SpjText(
        text.streams,
        tuple((alias, stream.name) for alias, stream in query.streams),
        tuple(compared),
        tuple(
            str(each.value)
            if isinstance(each.value, Attribute)
            else int(each.value)
            if isinstance(each.value, int)
            else 0
            for each in query.projection
        ),
        query.distinct,
    )


def answer(
    query: SpjText, contents: Mapping[str, Sequence[StreamRow]]
) -> frozenset[tuple[int, ...]]:
    """The rows of the answer, duplicates removed."""
    inputs = []
    for alias, stream in query.inputs:
        columns = query.of(alias)
        values = [
            [row.get(each.partition(".")[2], NULL) for each in columns] for row in contents[stream]
        ]
        array = np.array(values, dtype=np.int64).reshape(len(values), len(columns))
        inputs.append(Rows(alias, columns, array))
    return frozenset(answers(query, inputs))


def random_contents(
    rng: random.Random, query: SpjText, most: int, low: int, high: int, nulls: float
) -> dict[str, list[StreamRow]]:
    """Some rows of each stream that its declarations allow."""
    found: dict[str, list[StreamRow]] = {}
    for stream in query.streams:
        rows: list[StreamRow] = []
        for _ in range(rng.randint(0, most)):
            row: dict[str, int] = {}
            for each in stream.columns:
                least = low if each.low is None else max(low, each.low)
                greatest = max(least, high if each.high is None else min(high, each.high))
                if each.not_null or rng.random() >= nulls:
                    row[each.name] = rng.randint(least, greatest)
            rows.append(row)
        found[stream.name] = rows
    return found
