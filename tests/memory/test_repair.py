"""Repairs: read again, of the class and units that they say, smallest first, and always some."""

from __future__ import annotations

import random

import pytest
from tests.memory.mixed_queries import DDL, random_select
from tests.memory.repaired import S_T, checked_fixes, edited, fixes_of, word_distance
from tests.strategies.aggregates import random_aggregate_query
from tests.strategies.spj import naming, random_spj

from millpond.language import read_script
from millpond.memory import Fix, MemoryClass, repairs, verdict_of

Expected = list[tuple[int, str, str]]


def told(fixes: tuple[Fix, ...]) -> Expected:
    return [(each.tokens, each.sql, each.keeps_answers) for each in fixes]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "SELECT 1 FROM s, t WHERE b < d",
            [
                (1, "SELECT DISTINCT 1 FROM s, t WHERE b < d", "fewer duplicates"),
                (6, "SELECT 1 FROM s, t WHERE b < d AND b BETWEEN 0 AND 999", "subset"),
                (6, "SELECT 1 FROM s, t WHERE b < d AND d BETWEEN 0 AND 999", "subset"),
                (8, "SELECT 1 FROM s [ROWS 1000], t [ROWS 1000] WHERE b < d", "recent only"),
                (
                    13,
                    "ALTER STREAM s ADD CHECK (b BETWEEN 0 AND 999);\n"
                    "SELECT 1 FROM s, t WHERE b < d",
                    "narrower input",
                ),
                (
                    13,
                    "ALTER STREAM t ADD CHECK (d BETWEEN 0 AND 999);\n"
                    "SELECT 1 FROM s, t WHERE b < d",
                    "narrower input",
                ),
            ],
            id="a join",
        ),
        pytest.param(
            "SELECT DISTINCT a FROM s WHERE a > 10",
            [
                (4, "SELECT DISTINCT a FROM s WHERE a > 10 AND a <= 1010", "subset"),
                (4, "SELECT DISTINCT a FROM s [ROWS 1000] WHERE a > 10", "recent only"),
                (
                    11,
                    "ALTER STREAM s ADD CHECK (a <= 1010);\nSELECT DISTINCT a FROM s WHERE a > 10",
                    "narrower input",
                ),
            ],
            id="from where the query starts",
        ),
    ],
)
def test_all_that_is_offered(text: str, expected: Expected) -> None:
    assert told(checked_fixes(read_script(S_T + text))) == expected


