"""Windows by definition: what is inside at the boundaries, worked out by hand."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from tests.run.plans import Given, chosen, ran, scan, stream, total, windowed

from millpond.plan import Assign, Assigned, Node, WindowFunction

S = stream("s", "a ts")
K = stream("s", "k a ts")
U = stream("s", "a", timed=False)
P = stream("s", "k a", timed=False)


@dataclass(frozen=True)
class Case:
    sentence: str
    plan: Node
    events: list[Given]
    changes: list[str]
    answers: list[str] | None = None


def rows(*pairs: tuple[object, ...]) -> list[Given]:
    return [("s", *each) for each in pairs]


def assigned(
    kind: str, size: int, slide: int = 1, *, by: str = "", close: bool = True, of: object = S
) -> Assign:
    assert isinstance(of, type(S))
    function = WindowFunction(Assigned(kind), size, slide, tuple(by.split()), close)
    return Assign(scan(of), function)


def bounds(plan: Assign) -> Node:
    return chosen(plan, "a window_start window_end")


CASES = [
    Case(
        "RANGE T holds a row while ts <= now < ts + T",
        chosen(windowed(S, "RANGE", 5), "a"),
        rows((1, 10), (2, 14), (3, 15), (4, 21)),
        ["10: +(1)", "14: +(2)", "15: -(1) +(3)", "19: -(2)", "20: -(3)", "21: +(4)"],
        ["10 = (1)", "14 = (1) (2)", "15 = (2) (3)", "19 = (3)", "20 =", "21 = (4)"],
    ),
    Case(
        "an expiry that changes no answer is no instant",
        total(windowed(S, "RANGE", 5), "MAX", "a"),
        rows((1, 10), (9, 12), (1, 20)),
        ["10: +(1)", "12: -(1) +(9)", "17: -(9) +(None)", "20: -(None) +(1)"],
        ["10 = (1)", "12 = (9)", "17 = (None)", "20 = (1)"],
    ),
    Case(
        "an instant of a row is one also where nothing changes",
        chosen(windowed(S, "RANGE", 1), "a"),
        rows((1, 10), (1, 11), (1, 11)),
        ["10: +(1)", "11: +(1)"],
        ["10 = (1)", "11 = (1)x2"],
    ),
    Case(
        "rows of one timestamp are one instant, whatever their order",
        chosen(windowed(S, "RANGE", 2), "a"),
        rows((2, 10), (1, 10)),
        ["10: +(1) +(2)"],
    ),
    Case(
        "no window: every row so far",
        chosen(scan(S), "a"),
        rows((1, 10), (1, 20)),
        ["10: +(1)", "20: +(1)"],
        ["10 = (1)", "20 = (1)x2"],
    ),
    Case(
        "RANGE T SLIDE S at a boundary τ holds τ - T <= ts < τ",
        chosen(windowed(S, "RANGE", 10, 5), "a"),
        rows((1, 0), (2, 4), (3, 5), (4, 10), (5, 21)),
        ["5: +(1) +(2)", "10: +(3)", "15: -(1) -(2) +(4)", "20: -(3)"],
        ["5 = (1) (2)", "10 = (1) (2) (3)", "15 = (3) (4)", "20 = (4)"],
    ),
    Case(
        "a sliding query has an answer at every boundary, changed or not, from its first on",
        chosen(windowed(S, "RANGE", 20, 5), "a"),
        rows((1, 7), (2, 26)),
        ["10: +(1)"],
        ["10 = (1)", "15 = (1)", "20 = (1)", "25 = (1)"],
    ),
    Case(
        "a row on a boundary comes in at the next one",
        chosen(windowed(S, "RANGE", 5, 5), "a"),
        rows((1, 10), (2, 20)),
        ["15: +(1)", "20: -(1)"],
        ["15 = (1)", "20 ="],
    ),
    Case(
        "a row that is in no window of a short range is never seen",
        chosen(windowed(S, "RANGE", 2, 10), "a"),
        rows((1, 3), (2, 8), (3, 20)),
        ["10: +(2)", "20: -(2)"],
    ),
    Case(
        "boundaries are multiples also below zero",
        chosen(windowed(S, "RANGE", 5, 5), "a"),
        rows((1, -7), (2, -5), (3, 0)),
        ["-5: +(1)", "0: -(1) +(2)"],
    ),
    Case(
        "a global aggregate of a sliding query comes first at its first boundary",
        total(windowed(S, "RANGE", 2, 10), "COUNT"),
        rows((1, 3), (2, 11)),
        ["10: +(0)"],
        ["10 = (0)"],
    ),
    Case(
        "UNBOUNDED SLIDE S has the rows before the last boundary",
        chosen(windowed(S, "UNBOUNDED", None, 10), "a"),
        rows((1, 3), (2, 10), (3, 30)),
        ["10: +(1)", "20: +(2)"],
        ["10 = (1)", "20 = (1) (2)", "30 = (1) (2)"],
    ),
    Case(
        "ROWS N holds the last N rows in order of arrival",
        chosen(windowed(S, "ROWS", 2), "a"),
        rows((1, 10), (2, 10), (3, 10), (4, 11)),
        ["10: +(2) +(3)", "11: -(2) +(4)"],
        ["10 = (2) (3)", "11 = (3) (4)"],
    ),
    Case(
        "ROWS N orders disordered rows by timestamp first",
        chosen(windowed(stream("s", "a ts", delay=5), "ROWS", 1), "a"),
        rows((1, 12), (2, 10), (3, 20)),
        ["10: +(2)", "12: -(2) +(1)", "20: -(1) +(3)"],
    ),
    Case(
        "ROWS N SLIDE M changes after every M-th row",
        chosen(windowed(U, "ROWS", 3, 2), "a"),
        rows((1,), (2,), (3,), (4,), (5,)),
        ["2: +(1) +(2)", "4: -(1) +(3) +(4)"],
        ["2 = (1) (2)", "4 = (2) (3) (4)"],
    ),
    Case(
        "ROWS N SLIDE M with N < M leaves rows out",
        chosen(windowed(U, "ROWS", 1, 2), "a"),
        rows((1,), (2,), (3,), (2,)),
        ["2: +(2)"],
        ["2 = (2)", "4 = (2)"],
    ),
    Case(
        "PARTITION BY has a window for each value, NULL one of them",
        chosen(windowed(P, "ROWS", 1, by="k"), "k a"),
        rows((1, 1), (None, 2), (1, 3), (None, 4)),
        [
            "1: +(1,1)", "2: +(None,2)", "3: -(1,1) +(1,3)", "4: -(None,2) +(None,4)",
        ],
    ),
    Case(
        "SLIDE M counts the rows of a partition",
        chosen(windowed(P, "ROWS", 2, 2, by="k"), "k a"),
        rows((1, 1), (2, 2), (1, 3), (2, 4)),
        ["3: +(1,1) +(1,3)", "4: +(2,2) +(2,4)"],
        ["3 = (1,1) (1,3)", "4 = (1,1) (1,3) (2,2) (2,4)"],
    ),
    Case(
        "NOW has the rows of this instant",
        chosen(windowed(S, "RANGE", 1), "a"),
        rows((1, 10), (2, 12)),
        ["10: +(1)", "11: -(1)", "12: +(2)"],
    ),
    Case(
        "TUMBLE on close adds a window's rows at its end, and keeps them",
        bounds(assigned("TUMBLE", 10)),
        rows((1, 0), (2, 9), (3, 10), (4, 20), (5, 39)),
        ["10: +(1,0,10) +(2,0,10)", "20: +(3,10,20)", "30: +(4,20,30)"],
        [
            "0 =", "9 =", "10 = (1,0,10) (2,0,10)", "20 = (1,0,10) (2,0,10) (3,10,20)",
            "30 = (1,0,10) (2,0,10) (3,10,20) (4,20,30)",
            "39 = (1,0,10) (2,0,10) (3,10,20) (4,20,30)",
        ],
    ),
    Case(
        "TUMBLE with changes has rows at once",
        bounds(assigned("TUMBLE", 10, close=False)),
        rows((1, 0), (2, 10)),
        ["0: +(1,0,10)", "10: +(2,10,20)"],
    ),
    Case(
        "HOP has a row once for each window that it is in",
        bounds(assigned("HOP", 10, 5)),
        rows((1, 0), (2, 7), (3, 20)),
        ["5: +(1,-5,5)", "10: +(1,0,10) +(2,0,10)", "15: +(2,5,15)"],
    ),
    Case(
        "HOP with gaps leaves rows out",
        bounds(assigned("HOP", 2, 10)),
        rows((1, 1), (2, 2), (3, 30)),
        ["2: +(1,0,2)"],
    ),
    Case(
        "a session is [first, last + gap), and closes once",
        bounds(assigned("SESSION", 5)),
        rows((1, 0), (2, 4), (3, 9), (4, 30)),
        ["9: +(1,0,9) +(2,0,9)", "14: +(3,9,14)"],
    ),
    Case(
        "rows less than a gap apart belong together",
        bounds(assigned("SESSION", 5)),
        rows((1, 0), (2, 4), (3, 8), (4, 13)),
        ["13: +(1,0,13) +(2,0,13) +(3,0,13)"],
    ),
    Case(
        "a session with changes takes back what it said when it grows",
        bounds(assigned("SESSION", 5, close=False)),
        rows((1, 0), (2, 4), (3, 9)),
        ["0: +(1,0,5)", "4: -(1,0,5) +(1,0,9) +(2,0,9)", "9: +(3,9,14)"],
    ),
    Case(
        "sessions are of a partition",
        chosen(assigned("SESSION", 5, by="k", of=K), "k a window_start window_end"),
        rows((1, 1, 0), (2, 2, 4), (1, 3, 8), (1, 4, 20)),
        ["5: +(1,1,0,5)", "9: +(2,2,4,9)", "13: +(1,3,8,13)"],
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.sentence)
def test_windows_are_what_the_contract_says(case: Case) -> None:
    assert ran(case.plan, case.events) == case.changes
    assert ran(case.plan, case.events, size=1) == case.changes
    if case.answers is not None:
        assert ran(case.plan, case.events, emit="answers") == case.answers
        assert ran(case.plan, case.events, emit="answers", size=1) == case.answers
        assert ran(case.plan, case.events, emit="final") == [
            case.answers[-1].partition("=")[2].strip()
        ]


def test_a_gap_of_a_million_boundaries_takes_no_million_evaluations() -> None:
    plan = chosen(windowed(S, "RANGE", 10, 1), "a")
    assert ran(plan, rows((1, 0), (2, 10**15))) == ["1: +(1)", f"{11}: -(1)"]
