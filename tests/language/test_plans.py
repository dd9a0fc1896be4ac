"""Which plan a text means: trees, columns and names of the output."""

from __future__ import annotations

import textwrap

import pytest

from millpond.language import read_script
from millpond.plan import tree_lines

STREAMS = """
CREATE STREAM s (a INT, b BIGINT);
CREATE STREAM t (a INT, d SMALLINT);
CREATE STREAM "Odd Name" ("from" INT, "x y" TINYINT);
"""


def tree(query: str) -> str:
    """The plan of one query over the streams above."""
    (found,) = read_script(STREAMS + query).queries
    return "\n".join(tree_lines(found.root))


def names(query: str) -> list[str]:
    """The columns that a query puts out."""
    (found,) = read_script(STREAMS + query).queries
    return [each.name for each in found.fields]


PLANS = {
    "SELECT b FROM s": """
        Project s.b
        └─ Scan s
    """,
    "SELECT DISTINCT b FROM s": """
        Distinct
        └─ Project s.b
           └─ Scan s
    """,
    "SELECT ALL b FROM s": """
        Project s.b
        └─ Scan s
    """,
    "SELECT b FROM s WHERE a > 10 AND (b < 5 AND a = b)": """
        Project s.b
        └─ Filter s.a > 10 AND s.b < 5 AND s.a = s.b
           └─ Scan s
    """,
    "SELECT b FROM s WHERE ((((a >= 1))))": """
        Project s.b
        └─ Filter s.a >= 1
           └─ Scan s
    """,
    "SELECT b FROM s WHERE a BETWEEN 1 AND 9 AND b <= 3": """
        Project s.b
        └─ Filter s.a >= 1 AND s.a <= 9 AND s.b <= 3
           └─ Scan s
    """,
    "SELECT b FROM s WHERE 5 BETWEEN a AND b": """
        Project s.b
        └─ Filter 5 >= s.a AND 5 <= s.b
           └─ Scan s
    """,
    "SELECT s.a FROM s, t WHERE s.a = t.a": """
        Project s.a
        └─ Filter s.a = t.a
           └─ Cross
              ├─ Scan s
              └─ Scan t
    """,
    "SELECT s.a FROM s JOIN t ON s.a = t.a AND d > 3 WHERE b < 2": """
        Project s.a
        └─ Filter s.a = t.a AND t.d > 3 AND s.b < 2
           └─ Cross
              ├─ Scan s
              └─ Scan t
    """,
    "SELECT d FROM s INNER JOIN t ON s.a = t.a CROSS JOIN s AS r": """
        Project t.d
        └─ Filter s.a = t.a
           └─ Cross
              ├─ Scan s
              ├─ Scan t
              └─ Scan s AS r
    """,
    "SELECT x.a, y.a FROM s x, s AS y WHERE x.b < y.b": """
        Project x.a, y.a AS a_2
        └─ Filter x.b < y.b
           └─ Cross
              ├─ Scan s AS x
              └─ Scan s AS y
    """,
    "SELECT * FROM s, t": """
        Project s.a, s.b, t.a AS a_2, t.d
        └─ Cross
           ├─ Scan s
           └─ Scan t
    """,
    "SELECT t.*, s.b FROM s, t": """
        Project t.a, t.d, s.b
        └─ Cross
           ├─ Scan s
           └─ Scan t
    """,
    "select B from S where A<1": """
        Project s.b
        └─ Filter s.a < 1
           └─ Scan s
    """,
    'SELECT "from", "x y" AS "let me" FROM "Odd Name" WHERE "from" > 0': """
        Project "Odd Name"."from", "Odd Name"."x y" AS "let me"
        └─ Filter "Odd Name"."from" > 0
           └─ Scan "Odd Name"
    """,
    "SELECT b -- the rest of the line\nFROM /* in\nbetween */ s": """
        Project s.b
        └─ Scan s
    """,
    "SELECT 1, NULL, -2 AS x, b FROM s WHERE a = NULL AND 1 < 2": """
        Project 1 AS column1, NULL AS column2, -2 AS x, s.b
        └─ Filter s.a = NULL AND 1 < 2
           └─ Scan s
    """,
}


