"""The oracle says what the contract says on cases worked out by hand, boundaries first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from tests.run.oracle import Oracle
from tests.run.oracle_clock import read_logs
from tests.run.oracle_windows import lifetimes_sql, window_sql
from tests.strategies.expressions import Type
from tests.strategies.inputs import Clock, Declared, Event, Relation, Time
from tests.strategies.queries import random_case
from tests.strategies.query_text import Case, Kind, QueryText, WindowText

INTEGER, NONE = Time(Clock.INTEGER), Time(Clock.NONE)
A = Declared("a", Type.INT, "a INT")
TS = Declared("ts", Type.TIME, "ts BIGINT", nullable=False)
S = Relation("s", (A, TS), time=INTEGER)
LATE_S = replace(S, delay=3)
UNTIMED_S = Relation("s", (A,))
R = Relation("r", (A,), table=True)
N = Relation("n", (A,), table=True, retroactive=False)

Changes = list[tuple[int, int, int]]


def s(*rows: tuple[int, int]) -> list[Event]:
    """Rows of s: the value of a, and its time."""
    return [{"s": {"a": a, "ts": ts}} for a, ts in rows]


def over(window: WindowText, sql: str = "SELECT a FROM w", **more: Any) -> QueryText:
    """A query over a window called w, with one integer column."""
    return QueryText("", sql, (("a", Type.INT),), (window,), **more)


def window(kind: Kind, size: int = 0, slide: int | None = None, **more: Any) -> WindowText:
    """A window over s."""
    return WindowText("w", "s", ("a", "ts"), kind, size, slide, **more)


def case_of(
    query: QueryText, events: Sequence[Event], relations: Sequence[Relation] = (S,)
) -> Case:
    """A case of one query."""
    return Case(0, relations[0].time, tuple(relations), (query,), tuple(events))


def changes(
    query: QueryText, events: Sequence[Event], relations: Sequence[Relation] = (S,)
) -> Changes:
    """`at`, the value and how many more, in order."""
    oracle = Oracle(case_of(query, events, relations), query)
    return sorted((at, row[0], n) for at, row, n in oracle.changes())


def instants(query: QueryText, events: Sequence[Event]) -> list[int]:
    """When the query has an answer."""
    return [each.at for each in Oracle(case_of(query, events), query).answers() if each.said]


ROWS_OF_S = s((1, 2), (2, 4), (3, 9), (4, 14))

WINDOWS: list[tuple[str, WindowText, list[Event], Changes]] = [
    (
        "RANGE: inside at its own time, out at ts + T",
        window(Kind.RANGE, 5),
        ROWS_OF_S,
        [(2, 1, 1), (4, 2, 1), (7, 1, -1), (9, 2, -1), (9, 3, 1), (14, 3, -1), (14, 4, 1)],
    ),
    (
        "RANGE 1: out at the next time",
        window(Kind.RANGE, 1),
        s((1, 2), (2, 2), (3, 4)),
        [(2, 1, 1), (2, 2, 1), (3, 1, -1), (3, 2, -1), (4, 3, 1)],
    ),
    (
        "RANGE SLIDE: a row at the boundary waits for the next; one at τ - T is in",
        window(Kind.RANGE, 4, 2),
        s((1, 2), (2, 3), (3, 9)),
        [(4, 1, 1), (4, 2, 1), (8, 1, -1), (8, 2, -1)],
    ),
    (
        "RANGE SLIDE: at negative times, too",
        window(Kind.RANGE, 3, 3),
        s((1, -5), (2, -3), (3, 2)),
        [(-3, 1, 1), (0, 1, -1), (0, 2, 1)],
    ),
    (
        "UNBOUNDED SLIDE: rows below the boundary",
        window(Kind.UNBOUNDED, 0, 5),
        s((1, 4), (2, 5), (3, 11)),
        [(5, 1, 1), (10, 2, 1)],
    ),
    (
        "ROWS: the last ones, by arrival within an instant",
        window(Kind.ROWS, 2),
        s((1, 1), (2, 1), (3, 1), (4, 5)),
        [(1, 2, 1), (1, 3, 1), (5, 2, -1), (5, 4, 1)],
    ),
    (
        "ROWS SLIDE: after every M-th row",
        window(Kind.ROWS, 3, 2),
        s((1, 1), (2, 2), (3, 3), (4, 4), (5, 5)),
        [(2, 1, 1), (2, 2, 1), (4, 1, -1), (4, 3, 1), (4, 4, 1)],
    ),
    (
        "PARTITION BY ROWS: NULL is a value",
        window(Kind.ROWS, 1, partition=("a",)),
        [*s((1, 1), (1, 2), (2, 3)), {"s": {"a": None, "ts": 3}}, {"s": {"a": None, "ts": 4}}],
        [(1, 1, 1), (3, -9, 1), (3, 2, 1)],
    ),
    (
        "TUMBLE: once, at the window's end",
        window(Kind.HOP, 5, 5),
        s((1, 0), (2, 4), (3, 5), (4, 10)),
        [(5, 1, 1), (5, 2, 1), (10, 3, 1)],
    ),
    (
        "HOP: once for each window that contains it",
        window(Kind.HOP, 4, 2),
        s((1, 3), (2, 6), (3, 8)),
        [(4, 1, 1), (6, 1, 1), (8, 2, 1)],
    ),
    (
        "SESSION: closed by a gap, at last + gap; rows a gap apart are apart",
        window(Kind.SESSION, 3),
        s((1, 1), (2, 3), (3, 6), (4, 9)),
        [(6, 1, 1), (6, 2, 1), (9, 3, 1)],
    ),
]


@pytest.mark.parametrize(
    ("spec", "events", "expected"),
    [each[1:] for each in WINDOWS],
    ids=[each[0] for each in WINDOWS],
)
def test_windows(spec: WindowText, events: list[Event], expected: Changes) -> None:
    query = over(spec, "SELECT coalesce(a, -9) FROM w")
    assert changes(query, events) == expected


def test_a_session_that_merges_is_taken_back() -> None:
    spec = window(Kind.SESSION, 3, close=False)
    query = over(spec, "SELECT max(window_end) FROM w GROUP BY window_start")
    assert changes(query, s((1, 1), (2, 6), (3, 3))) == [(1, 4, 1), (6, 9, 1)]
    late = [replace(S, delay=5)]
    assert changes(query, s((1, 1), (2, 6), (3, 3)), late) == [
        (1, 4, 1), (3, 4, -1), (3, 6, 1), (6, 9, 1),
    ]  # fmt: skip


def test_a_sliding_query_answers_at_boundaries_and_nowhere_else() -> None:
    events = s((1, 3), (1, 20))
    assert instants(over(window(Kind.RANGE, 4, 4)), events) == [4, 8, 12, 16, 20]
    assert instants(over(window(Kind.RANGE, 4)), events) == [3, 7, 20]


def test_istream_of_a_sliding_query_is_the_difference_of_refreshes() -> None:
    events = s((1, 1), (1, 5), (2, 6), (1, 12))
    sliding = window(Kind.RANGE, 4, 4)
    assert changes(over(sliding, change="ISTREAM"), events) == [(4, 1, 1), (8, 2, 1)]
    assert changes(over(sliding, change="RSTREAM"), events) == [
        (4, 1, 1), (8, 1, 1), (8, 2, 1),
    ]  # fmt: skip


def test_restore_adds_what_came_and_went_between_refreshes() -> None:
    short = window(Kind.RANGE, 2, 10)
    events = s((1, 1), (1, 5), (2, 9), (3, 20))
    assert changes(over(short, change="ISTREAM"), events) == [(10, 2, 1)]
    restored = over(short, change="ISTREAM", restore=True)
    assert changes(restored, events) == [(10, 1, 2), (10, 2, 1)]


def test_results_of_a_window_stay_for_wstream() -> None:
    output = WindowText("out_", "results_", ("a",), Kind.ROWS, 2)
    query = over(window(Kind.RANGE, 1), output=output, tracked="SELECT a, enter_ FROM w")
    assert changes(query, s((1, 1), (1, 2), (2, 3), (3, 9))) == [
        (1, 1, 1), (2, 1, 1), (3, 1, -1), (3, 2, 1), (9, 1, -1), (9, 3, 1),
    ]  # fmt: skip


def test_an_internal_window_joins_only_what_met() -> None:
    inner = window(Kind.RANGE, 3, internal=True)
    other = replace(inner, name="v")
    met = "greatest(w.enter_, v.enter_) < least(w.exit_, v.exit_)"
    sql = f"SELECT w.a * 10 + v.a FROM w, v WHERE w.a < v.a AND {met}"
    query = replace(over(inner, sql), windows=(inner, other))
    assert changes(query, s((1, 1), (2, 3), (3, 5), (4, 9))) == [(3, 12, 1), (5, 23, 1)]


def test_a_table_is_retroactive_or_touches_later_rows_only() -> None:
    events = [{"r": {"a": 1}}, *s((1, 1), (2, 2)), {"r": {"a": 2}},
              {"r": {"a": 1}, "@op": "delete"}, *s((2, 3))]  # fmt: skip
    stream = window(Kind.UNBOUNDED)
    table = WindowText("v", "r", ("a",), Kind.TABLE)
    query = replace(over(stream, "SELECT w.a FROM w, v WHERE w.a = v.a"), windows=(stream, table))
    assert changes(query, events, (S, R)) == [(1, 1, 1), (2, 1, -1), (2, 2, 1), (3, 2, 1)]
    held = "v.enter_ <= w.enter_ AND w.enter_ < v.exit_"
    late = WindowText("v", "n", ("a",), Kind.TABLE, retroactive=False)
    query = replace(
        over(stream, f"SELECT w.a FROM w, v WHERE w.a = v.a AND {held}"), windows=(stream, late)
    )
    told = [{"n" if key == "r" else key: value for key, value in each.items()} for each in events]
    # Inside an instant the table's events come first: the row at 2 meets them.
    assert changes(query, told, (S, N)) == [(1, 1, 1), (2, 2, 1), (3, 2, 1)]


@pytest.mark.parametrize(
    ("events", "accepted", "late", "end"),
    [
        (s((1, 5), (2, 2), (3, 1), (4, 5)), [5, 2, 5], 1, 5),
        ([*s((1, 5)), {"@time": 5}, *s((2, 4), (3, 5))], [5, 5], 1, 5),
        ([*s((1, 5)), {"@time": 9}], [5], 0, 8),
        ([{"@time": 9}, *s((1, 8), (2, 9))], [9], 1, 9),
    ],
)
def test_the_clock_is_the_largest_time_less_the_delay_and_what_it_is_told(
    events: list[Event], accepted: list[int], late: int, end: int
) -> None:
    logs = read_logs(events, [LATE_S], frozenset("s"), INTEGER)
    assert ([each.at for each in logs.rows["s"]], logs.late, logs.end) == (accepted, late, end)


def test_without_time_instants_are_counted_over_the_file() -> None:
    events: list[Event] = [{"r": {"a": 7}}, {"s": {"a": 1}}, {"@tick": 1}, {"r": {"a": 1}},
                           {"s": {"a": 2}}]  # fmt: skip
    query = over(replace(window(Kind.ROWS, 1), columns=("a",)))
    assert changes(query, events, (UNTIMED_S, R)) == [(1, 1, 1), (4, 1, -1), (4, 2, 1)]


def test_contents_and_lifetimes_of_random_windows_agree() -> None:
    """The two ways in which windows are written down are one."""
    compared = 0
    for seed in range(40):
        case = random_case(seed)
        for query in case.queries:
            oracle = Oracle(case, query)
            made = {each.log for each in query.derived}
            for each in query.windows:
                if each.kind not in (Kind.RANGE, Kind.ROWS, Kind.UNBOUNDED) or each.log in made:
                    continue
                for at in range(case.time.origin, oracle.end + 1):
                    plain = replace(each, internal=False)
                    names = "n_, enter_, exit_"
                    inside = oracle.ask(f"SELECT {names} FROM ({window_sql(plain)})", at)
                    lives = f"SELECT {names} FROM ({lifetimes_sql(each)})"
                    held = oracle.ask(f"{lives} WHERE enter_ <= $now AND $now < exit_", at)
                    assert sorted(inside) == sorted(held)
                    compared += len(inside)
            oracle.close()
    assert compared > 1000
