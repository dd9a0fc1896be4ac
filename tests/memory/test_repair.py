"""Repairs: read again, bounded, of the units that they say, smallest first, and always some."""

from __future__ import annotations

import random

import pytest
from tests.strategies.spj import naming, random_spj

from millpond.language import read_script
from millpond.memory import Fix, MemoryClass, repairs, verdict_of
from millpond.plan import Script

S_T = "CREATE STREAM s (a INT, b INT, c INT); CREATE STREAM t (d INT, e INT);\n"


def fixes(script: Script, place: int = 0) -> tuple[Fix, ...]:
    """The repairs of a query, each checked: put in the query's place, it is what it says."""
    query = script.queries[place]
    found = repairs(script, query, verdict_of(query), read_script)
    text, span = script.source.text, query.span
    for each in found:
        edited = read_script(text[: span.start] + each.sql + text[span.end :])
        after = verdict_of(edited.queries[place])
        assert after.bounded, each
        assert (after.memory, after.units) == (each.memory, each.units)
        assert after.name == query.name
        others = [other for at, other in enumerate(script.queries) if at != place]
        assert [each.text for each in others] == [
            other.text for at, other in enumerate(edited.queries) if at != place
        ]
    sizes = [_size(each) for each in found]
    assert sizes == sorted(sizes), "the smallest edit is not first"
    return found


def _size(fix: Fix) -> int:
    """One word, or so many conditions."""
    removed = fix.text.startswith("remove duplicates")
    return removed + 4 * (fix.text.partition(":")[0].count(" and ") + 1) * ("bound " in fix.text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "SELECT 1 FROM s, t WHERE b < d",
            [
                ("SELECT DISTINCT 1 FROM s, t WHERE b < d", 3),
                (
                    "SELECT 1 FROM s, t WHERE b < d AND s.b BETWEEN 0 AND 999",
                    2000,
                ),
                (
                    "SELECT 1 FROM s, t WHERE b < d AND t.d BETWEEN 0 AND 999",
                    2000,
                ),
            ],
            id="a join",
        ),
        pytest.param(
            "SELECT DISTINCT a FROM s WHERE a > 10",
            [("SELECT DISTINCT a FROM s WHERE a > 10 AND s.a <= 1010", 1000)],
            id="from where the query starts",
        ),
        pytest.param(
            "SELECT DISTINCT a FROM s WHERE a < 10",
            [("SELECT DISTINCT a FROM s WHERE a < 10 AND s.a >= -990", 1000)],
            id="to where the query ends",
        ),
        pytest.param(
            "SELECT DISTINCT a FROM s",
            [("SELECT DISTINCT a FROM s WHERE s.a BETWEEN 0 AND 999", 1000)],
            id="no condition yet",
        ),
        pytest.param(
            "SELECT s.a FROM s JOIN t ON s.a = t.d",
            [
                ("SELECT s.a FROM s JOIN t ON s.a = t.d WHERE s.a BETWEEN 0 AND 999", 2000),
                ("SELECT s.a FROM s JOIN t ON s.a = t.d WHERE t.d BETWEEN 0 AND 999", 2000),
            ],
            id="a condition in ON",
        ),
        pytest.param(
            "SELECT DISTINCT a FROM s JOIN t ON (a = d)WHERE a > 1",
            [
                ("SELECT DISTINCT a FROM s JOIN t ON (a = d)WHERE a > 1 AND s.a <= 1001", 3000),
                ("SELECT DISTINCT a FROM s JOIN t ON (a = d)WHERE a > 1 AND t.d <= 1001", 3000),
            ],
            id="WHERE right behind a parenthesis",
        ),
        pytest.param(
            "SELECT DISTINCT a /* not WHERE */ FROM s -- WHERE",
            [("SELECT DISTINCT a /* not WHERE */ FROM s WHERE s.a BETWEEN 0 AND 999", 1000)],
            id="WHERE in a comment",
        ),
        pytest.param(
            "SELECT DISTINCT a, b FROM s WHERE b = 3",
            [("SELECT DISTINCT a, b FROM s WHERE b = 3 AND s.a BETWEEN 0 AND 999", 1000)],
            id="one of two columns",
        ),
        pytest.param(
            "SELECT DISTINCT a, b FROM s",
            [
                (
                    "SELECT DISTINCT a, b FROM s WHERE s.a BETWEEN 0 AND 999 "
                    "AND s.b BETWEEN 0 AND 999",
                    1_000_000,
                )
            ],
            id="two columns together",
        ),
        pytest.param("SELECT a FROM s", [], id="bounded as it is"),
        pytest.param(
            "SELECT DISTINCT 1 FROM s, s AS r WHERE s.a = r.a", [], id="outside: nothing is known"
        ),
    ],
)
def test_repairs(text: str, expected: list[tuple[str, int]]) -> None:
    assert [(each.sql, each.units) for each in fixes(read_script(S_T + text))] == expected


