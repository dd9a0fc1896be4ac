"""Plans as text of the language: what each kind of node is written as, and that names, constants
and precedence survive."""

from __future__ import annotations

from decimal import Decimal

import pytest
from tests.plan.cases import PLANS, eq, more, project, ref, s, u

from millpond.plan import (
    Aggregate,
    Assign,
    Assigned,
    Call,
    Case,
    Cast,
    Comparison,
    Cross,
    Distinct,
    Expression,
    Extent,
    Filter,
    InList,
    Is,
    Item,
    Literal,
    Logical,
    Not,
    Operator,
    PlanError,
    Project,
    Results,
    Scan,
    Union,
    Window,
    WindowFunction,
    WindowSpec,
    columns_of,
    stream_sql,
    to_sql,
)
from millpond.schema import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    HUGEINT,
    INT,
    INTERVAL,
    TIMESTAMP,
    VARCHAR,
    Check,
    Column,
    Form,
    Stream,
    Time,
    decimal,
    enum,
)

X, Y, Z = (ref(f"s.{name}") for name in "xyz")

TEXTS = {
    "range of time": "SELECT v.d FROM t [RANGE 10 MINUTE SLIDE 1500000] AS v",
    "rows": "SELECT s.k FROM s [PARTITION BY k ROWS 5 SLIDE 2]",
    "unbounded": "SELECT u.a FROM u [UNBOUNDED]",
    "internal": "SELECT s.a FROM s [RANGE 10 INTERNAL]",
    "hop": "SELECT h.d FROM HOP(TABLE t, DESCRIPTOR(ts), 1 MINUTE, 2 MINUTE) AS h",
    "session": "SELECT s.a FROM SESSION(TABLE s PARTITION BY k, DESCRIPTOR(ts), 5) EMIT CHANGES",
    "cross": "SELECT u.a FROM u, u AS v WHERE u.a = v.a",
    "left join": "SELECT r.name FROM s [RANGE 10] LEFT JOIN r ON s.k = r.k",
    "joins": "SELECT u.a, z.a AS b FROM u JOIN u AS v ON u.a = v.a FULL JOIN (u AS w JOIN u AS z "
    "ON w.a = z.a) ON u.a = w.a AND v.a = z.a",
    "semi-join": "SELECT u.a FROM u WHERE u.a > 0 AND EXISTS (SELECT 1 FROM u AS v WHERE v.a > 1 "
    "AND u.a = v.a) AND NOT EXISTS (SELECT 1 FROM u AS w WHERE (u.a = w.a) IS NOT FALSE)",
    "in": "SELECT u.a FROM u WHERE 1 IN (SELECT v.a FROM u AS v)",
    "semi-join in from": "SELECT u.a FROM u LEFT ANTI JOIN u AS v ON u.a = v.a AND v.a > 2 "
    "WHERE u.a > 1",
    "union of types": "SELECT s.a FROM s UNION ALL SELECT p.x FROM p",
    "except": "SELECT s.a FROM s EXCEPT SELECT p.a FROM p",
    "except all": "SELECT s.a FROM s EXCEPT ALL (SELECT p.a FROM p UNION ALL SELECT s.a FROM s)",
    "intersect": "SELECT DISTINCT s.a FROM s INTERSECT SELECT p.a FROM p",
    "aggregate": "SELECT s.k, s.a + 1 AS b, COUNT(*) AS n, SUM(DISTINCT s.b) FILTER (WHERE s.a > "
    "1) * 2 AS sum FROM s WHERE s.a > 0 GROUP BY s.k, s.a + 1 HAVING COUNT(*) > 2",
    "subquery": "SELECT -q.c AS c FROM (SELECT DISTINCT u.a AS c FROM u) AS q",
    "dstream": "DSTREAM_RESTORE(SELECT DISTINCT s.a FROM s [RANGE 10])",
    "window of changes": "SELECT q.a FROM (RSTREAM(SELECT s.a FROM s [RANGE 10])) [ROWS 3] AS q",
    "internal results": "SELECT COUNT(*) FROM s [RANGE 10 INTERNAL]",
    "wstream": "SELECT WSTREAM(s.a, p.a AS b)[ROWS 10] FROM s, p",
    "wstream without a window": "WSTREAM(SELECT s.a FROM s)",
    "aggregate of wstream": "SELECT SUM(WSTREAM(SUM(s.a))[ROWS 10]) FROM s [RANGE 10]",
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_plan_is_written_as_people_would(name: str) -> None:
    assert to_sql(PLANS[name]).replace("\n", " ") == TEXTS[name]


def both(op: str, *operands: Expression) -> Logical:
    return Logical(op, operands)


EXPRESSIONS: list[tuple[Expression, str]] = [
    (both("AND", more(X, 1), both("OR", more(Y, 2), more(Z, 3))),
     "s.x > 1 AND (s.y > 2 OR s.z > 3)"),
    (both("OR", both("AND", more(X, 1), more(Y, 2)), more(Z, 3)),
     "s.x > 1 AND s.y > 2 OR s.z > 3"),
    (Not(both("AND", more(X, 1), more(Y, 2))), "NOT (s.x > 1 AND s.y > 2)"),
    (Not(more(X, 1)), "NOT (s.x > 1)"),
    (Not(Not(ref("s.p", BOOLEAN))), "NOT (NOT s.p)"),
    (Not(Is(more(X, 1), None)), "(s.x > 1) IS NOT NULL"),
    (Is(X, True), "s.x IS TRUE"),
    (Comparison(Operator.SAME, X, Literal(None)), "s.x IS NOT DISTINCT FROM NULL"),
    (Not(Comparison(Operator.SAME, X, Y)), "s.x IS DISTINCT FROM s.y"),
    (Not(InList(X, (Literal(1, INT), Literal(-2, INT)))), "s.x NOT IN (1, -2)"),
    (eq(more(X, 1), more(Y, 2)), "(s.x > 1) = (s.y > 2)"),
    (Call("*", (Call("+", (X, Y), BIGINT), Z), BIGINT), "(s.x + s.y) * s.z"),
    (Call("-", (X, Call("-", (Y, Z), BIGINT)), BIGINT), "s.x - (s.y - s.z)"),
    (Call("-", (Call("-", (X, Y), BIGINT), Literal(-1, INT)), BIGINT), "s.x - s.y - -1"),
    (Call("-", (Call("-", (X,), BIGINT),), BIGINT), "-(-s.x)"),
    (Call("-", (Literal(-1, INT),), BIGINT), "-(-1)"),
    (Call("||", (X, Call("||", (Y, Z), VARCHAR)), VARCHAR), "s.x || (s.y || s.z)"),
    (Call("LIKE", (X, Literal("a%'", VARCHAR), Literal("!", VARCHAR)), BOOLEAN),
     "s.x LIKE 'a%''' ESCAPE '!'"),
    (Case(((more(X, 1), Y),), Literal(None), INT), "CASE WHEN s.x > 1 THEN s.y ELSE NULL END"),
    (Cast(Call("+", (X, Y), BIGINT), decimal(9, 2)), "CAST(s.x + s.y AS DECIMAL(9, 2))"),
    (Call("COALESCE", (X, Literal(0, INT)), INT), "COALESCE(s.x, 0)"),
    (Call("POSITION", (X, Y), BIGINT), "LOCATE(s.x, s.y)"),
    (ref("s.the name"), 's."the name"'),
    (ref('s.say "x"'), 's."say ""x"""'),
    (ref("group.select"), '"group"."select"'),
    (Literal(None), "NULL"),
    (Literal(True, BOOLEAN), "TRUE"),
    (Literal(10**30, HUGEINT), "1" + 30 * "0"),
    (Literal(1.5, DOUBLE), "1.5e0"),
    (Literal(-1e300, DOUBLE), "-1e300"),
    (Literal(2.0, DOUBLE), "2.0e0"),
    (Literal(Decimal("1.50"), decimal(3, 2)), "1.50"),
    (Literal(Decimal("1E+2"), decimal(3, 0)), "CAST(100 AS DECIMAL(3, 0))"),
    (Literal(0, DATE), "DATE '1970-01-01'"),
    (Literal(1_500_000, TIMESTAMP), "TIMESTAMP '1970-01-01 00:00:01.500000'"),
    (Literal(90_000_000, INTERVAL), "INTERVAL '90' SECOND"),
    (Literal(7_200_000_000, INTERVAL), "INTERVAL '2' HOUR"),
    (Literal(7, INTERVAL), "INTERVAL '7' MICROSECOND"),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "text"), EXPRESSIONS, ids=[text for _, text in EXPRESSIONS])
