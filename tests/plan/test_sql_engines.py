"""Plans as SQL for other engines: DuckDB runs its own, and what is for Spark and PostgreSQL as
sqlglot says that they read it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import duckdb
import pytest
import sqlglot
from tests.plan.cases import OTHER, PLANS, A, U, eq, more, project, r, ref, s, t, u

from millpond.plan import (
    Aggregate,
    AggregateCall,
    Alias,
    Call,
    Case,
    Cast,
    Change,
    Changes,
    Comparison,
    Cross,
    Difference,
    Distinct,
    Expression,
    Extent,
    Filter,
    InList,
    Intersect,
    Is,
    Item,
    Join,
    Literal,
    Node,
    Not,
    Operator,
    PlanError,
    Scan,
    SemiJoin,
    Side,
    Union,
    Window,
    WindowSpec,
    columns_of,
    label,
    nodes,
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
    Type,
    decimal,
)

ENGINES = ("duckdb", "spark", "postgres")


@pytest.fixture(scope="module")
def engine() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute("""
            CREATE TABLE s (a INT, b BIGINT, k VARCHAR, ts BIGINT);
            INSERT INTO s VALUES (1, 10, 'x', 1), (1, 20, 'x', 2), (2, 10, NULL, 3),
                (NULL, NULL, 'y', 4), (3, 9000000000000000000, 'y', 5),
                (3, 9000000000000000000, 'y', 6);
            CREATE TABLE u (a INT, x DOUBLE);
            INSERT INTO u VALUES (1, 0.5), (2, NULL), (NULL, 1.5), (2, 0.5);
            CREATE VIEW p AS SELECT a, x, 7 AS ts FROM u;
            CREATE TABLE r (k VARCHAR, name VARCHAR);
            INSERT INTO r VALUES ('x', 'ex'), ('z', 'zed');
            CREATE TABLE t (d INT, ts TIMESTAMP);
            INSERT INTO t VALUES (7, TIMESTAMP '2013-02-03 04:05:06.789');
        """)
        yield connection


def rows(engine: duckdb.DuckDBPyConnection, text: str, dialect: str) -> Counter[Any]:
    """What DuckDB answers, of a text for another engine as sqlglot reads that engine's words."""
    if dialect == "postgres":  # whose NUMERIC has as many digits as it needs
        text = text.replace("AS NUMERIC)", "AS DECIMAL(38, 0))").replace(' COLLATE "C"', "")
    if dialect != "duckdb":
        text = sqlglot.transpile(text, read=dialect, write="duckdb")[0]
    return Counter(engine.execute(text).fetchall())


def of(*values: Any) -> Counter[Any]:
    """A bag of rows; a value stands for a row of one column."""
    return Counter(each if isinstance(each, tuple) else (each,) for each in values)


KEY = eq(ref("s.k", VARCHAR), ref("r.k", VARCHAR))
V, W = Scan(U, "v"), Scan(U, "w")
B = project(s, a=ref("s.b", BIGINT))

