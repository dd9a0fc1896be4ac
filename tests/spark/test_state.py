"""What is read of event time, and what is not looked into, without a session."""

from __future__ import annotations

import pytest

from millpond.spark.catalyst import Expr, Operator, Output
from millpond.spark.event_time import Atom, atoms_of, interval_of
from millpond.spark.state import foreign, kept

MINUTE = 60_000_000


def column(id_: int) -> Expr:
    fields = {"name": f"c{id_}", "exprId": {"id": id_}, "dataType": "timestamp"}
    return Expr("AttributeReference", fields, ())


def constant(value: str, type_: str) -> Expr:
    return Expr("Literal", {"value": value, "dataType": type_}, ())


def later(id_: int, minutes: int) -> Expr:
    """A column so many minutes later, as Spark writes it."""
    interval = constant(str(minutes * MINUTE), "interval minute")
    return Expr("TimestampAddInterval", {}, (column(id_), interval))


def compared(kind: str, left: Expr, right: Expr) -> Expr:
    return Expr(kind, {}, (left, right))


@pytest.mark.parametrize(
    ("condition", "atoms"),
    [
        (compared("LessThan", column(1), later(2, 5)), [("<=", (1, 0), (2, 5 * MINUTE))]),
        (compared("GreaterThan", column(1), column(2)), [("<=", (2, 0), (1, 0))]),
        (compared("EqualTo", later(1, -3), column(2)), [("=", (2, 0), (1, -3 * MINUTE))]),
        (compared("EqualTo", later(1, -3), later(2, 1)), []),
        (compared("LessThan", column(1), constant("5", "long")), []),
        (
            compared(
                "And",
                compared("LessThanOrEqual", column(1), column(2)),
                compared("Or", column(3), column(4)),
            ),
            [("<=", (1, 0), (2, 0))],
        ),
    ],
)
def test_columns_at_a_distance_are_read(condition: Expr, atoms: list[Atom]) -> None:
    assert list(atoms_of(condition)) == atoms


def source(*output: Output) -> Operator:
    return Operator("StreamingRelation", {"sourceName": "FileSource[/in/s]"}, (), output, True)


def join(condition: Expr, left: Output, right: Output) -> Operator:
    return Operator(
        "Join",
        {"joinType": {"object": "org.apache.spark.sql.catalyst.plans.Inner$"}},
        (source(left), source(right)),
        (left, right),
        True,
        {"condition": (condition,)},
    )


@pytest.mark.parametrize(
    ("condition", "horizons"),
    [
        # t <= s + 5: rows of s are done with 5 minutes after the watermark, those of t never.
        (compared("LessThanOrEqual", column(2), later(1, 5)), ["rate of s x 15 minutes", None]),
        (compared("GreaterThanOrEqual", column(2), column(1)), [None, "rate of s x 10 minutes"]),
        (compared("EqualTo", column(1), column(2)), ["rate of s x 10 minutes"] * 2),
        (compared("EqualTo", later(1, 5), column(2)), ["rate of s x 15 minutes"] * 2),
        # Spark sees a watermark on a key only where the key is the column as it is.
        (compared("EqualTo", later(1, 5), later(2, 3)), [None, None]),
        (compared("LessThan", column(2), constant("5", "long")), [None, None]),
    ],
)
def test_a_side_is_let_go_of_behind_the_watermark_of_the_other(
    condition: Expr, horizons: list[str | None]
) -> None:
    delay = 10 * MINUTE
    plan = join(condition, Output(1, delay), Output(2, delay))
    assert [each.horizon for each in kept(plan)] == horizons


def test_a_watermark_on_one_side_is_enough_for_a_key_alone() -> None:
    one, other = Output(1, 10 * MINUTE), Output(2, None)
    assert None not in [each.horizon for each in kept(join(by_key(1, 2), one, other))]
    ranged = compared("LessThan", column(1), later(2, 5))
    assert [each.horizon for each in kept(join(ranged, one, other))] == [None, None]


def by_key(one: int, other: int) -> Expr:
    return compared("EqualTo", column(one), column(other))


def test_time_that_has_no_length_is_not_read() -> None:
    assert interval_of("1 month", "string") is None
    assert interval_of("soon", "string") is None
    assert interval_of("1 hour 30 seconds", "interval") == 3_630_000_000


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("MapInPandas", "user code, `mapInPandas`"),
        ("FlatMapGroupsInPandasWithState", "user code, `flatMapGroupsInPandasWithState`"),
        ("TransformWithState", "user code, `transformWithState`"),
        ("GlobalLimit", "the operator GlobalLimit is not known"),
    ],
)
def test_what_is_not_looked_into_is_named(kind: str, said: str) -> None:
    found = foreign(Operator(kind, {}, (source(),), (), True))
    assert found is not None
    assert said in found


def test_code_inside_an_expression_is_named() -> None:
    udf = {"class": "org.apache.spark.sql.catalyst.expressions.PythonUDF", "name": "shout"}
    found = foreign(Operator("Project", {"projectList": [[udf]]}, (source(),), (), True))
    assert found == "user code, `shout`, may keep what it likes"
