"""Verdicts on queries over windows: the class, the number, and what windows hold over random
input is never more than they say (Golab, section 2.2.2; `plan/window.py` has the windows)."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from tests.memory.window_contents import (
    Logs,
    answers,
    logs_of,
    most_held,
    value_of,
    value_of_text,
)
from tests.strategies.queries import naming, random_case

from millpond.language import read_script
from millpond.memory import MemoryClass, Verdict, verdict_of
from millpond.memory.window_rows import all_places, different, rows
from millpond.memory.windows import has_windows
from millpond.plan import Assign, Extent, Node, Query, Script, Window, nodes, scans, stream_valued
from millpond.run.contents import Log
from millpond.run.definition import unaliased

TIMED = """
CREATE STREAM s (a INT, k TINYINT NOT NULL CHECK (k BETWEEN 1 AND 5), v BIGINT, ts TIMESTAMP,
    WATERMARK FOR ts AS ts);
CREATE STREAM t (a INT, k INT, x DOUBLE, ts TIMESTAMP, WATERMARK FOR ts AS ts);
CREATE TABLE r (k INT, name VARCHAR);
"""
COUNTED = """
CREATE STREAM s (a INT, k TINYINT NOT NULL CHECK (k BETWEEN 1 AND 5), ts BIGINT)
    WITH (time = 'ts', rows_per_instant = 2);