ANSWERS: dict[str, tuple[Node, Counter[Any]]] = {
    "project": (A, of(1, 1, 2, None, 3, 3)),
    "filter": (project(Filter(s, (more(ref("s.a"), 1),)), b=ref("s.a")), of(2, 3, 3)),
    "unbounded": (PLANS["unbounded"], of(1, 2, None, 2)),
    "cross": (PLANS["cross"], of(1, 2, 2, 2, 2)),
    "left join": (
        project(Join(s, r, Side.LEFT, (KEY,)), n=ref("r.name", VARCHAR)),
        of("ex", "ex", None, None, None, None),
    ),
    "right join": (
        project(Join(s, r, Side.RIGHT, (KEY,)), a=ref("s.a"), n=ref("r.name", VARCHAR)),
        of((1, "ex"), (1, "ex"), (None, "zed")),
    ),
    "joins": (PLANS["joins"], of((1, 1), *[(2, 2)] * 16)),
    "join in a product": (
        project(
            Filter(Cross((r, Join(V, W, Side.LEFT, (eq(ref("v.a"), ref("w.a")),)))), (
                eq(ref("r.k", VARCHAR), Literal("z", VARCHAR)),
            )),
            a=ref("w.a"),
        ),
        of(1, 2, 2, 2, 2, None),
    ),
    "semi-joins": (PLANS["semi-join"], of()),
    "semi-join": (
        project(SemiJoin(s, u, (eq(ref("s.a"), ref("u.a")),), anti=False), b=ref("s.b", BIGINT)),
        of(10, 20, 10),
    ),
    "anti-join": (
        project(SemiJoin(s, u, (eq(ref("s.a"), ref("u.a")),), anti=True), a=ref("s.a")),
        of(3, 3, None),
    ),
    "in": (PLANS["in"], of(1, 2, None, 2)),
    "union all": (Union((A, OTHER)), of(1, 1, 2, None, 3, 3, 1, 2, None, 2)),
    "union": (PLANS["union"], of(1, 2, 3, None)),
    "except": (PLANS["except"], of(3)),
    "except all": (Difference(A, OTHER), of(1, 3, 3)),
    "intersect": (PLANS["intersect"], of(1, 2, None)),
    "intersect all": (Intersect(A, OTHER), of(1, 2, None)),
    "casts above a side": (
        Union((project(Distinct(A), a=Cast(ref("a"), DOUBLE)), project(u, x=ref("u.x", DOUBLE)))),
        of(1.0, 2.0, 3.0, None, 0.5, 0.5, 1.5, None),
    ),
    "distinct": (PLANS["distinct"], of(1, 2, 3, None)),
    "aggregate": (PLANS["aggregate"], of()),
    "sums of any size": (
        project(
            Aggregate(s, (Item(ref("s.k", VARCHAR), "k"),), (
                AggregateCall("SUM", ref("s.b", BIGINT), False, "total", HUGEINT),
            )),
            k=ref("k", VARCHAR),
            total=ref("total", HUGEINT),
        ),
        of(("x", 30), (None, 10), ("y", 18_000_000_000_000_000_000)),
    ),
    "having": (
        project(
            Filter(
                Aggregate(s, (Item(ref("s.k", VARCHAR), "k"),), (
                    AggregateCall("COUNT", ref("s.a"), True, "n", HUGEINT),
                    AggregateCall("COUNT", None, False, "m", HUGEINT, more(ref("s.a"), 1)),
                )),
                (more(ref("m", HUGEINT, False), 0),),
            ),
            k=ref("k", VARCHAR),
            n=ref("n", HUGEINT, False),
            m=ref("m", HUGEINT, False),
        ),
        of((None, 1, 1), ("y", 1, 2)),
    ),
    "of nothing": (
        project(
            Aggregate(Filter(s, (more(ref("s.a"), 9),)), (), (
                AggregateCall("COUNT", None, False, "n", HUGEINT),
                AggregateCall("MEDIAN", ref("s.a"), False, "m", DOUBLE),
            )),
            n=ref("n", HUGEINT, False),
            m=ref("m", DOUBLE),
        ),
        of((0, None)),
    ),
    "subquery": (PLANS["subquery"], of(-1, -2, None)),
    "bare aggregate": (
        Aggregate(u, (Item(ref("u.a"), "a"),), (
            AggregateCall("AVG", ref("u.x", DOUBLE), False, "m", DOUBLE),
        )),
        of((1, 0.5), (2, 0.5), (None, 1.5)),
    ),
    "bare filter": (
        project(Filter(Alias(A, "q"), (Is(ref("q.a"), None),)), a=ref("q.a")),
        of(None),
    ),
    "a constant key": (
        project(Aggregate(u, (Item(Literal(7, INT), "g"),), ()), g=ref("g")),
        of(7),
    ),
}  # fmt: skip


@pytest.mark.parametrize("dialect", ENGINES)
@pytest.mark.parametrize("name", ANSWERS)
def test_an_engine_gives_the_answer_that_the_plan_means(
    engine: duckdb.DuckDBPyConnection, name: str, dialect: str
) -> None:
    plan, answer = ANSWERS[name]
    assert rows(engine, to_sql(plan, dialect), dialect) == answer


@pytest.mark.parametrize("name", ANSWERS)
def test_columns_come_out_under_their_names(engine: duckdb.DuckDBPyConnection, name: str) -> None:
    plan, _ = ANSWERS[name]
    found = engine.execute(to_sql(plan, "duckdb")).description
    assert found is not None
    assert [each[0] for each in found] == [each.name for each in plan.fields]


def call(name: str, type_: Type, *arguments: Expression) -> Call:
    return Call(name, arguments, type_)


def number(value: int) -> Literal:
    return Literal(value, INT)


def text(value: str) -> Literal:
    return Literal(value, VARCHAR)


