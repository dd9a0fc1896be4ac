"""Verdicts on joins of streams whose times are held together: how long rows wait, against all times
that rows to come may have, and against running by definition with and without each row."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest

from millpond.language import read_script
from millpond.memory import MemoryClass, Verdict, verdict_of
from millpond.memory.elsewhere import at_rates
from millpond.memory.pace import Rate
from millpond.plan import Distinct, Query
from millpond.run.contents import NEVER
from millpond.run.definition import DefinitionRun
from millpond.schema import Row

TIMED = """
CREATE STREAM o (id BIGINT NOT NULL, kind ENUM('web', 'shop') NOT NULL, ts TIMESTAMP NOT NULL,
    WATERMARK FOR ts AS ts - INTERVAL '10' MINUTE);
CREATE STREAM p (oid BIGINT NOT NULL, ts TIMESTAMP NOT NULL, TIMESTAMP BY ts);
CREATE STREAM r (oid BIGINT NOT NULL, ts TIMESTAMP NOT NULL, TIMESTAMP BY ts);
"""
COUNTED = """
CREATE STREAM s (k INT, v INT CHECK (v BETWEEN 1 AND 3), ts BIGINT NOT NULL)
    WITH (time = 'ts', rows_per_instant = 2);
CREATE STREAM t (k INT, ts BIGINT NOT NULL) WITH (time = 'ts', rows_per_instant = 1);
CREATE STREAM u (k INT, ts BIGINT NOT NULL) WITH (time = 'ts', unit = 'second');
CREATE FINITE STREAM f (k INT, ts BIGINT NOT NULL) WITH (time = 'ts', until = 99);
"""
HOUR = "INTERVAL '1' HOUR"
AFTER = f"p.ts BETWEEN o.ts AND o.ts + {HOUR}"
AROUND = f"p.ts BETWEEN o.ts - {HOUR} AND o.ts + INTERVAL '2' HOUR"


def verdict(declared: str, query: str, dialect: str = "cql") -> Verdict:
    (found,) = read_script(declared + query, dialect=dialect).queries
    return verdict_of(found)


@pytest.mark.parametrize(
    ("declared", "query", "growth", "given"),
    [
        (
            TIMED,
            f"SELECT o.id FROM o JOIN p ON o.id = p.oid AND {AROUND}",
            "rate of o x 2 hours + rate of p x 1 hour",
            ["rows of o per 2 hours", "rows of p per hour"],
        ),
        # One side is the last to come, and waits for nobody.
        (
            TIMED,
            f"SELECT o.id FROM o, p WHERE o.id = p.oid AND {AFTER}",
            "rate of o x 1 hour",
            ["rows of o per hour"],
        ),
        # Written the other way round, as a difference, and with open ends.
        (
            TIMED,
            f"SELECT o.id FROM o, p WHERE o.ts >= p.ts - {HOUR} AND o.ts <= p.ts",
            "rate of o x 1 hour",
            ["rows of o per hour"],
        ),
        (
            TIMED,
            f"SELECT o.id FROM o, p WHERE p.ts - o.ts BETWEEN INTERVAL '0' HOUR AND {HOUR}",
            "rate of o x 1 hour",
            ["rows of o per hour"],
        ),
        (
            TIMED,
            f"SELECT o.id FROM o, p WHERE p.ts > o.ts AND p.ts < o.ts + {HOUR}",
            "rate of o x 1 hour",
            ["rows of o per hour"],
        ),
        # Of three, by what follows.
        (
            TIMED,
            f"SELECT o.id FROM o, p, r WHERE {AFTER} AND r.ts BETWEEN p.ts AND p.ts + {HOUR}",
            "rate of o x 2 hours + rate of p x 1 hour",
            ["rows of o per 2 hours", "rows of p per hour"],
        ),
        (
            COUNTED,
            "SELECT a.k FROM u AS a, u AS b WHERE b.ts BETWEEN a.ts - 60 AND a.ts + 3600",
            "rate of u x 1 hour + rate of u x 1 minute",
            ["rows of u per hour", "rows of u per minute"],
        ),
        # Times in a range of their own.
        (
            COUNTED,
            "SELECT a.k FROM u AS a, u AS b WHERE a.ts BETWEEN 0 AND 59 AND b.ts BETWEEN 0 AND 59",
            "rate of u x 59 seconds",
            ["rows of u per 59 seconds"],
        ),
        # Alternatives: a row waits for the last of them, and once.
        (
            TIMED,
            f"SELECT o.id FROM o, p WHERE {AFTER} AND (o.id = p.oid OR p.ts = o.ts)",
            "rate of o x 1 hour",
            ["rows of o per hour"],
        ),
        (
            TIMED,
            f"SELECT o.id FROM o, p WHERE {AFTER} AND o.id <> p.oid",
            "rate of o x 1 hour",
            ["rows of o per hour"],
        ),
        (
            TIMED,
            f"SELECT o.id FROM o LEFT JOIN p ON o.id = p.oid AND {AFTER} WHERE p.oid IS NULL",
            "rate of o x 1 hour",
            ["rows of o per hour"],
        ),
        (
            TIMED,
            f"SELECT id FROM o WHERE NOT EXISTS (SELECT 1 FROM p WHERE oid = id AND {AFTER})",
            "rate of o x 1 hour",
            ["rows of o per hour"],
        ),
        (
            TIMED,
            f"ISTREAM(SELECT o.id FROM o, p WHERE {AFTER})",
            "rate of o x 1 hour",
            ["rows of o per hour"],
        ),
        # DISTINCT: few rows, or rows that tell their time.
        (
            TIMED,
            f"SELECT DISTINCT o.kind FROM o, p WHERE o.id = p.oid AND {AFTER}",
            "rate of o x 1 hour",
            ["rows of o per hour"],
        ),
        (
            TIMED,
            f"SELECT DISTINCT o.ts, o.id, p.oid FROM o, p WHERE {AROUND}",
            "rate of o x 2 hours x rate of p x 3 hours",
            ["rows of o per 2 hours", "rows of p per hour", "rows of p per 3 hours"],
        ),
    ],
)
def test_rows_wait_as_long_as_their_times_are_close(
    declared: str, query: str, growth: str, given: list[str]
) -> None:
    found = verdict(declared, query)
    assert (found.memory, found.bounded, found.units) == (MemoryClass.WINDOW, None, None)
    assert growth in (found.growth or "")
    assert list(found.given) == given
    assert [each.code for each in found.because] == ["MP208"]


@pytest.mark.parametrize(
    ("query", "memory", "units"),
    [
        # Rows of s wait 5 instants, two each, with 3 columns; those of t 2, one each, with 2.
        ("SELECT s.v FROM s, t WHERE t.ts BETWEEN s.ts - 2 AND s.ts + 5", "constant", 30 + 4),
        ("SELECT s.v FROM s, t WHERE t.ts > s.ts - 2 AND t.ts < s.ts + 5", "constant", 24 + 2),
        ("SELECT a.v FROM s a, s b WHERE a.k = b.k AND a.ts = b.ts + 3", "constant", 18),
        ("SELECT s.v FROM s, f WHERE s.ts BETWEEN f.ts - 4 AND f.ts", "constant", 24),
        ("SELECT s.v FROM s LEFT JOIN t ON t.ts BETWEEN s.ts AND s.ts + 5", "constant", 30 + 10),
        ("SELECT s.v FROM t LEFT JOIN s ON t.ts BETWEEN s.ts AND s.ts + 5", "constant", 30),
        ("SELECT s.v FROM t FULL JOIN s ON t.ts BETWEEN s.ts AND s.ts + 5", "constant", 30 + 10),
        # What DISTINCT has given: each of the values of v, NULL among them, with a mark.
        ("SELECT DISTINCT v FROM s, t WHERE t.ts BETWEEN s.ts AND s.ts + 5", "constant", 30 + 8),
        ("SELECT DISTINCT v FROM s WHERE ts > 7", "constant", 8),
        # Rows of s that wait, with a mark; their time says which they are.
        (
            "SELECT DISTINCT s.ts, s.k FROM s, t WHERE t.ts BETWEEN s.ts AND s.ts + 5",
            "constant",
            30 + 30,
        ),
        ("SELECT DISTINCT ts, k FROM s UNION SELECT ts, k FROM t", "none", 0),
        ("SELECT s.v FROM s, t WHERE s.ts = t.ts AND s.k = t.k", "none", 0),
        ("SELECT ts, k FROM s WHERE ts > 7", "none", 0),
        ("SELECT s.v FROM s, t WHERE s.ts < t.ts AND t.ts < s.ts", "none", 0),
        ("SELECT s.v FROM s, t WHERE t.ts BETWEEN s.ts AND s.ts + 9000000", "impractical", None),
    ],
)
def test_rows_that_wait_are_a_number_where_those_of_an_instant_are(
    query: str, memory: str, units: int | None
) -> None:
    found = verdict(COUNTED, query)
    assert (found.memory, found.bounded) == (memory, True)
    assert found.units == (54_000_000 if units is None else units)
    assert sum(each.units or 0 for each in found.state) == found.units


FROM_ABOVE = "no condition bounds `{} - {}` from above"


@pytest.mark.parametrize(
    ("declared", "query", "why"),
    [
        (TIMED, "SELECT o.id FROM o, p WHERE p.ts >= o.ts", FROM_ABOVE.format("p.ts", "o.ts")),
        (TIMED, "SELECT o.ts FROM o, p WHERE o.id = p.oid", FROM_ABOVE.format("p.ts", "o.ts")),
        (TIMED, f"SELECT o.id FROM o, p, r WHERE {AFTER} AND r.oid = p.oid", "`r.ts - o.ts`"),
        (
            TIMED,
            f"SELECT o.id FROM o, p, r WHERE {AFTER} AND r.ts > p.ts",
            FROM_ABOVE.format("r.ts", "o.ts"),
        ),
        (TIMED, f"SELECT o.id FROM o, p WHERE {AFTER} OR o.id = p.oid", "from above"),
        (TIMED, f"SELECT DISTINCT o.id FROM o, p WHERE {AFTER}", "`o.id` has no bound"),
        (TIMED, "SELECT o.id FROM o LEFT JOIN p ON p.ts >= o.ts", "from above"),
        (TIMED, "SELECT o.id FROM o LEFT JOIN p ON p.oid = o.id", "an outer join takes answers"),
        (TIMED, f"SELECT COUNT(*) AS n FROM o, p WHERE {AFTER}", "is a time column"),
        # What a row of one part is told by may be anything in another.
        (COUNTED, "SELECT ts, k FROM s UNION SELECT k, ts FROM t", "no time beside"),
        (COUNTED, "SELECT ts, k FROM s UNION SELECT ts + 1, k FROM t", "no time beside"),
    ],
)
def test_what_times_do_not_bound_is_outside(declared: str, query: str, why: str) -> None:
    found = verdict(declared, query)
    assert found.memory is MemoryClass.OUTSIDE
    assert why in found.because[0].text


FLINK = "WITH ('connector' = 'kafka', 'topic' = 't', 'format' = 'json')"
WAVE = "WITH (connector = 'kafka', topic = 't') FORMAT PLAIN ENCODE JSON"
LATE = "WATERMARK FOR ts AS ts - INTERVAL '5' SECOND"
WRITTEN = {
    "flink": f"""
    CREATE TABLE o (id BIGINT, ts TIMESTAMP(3), {LATE}) {FLINK};
    CREATE TABLE p (oid BIGINT, ts TIMESTAMP(3), {LATE}) {FLINK};
    SELECT o.id FROM o, p WHERE o.id = p.oid
    AND o.ts BETWEEN p.ts - INTERVAL '4' HOUR AND p.ts""",
    "spark": """
    CREATE TABLE o (id BIGINT, ts TIMESTAMP) USING delta;
    CREATE TABLE p (oid BIGINT, ts TIMESTAMP) USING delta;
    SELECT o.id FROM STREAM o WATERMARK ts DELAY OF INTERVAL 5 SECONDS
    JOIN STREAM p WATERMARK ts DELAY OF INTERVAL 5 SECONDS
    ON o.id = p.oid AND p.ts >= o.ts AND p.ts <= o.ts + INTERVAL 4 HOURS""",
    "risingwave": f"""
    CREATE SOURCE o (id BIGINT, ts TIMESTAMP, {LATE}) {WAVE};
    CREATE SOURCE p (oid BIGINT, ts TIMESTAMP, {LATE}) {WAVE};
    SELECT o.id FROM o JOIN p ON o.id = p.oid
    AND p.ts BETWEEN o.ts AND o.ts + INTERVAL '4 hours'""",
}


@pytest.mark.parametrize("dialect", WRITTEN)
def test_interval_joins_of_other_engines_are_bands(dialect: str) -> None:
    found = verdict("", WRITTEN[dialect], dialect)
    assert (found.memory, found.growth) == ("window", "rate of o x 4 hours")


def test_rates_say_how_many_rows_wait() -> None:
    text = TIMED + f"SELECT o.id FROM o LEFT JOIN p ON o.id = p.oid AND {AROUND}"
    (query,) = read_script(text).queries
    rates = {"o": Rate(Fraction(3600)), "p": Rate(Fraction(60))}
    found = at_rates(query, verdict_of(query), rates)
    assert found.pace is not None
    assert (found.pace.rows, found.pace.per_hour) == (2 * 3600 + 60, False)
    assert [each.memory for each in found.elsewhere] == ["window", "window"]


# Against all times that rows to come may have ---------------------------------------------------

_FAR = 14
"""Further than any bound of a random condition reaches."""


def random_condition(rng: random.Random, names: Sequence[str]) -> str:
    """Comparisons of times at random, mostly bands, in words of both SQL and Python."""
    atoms = []
    for _ in range(rng.randint(1, 3)):
        x, y = rng.sample(names, 2)
        low, high = sorted((rng.randint(-4, 4), rng.randint(-4, 4)))
        band = [f"{x}.ts >= {y}.ts + {low}", f"{x}.ts <= {y}.ts + {high}"]
        if rng.random() < 0.3:
            band = [f"{x}.ts > {y}.ts + {low}", f"{x}.ts < {y}.ts + {high}"]
        if rng.random() < 0.2:
            band = [rng.choice(band)]
        if rng.random() < 0.15:
            band = [f"({band[0]} OR {x}.ts == {y}.ts + {low})", *band[1:]]
        atoms += band
    return " AND ".join(atoms)


def holds(condition: str, names: Sequence[str]) -> Callable[..., bool]:
    """The condition as a function of the times."""
    text = condition.replace(".ts", "").replace("AND", "and").replace("OR", "or")
    found: Callable[..., bool] = eval(f"lambda {', '.join(names)}: {text}")
    return found


def waits_of(condition: str, names: Sequence[str]) -> Mapping[str, int]:
    """By how much the last row may come after that of each input, with which it meets."""
    test = holds(condition, names)
    found = dict.fromkeys(names, 0)
    for place, name in enumerate(names):
        for times in product(range(-_FAR, _FAR + 1), repeat=len(names) - 1):
            row = (*times[:place], 0, *times[place:])
            if test(*row):
                found[name] = max(found[name], *row)
    return found


def test_rows_wait_for_the_last_that_may_come_and_no_longer() -> None:
    rng = random.Random(20)
    seen: Counter[str] = Counter()
    declared = " ".join(
        f"CREATE STREAM {x} (k INT, ts BIGINT NOT NULL) WITH (time = 'ts', rows_per_instant = 1);"
        for x in "stu"
    )
    for _ in range(250):
        names = "stu"[: rng.randint(2, 3)]
        condition = random_condition(rng, names)
        text = f"SELECT s.k FROM {', '.join(names)} WHERE {condition.replace('==', '=')}"
        expected = waits_of(condition, names)
        found = verdict(declared, text)
        if max(expected.values()) >= _FAR - 1:
            assert found.memory is MemoryClass.OUTSIDE, text
        else:
            waiting = {stream.name: instants for stream, instants in found.waits}
            assert waiting == {x: n for x, n in expected.items() if n}, text
            assert found.units == 2 * sum(expected.values()), text
        seen[found.memory] += 1
    assert min(seen["constant"], seen["none"], seen["outside"]) > 20, seen


# Against running by definition ------------------------------------------------------------------

Placed = tuple[str, tuple[int, ...]]
"""A row and its stream; the time is the last of its values."""

SHAPES = {
    "inner": "SELECT s.k, t.v AS v FROM s, t WHERE {}",
    "left": "SELECT s.k, t.v AS v FROM s LEFT JOIN t ON {}",
    "right": "SELECT s.k, t.v AS v FROM s RIGHT JOIN t ON {}",
    "full": "SELECT s.k, t.v AS v FROM s FULL JOIN t ON {}",
    "exists": "SELECT k, v FROM s WHERE EXISTS (SELECT 1 FROM t WHERE {})",
    "not exists": "SELECT k, v FROM s WHERE NOT EXISTS (SELECT 1 FROM t WHERE {})",
}
PAIR = " ".join(
    f"CREATE STREAM {x} (k INT, v INT, ts BIGINT) WITH (time = 'ts', rows_per_instant = 2);"
    for x in "st"
)


def changes(query: Query, rows: Sequence[Placed]) -> Iterator[tuple[int, dict[Row, int]]]:
    """What changes at each instant, by definition."""
    run = DefinitionRun(query)
    for name, values in sorted(rows, key=lambda each: each[1][-1]):
        run.contents.logs[name].add(values, values[-1])
    for refresh in run.refreshes(NEVER):
        found: Counter[Row] = Counter()
        for row, n in refresh.changes:
            found[row] += n
        yield refresh.at, {row: n for row, n in found.items() if n}


def random_rows(rng: random.Random, until: int) -> list[Placed]:
    return [
        (name, (rng.randint(1, 2), rng.randint(1, 2), at))
        for at in range(until)
        for name in "st"
        for _ in range(rng.choice((0, 0, 1, 1, 2)))
    ]


def later(query: Query, rows: Sequence[Placed], now: int) -> list[tuple[int, dict[Row, int]]]:
    return [each for each in changes(query, rows) if each[0] > now and each[1]]


def needed(query: Query, rows: Sequence[Placed], now: int) -> Counter[str]:
    """How many of the rows of each stream may still make a difference to what changes later: with
    them other changes follow on some row than without."""
    found: Counter[str] = Counter()
    for place, (name, row) in enumerate(rows):
        other = "t" if name == "s" else "s"
        without = [*rows[:place], *rows[place + 1 :]]
        for at in range(now + 1, now + 10):
            comes = (other, (row[0], 0, at))
            if later(query, [*rows, comes], now) != later(query, [*without, comes], now):
                found[name] += 1
                break
    return found


def check_needed(rng: random.Random, shape: str) -> str:
    band = random_condition(rng, "st")
    text = SHAPES[shape].format("s.k = t.k AND " + band.replace("==", "="))
    (query,) = read_script(PAIR + text).queries
    found = verdict_of(query)
    if found.memory is MemoryClass.OUTSIDE:
        return "outside"
    lengths = {stream.name: instants for stream, instants in found.waits}
    now = rng.randint(4, 6)
    rows = random_rows(rng, now + 1)
    needs = needed(query, rows, now)
    waiting = Counter(x for x, row in rows if row[-1] > now - lengths.get(x, 0))
    assert needs <= waiting, text
    for each in found.state:
        if each.kind == "rows":
            assert 3 * waiting[each.of] <= (each.units or 0), text
    return "needed" if needs == waiting and needs else "fewer" if needs != waiting else "none"


@pytest.mark.parametrize("shape", SHAPES)
def test_rows_that_make_a_difference_wait(shape: str) -> None:
    rng = random.Random(7)
    seen = Counter(check_needed(rng, shape) for _ in range(14))
    # Of EXISTS and outer joins some that wait have matched, or match what has matched.
    assert seen["needed"] >= (6 if shape == "inner" else 2), seen
    assert shape != "inner" or not seen["fewer"], seen


@pytest.mark.heavy
@pytest.mark.parametrize("shape", SHAPES)
def test_rows_that_make_a_difference_wait_in_many_joins(shape: str) -> None:
    rng = random.Random(8)
    seen = Counter(check_needed(rng, shape) for _ in range(120))
    assert seen["needed"] > 10, seen


def check_emitted(rng: random.Random) -> str:
    """What DISTINCT has given and may give again is no more than its verdict says."""
    band = random_condition(rng, "st").replace("==", "=")
    columns = rng.choice(("s.ts, s.k", "t.ts, s.k, t.v", "s.ts, t.ts AS b, s.v", "s.ts + 1, t.v"))
    text = f"SELECT DISTINCT {columns} FROM s, t WHERE s.k = t.k AND {band}"
    (query,) = read_script(PAIR + text).queries
    found = verdict_of(query)
    if found.memory is MemoryClass.OUTSIDE:
        return "outside"
    most = sum(each.units or 0 for each in found.state if each.kind == "emitted")
    assert isinstance(query.root, Distinct)
    every = replace(query, root=query.root.input)
    now = rng.randint(4, 6)
    past = random_rows(rng, now + 1)
    given = {row for _, rows in changes(every, past) for row in rows}
    again = set()
    for name, at, k, v in product("st", range(now + 1, now + 9), (1, 2), (1, 2)):
        came = later(every, [*past, (name, (k, v, at))], now)
        again |= given & {row for _, rows in came for row in rows}
    assert len(again) * (1 + len(query.root.fields)) <= most, text
    return "again" if again else "none"


def test_distinct_remembers_what_may_be_given_again() -> None:
    rng = random.Random(9)
    seen = Counter(check_emitted(rng) for _ in range(40))
    assert seen["again"] >= 5, seen


@pytest.mark.heavy
def test_distinct_remembers_what_may_be_given_again_by_many_joins() -> None:
    rng = random.Random(10)
    seen = Counter(check_emitted(rng) for _ in range(300))
    assert seen["again"] > 25, seen