def test_an_expression_keeps_its_meaning_and_no_bracket_too_many(
    expression: Expression, text: str
) -> None:
    columns = {each.name: each for each in columns_of(expression)}
    alias = next((each.alias for each in columns.values()), "s") or "s"
    stream = Stream(alias, tuple(Column(each.name, each.type) for each in columns.values()))
    scan = Scan(stream if columns else s.stream, alias)
    said = to_sql(Project(scan, (Item(expression, "out"),)))
    assert said.splitlines()[0] == f"SELECT {text} AS out"


def test_a_group_is_called_by_the_item_that_names_it() -> None:
    key = Call("LENGTH", (ref("s.k", VARCHAR),), BIGINT)
    grouped = Aggregate(s, (Item(key, "l"),), ())
    assert to_sql(project(grouped, l=ref("l", BIGINT))).endswith("GROUP BY l")
    assert to_sql(project(grouped, m=ref("l", BIGINT))).endswith("GROUP BY LENGTH(s.k)")
    renamed = Aggregate(s, (Item(ref("s.k", VARCHAR), "kind"),), ())
    assert to_sql(project(renamed, kind=ref("kind", VARCHAR))).endswith("GROUP BY kind")


def test_a_constant_key_is_no_place_of_a_column() -> None:
    constant = Aggregate(s, (Item(Literal(7, INT), "key"),), ())
    assert to_sql(project(constant, x=ref("key"))).endswith("GROUP BY CAST(7 AS INT)")


