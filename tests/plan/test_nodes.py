"""Nodes are checked when they are built, so that a plan that exists makes sense."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from millpond.plan import (
    COMPARISONS,
    ColumnRef,
    Comparison,
    Cross,
    Distinct,
    Filter,
    Item,
    Literal,
    Node,
    Operator,
    Project,
    Scan,
    plan_dict,
    scans,
    tree_lines,
)
from millpond.schema import BIGINT, Column, Stream

S = Scan(Stream("s", (Column("a", BIGINT), Column("b", BIGINT, nullable=False))), "s")
T = Scan(Stream("t", (Column("a", BIGINT),)), "x")


def ref(alias: str, name: str) -> ColumnRef:
    return ColumnRef(alias, name, BIGINT, True)


def less(left: ColumnRef | Literal, right: ColumnRef | Literal) -> Comparison:
    return Comparison(Operator.LT, left, right)


PLAN = Distinct(
    Project(
        Filter(Cross((S, T)), (less(ref("s", "a"), ref("x", "a")),)),
        (Item(ref("s", "b"), "b"), Item(Literal(None), "column2"), Item(ref("x", "a"), "y")),
    )
)


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda: Cross((S,)), "two inputs"),
        (lambda: Cross((S, Scan(T.stream, "S"))), "not distinct"),
        (lambda: Cross((S, Cross((T, Scan(S.stream, "s"))))), "not distinct"),
        (lambda: Filter(S, (less(ref("s", "c"), Literal(1)),)), "s.c is no column"),
        (lambda: Filter(S, (less(Literal(1), ref("x", "a")),)), "x.a is no column"),
        (lambda: Project(S, ()), "needs an item"),
        (lambda: Project(S, (Item(ref("x", "a"), "a"),)), "x.a is no column"),
        (
            lambda: Project(S, (Item(ref("s", "a"), "n"), Item(ref("s", "b"), "n"))),
            "not distinct",
        ),
    ],
)
def test_a_plan_that_makes_no_sense_is_not_built(build: Callable[[], Node], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        build()


def test_fields_follow_the_inputs() -> None:
    assert [(each.alias, each.name, each.nullable) for each in Cross((S, T)).fields] == [
        ("s", "a", True),
        ("s", "b", False),
        ("x", "a", True),
    ]
    assert [(each.alias, each.name, each.nullable) for each in PLAN.fields] == [
        (None, "b", True),
        (None, "column2", True),
        (None, "y", True),
    ]


def test_scans_come_in_the_order_of_from() -> None:
    assert list(scans(PLAN)) == [S, T]


def test_comparisons_mean_what_their_signs_say() -> None:
    signs = {"<": (1, 0, 0), "<=": (1, 1, 0), "=": (0, 1, 0), ">=": (0, 1, 1), ">": (0, 0, 1)}
    for op in Operator:
        holds = COMPARISONS[op]
        assert (holds(1, 2), holds(2, 2), holds(3, 2)) == tuple(map(bool, signs[op.value]))
        for x, y in ((1, 2), (2, 2), (3, 2)):
            assert holds(x, y) is COMPARISONS[op.flipped](y, x)


def test_a_plan_renders_as_a_tree_and_as_data() -> None:
    assert tree_lines(PLAN) == [
        "Distinct",
        "└─ Project s.b, NULL AS column2, x.a AS y",
        "   └─ Filter s.a < x.a",
        "      └─ Cross",
        "         ├─ Scan s",
        "         └─ Scan t AS x",
    ]
    data = plan_dict(PLAN)
    assert (data["node"], data["label"], data["columns"]) == (
        "distinct",
        "Distinct",
        ["b", "column2", "y"],
    )
    leaves = data["inputs"][0]["inputs"][0]["inputs"][0]["inputs"]
    assert [each["label"] for each in leaves] == ["Scan s", "Scan t AS x"]
    assert [each["inputs"] for each in leaves] == [[], []]