@pytest.mark.parametrize("query", PLANS)
def test_the_plan_is_what_the_text_means(query: str) -> None:
    assert tree(query) == textwrap.dedent(PLANS[query]).strip()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5),
        ("-5", -5),
        ("- -5", 5),
        ("-(-(5))", 5),
        ("2 + 3 * 4 - 1", 13),
        ("(2 + 3) * -4", -20),
        ("007", 7),
        ("9223372036854775808", 2**63),
        ("-9223372036854775809", -(2**63) - 1),
        ("9" * 60, int("9" * 60)),
        (f"{10**30} * {10**30}", 10**60),
    ],
)
def test_constants_are_exact_integers_of_any_size(text: str, value: int) -> None:
    assert tree(f"SELECT b FROM s WHERE a < {text}").splitlines()[1] == (f"└─ Filter s.a < {value}")


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ("a, b", ["a", "b"]),
        ("A, B", ["a", "b"]),
        ("a AS x, b y", ["x", "y"]),
        ("a AS X, b AS x", ["X", "x"]),
        ("a, a, a", ["a", "a_2", "a_3"]),
        ("a, b AS a, a AS a_2", ["a", "a_3", "a_2"]),
        ("1, 2", ["column1", "column2"]),
        ("a, 1, b, 1 + 1", ["a", "column2", "b", "column4"]),
        ("*, 1", ["a", "b", "column3"]),
        ("*, *", ["a", "b", "a_2", "b_2"]),
        ("s.*, a", ["a", "b", "a_2"]),
        ("1 AS column2, 2", ["column2", "column2_2"]),
        ('a AS "x y"', ["x y"]),
        ("a AS 'x'", ["x"]),
    ],
)
def test_columns_of_the_output_have_names_of_their_own(items: str, expected: list[str]) -> None:
    assert names(f"SELECT {items} FROM s") == expected


def test_queries_are_named_by_their_place_or_by_the_user() -> None:
    script = read_script(
        STREAMS
        + """
        SELECT b FROM s;
        CREATE QUERY mine AS SELECT a FROM s;
        CREATE MATERIALIZED VIEW "My View" AS SELECT d FROM t;
        SELECT d FROM t
        """
    )
    assert [each.name for each in script.queries] == ["q1", "mine", "My View", "q4"]
    assert [each.text for each in script.queries][1:] == [
        "CREATE QUERY mine AS SELECT a FROM s",
        'CREATE MATERIALIZED VIEW "My View" AS SELECT d FROM t',
        "SELECT d FROM t",
    ]


def test_a_stream_may_be_declared_behind_the_query_that_reads_it() -> None:
    script = read_script("SELECT z FROM later; CREATE STREAM later (z INT)")
    assert [each.name for each in script.queries[0].streams] == ["later"]


@pytest.mark.parametrize(
    "text",
    ["", "   \n\t ", ";", ";;;", "-- nothing\n", "/* nothing */"],
)
def test_a_text_without_statements_has_no_query(text: str) -> None:
    script = read_script(text)
    assert not script.queries
    assert not len(script.catalog)


@pytest.mark.parametrize("between", [";", ";;", " ; ; \n", ";\r\n", "; -- c\n", ";/* c; */"])
def test_statements_are_told_apart_by_semicolons(between: str) -> None:
    script = read_script(f"{STREAMS}SELECT a FROM s{between}SELECT b FROM s{between}")
    assert [each.text for each in script.queries] == ["SELECT a FROM s", "SELECT b FROM s"]


def test_a_semicolon_in_a_quoted_name_ends_nothing() -> None:
    script = read_script('CREATE STREAM s (";" INT); SELECT ";" AS "a;b" FROM s;')
    assert [each.name for each in script.queries[0].fields] == ["a;b"]


def test_a_long_conjunction_is_read_whole() -> None:
    conditions = " AND ".join(f"a > {number}" for number in range(2000))
    (query,) = read_script(f"CREATE STREAM s (a INT); SELECT a FROM s WHERE {conditions}").queries
    assert tree_lines(query.root)[1].count("AND") == 1999
