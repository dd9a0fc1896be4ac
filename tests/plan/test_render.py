"""Labels, trees and data of plans: every kind of node has each."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest
from tests.plan.cases import MINUTE, PLANS, S, T, eq, project, r, ref, s, t, u

from millpond.diagnostic import Source, Span
from millpond.plan import (
    Aggregate,
    AggregateCall,
    Alias,
    Assign,
    Assigned,
    Call,
    Change,
    Changes,
    Comparison,
    Cross,
    Difference,
    Distinct,
    Extent,
    Filter,
    Intersect,
    Item,
    Join,
    Literal,
    Logical,
    Node,
    Operator,
    PlanError,
    Project,
    Results,
    Scan,
    SemiJoin,
    Side,
    Union,
    Window,
    WindowFunction,
    WindowSpec,
    column_texts,
    label,
    monotonic,
    nodes,
    plan_dict,
    to_sql,
    tree_lines,
)
from millpond.schema import BIGINT, HUGEINT, INT

EQUAL = eq(ref("s.a"), ref("u.a"))
P = project(s, a=ref("s.a"))
COUNT = AggregateCall("COUNT", None, False, "count", HUGEINT)

LABELS: list[tuple[Node, str]] = [
    (s, "Scan s"),
    (Scan(S, "x"), "Scan s AS x"),
    (Alias(P, "q"), "Alias q"),
    (Window(s, WindowSpec(Extent.RANGE, 10)), "Window [RANGE 10]"),
    (Window(t, WindowSpec(Extent.RANGE, 10 * MINUTE)), "Window [RANGE 10 MINUTE]"),
    (Window(t, WindowSpec(Extent.RANGE, 1)), "Window [RANGE 1]"),
    (
        Window(t, WindowSpec(Extent.ROWS, MINUTE, 2, ("d",), internal=True)),
        "Window [PARTITION BY d ROWS 60000000 SLIDE 2 INTERNAL]",
    ),
    (
        Window(t, WindowSpec(Extent.UNBOUNDED, None, 90 * MINUTE)),
        "Window [UNBOUNDED SLIDE 90 MINUTE]",
    ),
    (
        Assign(t, WindowFunction(Assigned.HOP, 2 * MINUTE, MINUTE)),
        "Assign HOP(1 MINUTE, 2 MINUTE) on close",
    ),
    (
        Assign(s, WindowFunction(Assigned.SESSION, 5, 5, ("a", "k"), close=False)),
        "Assign SESSION(5 PARTITION BY a, k)",
    ),
    (Cross((s, u)), "Cross"),
    (
        Filter(
            Cross((s, u)),
            (EQUAL, Logical("OR", (EQUAL, Comparison(Operator.LT, ref("s.a"), Literal(1))))),
        ),
        "Filter s.a = u.a AND (s.a = u.a OR s.a < 1)",
    ),
    (project(s, a=ref("s.a"), b=ref("s.a"), c=Literal("x'")), "Project s.a, s.a AS b, 'x''' AS c"),
    (Join(s, u, Side.FULL, (EQUAL,)), "FULL join ON s.a = u.a"),
    (SemiJoin(s, u, (EQUAL,), anti=False), "Semi-join ON s.a = u.a"),
    (SemiJoin(s, u, (), anti=True), "Anti-join"),
    (Union((P, P)), "Union"),
    (Difference(P, P), "Difference"),
    (Intersect(P, P), "Intersect"),
    (Distinct(P), "Distinct"),
    (Aggregate(s, (), (COUNT,)), "Aggregate COUNT(*) AS count"),
    (
        Aggregate(s, (Item(ref("s.k"), "k"), Item(Call("ABS", (ref("s.a"),), INT), "g")), ()),
        "Aggregate BY s.k, ABS(s.a) AS g",
    ),
    (Changes(P, Change.DSTREAM), "DSTREAM"),
    (Changes(P, Change.RSTREAM, restore=True), "RSTREAM_RESTORE"),
    (Results(P), "Results"),
]  # fmt: skip


@pytest.mark.parametrize(("node", "said"), LABELS, ids=[said for _, said in LABELS])
def test_a_label_says_what_a_node_does(node: Node, said: str) -> None:
    assert label(node) == said


def test_every_kind_of_node_has_a_label_here_and_a_plan_in_the_cases() -> None:
    kinds = set(get_args(Node))
    assert {type(node) for node, _ in LABELS} == kinds
    assert {type(each) for plan in PLANS.values() for each in nodes(plan)} == kinds


def test_a_kind_of_node_that_is_not_known_is_an_error_with_its_name() -> None:
    class Sort:
        inputs = ()

    unknown: Any = Sort()
    for say in (label, to_sql, tree_lines, lambda node: to_sql(node, "spark")):
        with pytest.raises(PlanError, match="Sort"):
            say(unknown)


def test_a_tree_has_the_root_first_and_inputs_from_left_to_right() -> None:
    plan = Distinct(project(Join(Filter(Cross((s, u)), (EQUAL,)), r, Side.LEFT, ()), a=ref("s.a")))
    assert tree_lines(plan) == [
        "Distinct",
        "└─ Project s.a",
        "   └─ LEFT join",
        "      ├─ Filter s.a = u.a",
        "      │  └─ Cross",
        "      │     ├─ Scan s",
        "      │     └─ Scan u",
        "      └─ Scan r",
    ]


def test_a_node_that_is_said_in_several_lines_keeps_its_place_in_the_tree() -> None:
    plan = Cross((Filter(s, ()), u))
    said = tree_lines(plan, lambda node, room: [label(node), str(room)], 20)
    assert said == [
        "Cross",
        "│   20",
        "├─ Filter ",
        "│  │   17",
        "│  └─ Scan s",
        "│         14",
        "└─ Scan u",
        "       17",
    ]


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_is_data_that_says_what_the_tree_says(name: str) -> None:
    data = plan_dict(PLANS[name])
    assert json.loads(json.dumps(data)) == data
    assert [each["label"] for each in _flat(data)] == [label(each) for each in nodes(PLANS[name])]
    assert len(tree_lines(PLANS[name])) == len(_flat(data))


def _flat(data: dict[str, Any]) -> list[dict[str, Any]]:
    return [data, *(each for below in data["inputs"] for each in _flat(below))]


def test_the_data_has_columns_windows_and_places() -> None:
    span = Span(Source("q.sql", "x\nSELECT"), 2, 8)
    scan = Scan(S, "s", span)
    window = plan_dict(Window(scan, WindowSpec(Extent.ROWS, 5, None, ("k",))))
    assert window["node"] == "window"
    assert window["columns"][3] == {"name": "ts", "type": "BIGINT", "nullable": False}
    assert window["window"] == {
        "kind": "ROWS",
        "size": 5,
        "slide": None,
        "partition": ["k"],
        "internal": False,
    }
    assert (window["at"], window["inputs"][0]["at"]) == (None, {"line": 2, "column": 1})
    hop = plan_dict(Assign(t, WindowFunction(Assigned.HOP, 20, 10)))["window"]
    assert (hop["kind"], hop["size"], hop["slide"], hop["close"]) == ("HOP", 20, 10, True)


def test_columns_are_told_where_they_are_made() -> None:
    assert column_texts(t) == ("d INT", "ts TIMESTAMP NOT NULL")
    assert column_texts(project(s, x=ref("s.b", BIGINT))) == ("x BIGINT",)
    assert column_texts(Filter(s, ())) == column_texts(Distinct(P)) == ()
    assert column_texts(Assign(s, WindowFunction(Assigned.TUMBLE, 10, 10))) == (
        "window_start BIGINT NOT NULL",
        "window_end BIGINT NOT NULL",
    )


def test_only_whole_streams_without_windows_are_said_to_be_monotonic() -> None:
    assert monotonic(Distinct(project(Filter(Cross((s, u)), (EQUAL,)), a=ref("s.a"))))
    assert monotonic(Alias(Union((P, P)), "q"))
    for each in (
        r,
        project(Cross((s, r)), a=ref("s.a")),
        Window(s, WindowSpec(Extent.RANGE, 10)),
        Aggregate(s, (), (COUNT,)),
        SemiJoin(s, u, (EQUAL,), anti=True),
        Join(s, u, Side.LEFT, (EQUAL,)),
        Difference(P, P),
    ):
        assert not monotonic(each)


def test_spans_do_not_make_plans_different() -> None:
    span = Span(Source("q.sql", "SELECT"), 0, 6)
    assert Scan(S, "s", span) == s
    assert Project(Scan(S, "s", span), P.items, span) == P
    assert Scan(T, "s") != s
