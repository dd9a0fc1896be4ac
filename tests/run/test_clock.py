"""Clocks: what is closed and what is late, where output is held back, and how sources merge."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from tests.run.plans import Given, chosen, cross, event, ran, scan, session, stream, table, windowed

from millpond.plan import Node
from millpond.run import Event, Op, Reject, merged
from millpond.schema import TIMESTAMP, Column, Stream, Time

S, T = stream("s", "a ts"), stream("t", "b ts")
LATE_BY_2 = stream("s", "a ts", delay=2)
U = stream("u", "a", timed=False)
R = table("r", "k")


def rows(of: Stream) -> Node:
    return chosen(windowed(of, "RANGE", 5), of.columns[0].name)


def both(left: Stream, right: Stream) -> Node:
    return chosen(cross(windowed(left, "RANGE", 5), windowed(right, "RANGE", 5)), "a b")


@dataclass(frozen=True)
class Case:
    sentence: str
    plan: Node
    events: list[Given]
    changes: list[str]
    late: list[Given] | None = None


CASES = [
    Case(
        "rows wait for the delay, and come sorted",
        rows(LATE_BY_2),
        [("s", 1, 10), ("s", 2, 8), ("s", 3, 12)],
        ["8: +(2)", "10: +(1)", "12: +(3)"],
    ),
    Case(
        "a row on the clock is not late, one below it is",
        rows(LATE_BY_2),
        [("s", 1, 10), ("s", 2, 8), ("s", 3, 7)],
        ["8: +(2)", "10: +(1)"],
        [("s", 3, 7)],
    ),
    Case(
        "no delay declared is none",
        rows(S),
        [("s", 1, 10), ("s", 2, 10), ("s", 3, 9)],
        ["10: +(1) +(2)"],
        [("s", 3, 9)],
    ),
    Case(
        "the largest delay of the query's streams holds for all of them",
        both(LATE_BY_2, T),
        [("t", 1, 10), ("t", 2, 8), ("s", 1, 8), ("s", 9, 7)],
        ["8: +(1,2)", "10: +(1,1)"],
        [("s", 9, 7)],
    ),
    Case(
        "a late row does not move the clock or an answer",
        rows(S),
        [("s", 1, 10), ("s", 2, 4), ("s", 3, 10)],
        ["10: +(1) +(3)"],
        [("s", 2, 4)],
    ),
    Case(
        "@time closes what lies below it, no delay taken off",
        rows(LATE_BY_2),
        [("s", 1, 10), ("@time", 12), ("s", 2, 11), ("s", 3, 12)],
        ["10: +(1)", "12: +(3)"],
        [("s", 2, 11)],
    ),
    Case(
        "@time runs expiries below it, and time never goes back",
        rows(S),
        [("s", 1, 10), ("@time", 16), ("@time", 3), ("s", 2, 15)],
        ["10: +(1)", "15: -(1)"],
        [("s", 2, 15)],
    ),
    Case(
        "an expiry on @time itself is not closed by it",
        rows(S),
        [("s", 1, 10), ("@time", 15)],
        ["10: +(1)"],
    ),
    Case(
        "the end of input closes through the largest timestamp, expiries at it too",
        both(S, T),
        [("s", 1, 0), ("t", 1, 0), ("t", 2, 5)],
        ["0: +(1,1)", "5: -(1,1)"],
    ),
    Case(
        "time does not run on at the end",
        rows(S),
        [("s", 1, 10), ("s", 2, 11)],
        ["10: +(1)", "11: +(2)"],
    ),
    Case(
        "a change of a table takes effect at the largest time read so far",
        chosen(cross(windowed(LATE_BY_2, "RANGE", 50), scan(R)), "a k"),
        [("s", 1, 10), ("r", 7), ("s", 2, 9), ("s", 3, 20)],
        ["10: +(1,7) +(2,7)", "20: +(3,7)"],
    ),
    Case(
        "a change of a table takes effect when it says",
        chosen(cross(windowed(LATE_BY_2, "RANGE", 50), scan(R)), "a k"),
        [("s", 1, 10), ("r@9", 7), ("r@15", 8), ("s", 2, 20)],
        ["10: +(1,7)", "15: +(1,8)", "20: +(2,7) +(2,8)"],
    ),
    Case(
        "a change of a table below the clock is late",
        chosen(cross(windowed(S, "RANGE", 50), scan(R)), "a k"),
        [("s", 1, 10), ("r@9", 7), ("s", 2, 20)],
        [],
        [("r@9", 7)],
    ),
    Case(
        "a change of a table at a time that was set is said at the end",
        chosen(cross(windowed(S, "RANGE", 50), scan(R)), "a k"),
        [("s", 1, 10), ("@time", 17), ("r", 7)],
        ["17: +(1,7)"],
    ),
    Case(
        "a change of a table that is still to come does not happen",
        chosen(cross(windowed(S, "RANGE", 50), scan(R)), "a k"),
        [("s", 1, 10), ("r@90", 7), ("s", 2, 20)],
        [],
    ),
    Case(
        "a deletion that takes effect before its insertion cancels it",
        chosen(cross(windowed(S, "RANGE", 50), scan(R)), "a k"),
        [("s", 1, 10), ("r@15", 7), ("-r@12", 7), ("s", 2, 20)],
        [],
    ),
    Case(
        "when all streams have ended, time has come to their end",
        rows(stream("s", "a ts", until=20)),
        [("s", 1, 10), ("@end", "s")],
        ["10: +(1)", "15: -(1)"],
    ),
    Case(
        "one stream that ended does not move the clock of a query over two",
        both(stream("s", "a ts", until=20), T),
        [("s", 1, 3), ("@end", "s"), ("t", 1, 4)],
        ["4: +(1,1)"],
    ),
    Case(
        "untimed rows, changes of tables and ticks are counted, from 1",
        chosen(cross(windowed(U, "ROWS", 9), scan(R)), "a k"),
        [("r", 1), ("u", 1), ("@tick",), ("r", 2), ("u", 2)],
        ["1: +(1,1)", "3: +(1,2)", "4: +(2,1) +(2,2)"],
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.sentence)
def test_the_clock_is_what_the_contract_says(case: Case) -> None:
    for size in (None, 1, 2):
        late: list[Event] = []
        assert ran(case.plan, case.events, size=size, late=late) == case.changes
        expected = [event(each) for each in case.late or []]
        assert [each._replace(line=1) for each in late] == expected


def test_a_tick_is_an_instant_of_every_untimed_query() -> None:
    said = ran(rows_of(U), [("@tick",), ("u", 1), ("@tick",)], emit="answers")
    assert said == ["1 =", "2 = (1)", "3 = (1)"]


def rows_of(of: Stream) -> Node:
    return chosen(windowed(of, "ROWS", 1), "a")


def test_the_count_is_over_the_whole_file() -> None:
    said = ran(rows_of(U), [("x", 1), ("u", 1), ("x", 2), ("u", 2)], more=[stream_x()])
    assert said == ["2: +(1)", "4: -(1) +(2)"]


def stream_x() -> Stream:
    return stream("x", "a", timed=False)


# Several queries --------------------------------------------------------------------------------


def test_output_is_by_instant_and_then_by_query() -> None:
    plans = {"p": rows(S), "q": rows(T)}
    events: list[Given] = [("s", 1, 1), ("s", 2, 4), ("t", 3, 1), ("t", 4, 9), ("s", 5, 9)]
    for size in (None, 1, 3):
        assert ran(plans, events, size=size) == [
            "p 1: +(1)", "q 1: +(3)", "p 4: +(2)", "p 6: -(1)", "q 6: -(3)",
            "p 9: -(2) +(5)", "q 9: +(4)",
        ]  # fmt: skip


def test_nothing_is_said_while_another_query_may_say_something_earlier() -> None:
    under_way = session({"p": rows(S), "q": rows(T)})
    assert under_way.advance([event(("s", 1, 1)), event(("s", 2, 4))]) == []
    assert under_way.advance([event(("t", 1, 4))]) == ["p 1: +(1)"]
    assert under_way.finish(ended=False) == []


def test_untimed_output_comes_first_event_by_event() -> None:
    plans = {"p": rows(S), "u": rows_of(U)}
    events: list[Given] = [("s", 1, 1), ("u", 1), ("s", 2, 3), ("u", 2)]
    for size in (None, 1, 3):
        assert ran(plans, events, size=size) == [
            "u 2: +(1)", "p 1: +(1)", "u 4: -(1) +(2)", "p 3: +(2)",
        ]  # fmt: skip


def test_a_row_that_is_late_for_two_queries_is_late_once() -> None:
    late: list[Event] = []
    plans = {"p": rows(S), "q": rows(S), "r": rows(T)}
    ran(plans, [("s", 1, 9), ("s", 2, 1), ("t", 1, 1)], late=late)
    assert [each.row for each in late] == [(2, 1)]


def test_a_stop_closes_no_instant() -> None:
    assert ran(rows(S), [("s", 1, 1), ("s", 2, 3)], ended=False) == ["1: +(1)"]


def test_instants_batch_keeps_the_last_instant_of_each_piece() -> None:
    events: list[Given] = [("s", 1, 1), ("s", 2, 3), ("s", 3, 4), ("s", 4, 20)]
    assert ran(rows(S), events, instants="batch", size=2) == [
        "1: +(1)", "9: -(1)", "20: +(4)"
    ]  # fmt: skip
    assert ran(rows(S), events, instants="batch", emit="answers", size=3) == [
        "3 = (1) (2)", "9 =", "20 = (4)"
    ]  # fmt: skip


def random_events(rng: random.Random, size: int) -> list[Given]:
    found: list[Given] = []
    now = 0
    for _ in range(size):
        now += rng.choice([0, 0, 1, 2, 7])
        kind = rng.random()
        if kind < 0.1:
            found.append(("@time", now + rng.randint(-2, 3)))
        elif kind < 0.2:
            found.append(("r", rng.randint(0, 3)))
        elif kind < 0.3:
            found.append(("u", rng.randint(0, 3)))
        elif kind < 0.35:
            found.append(("@tick",))
        else:
            found.append((rng.choice("st"), rng.randint(0, 3), max(0, now - rng.randint(0, 4))))
    return found


@pytest.mark.parametrize("emit", ["changes", "answers", "final"])
def test_how_input_is_cut_never_shows(emit: str) -> None:
    plans = {
        "both": both(LATE_BY_2, T),
        "t": rows(T),
        "slide": chosen(windowed(T, "RANGE", 6, 4), "b"),
        "table": chosen(cross(windowed(LATE_BY_2, "RANGE", 9), scan(R)), "a k"),
        "counted": rows_of(U),
    }
    for seed in range(15):
        events = random_events(random.Random(seed), 40)
        whole = ran(plans, events, emit=emit)
        assert whole
        for size in (1, 3, 7):
            assert ran(plans, events, emit=emit, size=size) == whole, seed


# Sources ----------------------------------------------------------------------------------------


def pieces(of: Stream, *given: tuple[int, int]) -> Iterator[list[Event | Reject]]:
    return iter([[Event(of.name, each, 1)] for each in given])


def test_the_source_furthest_behind_is_read_next() -> None:
    slow = stream("t", "b ts", delay=3)
    found = merged({S: pieces(S, (1, 1), (2, 8), (3, 9)), slow: pieces(slow, (1, 4), (2, 6))}, 100)
    (piece,) = found
    said = [(e.stream, e.row[1] if e.row else None) for e in piece if isinstance(e, Event)]
    assert said == [
        ("s", 1), ("t", 4), ("s", 8), ("t", 6), ("t", None), ("s", 9), ("s", None)
    ]  # fmt: skip
    assert [e.op for e in piece if isinstance(e, Event) and not e.row] == [Op.END, Op.END]


def test_over_separate_sources_the_clock_is_that_of_the_one_furthest_behind() -> None:
    events: list[Given] = [("s", 1, 1), ("s", 2, 9), ("t", 1, 2), ("t", 2, 3), ("s", 3, 9)]
    assert ran(both(S, T), events, separate=True) == [
        "2: +(1,1)", "3: +(1,2)", "6: -(1,1) -(1,2)",
    ]  # fmt: skip
    late: list[Event] = []
    ran(both(S, T), [("s", 1, 9), ("t", 1, 8), ("t", 2, 7)], separate=True, late=late)
    assert [each.row for each in late] == [(2, 7)]


def test_a_source_that_ended_holds_nothing_up() -> None:
    events: list[Given] = [("s", 1, 1), ("t", 1, 1), ("t", 2, 9), ("@end", "s"), ("t", 3, 8)]
    late: list[Event] = []
    assert ran(both(S, T), events, separate=True, late=late)[0] == "1: +(1,1)"
    assert [each.row for each in late] == [(3, 8)]


def test_times_are_of_a_kind_of_their_own() -> None:
    stamped = Stream("w", (Column("a", U.columns[0].type), Column("ts", TIMESTAMP)),
                     time=Time("ts"))  # fmt: skip
    plans = {"w": rows(stamped), "p": rows(S)}
    events: list[Given] = [("w", 1, 1), ("s", 1, 5), ("w", 2, 2), ("s", 2, 6)]
    for size in (None, 1):
        assert ran(plans, events, size=size) == [
            "w 1: +(1)", "p 5: +(1)", "p 6: +(2)", "w 2: +(2)"
        ]  # fmt: skip