BIG = Cast(number(2_000_000_000), INT)
NULL_INT = Cast(Literal(None), INT)
AT, DAY = ref("t.ts", TIMESTAMP), Literal(15_739, DATE)

VALUES: list[tuple[Expression, Any]] = [
    (call("/", DOUBLE, number(7), number(2)), 3.5),
    (call("/", DOUBLE, number(7), number(0)), None),
    (call("/", DOUBLE, Literal(1.0, DOUBLE), Literal(0.0, DOUBLE)), None),
    (call("/", DOUBLE, Literal(Decimal("1.00"), decimal(3, 2)), number(4)), 0.25),
    (call("%", BIGINT, number(-7), number(3)), -1),
    (call("%", BIGINT, number(7), number(0)), None),
    (call("+", BIGINT, BIG, BIG), 4_000_000_000),
    (call("*", BIGINT, BIG, number(4)), 8_000_000_000),
    (call("-", BIGINT, call("-", BIGINT, number(1), number(2)), call("-", BIGINT, number(5))), 4),
    (call("-", BIGINT, number(1), call("-", BIGINT, number(2), number(5))), 4),
    (call("+", DOUBLE, number(1), Literal(0.5, DOUBLE)), 1.5),
    (Comparison(Operator.SAME, NULL_INT, NULL_INT), True),
    (Not(Comparison(Operator.SAME, NULL_INT, number(1))), True),
    (Comparison(Operator.NE, number(1), number(2)), True),
    (Comparison(Operator.LT, text("Z"), text("a")), True),
    (eq(NULL_INT, number(1)), None),
    (InList(number(1), (number(2), NULL_INT)), None),
    (Not(InList(number(1), (number(2), number(3)))), True),
    (Is(eq(NULL_INT, number(1)), False), False),
    (Case(((more(number(1), 2), number(1)),), number(5), INT), 5),
    (call("LIKE", BOOLEAN, text("a\\b"), text("a\\_")), True),
    (call("LIKE", BOOLEAN, text("a%b"), text("a!%_"), text("!")), True),
    (call("||", VARCHAR, text("it's \\"), text("x")), "it's \\x"),
    (Literal(1.5, DOUBLE), 1.5),
    (Literal(Decimal("1.50"), decimal(3, 2)), Decimal("1.50")),
    (Literal(True, BOOLEAN), True),
    (Literal(0, DATE), date(1970, 1, 1)),
    (call("COALESCE", INT, NULL_INT, number(3)), 3),
    (call("GREATEST", INT, number(2), NULL_INT, number(3)), 3),
    (call("NULLIF", INT, number(2), number(2)), None),
    (call("IF", INT, eq(NULL_INT, number(1)), number(1), number(2)), 2),
    (call("IF", INT, eq(number(1), number(1)), number(1)), 1),
    (call("NVL2", INT, NULL_INT, number(1), number(2)), 2),
    (call("ABS", INT, number(-3)), 3),
    (call("SIGN", INT, number(-3)), -1),
    (call("FLOOR", DOUBLE, Literal(-1.5, DOUBLE)), -2.0),
    (call("CEIL", DOUBLE, Literal(-1.5, DOUBLE)), -1.0),
    (call("TRUNC", DOUBLE, Literal(-1.5, DOUBLE)), -1.0),
    (call("POWER", DOUBLE, number(2), number(10)), 1024.0),
    (call("LOG", DOUBLE, Literal(2.0, DOUBLE), Literal(8.0, DOUBLE)), 3.0),
    (call("UPPER", VARCHAR, text("ab")), "AB"),
    (call("LENGTH", BIGINT, text("päx")), 3),
    (call("REVERSE", VARCHAR, text("abc")), "cba"),
    (call("SUBSTRING", VARCHAR, text("abcdef"), number(2), number(3)), "bcd"),
    (call("LEFT", VARCHAR, text("abc"), number(2)), "ab"),
    (call("RIGHT", VARCHAR, text("abc"), number(2)), "bc"),
    (call("TRIM", VARCHAR, text("  ab ")), "ab"),
    (call("TRIM", VARCHAR, text("xabx"), text("x")), "ab"),
    (call("LTRIM", VARCHAR, text("xabx"), text("x")), "abx"),
    (call("REPLACE", VARCHAR, text("aXb"), text("X"), text("-")), "a-b"),
    (call("STARTS_WITH", BOOLEAN, text("abc"), text("ab")), True),
    (call("ENDS_WITH", BOOLEAN, text("abc"), text("bc")), True),
    (call("CONTAINS", BOOLEAN, text("abc"), text("b")), True),
    (call("STRPOS", BIGINT, text("abc"), text("c")), 3),
    (call("POSITION", BIGINT, text("c"), text("abc")), 3),
    (call("CONCAT", VARCHAR, text("a"), Cast(Literal(None), VARCHAR), text("b")), "ab"),
    (call("YEAR", BIGINT, AT), 2013),
    (call("QUARTER", BIGINT, AT), 1),
    (call("DAYOFYEAR", BIGINT, AT), 34),
    (call("DAYOFWEEK", BIGINT, AT), 0),
    (call("ISODOW", BIGINT, AT), 7),
    (call("WEEK", BIGINT, AT), 5),
    (call("SECOND", BIGINT, AT), 6),
    (call("DATE_TRUNC", TIMESTAMP, text("hour"), AT), datetime(2013, 2, 3, 4)),
    (call("+", DATE, DAY, number(3)), date(2013, 2, 6)),
    (call("-", DATE, DAY, Cast(number(2), BIGINT)), date(2013, 2, 1)),
    (call("-", BIGINT, DAY, Literal(15_736, DATE)), 3),
    (call("+", TIMESTAMP, AT, Literal(60_000_000, INTERVAL)),
     datetime(2013, 2, 3, 4, 6, 6, 789_000)),
    (call("-", INTERVAL, AT, Literal(15_739 * 86_400_000_000, TIMESTAMP)),
     timedelta(hours=4, minutes=5, seconds=6, milliseconds=789)),
]  # fmt: skip