@pytest.mark.parametrize(
    ("text", "first"),
    [
        pytest.param(
            "SELECT DISTINCT a FROM s WHERE a < 10 AND 5 < b",
            "SELECT DISTINCT a FROM s WHERE a < 10 AND 5 < b AND a >= 0",
            id="to where the query ends",
        ),
        pytest.param(
            "SELECT DISTINCT a FROM s, t WHERE a = d AND d <> 70 AND a > 10",
            "SELECT DISTINCT a FROM s, t WHERE a = d AND d <> 70 AND a > 10 AND a <= 70",
            id="to a constant that it is compared with",
        ),
        pytest.param(
            "SELECT s.a FROM s JOIN t ON s.a = t.d",
            "SELECT s.a FROM s JOIN t ON s.a = t.d WHERE s.a BETWEEN 0 AND 999",
            id="a condition in ON, columns with the names of their inputs",
        ),
        pytest.param(
            "SELECT DISTINCT a FROM s JOIN t ON (a = d)WHERE a > 1",
            "SELECT DISTINCT a FROM s JOIN t ON (a = d)WHERE a > 1 AND a <= 1001",
            id="WHERE right behind a parenthesis",
        ),
        pytest.param(
            "SELECT DISTINCT a, d FROM s, t WHERE a < d",
            "SELECT DISTINCT a, d FROM s, t WHERE a < d AND a >= 0 AND d <= 999",
            id="one end each, because a comparison gives the others",
        ),
        pytest.param(
            "SELECT DISTINCT a FROM s WHERE b = 1 OR (c = 2)",
            "SELECT DISTINCT a FROM s WHERE (b = 1 OR (c = 2)) AND a BETWEEN 0 AND 999",
            id="an OR in parentheses",
        ),
        pytest.param(
            "SELECT DISTINCT a /* not WHERE */ FROM s -- WHERE\n  WHERE b\n    > 1 -- b",
            "SELECT DISTINCT a /* not WHERE */ FROM s -- WHERE\n  WHERE b\n    > 1 "
            "AND a BETWEEN 0 AND 999",
            id="comments and lines stay",
        ),
        pytest.param(
            "SELECT a, b FROM s WHERE b = 3 GROUP BY a, b",
            "SELECT a, b FROM s WHERE b = 3 AND a BETWEEN 0 AND 999 GROUP BY a, b",
            id="before GROUP BY",
        ),
        pytest.param(
            "SELECT a, COUNT(*) FROM s GROUP BY a HAVING COUNT(*) > 1 EMIT CHANGES",
            "SELECT a, COUNT(*) FROM s WHERE a BETWEEN 0 AND 999 GROUP BY a HAVING COUNT(*) > 1 "
            "EMIT CHANGES",
            id="before HAVING",
        ),
        pytest.param(
            "SELECT A FROM s UNION SELECT d FROM t",
            "SELECT A FROM s WHERE A BETWEEN 0 AND 999 UNION SELECT d FROM t WHERE d BETWEEN 0 "
            "AND 999",
            id="both sides of a union, names as they are written",
        ),
        pytest.param(
            "SELECT a FROM s, t WHERE b < d AND a = 1 UNION ALL SELECT f FROM z",
            "SELECT a FROM s, t WHERE b < d AND a = 1 AND b BETWEEN 0 AND 999 UNION ALL "
            "SELECT f FROM z",
            id="one side of a union",
        ),
        pytest.param(
            "SELECT x.a FROM (SELECT a, b FROM s) AS x, t WHERE x.b < t.d AND x.a = 1",
            "SELECT x.a FROM (SELECT a, b FROM s WHERE b BETWEEN 0 AND 999) AS x, t "
            "WHERE x.b < t.d AND x.a = 1",
            id="in a subquery",
        ),
        pytest.param(
            "WITH q AS (SELECT DISTINCT a FROM s) SELECT DISTINCT q.a FROM q, t WHERE q.a = d",
            "WITH q AS (SELECT DISTINCT a FROM s WHERE a BETWEEN 0 AND 999) "
            "SELECT DISTINCT q.a FROM q, t WHERE q.a = d",
            id="in a query that WITH names",
        ),
        pytest.param(
            "SELECT DISTINCT x.a FROM s AS x, s AS y WHERE x.a = y.b AND x.c < y.c",
            "SELECT DISTINCT x.a FROM s AS x, s AS y WHERE x.a = y.b AND x.c < y.c "
            "AND x.a BETWEEN 0 AND 999",
            id="a stream joined with itself",
        ),
    ],
)
def test_the_smallest_range(text: str, first: str) -> None:
    found = checked_fixes(read_script(S_T + text))
    ranges = [each for each in found if each.text.startswith("bound ")]
    assert ranges[0].sql == first


@pytest.mark.parametrize(
    ("text", "sql", "relation"),
    [
        (
            "SELECT 1 FROM s, t WHERE b < d UNION ALL SELECT 2 FROM z",
            "SELECT 1 FROM s, t WHERE b < d UNION SELECT 2 FROM z",
            "fewer duplicates",
        ),
        (
            "SELECT COUNT(DISTINCT a) AS n, MAX(b) AS m FROM s GROUP BY c HAVING c = 1",
            "SELECT MAX(b) AS m FROM s GROUP BY c HAVING c = 1",
            "same",
        ),
        (
            "SELECT DISTINCT a, 1 AS one FROM s",
            "SELECT DISTINCT 1 AS one FROM s",
            "fewer duplicates",
        ),
        (
            "SELECT DISTINCT 1 AS one, a FROM s UNION SELECT 2, d FROM t",
            "SELECT DISTINCT 1 AS one FROM s UNION SELECT 2 FROM t",
            "fewer duplicates",
        ),
        (
            "SELECT DISTINCT a FROM s, t WHERE b < d AND c < e AND a = 10",
            "SELECT DISTINCT a FROM s, t WHERE b < d AND c < e AND a = 10 AND b < e AND c < d",
            "subset",
        ),
        (
            "SELECT 1 FROM s AS x, s AS y WHERE x.a = y.b AND x.b = y.a",
            "ALTER STREAM s ADD CHECK (a BETWEEN 0 AND 999);\n"
            "SELECT 1 FROM s AS x, s AS y WHERE x.a = y.b AND x.b = y.a",
            "narrower input",
        ),
        (
            "SELECT SUM(a) AS n FROM s GROUP BY b",
            "SELECT SUM(a) AS n FROM s WHERE b BETWEEN 0 AND 999 GROUP BY b",
            "narrower input",
        ),
    ],
)
def test_other_kinds(text: str, sql: str, relation: str) -> None:
    found = checked_fixes(read_script(S_T + text))
    assert (sql, relation) in [(each.sql, each.keeps_answers) for each in found]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("SELECT a FROM s", id="bounded as it is"),
        pytest.param("SELECT a FROM s LEFT JOIN t ON a = d", id="outside: nothing is known"),
    ],
)
def test_nothing_to_repair(text: str) -> None:
    assert checked_fixes(read_script(S_T + text)) == ()


