"""Nodes are checked when they are built, so that a plan that exists makes sense."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.plan.cases import COUNT, MINUTE, PLANS, S, U, eq, more, project, r, ref, s, t, u

from millpond.diagnostic import Source, Span
from millpond.plan import (
    COMPARISONS,
    Aggregate,
    Alias,
    Assign,
    Assigned,
    Call,
    Case,
    Change,
    Changes,
    ColumnRef,
    Comparison,
    Cross,
    Difference,
    Distinct,
    Extent,
    Filter,
    Is,
    Item,
    Join,
    Literal,
    Logical,
    Node,
    Operator,
    Project,
    Query,
    Results,
    Scan,
    SemiJoin,
    Side,
    Union,
    Window,
    WindowFunction,
    WindowSpec,
    aliases,
    columns_of,
    nodes,
    scans,
    stream_valued,
)
from millpond.schema import BIGINT, BOOLEAN, DOUBLE, HUGEINT, INT, VARCHAR

P = project(s, a=ref("s.a"))
TWO = project(s, a=ref("s.a"), b=ref("s.b", BIGINT))
RANGE = WindowSpec(Extent.RANGE, 10)
HOP = WindowFunction(Assigned.HOP, 20, 10)
EQUAL = eq(ref("s.a"), ref("u.a"))


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda: Cross((s,)), "two inputs"),
        (lambda: Cross((s, Scan(U, "S"))), "not distinct"),
        (lambda: Cross((s, Cross((u, Scan(S, "s"))))), "not distinct"),
        (lambda: Join(s, Scan(U, "s"), Side.LEFT, ()), "not distinct"),
        (lambda: Filter(s, (more(ref("s.c"), 1),)), "s.c is no column"),
        (lambda: Filter(s, (more(ref("u.a"), 1),)), "u.a is no column"),
        (lambda: Filter(s, (ref("s.a"),)), "is no condition"),
        (lambda: Join(s, u, Side.FULL, (more(ref("t.d"), 1),)), "t.d is no column"),
        (lambda: SemiJoin(s, u, (more(ref("t.d"), 1),), anti=True), "t.d is no column"),
        (lambda: Project(s, ()), "needs an item"),
        (lambda: project(s, a=ref("u.a")), "u.a is no column"),
        (
            lambda: Project(s, (Item(ref("s.a"), "n"), Item(ref("s.b"), "n"))),
            "not distinct",
        ),
        (lambda: Union((P,)), "two inputs"),
        (lambda: Union((P, TWO)), r"inputs of \[1, 2\] columns"),
        (lambda: Difference(P, project(s, k=ref("s.k", VARCHAR))), "of kinds"),
        (lambda: Aggregate(s, (Item(ref("u.a"), "a"),), ()), "u.a is no column"),
        (lambda: Aggregate(s, (Item(ref("s.a"), "count"),), (COUNT,)), "not distinct"),
        (lambda: Window(r, RANGE), "needs a stream"),
        (lambda: Window(P, RANGE), "needs a stream"),
        (
            lambda: Window(s, WindowSpec(Extent.ROWS, 2, None, ("nothing",))),
            "nothing is no column",
        ),
        (lambda: WindowSpec(Extent.RANGE), "of size None"),
        (lambda: WindowSpec(Extent.UNBOUNDED, 3), "of size 3"),
        (lambda: WindowSpec(Extent.ROWS, 0), "at least 1"),
        (lambda: WindowSpec(Extent.RANGE, 5, 0), "at least 1"),
        (lambda: WindowSpec(Extent.RANGE, 5, None, ("k",)), "only a window of rows"),
        (lambda: Assign(u, HOP), "by a time column"),
        (lambda: Changes(s, Change.ISTREAM), "needs a relation"),
        (lambda: Changes(Changes(P, Change.ISTREAM), Change.DSTREAM), "needs a relation"),
        (lambda: Logical("AND", (EQUAL,)), "AND of 1"),
        (lambda: Logical("XOR", (EQUAL, EQUAL)), "XOR"),
    ],
)
def test_a_plan_that_makes_no_sense_is_not_built(build: Callable[[], object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        build()


def fields(node: Node) -> list[tuple[str | None, str, str, bool]]:
    return [(each.alias, each.name, str(each.type), each.nullable) for each in node.fields]


def test_fields_follow_the_inputs() -> None:
    assert fields(Cross((u, t)))[1:3] == [("u", "x", "DOUBLE", True), ("t", "d", "INT", True)]
    assert fields(Alias(P, "q")) == [("q", "a", "INT", True)]
    assert fields(Aggregate(s, (Item(ref("s.k", VARCHAR), "k"),), (COUNT,))) == [
        (None, "k", "VARCHAR", True),
        (None, "count", "HUGEINT", False),
    ]
    assert fields(SemiJoin(u, s, (), anti=False)) == fields(u)
    for node in (Distinct(P), Filter(P, ()), Results(P), Changes(P, Change.RSTREAM)):
        assert fields(node) == fields(P)


def test_assigned_windows_add_their_ends() -> None:
    assert fields(Assign(t, HOP))[2:] == [
        ("t", "window_start", "TIMESTAMP", False),
        ("t", "window_end", "TIMESTAMP", False),
    ]


def test_an_outer_join_makes_nullable_what_it_may_leave_empty() -> None:
    def ends(side: Side) -> tuple[bool, bool]:
        found = Join(s, t, side, ()).fields
        return found[3].nullable, found[5].nullable

    assert (s.fields[3].nullable, t.fields[1].nullable) == (False, False)
    assert [ends(side) for side in (Side.LEFT, Side.RIGHT, Side.FULL)] == [
        (False, True),
        (True, False),
        (True, True),
    ]


def test_a_union_is_nullable_where_a_side_is() -> None:
    other = project(s, ts=ref("s.ts", BIGINT, nullable=False))
    assert fields(Union((other, project(s, a=ref("s.b", BIGINT))))) == [
        (None, "ts", "BIGINT", True)
    ]
    assert fields(Union((other, other))) == [(None, "ts", "BIGINT", False)]


def test_what_gives_rows_at_instants_is_a_stream() -> None:
    streams: list[Node] = [s, Alias(s, "x"), Changes(P, Change.ISTREAM), Results(P)]
    assert all(map(stream_valued, streams))
    relations: list[Node] = [r, P, Window(s, RANGE), Alias(P, "q"), Assign(s, HOP)]
    assert not any(map(stream_valued, relations))


def test_scans_come_in_the_order_of_from() -> None:
    plan = Distinct(project(Cross((s, Join(r, u, Side.LEFT, ()))), a=ref("s.a")))
    assert list(scans(plan)) == [s, r, u]
    assert [type(each).__name__ for each in nodes(plan)] == [
        "Distinct",
        "Project",
        "Cross",
        "Scan",
        "Join",
        "Scan",
        "Scan",
    ]
    assert list(aliases(Cross((s, r)))) == ["s", "r"]


def test_a_query_knows_its_streams_its_time_and_whether_it_slides() -> None:
    span = Span(Source("q.sql", ""), 0, 0)
    slid = Window(t, WindowSpec(Extent.RANGE, MINUTE, MINUTE))
    query = Query("q", Changes(project(Cross((slid, r)), d=ref("t.d")), Change.ISTREAM), span)
    assert [each.name for each in query.streams] == ["t"]
    assert [each.name for each in query.tables] == ["r"]
    assert (str(query.time_type), query.delay) == ("TIMESTAMP", 5_000_000)
    assert query.sliding
    assert query.stream_valued
    assert not Query("q", project(Cross((slid, s)), d=ref("t.d")), span).sliding


def test_comparisons_mean_what_their_signs_say() -> None:
    signs = {
        "<": (1, 0, 0),
        "<=": (1, 1, 0),
        "=": (0, 1, 0),
        ">=": (0, 1, 1),
        ">": (0, 0, 1),
        "<>": (1, 0, 1),
        "IS NOT DISTINCT FROM": (0, 1, 0),
    }
    for op in Operator:
        holds = COMPARISONS[op]
        assert (holds(1, 2), holds(2, 2), holds(3, 2)) == tuple(map(bool, signs[op.value]))
        for x, y in ((1, 2), (2, 2), (3, 2)):
            assert holds(x, y) is COMPARISONS[op.flipped](y, x)


def test_an_expression_may_be_null_where_a_part_may_be() -> None:
    sure = ColumnRef("s", "ts", BIGINT, nullable=False)
    maybe = ref("s.a")
    assert not Comparison(Operator.LT, sure, Literal(1, INT)).nullable
    assert Comparison(Operator.LT, sure, maybe).nullable
    assert not Comparison(Operator.SAME, sure, maybe).nullable
    assert not Is(maybe, None).nullable
    assert Case(((EQUAL, sure),), Literal(None), BIGINT).nullable
    assert not Case(((EQUAL, sure),), Literal(1, INT), BIGINT).nullable


def test_columns_of_an_expression_come_from_left_to_right() -> None:
    made = Call(
        "+", (ref("s.b"), Case(((EQUAL, ref("s.k")),), ref("u.x", DOUBLE), DOUBLE)), HUGEINT
    )
    assert [str(each) for each in columns_of(made)] == ["s.b", "s.a", "u.a", "s.k", "u.x"]


@pytest.mark.parametrize("name", PLANS)
def test_plans_are_values(name: str) -> None:
    assert {PLANS[name]: name}[PLANS[name]] == name
    assert PLANS[name] != project(u, other=Literal(True, BOOLEAN))