CREATE STREAM t (a INT, x DOUBLE, ts BIGINT, WATERMARK FOR ts AS ts);
CREATE STREAM u (a INT, ts BIGINT) WITH (time = 'ts', unit = 'second');
"""
ENDLESS = "rows that come later may be combined with them"


def verdict(declared: str, query: str) -> Verdict:
    (found,) = read_script(declared + query).queries
    return verdict_of(found)


GROUPED = "SELECT window_start, k, COUNT(*) AS n FROM {} GROUP BY window_start, window_end, k"
BY_MINUTE = "TUMBLE(TABLE {}, DESCRIPTOR(ts), INTERVAL '1' MINUTE)"
S, T = BY_MINUTE.format("s"), BY_MINUTE.format("t")
HOPS = "HOP(TABLE s, DESCRIPTOR(ts), INTERVAL '10' MINUTE, INTERVAL '1' HOUR)"


@pytest.mark.parametrize(
    ("declared", "query", "growth", "given"),
    [
        (TIMED, "SELECT a FROM s [RANGE 1 HOUR]", "rate of s x 1 hour", ["rows of s per hour"]),
        (TIMED, "SELECT a FROM s [NOW]", "rate of s x 1 instant", ["rows of s per instant"]),
        (
            TIMED,
            "SELECT a FROM s [RANGE 1 HOUR SLIDE 10 MINUTE]",
            "rate of s x 70 minutes",
            ["rows of s per 70 minutes"],
        ),
        (
            TIMED,
            "SELECT a FROM s [RANGE 10 MINUTE SLIDE 1 HOUR]",
            "rate of s x 10 minutes",
            ["rows of s per 10 minutes"],
        ),
        (
            COUNTED,
            "SELECT a FROM t [RANGE 7]",
            "rate of t x 7 instants",
            ["rows of t per 7 instants"],
        ),
        (
            COUNTED,
            "SELECT a FROM u [RANGE 90]",
            "rate of u x 90 seconds",
            ["rows of u per 90 seconds"],
        ),
        (
            TIMED,
            "SELECT s.a FROM s [RANGE 1 HOUR], t [RANGE 1 DAY] WHERE s.a = t.a",
            "rate of s x 1 hour + rate of t x 1 day",
            ["rows of s per hour", "rows of t per day"],
        ),
        (
            TIMED,
            "SELECT s.a FROM s [RANGE 1 HOUR] LEFT JOIN t [ROWS 5] ON s.a < t.a",
            "rate of s x 1 hour",
            ["rows of s per hour"],
        ),
        (
            TIMED,
            "SELECT s.k, COUNT(*) FROM s [RANGE 1 HOUR], t [RANGE 1 DAY] GROUP BY s.k",
            "rate of s x 1 hour + rate of t x 1 day",
            ["rows of s per hour", "rows of t per day"],
        ),
        (
            TIMED,
            "SELECT DISTINCT s.a, t.a AS b FROM s [RANGE 1 HOUR], t [RANGE 1 DAY]",
            "rate of s x 1 hour x rate of t x 1 day",
            ["rows of s per hour", "rows of t per day"],
        ),
        (
            TIMED,
            "SELECT a FROM s [RANGE 1 HOUR] WHERE NOT EXISTS "
            "(SELECT 1 FROM t [RANGE 1 HOUR] WHERE t.a = s.a)",
            "rate of s x 1 hour + rate of t x 1 hour",
            ["rows of s per hour", "rows of t per hour"],
        ),
        (
            TIMED,
            "ISTREAM(SELECT a FROM s [RANGE 1 HOUR] UNION SELECT a FROM t [ROWS 3])",
            "rate of s x 1 hour",
            ["rows of s per hour"],
        ),
        (TIMED, f"SELECT a, window_end FROM {S}", "rate of s x 1 minute", ["rows of s per minute"]),
        (
            TIMED,
            f"SELECT window_start, a, COUNT(*) AS n FROM {S} GROUP BY window_start, window_end, a",
            "rate of s x 1 minute",
            ["rows of s per minute"],
        ),
        (
            TIMED,
            f"SELECT window_start, MEDIAN(v) AS m FROM {HOPS} GROUP BY window_start, window_end",
            "rate of s x 1 hour",
            ["rows of s per hour"],
        ),
        (
            TIMED,
            f"SELECT x.a FROM {S} AS x JOIN {T} AS y "
            "ON x.window_start = y.window_start AND x.window_end = y.window_end AND x.a = y.a",
            "rate of s x 1 minute + rate of t x 1 minute",
            ["rows of s per minute", "rows of t per minute"],
        ),
    ],
)
def test_windows_of_time_hold_what_comes_in_their_length(
    declared: str, query: str, growth: str, given: list[str]
) -> None:
    found = verdict(declared, query)
    assert (found.memory, found.bounded, found.units) == (MemoryClass.WINDOW, None, None)
    assert (found.growth, list(found.given)) == (growth, given)
    assert [each.code for each in found.because] == ["MP205"]
    assert found.formula is not None
    assert found.state


@pytest.mark.parametrize(
    ("declared", "query", "memory", "units"),
    [
        # Rows of the window, times columns.
        (TIMED, "SELECT a FROM s [ROWS 10]", "constant", 40),
        (TIMED, "SELECT a FROM s [ROWS 10 SLIDE 4]", "constant", 52),
        (TIMED, "SELECT a FROM s [ROWS 3 SLIDE 10]", "constant", 20),
        (TIMED, "SELECT a FROM s [PARTITION BY k ROWS 3]", "constant", 60),
        (COUNTED, "SELECT a FROM s [RANGE 10]", "constant", 60),
        (COUNTED, "SELECT a FROM s [NOW]", "constant", 6),
        (COUNTED, "SELECT a FROM s [RANGE 10 SLIDE 3]", "constant", 78),
        (COUNTED, "SELECT s.a FROM s [RANGE 10], t [ROWS 5] WHERE s.a = t.a", "constant", 75),
        # The rows that DISTINCT has seen, with a count each; no more than the domain has.
        (COUNTED, "SELECT DISTINCT a FROM s [ROWS 10]", "constant", 30 + 20),
        (COUNTED, "SELECT DISTINCT k FROM s [ROWS 10]", "constant", 30 + 10),
        # Groups: keys and what is kept of each call; the values of those that do not subtract.
        (COUNTED, "SELECT k, COUNT(*), SUM(a) FROM s [ROWS 10] GROUP BY k", "constant", 30 + 20),
        (COUNTED, "SELECT k, MAX(a) FROM s [ROWS 10] GROUP BY k", "constant", 30 + 20 + 10),
        (COUNTED, "SELECT SUM(x) FROM t [ROWS 10]", "constant", 30 + 20 + 1),
        (COUNTED, "SELECT k, COUNT(DISTINCT a) FROM s [NOW] GROUP BY k", "constant", 6 + 4 + 4),
        # How often rows match.
        (COUNTED, "SELECT a FROM t [ROWS 9] WHERE a IN (SELECT a FROM s [NOW])", "constant", 44),
        (COUNTED, "SELECT a FROM t [ROWS 9] EXCEPT ALL SELECT a FROM s [NOW]", "constant", 55),
        # Groups of open windows; of an hour by ten minutes there are six.
        (
            TIMED,
            f"SELECT window_start, k, SUM(v) AS n FROM {S} GROUP BY window_start, window_end, k",
            "constant",
            5 * 5,
        ),
        (
            TIMED,
            GROUPED.format(HOPS),
            "constant",
            5 * 6 * 4,
        ),
        # Rows that are passed on.
        (TIMED, f"SELECT a FROM {S} EMIT CHANGES", "none", 0),
        (COUNTED, "SELECT a FROM s UNION ALL SELECT a FROM t [ROWS 3]", "constant", 9),
        # One row a microsecond, at most.
        (
            "CREATE STREAM s (a INT, ts TIMESTAMP) WITH (time = 'ts', rows_per_instant = 1);",
            "SELECT a FROM s [RANGE 1 MINUTE]",
            "impractical",
            120_000_000,
        ),
    ],
)
def test_what_windows_hold_is_a_number_where_their_rows_are(
    declared: str, query: str, memory: str, units: int
) -> None:
    found = verdict(declared, query)
    assert (found.memory, found.bounded, found.units) == (memory, True, units)
    assert sum(each.units or 0 for each in found.state) == units
    assert not found.given
    assert found.growth is None


@pytest.mark.parametrize(
    ("query", "why"),
    [
        (
            "SELECT s.a FROM s [RANGE 1 HOUR], t WHERE s.a = t.a",
            f"`t` has no window, and {ENDLESS}",
        ),
        ("SELECT s.a FROM s [ROWS 1], t [UNBOUNDED]", f"`t` has no window, and {ENDLESS}"),
        ("SELECT a FROM s [UNBOUNDED SLIDE 1 MINUTE]", "an UNBOUNDED window forgets nothing"),
        ("SELECT s.a FROM s [NOW] LEFT JOIN r ON s.k = r.k", "`r` is a table"),
        ("SELECT a FROM s [PARTITION BY a ROWS 3]", "`s.a` has no bound"),
        ("SELECT a FROM s [ROWS 3] UNION SELECT a FROM t", "`t` has no window, and DISTINCT"),
        (f"SELECT COUNT(*) FROM (SELECT a FROM {S}) AS x", "rows of TUMBLE stay"),
        (f"SELECT DISTINCT a FROM {S}", "rows of TUMBLE stay in the answer, and DISTINCT"),
        (
            f"SELECT x.a FROM {S} AS x JOIN {T} AS y ON x.a = y.a",
            ENDLESS,
        ),
        (
            f"SELECT x.a FROM {S} AS x JOIN {T} AS y ON x.window_start = y.window_end",
            "rows of TUMBLE stay",
        ),
        (
            f"SELECT x.a FROM {S} AS x JOIN {HOPS} AS y ON x.window_start = y.window_start",
            "rows of TUMBLE stay",
        ),
        (f"SELECT x.a FROM {S} AS x JOIN t [NOW] ON x.a = t.a", "rows of TUMBLE stay"),
        (f"SELECT RSTREAM a FROM {S}", "RSTREAM says again what stays"),
        (
            "SELECT a FROM SESSION(TABLE s, DESCRIPTOR(ts), INTERVAL '1' MINUTE)",
            "a session may go on for ever",
        ),
        ("SELECT COUNT(*) FROM (ISTREAM(SELECT a FROM s [NOW])) AS x", "a stream of changes"),
        (
            "SELECT a FROM (ISTREAM(SELECT a FROM s [NOW])) [RANGE 1 HOUR] AS x",
            "what a query gives",
        ),
        ("SELECT a FROM s [RANGE 1 HOUR INTERNAL]", "INTERNAL"),
        ("ISTREAM_RESTORE(SELECT a FROM s [RANGE 1 HOUR SLIDE 1 MINUTE])", "between two refreshes"),
    ],
)
def test_what_windows_do_not_bound_is_outside(query: str, why: str) -> None:
    found = verdict(TIMED, query)
    assert found.memory is MemoryClass.OUTSIDE
    assert why in found.because[0].text


def test_the_answer_and_the_buffer_are_kept_apart() -> None:
    closing = verdict(TIMED, f"SELECT a FROM {S}")
    assert (closing.answer.memory, closing.answer.units) == (MemoryClass.LINEAR, None)
    assert (closing.buffer.memory, closing.buffer.units) == (MemoryClass.WINDOW, None)
    counted = verdict(COUNTED, "SELECT a, ts FROM s [RANGE 10]")
    assert (counted.answer.memory, counted.answer.units) == (MemoryClass.CONSTANT, 60)
    assert (counted.buffer.memory, counted.buffer.units) == (MemoryClass.CONSTANT, 6)


def test_digits_grow_only_where_rows_are_counted_whose_number_is_not_known() -> None:
    by_window = f"SELECT k, COUNT(*) FROM {S} GROUP BY window_start, window_end, k"
    assert verdict(TIMED, by_window).bits == "log"
    assert verdict(TIMED, "SELECT COUNT(*) FROM s [ROWS 10]").bits == "constant"


def test_other_dialects_say_the_same() -> None:
    text = (
        TIMED
        + f"SELECT window_start, k, COUNT(*) AS n FROM {S} GROUP BY window_start, window_end, k"
    )
    of = [
        verdict_of(read_script(text, dialect=each).queries[0]) for each in ("cql", "spark", "flink")
    ]
    assert len({(each.memory, each.units, each.formula) for each in of}) == 1


# Over random input ------------------------------------------------------------------------------


def check_contents(script: Script, query: Query, logs: Logs) -> Counter[str]:
    """Raises if windows of a query hold more than its verdict says; what there was to see."""
    found = verdict_of(query)
    seen: Counter[str] = Counter()
    if not has_windows(query) or found.memory is MemoryClass.OUTSIDE:
        return seen
    seen[found.memory] += 1
    leaves = {
        each.fields[0].alias: each
        for each in nodes(query.root)
        if isinstance(each, Window | Assign)
    }
    for each in found.state:
        if each.kind == "rows":
            leaf = leaves[each.of]
            held = most_held(leaf, logs) * each_row(leaf)
            most = value_of_text(each.formula, script, logs)
            assert held <= most, each.formula
            assert each.units in (None, most)
            seen["full"] += held == most > 0
    return seen


def each_row(leaf: Window | Assign) -> int:
    """How many columns of a row are its stream's."""
    return len(leaf.input.fields)


