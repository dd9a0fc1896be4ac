"""The parts of a query say what its text says: against DuckDB, on random rows."""

from __future__ import annotations

import operator
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import date
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from tests.memory.mixed_queries import DDL, Duck, Row, random_rows, random_select

from millpond.language import read_script
from millpond.memory.attribute import Attribute
from millpond.memory.condition import Condition, Either, In, Opaque, Pair, Range
from millpond.memory.flatten import NotFlatError
from millpond.memory.normal_form import Piece, normal_forms
from millpond.memory.spj import SpjQuery
from millpond.plan import Expression, Field, Operator
from millpond.plan.evaluate import compiled

Values = Mapping[Attribute, Any]
_EPOCH = date(1970, 1, 1)
_HOLDS: Mapping[Operator, Any] = {
    Operator.LT: operator.lt,
    Operator.LE: operator.le,
    Operator.EQ: operator.eq,
}


def plain(value: Any) -> Any:
    """As millpond holds it."""
    return (value - _EPOCH).days if isinstance(value, date) else value


def evaluated(expression: Expression, values: Values, query: SpjQuery) -> Any:
    fields = [Field(x.alias, x.column, query.columns[x].type, True) for x in values]
    return compiled(expression, fields)(tuple(values.values()))


def value_of(column: Attribute, values: Values, query: SpjQuery) -> Any:
    return values[column] if column.derived is None else evaluated(column.derived, values, query)


def passes(condition: Condition, values: Values, query: SpjQuery) -> bool:
    match condition:
        case In(column, ranges, null):
            value = value_of(column, values, query)
            return null if value is None else any(inside(each, value) for each in ranges)
        case Pair(left, right, op, offset):
            one, other = value_of(left, values, query), value_of(right, values, query)
            if one is None or other is None:
                return False
            if isinstance(one, str):
                return offset == 0 and bool(_HOLDS[op](one, other))
            return bool(_HOLDS[op](Fraction(one) - Fraction(other), offset))
        case Opaque(expression, negated):
            return evaluated(expression, values, query) is (not negated)
        case Either(branches):
            return any(all(passes(x, values, query) for x in each) for each in branches)
    raise TypeError(condition)


def inside(range_: Range, value: Any) -> bool:
    at: Any = value if isinstance(value, str) else Fraction(value)
    low: Any = range_.low
    high: Any = range_.high
    above = low is None or low < at or (low == at and not range_.low_open)
    below = high is None or at < high or (at == high and not range_.high_open)
    return above and below


def passing(query: SpjQuery, rows: Mapping[str, list[Row]]) -> Iterator[Values]:
    """The combinations of rows that satisfy every condition of a part."""
    for chosen in product(*(rows[stream.name] for _, stream in query.streams)):
        values = {
            Attribute(alias, column.name): plain(value)
            for (alias, stream), row in zip(query.streams, chosen, strict=True)
            for column, value in zip(stream.columns, row, strict=True)
        }
        if all(passes(each, values, query) for each in query.conditions):
            yield values


def check_the_closure(query: SpjQuery, values: Values) -> None:
    """What is said of all rows that pass is true of one that does."""
    assert query.satisfiable
    for each in query.void:
        assert value_of(each, values, query) is None
    for each in query.relevant:
        value = value_of(each, values, query)
        if value is None:
            assert query.nullable(each), f"{each} is NULL"
        elif not isinstance(value, str):
            at = query.scale.of(Fraction(value))
            interval = query.predicate.interval(each)
            assert interval.low is None or interval.low <= at, f"{each} = {value}: {interval}"
            assert interval.high is None or at <= interval.high, f"{each} = {value}: {interval}"
        elif value in query.scale.texts:
            assert int(query.scale.of(value)) in query.predicate.interval(each)


def summed(pieces: tuple[Piece, ...], rows: Mapping[str, list[Row]]) -> Counter[Row]:
    """What the parts give together."""
    found: Counter[Row] = Counter()
    for piece in pieces:
        for values in passing(piece.query, rows):
            check_the_closure(piece.query, values)
            shown = (each.value for each in piece.query.projection)
            found[tuple(values[x] if isinstance(x, Attribute) else x for x in shown)] += 1
    return found


def check(seeds: range) -> int:
    """How many queries there were whose answer was not empty."""
    duck, answered = Duck(), 0
    for seed in seeds:
        rng = random.Random(seed)
        distinct = rng.random() < 0.3
        sql = random_select(rng, distinct=distinct)
        try:
            try:
                pieces = normal_forms(read_script(DDL + sql).queries[0])
            except NotFlatError:
                continue
            for _ in range(3):
                rows = random_rows(rng)
                expected = Counter[Row]()
                for row, times in duck.answer(sql, rows).items():
                    expected[tuple(map(plain, row))] += times
                found = summed(pieces, rows)
                assert (set(found) if distinct else found) == (
                    set(expected) if distinct else expected
                ), rows
                answered += bool(expected)
        except BaseException as error:
            error.add_note(f"seed {seed}:\n{DDL}{sql}")
            raise
    return answered


@pytest.mark.parametrize("start", range(0, 400, 100))
def test_parts_give_what_the_query_gives(start: int) -> None:
    assert check(range(start, start + 100)) > 80


@pytest.mark.heavy
@pytest.mark.parametrize("start", range(10_000, 16_000, 500))
def test_parts_give_what_the_query_gives_at_length(start: int) -> None:
    assert check(range(start, start + 500)) > 400