READ_OTHERWISE = {
    ("spark", "LIKE 'a\\\\"): "in Spark's LIKE a backslash escapes, in DuckDB's nothing does",
    ("spark", "DAYOFWEEK"): "Spark counts days from 1, DuckDB from 0",
    ("spark", "WEEKDAY"): "Spark counts from Monday = 0",
    ("spark", "DATE_ADD"): "a DATE in Spark, a TIMESTAMP in DuckDB",
    ("spark", "DATE_SUB"): "a DATE in Spark, a TIMESTAMP in DuckDB",
    ("postgres", "ESCAPE ''"): "DuckDB takes no empty ESCAPE",
}
"""Where DuckDB, told by sqlglot, is not the engine; the texts of these are held below."""


@pytest.mark.parametrize("dialect", ENGINES)
@pytest.mark.parametrize(("expression", "value"), VALUES, ids=[str(each) for each, _ in VALUES])
def test_an_expression_has_the_same_value_in_an_engine(
    engine: duckdb.DuckDBPyConnection, expression: Expression, value: Any, dialect: str
) -> None:
    said = to_sql(project(t, out=expression), dialect)
    if any(dialect == where and what in said for where, what in READ_OTHERWISE):
        return
    (found,) = rows(engine, said, dialect)
    if isinstance(value, float):
        assert found == (pytest.approx(value),)
    else:
        assert found == (value,)
    assert isinstance(found[0], bool) is isinstance(value, bool)


TEXTS = [
    ("spark", Comparison(Operator.SAME, ref("t.d"), number(1)), "t.d <=> 1"),
    ("spark", Not(Comparison(Operator.SAME, ref("t.d"), number(1))), "NOT (t.d <=> 1)"),
    ("spark", call("LIKE", BOOLEAN, text("a\\b"), text("a\\_")), r"'a\\b' LIKE 'a\\\\_'"),
    ("spark", call("ISODOW", BIGINT, AT), "CAST(WEEKDAY(t.ts) + 1 AS BIGINT)"),
    ("spark", call("DAYOFWEEK", BIGINT, AT), "CAST(DAYOFWEEK(t.ts) - 1 AS BIGINT)"),
    ("spark", call("+", DATE, DAY, number(3)), "(DATE_ADD(DATE '2013-02-03', CAST(3 AS INT)))"),
    ("spark", call("-", DATE, DAY, number(3)), "(DATE_SUB(DATE '2013-02-03', CAST(3 AS INT)))"),
    ("spark", Literal(0, TIMESTAMP), "TIMESTAMP '1970-01-01 00:00:00Z'"),
    ("spark", Literal(7, INTERVAL), "INTERVAL '0.000007' SECOND"),
    ("spark", ref("t.the `d`"), "t.`the ``d```"),
    ("spark", Literal(10**20, HUGEINT), "CAST('100000000000000000000' AS DECIMAL(38, 0))"),
    ("postgres", call("LIKE", BOOLEAN, text("a"), text("_")), "'a' LIKE '_' ESCAPE ''"),
    ("postgres", Comparison(Operator.LT, text("Z"), text("a")), "'Z' COLLATE \"C\" < 'a'"),
    ("postgres", ref("t.D"), 't."D"'),
    ("postgres", Literal(1.5, DOUBLE), "CAST(1.5e0 AS DOUBLE PRECISION)"),
    ("postgres", Cast(number(1), HUGEINT), "CAST(1 AS NUMERIC)"),
    ("duckdb", call("+", BIGINT, BIG, number(1)),
     "CAST(CAST(2000000000 AS INT) AS BIGINT) + CAST(1 AS BIGINT)"),
    ("duckdb", call("/", DOUBLE, ref("t.d"), ref("t.d")),
     "CAST(t.d AS DOUBLE) / NULLIF(CAST(t.d AS DOUBLE), 0)"),
]  # fmt: skip


