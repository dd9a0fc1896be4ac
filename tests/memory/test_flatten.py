"""Plans as alternatives of one form."""

from __future__ import annotations

import pytest

from millpond.language import read_script
from millpond.memory.flatten import Flat, NotFlatError, flatten

DDL = """CREATE STREAM s (a INT, b INT); CREATE STREAM t (a INT, d INT);
CREATE STREAM timed (a INT, ts BIGINT, WATERMARK FOR ts AS ts);
CREATE TABLE r (a INT);
"""


def flats(sql: str, *, distinct: bool = False) -> list[Flat]:
    return flatten(read_script(DDL + sql).queries[0].root, distinct=distinct)


@pytest.mark.parametrize(
    ("sql", "inputs", "predicates"),
    [
        ("SELECT a FROM s", [["s"]], [0]),
        ("SELECT s.a FROM s, t WHERE s.a = t.d AND s.b > 1", [["s", "t"]], [2]),
        ("SELECT s.b FROM s JOIN t USING (a)", [["s", "t"]], [1]),
        ("SELECT x.a FROM (SELECT a FROM s WHERE b > 1) AS x, t", [["s", "t"]], [1]),
        ("SELECT a FROM s UNION ALL SELECT d FROM t", [["s"], ["t"]], [0, 0]),
        (
            "SELECT x.a FROM (SELECT a FROM s UNION ALL SELECT d FROM t) AS x, s WHERE x.a = s.b",
            [["s", "s_2"], ["t", "s"]],
            [1, 1],
        ),
        ("SELECT one.a FROM s AS one, s AS two", [["one", "two"]], [0]),
    ],
)
def test_flat(sql: str, inputs: list[list[str]], predicates: list[int]) -> None:
    found = flats(sql)
    assert [[each.alias for each in one.inputs] for one in found] == inputs
    assert [len(each.predicates) for each in found] == predicates


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a FROM s WHERE EXISTS (SELECT 1 FROM t WHERE t.d = s.a)",
        "SELECT a FROM s WHERE a IN (SELECT d FROM t)",
        "SELECT x.a FROM (SELECT DISTINCT a FROM s) AS x, t WHERE x.a = t.d",
    ],
)
def test_flat_where_duplicates_do_not_matter(sql: str) -> None:
    (found,) = flats(sql, distinct=True)
    assert {each.stream.name for each in found.inputs} == {"s", "t"}
    with pytest.raises(NotFlatError):
        flats(sql)


@pytest.mark.parametrize(
    ("sql", "what"),
    [
        ("SELECT s.a FROM s LEFT JOIN t ON s.a = t.a", "outer join"),
        ("SELECT a FROM s EXCEPT ALL SELECT a FROM t", "EXCEPT"),
        ("SELECT a FROM s INTERSECT ALL SELECT a FROM t", "INTERSECT"),
        ("SELECT a FROM s WHERE NOT EXISTS (SELECT 1 FROM t WHERE t.d = s.a)", "take answers"),
        ("SELECT s.a FROM s, r WHERE s.a = r.a", "table"),
        ("SELECT ts FROM timed", "time"),
        ("SELECT a FROM timed WHERE ts > 4", "time"),
    ],
)
def test_what_has_no_such_form(sql: str, what: str) -> None:
    with pytest.raises(NotFlatError, match=what):
        flats(sql)
