"""Joins, groups, tables, and what plans give at instants, by definition; worked out by hand."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from tests.run.plans import (
    Given,
    chosen,
    column,
    compared,
    cross,
    quotient,
    ran,
    scan,
    stream,
    table,
    total,
    where,
    windowed,
)

from millpond.diagnostic import InputError, RefusedError
from millpond.plan import (
    Alias,
    Change,
    Changes,
    Difference,
    Distinct,
    Intersect,
    Item,
    Join,
    Node,
    Project,
    Results,
    SemiJoin,
    Side,
    Union,
)

S, T = stream("s", "a ts"), stream("t", "b ts")
U, V = stream("u", "a", timed=False), stream("v", "b", timed=False)
R = table("r", "k")
N = table("n", "k", retroactive=False)
NAMED = table("n", "k name", retroactive=False)


@dataclass(frozen=True)
class Case:
    sentence: str
    plan: Node
    events: list[Given]
    changes: list[str]
    answers: list[str] | None = None


def joined(left: Node, right: Node, on: str, to: str) -> Node:
    return where(cross(left, right), (on, "=", to))


S5, T5 = windowed(S, "RANGE", 5), windowed(T, "RANGE", 5)
MEETING: list[Given] = [("s", 1, 0), ("t", 1, 3), ("t", 1, 4), ("s", 2, 20)]


def outer(side: Side) -> Node:
    both = cross(S5, T5)
    return Join(S5, T5, side, (compared(both, "s.a", "=", "t.b"),))


def semi(*, anti: bool) -> Node:
    both = cross(S5, T5)
    return chosen(SemiJoin(S5, T5, (compared(both, "s.a", "=", "t.b"),), anti), "a")


def one(plan: Node, name: str = "a") -> Node:
    return chosen(plan, name)


def with_table(of: object) -> Node:
    assert isinstance(of, type(R))
    return chosen(joined(windowed(S, "RANGE", 10), scan(of), "s.a", f"{of.name}.k"), "s.a")


SLID = windowed(S, "RANGE", 3, 10)
SLID_JOIN = chosen(
    joined(windowed(S, "RANGE", 10, 10), windowed(T, "RANGE", 2, 10), "s.a", "t.b"), "s.a"
)
INTERNAL = chosen(
    joined(windowed(S, "RANGE", 5, internal=True), windowed(T, "RANGE", 5, internal=True),
           "s.a", "t.b"), "s.a",
)  # fmt: skip

CASES = [
    Case(
        "a join of windows lives while both rows are inside",
        chosen(joined(S5, T5, "s.a", "t.b"), "s.a"),
        MEETING,
        ["3: +(1)", "4: +(1)", "5: -(1)x2"],
        ["0 =", "3 = (1)", "4 = (1)x2", "5 =", "20 ="],
    ),
    Case(
        "a self-join sees each row under both names",
        chosen(cross(windowed(S, "RANGE", 2, alias="x"), windowed(S, "RANGE", 2, alias="y")),
               "x.a"),
        [("s", 1, 0), ("s", 2, 1), ("s", 3, 9)],
        ["0: +(1)", "1: +(1) +(2)x2", "2: -(1)x2 -(2)", "3: -(2)", "9: +(3)"],
    ),
    Case(
        "LEFT keeps what nothing matches",
        chosen(outer(Side.LEFT), "a b"),
        [("s", 1, 0), ("t", 1, 3), ("t", 2, 9)],
        ["0: +(1,None)", "3: -(1,None) +(1,1)", "5: -(1,1)"],
    ),
    Case(
        "RIGHT keeps what nothing matches",
        chosen(outer(Side.RIGHT), "a b"),
        [("s", 1, 0), ("t", 1, 3), ("t", 2, 4)],
        ["3: +(1,1)", "4: +(None,2)"],
    ),
    Case(
        "FULL keeps both",
        chosen(outer(Side.FULL), "a b"),
        [("s", 1, 0), ("t", 2, 3), ("s", 2, 4)],
        ["0: +(1,None)", "3: +(None,2)", "4: -(None,2) +(2,2)"],
    ),
    Case(
        "EXISTS has a row once, however many match",
        semi(anti=False),
        [*MEETING[:3], ("s", 9, 8)],
        ["3: +(1)", "5: -(1)"],
    ),
    Case(
        "NOT EXISTS takes a row back when a match comes",
        semi(anti=True),
        [("s", 1, 0), ("s", 2, 0), ("t", 1, 2), ("s", 1, 9)],
        ["0: +(1) +(2)", "2: -(1)", "5: -(2)", "9: +(1)"],
    ),
    Case(
        "UNION ALL adds up",
        Union((one(S5), one(T5, "b"))),
        [("s", 1, 0), ("t", 1, 0), ("s", 2, 9)],
        ["0: +(1)x2", "5: -(1)x2", "9: +(2)"],
    ),
    Case(
        "EXCEPT ALL has a row as often as the left has it more",
        Difference(one(S5), one(T5, "b")),
        [("s", 1, 0), ("s", 1, 1), ("t", 1, 2), ("s", 2, 20)],
        ["0: +(1)", "1: +(1)", "2: -(1)", "5: -(1)", "20: +(2)"],
    ),
    Case(
        "INTERSECT ALL has a row as often as both have it",
        Intersect(one(S5), one(T5, "b")),
        [("s", 1, 0), ("s", 1, 1), ("t", 1, 2), ("t", 1, 3), ("t", 1, 3), ("s", 2, 20)],
        ["2: +(1)", "3: +(1)", "5: -(1)", "6: -(1)"],
    ),
    Case(
        "DISTINCT goes when the last of the equal rows does",
        Distinct(one(S5)),
        [("s", 1, 0), ("s", 1, 2), ("s", 2, 20)],
        ["0: +(1)", "7: -(1)", "20: +(2)"],
        ["0 = (1)", "2 = (1)", "7 =", "20 = (2)"],
    ),
    Case(
        "NULLs are one group, and groups that are empty have no row",
        total(windowed(S, "RANGE", 5), "COUNT", by="a"),
        [("s", None, 0), ("s", None, 1), ("s", 1, 2), ("s", 1, 20)],
        ["0: +(None,1)", "1: -(None,1) +(None,2)", "2: +(1,1)", "5: -(None,2) +(None,1)",
         "6: -(None,1)", "7: -(1,1)", "20: +(1,1)"],
    ),
    Case(
        "a change of a table touches rows that came before, at its instant",
        with_table(R),
        [("s", 1, 0), ("r", 1), ("s", 2, 4), ("-r", 1), ("s", 1, 20)],
        ["0: +(1)", "4: -(1)"],
    ),
    Case(
        "an instant of a table is one of the query, also where nothing changes",
        with_table(R),
        [("s", 1, 0), ("@time", 2), ("r", 7), ("s", 2, 4)],
        [],
        ["0 =", "2 =", "4 ="],
    ),
    Case(
        "first contents are there from the start, and are no instant",
        with_table(R),
        [("r", 1), ("r", 2), ("-r", 2), ("s", 1, 3), ("s", 2, 4)],
        ["3: +(1)"],
        ["3 = (1)", "4 = (1)"],
    ),
    Case(
        "what a table that is not retroactive held when a row came is what the row meets",
        chosen(joined(windowed(S, "RANGE", 10), scan(NAMED), "s.a", "n.k"), "a name"),
        [("n", 1, 7), ("s", 1, 0), ("s", 1, 3), ("-n", 1, 7), ("n", 1, 8), ("s", 1, 5),
         ("s", 2, 20)],
        ["0: +(1,7)", "3: +(1,8)", "5: +(1,8)", "10: -(1,7)", "13: -(1,8)", "15: -(1,8)"],
    ),
    Case(
        "changes of an instant come before its rows, and touch no earlier ones",
        with_table(N),
        [("s", 1, 0), ("s", 1, 4), ("n", 1), ("s", 9, 5)],
        ["4: +(1)"],
    ),
    Case(
        "a table that is not retroactive may stand first, or in an EXISTS",
        chosen(SemiJoin(windowed(S, "RANGE", 10), scan(N),
                        (compared(cross(windowed(S, "RANGE", 10), scan(N)), "a", "=", "k"),),
                        True), "a"),
        [("n", 1), ("s", 1, 0), ("s", 2, 1), ("@time", 2), ("n", 2), ("-n", 1), ("s", 1, 3),
         ("s", 2, 4)],
        ["1: +(2)", "3: +(1)"],
    ),
    Case(
        "columns keep their order where a table that is not retroactive stands first",
        chosen(where(cross(scan(N), windowed(S, "RANGE", 10)), ("k", "<", "a")), "k a"),
        [("n", 1), ("s", 2, 0), ("s", 0, 1)],
        ["0: +(1,2)"],
    ),
    Case(
        "a left join with a table that is not retroactive",
        chosen(Join(windowed(S, "RANGE", 10), scan(NAMED), Side.LEFT,
                    (compared(cross(windowed(S, "RANGE", 10), scan(NAMED)), "a", "=", "k"),)),
               "a name"),
        [("s", 1, 0), ("n", 1, 7), ("s", 1, 1), ("s", 2, 2)],
        ["0: +(1,7)", "1: +(1,7)", "2: +(2,None)"],
    ),
    Case(
        "ISTREAM gives what the answer has more, for its instant",
        Changes(one(S5), Change.ISTREAM),
        [("s", 1, 0), ("s", 1, 2), ("s", 2, 20)],
        ["0: +(1)", "2: +(1)", "20: +(2)"],
        ["0 = (1)", "2 = (1)", "5 =", "7 =", "20 = (2)"],
    ),
    Case(
        "DSTREAM gives what it has less",
        Changes(one(S5), Change.DSTREAM),
        [("s", 1, 0), ("s", 1, 2), ("s", 2, 20)],
        ["5: +(1)", "7: +(1)"],
    ),
    Case(
        "RSTREAM gives all of it at every instant",
        Changes(one(S5), Change.RSTREAM),
        [("s", 1, 0), ("s", 2, 2), ("s", 3, 20)],
        ["0: +(1)", "2: +(1) +(2)", "5: +(2)", "20: +(3)"],
        ["0 = (1)", "2 = (1) (2)", "5 = (2)", "7 =", "20 = (3)"],
    ),
    Case(
        "RSTREAM of a sliding query gives its answer at every boundary",
        Changes(one(windowed(S, "RANGE", 20, 5)), Change.RSTREAM),
        [("s", 1, 3), ("s", 2, 20)],
        ["5: +(1)", "10: +(1)", "15: +(1)", "20: +(1)"],
    ),
    Case(
        "ISTREAM of a sliding query is the difference of consecutive refreshes",
        Changes(one(SLID), Change.ISTREAM),
        [("s", 1, 1), ("s", 2, 8), ("s", 3, 20)],
        ["10: +(2)"],
    ),
    Case(
        "ISTREAM_RESTORE is all that came since the last refresh, short-lived rows too",
        Changes(one(SLID), Change.ISTREAM, restore=True),
        [("s", 1, 1), ("s", 2, 8), ("s", 3, 20)],
        ["10: +(1) +(2)"],
    ),
    Case(
        "DSTREAM_RESTORE is all that went",
        Changes(one(SLID), Change.DSTREAM, restore=True),
        [("s", 1, 1), ("s", 2, 8), ("s", 3, 20)],
        ["10: +(1)", "20: +(2)"],
    ),
    Case(
        "RSTREAM_RESTORE has the answer and the short-lived rows",
        Changes(one(SLID), Change.RSTREAM, restore=True),
        [("s", 1, 1), ("s", 2, 8), ("s", 3, 20)],
        ["10: +(1) +(2)"],
    ),
    Case(
        "results of a join that came and went between refreshes are restored",
        Changes(SLID_JOIN, Change.ISTREAM, restore=True),
        [("t", 1, 2), ("s", 1, 3), ("s", 1, 6), ("s", 2, 11)],
        ["10: +(1)"],
    ),
    Case(
        "after every M-th row, that row is in what is restored",
        Changes(one(windowed(U, "ROWS", 1, 2)), Change.ISTREAM, restore=True),
        [("u", 1), ("u", 2), ("u", 3), ("u", 4)],
        ["2: +(1) +(2)", "4: +(3) +(4)"],
    ),
    Case(
        "without a SLIDE there is nothing to restore",
        Changes(one(windowed(U, "ROWS", 1)), Change.ISTREAM, restore=True),
        [("u", 1), ("u", 1), ("u", 3)],
        ["1: +(1)", "3: +(3)"],
    ),
    Case(
        "results of INTERNAL windows stay, and only rows that met make one",
        INTERNAL,
        [("s", 1, 0), ("t", 1, 4), ("t", 1, 5), ("s", 2, 20)],
        ["4: +(1)"],
        ["0 =", "4 = (1)", "5 = (1)", "20 = (1)"],
    ),
    Case(
        "an INTERNAL window beside another: results go with the other's rows",
        chosen(joined(windowed(S, "RANGE", 5, internal=True), windowed(T, "RANGE", 20), "s.a",
                      "t.b"), "s.a"),
        [("s", 1, 0), ("t", 1, 4), ("t", 1, 6), ("s", 2, 30)],
        ["4: +(1)", "24: -(1)"],
    ),
    Case(
        "every result of an aggregate is given when a row comes, and when it changes",
        Results(total(windowed(S, "RANGE", 5, internal=True), "SUM", "a")),
        [("s", 1, 0), ("s", 0, 1), ("s", 2, 20)],
        ["0: +(1)", "1: +(1)", "5: +(0)", "6: +(None)", "20: +(2)"],
    ),
    Case(
        "a window on results: the last N given",
        windowed(Alias(Results(total(windowed(U, "ROWS", 2), "SUM", "a")), "w"), "ROWS", 2),
        [("u", 1), ("u", 2), ("u", 4)],
        ["1: +(1)", "2: +(3)", "3: -(1) +(6)"],
    ),
    Case(
        "a sum over the last results of a sliding sum",
        total(windowed(Alias(Results(total(windowed(S, "RANGE", 5, 5), "SUM", "a")), "w"),
                       "ROWS", 2), "SUM", "sum"),
        [("s", 1, 0), ("s", 2, 6), ("s", 4, 11), ("s", 0, 15)],
        ["5: +(1)", "10: -(1) +(3)", "15: -(3) +(6)"],
    ),
    Case(
        "a window on ISTREAM has rows at the instants at which they are given",
        chosen(windowed(Alias(Changes(one(windowed(S, "RANGE", 10)), Change.DSTREAM), "d"),
                        "RANGE", 3), "d.a"),
        [("s", 1, 0), ("s", 2, 30)],
        ["10: +(1)", "13: -(1)"],
    ),
    Case(
        "rows of one instant come into a derived stream in the order of output",
        chosen(windowed(Alias(Changes(one(windowed(S, "RANGE", 1)), Change.ISTREAM), "i"),
                        "ROWS", 1), "i.a"),
        [("s", 3, 0), ("s", 1, 0), ("s", 2, 0)],
        ["0: +(3)"],
    ),
    Case(
        "a derived stream without a window is all that was given",
        total(Alias(Changes(one(windowed(S, "RANGE", 2)), Change.RSTREAM), "r"), "COUNT"),
        [("s", 1, 0), ("s", 2, 1), ("s", 3, 9)],
        ["0: +(1)", "1: -(1) +(3)", "2: -(3) +(4)", "9: -(4) +(5)"],
    ),
    Case(
        "a stream that does not slide makes instants of its own rows",
        chosen(cross(windowed(S, "RANGE", 5, 5), windowed(T, "RANGE", 3)), "a b"),
        [("s", 1, 1), ("t", 1, 4), ("t", 2, 6), ("t", 3, 20)],
        ["5: +(1,1)", "6: +(1,2)", "7: -(1,1)", "9: -(1,2)"],
        ["1 =", "4 =", "5 = (1,1)", "6 = (1,1) (1,2)", "7 = (1,2)", "9 =", "20 ="],
    ),
    Case(
        "a change of a table is an instant of a sliding query, from its first boundary on",
        chosen(joined(windowed(S, "RANGE", 20, 10), scan(R), "s.a", "r.k"), "s.a"),
        [("s", 1, 3), ("r", 5), ("@time", 12), ("r", 1), ("s", 2, 20)],
        ["12: +(1)"],
        ["10 =", "12 = (1)", "20 = (1)"],
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.sentence)
def test_plans_are_what_the_contract_and_the_paper_say(case: Case) -> None:
    assert ran(case.plan, case.events) == case.changes
    assert ran(case.plan, case.events, size=1) == case.changes
    if case.answers is not None:
        assert ran(case.plan, case.events, emit="answers") == case.answers
        assert ran(case.plan, case.events, emit="answers", size=1) == case.answers


def test_the_last_answer_of_a_stream_is_the_whole_stream() -> None:
    plan = Changes(one(S5), Change.ISTREAM)
    events: list[Given] = [("s", 1, 0), ("s", 1, 2), ("s", 2, 20)]
    assert ran(plan, events, emit="final") == ["(1)x2 (2)"]


def test_filters_are_asked_early_only_where_that_raises_nothing_new() -> None:
    """t.b = 0 would divide by zero times something; s.a > 5 keeps it from being asked."""
    both = cross(windowed(U, "ROWS", 9), windowed(V, "ROWS", 9))
    plan = where(both, ("u.a", ">", 5), ("u.a", "=", "v.b"))
    assert ran(chosen(plan, "u.a"), [("u", 6), ("v", 6), ("u", 1), ("v", 1)]) == ["2: +(6)"]


def test_an_expression_without_a_value_stops_the_run_after_what_was_said_before() -> None:
    huge = 2**62
    source = scan(U)
    plan = Project(source, (Item(quotient(source, "a", "a", "+"), "twice"),))
    for size in (1, 2, 10):
        with pytest.raises(InputError) as caught:
            ran(plan, [("u", 1), ("u", huge), ("u", 2)], size=size)
        (found,) = caught.value.diagnostics
        assert found.code == "MP309"
        assert found.span is not None


def test_a_run_stops_above_the_units_that_it_may_hold() -> None:
    with pytest.raises(RefusedError) as caught:
        ran(chosen(scan(S), "a"), [("s", 1, 0), ("s", 2, 1), ("s", 3, 2)], limit=3)
    assert caught.value.exit_code == 1
    assert caught.value.diagnostics[0].code == "MP407"


def test_minus_zero_and_zero_are_one_group() -> None:
    plan = total(windowed(replace(U, name="u"), "ROWS", 9), "COUNT", by="a")
    assert ran(plan, [("u", 0.0), ("u", -0.0)])[-1].endswith("(0.0,2)")


def test_columns_are_found_by_alias() -> None:
    both = cross(windowed(S, "RANGE", 5, alias="x"), windowed(S, "RANGE", 5, alias="y"))
    assert column(both, "y.a").alias == "y"