def test_what_has_no_name_of_its_own_is_a_subquery() -> None:
    inner = project(u, a=ref("u.a"))
    assert to_sql(project(inner, b=ref("a"))).replace("\n", " ") == (
        "SELECT a AS b FROM (SELECT u.a FROM u) AS subquery"
    )
    filtered = Cross((Filter(u, (more(ref("u.a"), 1),)), s))
    assert to_sql(project(filtered, b=ref("u.a"))).replace("\n", " ") == (
        "SELECT u.a AS b FROM (SELECT * FROM u WHERE u.a > 1) AS u, s"
    )


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        (Results(project(u, a=ref("u.a"))), "results of a plan have no query"),
        (
            Window(
                Results(Union((project(u, a=ref("u.a")), project(u, a=ref("u.a"))))),
                WindowSpec(Extent.ROWS, 2),
            ),
            "WSTREAM with a window needs a SELECT, and this is Union",
        ),
        (
            Cross(
                tuple(
                    Assign(Scan(s.stream, name), WindowFunction(Assigned.TUMBLE, 5, 5, close=close))
                    for name, close in (("x", True), ("y", False))
                )
            ),
            "all of its windows when they close, or none",
        ),
        (project(u, a=Literal(float("nan"), DOUBLE)), "nan is no constant"),
        (
            Cross((Distinct(Cross((u, s))), Scan(u.stream, "v"))),
            "no SQL for u and s under one name",
        ),
    ],
)  # fmt: skip
def test_what_the_language_cannot_say_is_refused(plan: Project, said: str) -> None:
    with pytest.raises(PlanError, match=said):
        to_sql(plan)


def test_a_dialect_that_is_not_known_is_refused() -> None:
    with pytest.raises(PlanError, match="there is cql, duckdb, spark, postgres"):
        to_sql(PLANS["scan"], "oracle")


STREAMS = [
    (
        Stream(
            "s",
            (
                Column("a", INT, True, Check(0, 9)),
                Column("b", BIGINT, False, Check(low=3, low_open=True)),
                Column("kind", VARCHAR, True, Check(among=("x", "it's"))),
                Column("d", decimal(9, 2), True, Check(high=Decimal("1.50"), high_open=True)),
                Column("e", enum(("x", "y"))),
                Column("x", DOUBLE, True, Check(-0.5, 1e20)),
                Column("ts", BIGINT, False),
            ),
            time=Time("ts", delay=2, unit="second"),
            rows_per_instant=3,
        ),
        "CREATE STREAM s (a INT CHECK (a BETWEEN 0 AND 9), b BIGINT NOT NULL CHECK (b > 3), "
        "kind VARCHAR CHECK (kind IN ('x', 'it''s')), d DECIMAL(9, 2) CHECK (d < 1.50), "
        "e ENUM('x', 'y'), x DOUBLE CHECK (x BETWEEN -0.5e0 AND 1e20), ts BIGINT NOT NULL, "
        "WATERMARK FOR ts AS ts - 2) WITH (unit = 'second', rows_per_instant = 3);",
    ),
    (
        Stream(
            "Late rows",
            (Column("at", TIMESTAMP, False, Check(low=0)), Column("on", DATE)),
            form=Form.FINITE,
            time=Time("at", delay=90_000_000),
            until=10**15,
        ),
        'CREATE FINITE STREAM "Late rows" ("at" TIMESTAMP NOT NULL CHECK ("at" >= '
        "TIMESTAMP '1970-01-01 00:00:00'), \"on\" DATE, "
        'WATERMARK FOR "at" AS "at" - INTERVAL \'90\' SECOND) '
        "WITH (until = 1000000000000000);",
    ),
    (
        Stream("n", (Column("k", INT),), form=Form.TABLE, retroactive=False),
        "CREATE TABLE n (k INT) WITH (retroactive = false);",
    ),
    (
        Stream("st", (Column("k", BOOLEAN, False),), form=Form.STATIC),
        "CREATE STATIC TABLE st (k BOOLEAN NOT NULL);",
    ),
]


@pytest.mark.parametrize(("stream", "text"), STREAMS)
def test_a_declaration_says_all_that_is_known_of_a_stream(stream: Stream, text: str) -> None:
    assert stream_sql(stream) == text