@pytest.mark.parametrize(("dialect", "expression", "said"), TEXTS)
def test_an_engine_is_spoken_to_in_its_own_words(
    dialect: str, expression: Expression, said: str
) -> None:
    odd = [each.name for each in columns_of(expression) if each.name not in ("d", "ts")]
    scan = Alias(project(t, **{each: ref("t.d") for each in odd}), "t") if odd else t
    assert to_sql(project(scan, out=expression), dialect).splitlines()[0] == f"SELECT {said} AS out"


def test_postgres_has_its_own_medians_and_extremes() -> None:
    calls = (
        AggregateCall("MEDIAN", ref("s.a"), False, "n0", DOUBLE),
        AggregateCall("MIN", ref("s.k", VARCHAR), False, "n1", VARCHAR),
        AggregateCall("MAX", eq(ref("s.a"), number(1)), False, "n2", BOOLEAN),
    )
    assert to_sql(Aggregate(s, (), calls), "postgres").splitlines()[0] == (
        "SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY CAST(s.a AS DOUBLE PRECISION)) AS n0, "
        'MIN(s.k COLLATE "C") AS n1, BOOL_OR(s.a = 1) AS n2'
    )


NO_WORD: list[tuple[str, Node, str]] = [
    ("duckdb", PLANS["range"], r"DuckDB has no word for Window \[RANGE 10\]"),
    ("spark", PLANS["istream"], "Spark has no word for ISTREAM"),
    ("postgres", PLANS["tumble"], r"PostgreSQL has no word for Assign TUMBLE\(10\) on close"),
    ("duckdb", PLANS["wstream"], "DuckDB has no word for WSTREAM"),
    ("duckdb", PLANS["internal results"], "DuckDB has no word for Results"),
    ("duckdb", Window(t, WindowSpec(Extent.UNBOUNDED, None, 5)), "Window"),
    ("duckdb", Changes(A, Change.RSTREAM), "RSTREAM"),
    ("postgres", project(Join(SemiJoin(s, u, (), anti=True), r, Side.LEFT, ()), a=ref("s.a")),
     "a semi-join below a join"),
    ("spark", project(t, x=call("NOTHING", INT, AT)), "Spark has no word for NOTHING"),
    ("postgres", project(t, x=call("SUBSTRING", VARCHAR, text("x"), ref("t.d"))), "from the end"),
    ("postgres", project(u, x=call("%", DOUBLE, ref("u.x", DOUBLE), number(2))), "% of doubles"),
]  # fmt: skip


@pytest.mark.parametrize(("dialect", "plan", "said"), NO_WORD)
def test_what_an_engine_has_no_word_for_is_refused_by_name(
    dialect: str, plan: Node, said: str
) -> None:
    with pytest.raises(PlanError, match=said):
        to_sql(plan, dialect)


@pytest.mark.parametrize("dialect", ENGINES)
@pytest.mark.parametrize("name", PLANS)
def test_every_plan_has_sql_for_an_engine_or_says_why_not(name: str, dialect: str) -> None:
    plan = PLANS[name]
    words = ("Window", "Assign", "ISTREAM", "DSTREAM", "RSTREAM", "Results")
    lacking = any(label(each).startswith(words) for each in nodes(plan)) and name != "unbounded"
    if lacking or (name, dialect) == ("a semi-join in from", "postgres"):
        with pytest.raises(PlanError, match="has no word for"):
            to_sql(plan, dialect)
    else:
        sqlglot.parse_one(to_sql(plan, dialect), read=dialect)
