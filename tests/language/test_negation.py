"""The NOT of a condition is kept, in whatever dialect it is written: parsers of some keep it as a
mark on the condition, and a mark that is passed over turns the answer round."""

from __future__ import annotations

import pytest

from millpond.language import read_script
from millpond.language.dialect import DIALECTS
from millpond.plan import Filter, Not, nodes

CONDITIONS = (
    "b NOT LIKE 'x%'",
    "b NOT LIKE 'x!%' ESCAPE '!'",
    "a IS NOT NULL",
    "a NOT IN (1, 2)",
    "a NOT BETWEEN 1 AND 2",
    "NOT a = 1",
)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_negated_condition_is_negated(condition: str, dialect: str) -> None:
    script = "CREATE STREAM s (a INT, b VARCHAR(8));\nSELECT a FROM s WHERE "
    (query,) = read_script(script + condition, dialect=dialect).queries
    (only,) = [each for each in nodes(query.root) if isinstance(each, Filter)]
    assert [type(each) for each in only.predicates] == [Not]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_twice_negated_is_not(dialect: str) -> None:
    script = "CREATE STREAM s (a INT, b VARCHAR(8));\nSELECT a FROM s WHERE "
    (query,) = read_script(script + "NOT (b NOT LIKE 'x')", dialect=dialect).queries
    (only,) = [each for each in nodes(query.root) if isinstance(each, Filter)]
    (outer,) = only.predicates
    assert isinstance(outer, Not)
    assert isinstance(outer.operand, Not)