def forgets(node: Node) -> bool:
    """Whether every stream below a node is read through a window that forgets."""
    windows = [each for each in nodes(node) if isinstance(each, Window)]
    return len(windows) == len(list(scans(node))) and all(
        each.spec.extent is not Extent.UNBOUNDED for each in windows
    )


def check_nodes(script: Script, query: Query, logs: Logs) -> int:
    """Raises if a node of a plan has more rows than are counted of it; how many were looked at."""
    if any(isinstance(each, Assign) for each in nodes(query.root)):
        return 0
    looked = 0
    root = unaliased(query.root)
    below = root.inputs[0] if stream_valued(root) else root
    for node in nodes(below):
        if stream_valued(node) or not forgets(node):
            continue
        many, few = rows(node), different(node, all_places(node))
        most = value_of(many, script, logs)
        least = value_of(few, script, logs)
        for answer in answers(query, node, logs):
            assert answer.total() <= most, f"{node}: {many}"
            assert len(answer) <= least, f"{node}: {few}"
        looked += 1
    return looked


def check_random(seeds: range) -> Counter[str]:
    seen: Counter[str] = Counter()
    for seed in seeds:
        case = random_case(seed)
        with naming(case):
            script = read_script(case.text)
            logs = logs_of(case, script)
            for query in script.queries:
                found = check_contents(script, query, logs)
                seen += found
                if found:
                    seen["nodes"] += check_nodes(script, query, logs)
    return seen