@pytest.mark.parametrize(
    ("columns", "left"),
    [
        ("c, -- of few\n  a /* of many, */", "c -- of few\n   /* of many, */"),
        ("a -- of many\n, c", " -- of many\n c"),
        ("c /* , */ , a", "c /* , */  "),
        ("c ,  a", "c"),
        ("a ,  c", "c"),
    ],
)
def test_comments_beside_a_column_that_goes_stay(columns: str, left: str) -> None:
    rest = " FROM s, t WHERE c = d AND c = 1"
    found = checked_fixes(read_script(f"{S_T}SELECT {columns}{rest}"))
    assert f"SELECT {left}{rest}" in [each.sql for each in found]


def test_columns_whose_place_is_counted_stay() -> None:
    found = checked_fixes(
        read_script(f"{S_T}SELECT COUNT(DISTINCT a), b FROM s WHERE b = 1 GROUP BY 2")
    )
    assert not any("leave out" in each.text for each in found)


def test_what_a_repair_says() -> None:
    found = checked_fixes(read_script(f"{S_T}SELECT a, 1 FROM s, t WHERE b < d AND a = 10"))
    assert [each.text for each in found] == [
        "remove duplicates: SELECT DISTINCT",
        "bound s.b: s.b BETWEEN 0 AND 999",
        "bound t.d: t.d BETWEEN 0 AND 999",
        "keep a window of s and t: s [ROWS 1000], t [ROWS 1000]",
        "declare what s.b holds: CHECK (b BETWEEN 0 AND 999)",
        "declare what t.d holds: CHECK (d BETWEEN 0 AND 999)",
    ]
    assert found[1].memory is MemoryClass.CONSTANT
    (dropped, *_) = checked_fixes(read_script(f"{S_T}SELECT DISTINCT a, 1 AS n FROM s"))
    assert dropped.text == "leave out the column `a` (answers are those of the columns that stay)"


def test_a_named_query_among_others() -> None:
    script = read_script(
        f"{S_T}SELECT a FROM s;\nCREATE QUERY selected AS SELECT 1 FROM s, t WHERE b < d;\n"
        "SELECT e FROM t"
    )
    removed, *_ = checked_fixes(script, 1)
    assert removed.sql == "CREATE QUERY selected AS SELECT DISTINCT 1 FROM s, t WHERE b < d"


def test_a_query_that_reads_another_one() -> None:
    """Where the input is named elsewhere, only a CHECK of its columns can be added."""
    script = read_script(
        f"{S_T}CREATE QUERY v AS SELECT a, b FROM s;\nSELECT DISTINCT v.a FROM v WHERE v.b = 1"
    )
    (only,) = checked_fixes(script, 1)
    assert only.sql.startswith("ALTER STREAM s ADD CHECK (a BETWEEN 0 AND 999);\nSELECT ")


def test_names_that_have_to_be_quoted() -> None:
    script = read_script(
        'CREATE STREAM s ("where" INT, "a b" INT); SELECT DISTINCT "where" FROM s AS "order"'
    )
    sql = [each.sql for each in checked_fixes(script)]
    assert 'SELECT DISTINCT "where" FROM s AS "order" WHERE "where" BETWEEN 0 AND 999' in sql
    script = read_script('CREATE STREAM s ("a b" INT); SELECT DISTINCT * FROM s')
    sql = [each.sql for each in checked_fixes(script)]
    assert 'SELECT DISTINCT * FROM s WHERE "a b" BETWEEN 0 AND 999' in sql


@pytest.mark.parametrize(
    ("type_", "limits"),
    [
        ("VARCHAR", "IN ('a', 'b')"),
        ("DOUBLE", "IN (0.0, 1.0)"),
        ("DATE", "BETWEEN DATE '1970-01-01' AND DATE '1972-09-26'"),
        ("DECIMAL(9, 2)", "BETWEEN 0 AND 999"),
        ("TIMESTAMP", "IN (TIMESTAMP '2000-01-01 00:00:00')"),
    ],
)
def test_columns_of_every_type(type_: str, limits: str) -> None:
    found = checked_fixes(read_script(f"CREATE STREAM s (a {type_}); SELECT DISTINCT a FROM s"))
    assert f"SELECT DISTINCT a FROM s WHERE a {limits}" in [each.sql for each in found]
    assert any(each.sql.startswith(f"ALTER STREAM s ADD CHECK (a {limits});") for each in found)