def test_what_a_repair_says() -> None:
    removed, bounded, _ = fixes(read_script(f"{S_T}SELECT a FROM s, t WHERE b < d AND a = 10"))
    assert removed.text == "remove duplicates: SELECT DISTINCT"
    assert removed.keeps_answers == "fewer duplicates"
    assert bounded.text == "bound s.b: s.b BETWEEN 0 AND 999"
    assert (bounded.memory, bounded.keeps_answers) == (MemoryClass.CONSTANT, "subset")


def test_a_named_query_among_others() -> None:
    script = read_script(
        f"{S_T}SELECT a FROM s;\nCREATE QUERY selected AS SELECT 1 FROM s, t WHERE b < d;\n"
        "SELECT e FROM t"
    )
    removed, *_ = fixes(script, 1)
    assert removed.sql == "CREATE QUERY selected AS SELECT DISTINCT 1 FROM s, t WHERE b < d"


def test_names_that_have_to_be_quoted() -> None:
    script = read_script(
        'CREATE STREAM s ("where" INT, "a b" INT); SELECT DISTINCT "where" FROM s AS "order"'
    )
    (only,) = fixes(script)
    assert only.sql.endswith('FROM s AS "order" WHERE "order"."where" BETWEEN 0 AND 999')
    script = read_script('CREATE STREAM s ("a b" INT); SELECT DISTINCT * FROM s')
    (only,) = fixes(script)
    assert only.sql == 'SELECT DISTINCT * FROM s WHERE s."a b" BETWEEN 0 AND 999'


def test_many_columns_take_a_last_resort() -> None:
    """Ranges of 1,000 values for all of them would be impractical."""
    streams = "CREATE STREAM s (a INT, b INT); CREATE STREAM t (d INT, e INT, f INT);"
    (only,) = fixes(read_script(f"{streams} SELECT a, f FROM s, t WHERE b < d AND a > e"))
    assert only.text.startswith("remove duplicates: SELECT DISTINCT; bound s.a and t.f: ")
    assert only.sql.startswith("SELECT DISTINCT a, f FROM s, t WHERE b < d AND a > e AND s.a ")


def check(seeds: range) -> None:
    """Every linear query has a repair."""
    linear = 0
    for seed in seeds:
        rng = random.Random(seed)
        query = random_spj(
            rng, checks=rng.choice([0, 0.4]), self_joins=rng.choice([0, 0, 0.3]), satisfiable=1
        )
        with naming(seed, query):
            script = read_script(query.text)
            found = fixes(script)
            unbounded = verdict_of(script.queries[0]).memory is MemoryClass.LINEAR
            assert bool(found) == unbounded
        linear += unbounded
    assert linear > len(seeds) // 4


@pytest.mark.parametrize("start", range(0, 120, 60))
def test_every_linear_query_has_a_repair(start: int) -> None:
    check(range(start, start + 60))


@pytest.mark.heavy
@pytest.mark.parametrize("start", range(10_000, 12_000, 500))
def test_every_linear_query_has_a_repair_at_length(start: int) -> None:
    check(range(start, start + 500))