def test_windows_hold_no_more_than_the_verdict_says() -> None:
    seen = check_random(range(250))
    assert min(seen["window"], seen["constant"]) > 10
    assert seen["full"] > 20
    assert seen["nodes"] > 100


@pytest.mark.heavy
@pytest.mark.parametrize("start", range(250, 4_250, 1_000))
def test_windows_hold_no_more_than_many_verdicts_say(start: int) -> None:
    seen = check_random(range(start, start + 1_000))
    assert min(seen["window"], seen["constant"]) > 50


def test_rows_of_both_sides_of_a_full_join_may_stand_alone() -> None:
    declared = "CREATE STREAM s (a INT); CREATE STREAM t (d INT);"
    script = read_script(declared + "SELECT a, d FROM s [ROWS 1] FULL JOIN t [ROWS 1] ON a = d")
    (query,) = script.queries
    logs = {"s": Log(), "t": Log()}
    logs["s"].add((1,), 1)
    logs["t"].add((2,), 2)
    assert [each.total() for each in answers(query, query.root, logs)] == [1, 2]
    assert check_nodes(script, query, logs) == 4
    assert verdict_of(query).answer.units == 3 * 3


def test_groups_of_open_windows_are_no_more_than_the_verdict_says() -> None:
    rng = random.Random(8)
    for _ in range(60):
        size, slide, per = rng.randint(1, 9), rng.randint(1, 9), rng.randint(1, 3)
        declared = (
            f"CREATE STREAM s (k INT CHECK (k BETWEEN 1 AND {rng.randint(1, 4)}), b INT NOT NULL, "
            f"ts BIGINT) WITH (time = 'ts', rows_per_instant = {per});"
        )
        key = rng.choice("kb")
        text = (
            f"SELECT {key}, COUNT(*) AS n FROM HOP(TABLE s, DESCRIPTOR(ts), {slide}, {size}) "
            f"GROUP BY window_start, window_end, {key}"
        )
        found = verdict(declared, text)
        (entry,) = found.state
        assert found.units is not None
        column = read_script(declared + text).catalog.get("s")
        assert column is not None
        most = int(column.columns[0].check.high or 0)
        keys = [None, *range(1, most + 1)] if key == "k" else list(range(500))
        came = [(at, rng.choice(keys)) for at in range(30) for _ in range(rng.randint(0, per))]
        for now in range(30):
            groups = {
                (start, value)
                for at, value in came
                if at <= now
                for start in range(at // slide * slide, at - size, -slide)
                if start + size > now
            }
            assert len(groups) * 4 <= found.units, entry.formula