@pytest.mark.parametrize(
    ("condition", "limits"),
    [
        ("c >= 'y'", "IN ('y', 'ya')"),
        ("c > 'it''s'", "IN ('it''sa', 'it''sb')"),
        ("x < 0", "IN (-1.0, -0.5)"),
        ("x > 0.5 AND x <> 1", "IN (1.5, 2.0)"),
    ],
)
def test_values_that_the_query_lets_pass(condition: str, limits: str) -> None:
    column = condition[0]
    text = f"SELECT DISTINCT {column} FROM s WHERE {condition}"
    found = fixes_of(read_script(f"CREATE STREAM s (c VARCHAR, x DOUBLE); {text}"))
    assert f"{text} AND {column} {limits}" in [each.sql for each in found]


def test_windows_of_timed_streams() -> None:
    streams = (
        "CREATE STREAM s (a INT, ts BIGINT, TIMESTAMP BY ts);"
        "CREATE STREAM p (b INT, ts TIMESTAMP, TIMESTAMP BY ts);"
    )
    for name, length in (("s", "1000"), ("p", "1 HOUR")):
        column = "a" if name == "s" else "b"
        found = checked_fixes(read_script(f"{streams} SELECT DISTINCT {column} FROM {name}"))
        window = next(each for each in found if each.keeps_answers == "recent only")
        assert window.sql == f"SELECT DISTINCT {column} FROM {name} [RANGE {length}]"
        assert window.memory is MemoryClass.WINDOW


def test_the_spelling_of_another_dialect() -> None:
    text = "CREATE TABLE s (a INT); SELECT DISTINCT `a` FROM STREAM s"
    script = read_script(text, dialect="spark")
    query = script.queries[0]
    found = repairs(
        script,
        query,
        verdict_of(query),
        lambda edited: read_script(edited, dialect="spark"),
        dialect="spark",
    )
    assert [each.sql for each in found] == [
        "SELECT DISTINCT `a` FROM STREAM s WHERE `a` BETWEEN 0 AND 999",
        "ALTER TABLE s ADD CHECK (`a` BETWEEN 0 AND 999);\nSELECT DISTINCT `a` FROM STREAM s",
    ]


def test_many_columns_take_narrower_ranges() -> None:
    """Ranges of 1,000 values for all of them would be impractical."""
    columns = "a, b, c, d, e, f"
    script = read_script(
        f"CREATE STREAM s ({', '.join(f'{each} INT' for each in columns.split(', '))});"
        f"SELECT DISTINCT {columns} FROM s"
    )
    found = [each for each in checked_fixes(script) if each.keeps_answers == "subset"]
    assert found
    assert found[0].sql.count("BETWEEN 0 AND 9") == 6


def check_seeds(seeds: range) -> None:
    """Every linear query has a repair that is no window."""
    linear = 0
    for seed in seeds:
        rng = random.Random(seed)
        if seed % 3:
            query = random_spj(
                rng, checks=rng.choice([0, 0.4]), self_joins=rng.choice([0, 0, 0.3]), satisfiable=1
            )
            text, body = query.text, query
        else:
            aggregates = random_aggregate_query(rng)
            text, body = aggregates.text, aggregates.body
        with naming(seed, body):
            script = read_script(text)
            found = fixes_of(script)
            unbounded = verdict_of(script.queries[0]).memory is MemoryClass.LINEAR
            plain = [each for each in found if each.keeps_answers != "recent only"]
            assert bool(plain) == unbounded
            for each in found:
                assert each.tokens >= word_distance(script.queries[0].text, each.sql)
        linear += unbounded
    assert linear > len(seeds) // 4


@pytest.mark.parametrize("start", range(0, 80, 40))
def test_every_linear_query_has_a_repair(start: int) -> None:
    check_seeds(range(start, start + 40))


@pytest.mark.heavy
@pytest.mark.parametrize("start", range(10_000, 11_200, 200))
def test_every_linear_query_has_a_repair_at_length(start: int) -> None:
    check_seeds(range(start, start + 200))


def check_mixed(seeds: range) -> None:
    """Every linear query over columns of every type has a repair that is no window, and each is
    what it says."""
    linear = 0
    for seed in seeds:
        rng = random.Random(seed)
        text = DDL + random_select(rng, distinct=rng.random() < 0.5)
        script = read_script(text)
        if verdict_of(script.queries[0]).memory is not MemoryClass.LINEAR:
            continue
        linear += 1
        found = fixes_of(script)
        assert any(each.keeps_answers != "recent only" for each in found), (seed, text)
        for each in found:
            after = verdict_of(edited(script, each.sql).queries[0])
            assert (after.memory, after.units) == (each.memory, each.units), (seed, each)
    assert linear


def test_columns_of_mixed_types_have_repairs() -> None:
    check_mixed(range(30))


@pytest.mark.heavy
@pytest.mark.parametrize("start", range(500, 1_500, 250))
def test_columns_of_mixed_types_have_repairs_at_length(start: int) -> None:
    check_mixed(range(start, start + 250))
