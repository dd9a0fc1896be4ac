"""Bounded queries on the local engine beside one NumPy pass by hand, DuckDB and Polars.

Columns of one to three streams lie in memory; every way to run gives the consolidated changes of
its answer after every k rows.  *NumPy* is the floor: the final synopsis in one vectorised pass over
the same columns, without changes.  *DuckDB, state by hand* is what a careful engineer writes:
counts per key in tables, merged batch by batch; *DuckDB, asked again* and *Polars, asked again*
keep every row and run the query on all of them.  A way that is asked again slows down with its
input: it is given fewer rows at small k, which flatters it.  All ways have to end with the same
answer.  Repeats are interleaved, fewer for ways that take long; the compile cache is warm.  The
median is shown with the least and the most.
"""

from __future__ import annotations

import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millpond.language import read_script
from millpond.memory import verdict_of
from millpond.program import Batch, Columns, Program
from millpond.run.engine import LocalRun, Lowering
from millpond.synopsis import program_of

Ints = npt.NDArray[np.int64]
Frames = Mapping[str, Mapping[str, Ints]]
"""The rows of a batch: columns by stream and name."""
Answer = Counter[tuple[Any, ...]]

BATCHES = (1, 1_000, 100_000)
_LONG = 5.0
"""Seconds that the repeats of one way may take together; the first is always made."""
STREAMS = {"s": ("a", "b", "c"), "t": ("d", "e"), "u": ("f", "g")}


@dataclass(frozen=True)
class Workload:
    """A query, its input, and its floor."""

    name: str
    sql: str
    keys: int
    floor: Callable[[Iterable[Frames]], object]
    by_hand: Callable[[Any, Iterable[Frames]], Answer] | None = None
    asked: str | None = None
    """The query for who prints a row as often as it is in the answer: with a count."""
    polars: Callable[[Mapping[str, Any]], Any] | None = None
    """Where Polars' SQL does not have the query."""
    streams: tuple[str, ...] = ("s", "t")
    ranges: Mapping[str, int] = field(default_factory=dict)
    """Columns that are drawn from 0 up to a number, as `a` and `d` are up to `keys` where they are
    not named; the rest, and those with a 0, is any number of 62 bits."""
    quadratic: bool = False
    """Whether asking again compares every row with every other one."""

    @property
    def ddl(self) -> str:
        return "".join(
            f"CREATE STREAM {name} ({', '.join(f'{each} BIGINT' for each in STREAMS[name])});\n"
            for name in self.streams
        )


def run(*, quick: bool, say: Callable[[str], None]) -> Iterator[str]:
    """The table as lines of Markdown."""
    repeats = 3 if quick else 7
    yield (
        "| workload | k | | rows | repeats | thousand rows/s | least to most "
        "| of the fastest peer |"
    )
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    for workload in WORKLOADS:
        for k in BATCHES:
            yield from _measured(workload, k, repeats, quick, say)


# Measuring --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Way:
    name: str
    rows: int
    run: Callable[[Iterable[Frames]], Answer | None]
    peer: bool = True


def _measured(
    workload: Workload, k: int, repeats: int, quick: bool, say: Callable[[str], None]
) -> Iterator[str]:
    ways = _ways(workload, k, quick)
    inputs = {rows: list(drawn(workload, rows, k)) for rows in {each.rows for each in ways}}
    say(f"{workload.name}, changes every {k:,} rows: up to {max(inputs):,} rows, {repeats} repeats")
    _same_answers(workload, ways, inputs)
    seconds: dict[str, list[float]] = {each.name: [] for each in ways}
    for done in range(repeats):
        for each in ways:
            if done and sum(seconds[each.name]) * (done + 1) / done > _LONG:
                continue
            start = time.perf_counter()
            each.run(inputs[each.rows])
            seconds[each.name].append(time.perf_counter() - start)
    speed = {each.name: each.rows / statistics.median(seconds[each.name]) for each in ways}
    best = max(speed[each.name] for each in ways if each.peer)
    for each in ways:
        times = seconds[each.name]
        yield (
            f"| {workload.name} | {k:,} | {each.name} | {each.rows:,} | {len(times)} | "
            f"{speed[each.name] / 1e3:.4g} | "
            f"{each.rows / max(times) / 1e3:.4g} to {each.rows / min(times) / 1e3:.4g} | "
            f"{speed[each.name] / best:.3g} |"
        )


def _same_answers(workload: Workload, ways: Sequence[_Way], inputs: Mapping[int, Any]) -> None:
    """Compares the last answers of all ways, on the least input."""
    least = inputs[min(inputs)]
    answers = {each.name: found for each in ways if (found := each.run(least)) is not None}
    first, *others = answers.items()
    for name, found in others:
        if found != first[1]:
            raise AssertionError(f"{workload.name}: {name} and {first[0]} disagree")


def compiled(workload: Workload) -> Program:
    """The program, its step compiled and in the cache."""
    query = read_script(workload.ddl + workload.sql).queries[0]
    program = program_of(query, verdict_of(query))
    first = _batch(program, next(drawn(workload, 12, 12)), 1)
    LocalRun(program, lowering=Lowering.TICK).advance(first)
    return program


def _ways(workload: Workload, k: int, quick: bool) -> list[_Way]:
    full = {1: 20_000, 1_000: 1_000_000, 100_000: 1_000_000}[k] // (10 if quick else 1)
    few = {1: 200, 1_000: 50_000, 100_000: 1_000_000}[k] // (10 if quick else 1)
    if workload.quadratic:
        few = min(few, 20_000)
    full, few = max(full, k), max(few, k)
    program = compiled(workload)
    ways = [
        _Way("NumPy, one pass", full, lambda x: _none(workload.floor(x)), peer=False),
        _Way("millpond", full, lambda x: ours(program, x), peer=False),
    ]
    by_hand = workload.by_hand
    if by_hand is not None:
        hand = {1: 500, 1_000: 200_000, 100_000: 1_000_000}[k] // (10 if quick else 1)
        ways.append(_Way("DuckDB, state by hand", max(hand, k), lambda x: by_hand(opened(), x)))
    ways.append(_Way("DuckDB, asked again", few, lambda x: duckdb_again(workload, x)))
    ways.append(_Way("Polars, asked again", few, lambda x: _polars(workload, x)))
    return ways


def _none(_: object) -> None:
    return None


def drawn(workload: Workload, rows: int, k: int) -> Iterator[Frames]:
    """The streams take turns, row by row at k = 1, else by equal parts of a batch."""
    rng = np.random.default_rng(7)
    for number in range(rows // k):
        sizes = {
            name: int(number % len(workload.streams) == place)
            if k == 1
            else k // len(workload.streams)
            for place, name in enumerate(workload.streams)
        }
        yield {
            name: {each: _column(rng, workload, each, size) for each in STREAMS[name]}
            for name, size in sizes.items()
        }


def _column(rng: np.random.Generator, workload: Workload, column: str, size: int) -> Ints:
    top = workload.ranges.get(column, workload.keys if column in ("a", "d") else 0)
    return rng.integers(0, top, size) if top else rng.integers(-(2**62), 2**62, size)


# The ways to run --------------------------------------------------------------------------------


def ours(program: Program, batches: Iterable[Frames]) -> Answer:
    engine = LocalRun(program, lowering=Lowering.AUTO)
    answer: Answer = Counter()
    for number, frames in enumerate(batches):
        for row, n, _ in engine.advance(_batch(program, frames, number + 1)).rows():
            answer[row] += n
    return +answer


def _batch(program: Program, frames: Frames, at: int) -> Batch:
    columns, stream, row = [], [], []
    for number, each in enumerate(program.inputs):
        mine = frames[each.name]
        size = len(next(iter(mine.values())))
        values = {name: mine[name] for name in each.columns}
        nulls = {name: np.zeros(size, dtype=np.uint8) for name in each.columns}
        columns.append(Columns(values, nulls, size))
        stream.append(np.full(size, number))
        row.append(np.arange(size))
    places = np.concatenate(stream)
    return Batch(places, np.concatenate(row), np.full(len(places), at), tuple(columns), at)


def _tables(frames: Frames) -> dict[str, pa.Table]:
    return {name: pa.table(dict(columns)) for name, columns in frames.items()}


def _rows(table: Any) -> Answer:
    found: Answer = Counter()
    for row in zip(*(each.to_pylist() for each in table.columns), strict=True):
        found[row] += 1
    return found


def duckdb_again(workload: Workload, batches: Iterable[Frames], *, ask: bool = True) -> Answer:
    """Every row kept; the query asked again, and what is new and what is gone told apart."""
    connection = opened()
    for statement in workload.ddl.replace("STREAM", "TABLE").split(";")[:-1]:
        connection.execute(statement)
    asked = workload.asked or workload.sql
    connection.execute(f"CREATE TABLE old AS {asked}")
    for frames in batches:
        for name, table in _tables(frames).items():
            connection.register("batch", table)
            connection.execute(f"INSERT INTO {name} SELECT * FROM batch")
        if not ask:
            continue
        connection.execute(f"CREATE OR REPLACE TABLE new AS {asked}")
        _differences(connection)
    return _counted(workload, connection.execute("SELECT * FROM old").fetchall())


def _polars(workload: Workload, batches: Iterable[Frames]) -> Answer:
    """Every row kept in chunks; the query asked again, and the answers compared."""
    import polars as pl

    kept: dict[str, list[pl.DataFrame]] = {name: [] for name in workload.streams}
    old: set[tuple[Any, ...]] = set()
    for frames in batches:
        for name, columns in frames.items():
            kept[name].append(pl.DataFrame(dict(columns)))
        tables = {name: pl.concat(each, rechunk=False).lazy() for name, each in kept.items()}
        if workload.polars is not None:
            frame = workload.polars(tables).collect()
        else:
            frame = pl.SQLContext(tables).execute(workload.asked or workload.sql, eager=True)
        new = set(frame.rows())
        _ = (new - old, old - new)
        old = new
    return _counted(workload, old)


def opened() -> Any:
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET threads = 2")
    return connection


def _differences(connection: Any) -> None:
    """The changes of the answer from `old` to `new`, which takes its place."""
    connection.sql("SELECT * FROM new EXCEPT SELECT * FROM old").to_arrow_table()
    connection.sql("SELECT * FROM old EXCEPT SELECT * FROM new").to_arrow_table()
    connection.execute("CREATE OR REPLACE TABLE old AS SELECT * FROM new")


def _counted(workload: Workload, rows: Iterable[tuple[Any, ...]]) -> Answer:
    if workload.asked is None:
        return Counter(rows)
    return Counter({row[:-1]: int(row[-1]) for row in rows if row[-1]})


# The workloads ----------------------------------------------------------------------------------


def _w1_by_hand(connection: Any, batches: Iterable[Frames]) -> Answer:
    connection.execute("CREATE TABLE ns (a BIGINT PRIMARY KEY, n BIGINT)")
    connection.execute("CREATE TABLE nt (a BIGINT PRIMARY KEY, n BIGINT)")
    connection.execute("CREATE TABLE old (a BIGINT, n BIGINT)")
    for frames in batches:
        for name, key in (("s", "a"), ("t", "d")):
            connection.register("batch", pa.table(dict(frames[name])))
            connection.execute(
                f"INSERT INTO n{name} SELECT {key}, COUNT(*) FROM batch "
                f"WHERE {key} BETWEEN 11 AND 19 GROUP BY {key} "
                "ON CONFLICT DO UPDATE SET n = n + excluded.n"
            )
        connection.execute(
            "CREATE OR REPLACE TABLE new AS SELECT a, ns.n * nt.n AS n FROM ns JOIN nt USING (a)"
        )
        _differences(connection)
    return Counter(connection.execute("SELECT * FROM old").fetchall())


def _w2_by_hand(connection: Any, batches: Iterable[Frames]) -> Answer:
    connection.execute("CREATE TABLE least (a BIGINT PRIMARY KEY, b BIGINT)")
    connection.execute("CREATE TABLE most (d BIGINT)")
    connection.execute("INSERT INTO most VALUES (-9223372036854775808)")
    connection.execute("CREATE TABLE old (a BIGINT)")
    for frames in batches:
        connection.register("batch", pa.table(dict(frames["s"])))
        connection.execute(
            "INSERT INTO least SELECT a, MIN(b) FROM batch WHERE a BETWEEN 11 AND 19 GROUP BY a "
            "ON CONFLICT DO UPDATE SET b = least(b, excluded.b)"
        )
        connection.register("batch", pa.table(dict(frames["t"])))
        connection.execute(
            "UPDATE most SET d = greatest(d, coalesce((SELECT MAX(d) FROM batch), d))"
        )
        connection.execute(
            "CREATE OR REPLACE TABLE new AS SELECT a FROM least, most WHERE b < most.d"
        )
        _differences(connection)
    return Counter(connection.execute("SELECT * FROM old").fetchall())


def _counts(column: Ints, low: int, high: int) -> Ints:
    inside = column[(column >= low) & (column <= high)]
    return np.bincount(inside - low, minlength=high - low + 1)


def _w1_floor(batches: Iterable[Frames]) -> object:
    counts = np.zeros((2, 9), dtype=np.int64)
    for each in batches:
        counts[0] += _counts(each["s"]["a"], 11, 19)
        counts[1] += _counts(each["t"]["d"], 11, 19)
    return counts


def _w2_floor(batches: Iterable[Frames]) -> object:
    least = np.full(9, np.iinfo(np.int64).max)
    most = np.iinfo(np.int64).min
    for each in batches:
        a = each["s"]["a"]
        inside = (a >= 11) & (a <= 19)
        np.minimum.at(least, a[inside] - 11, each["s"]["b"][inside])
        most = max(most, int(each["t"]["d"].max(initial=most)))
    return least, most


def _q6_floor(batches: Iterable[Frames]) -> object:
    least, most = np.iinfo(np.int64).max, np.iinfo(np.int64).min
    for each in batches:
        inside = each["s"]["a"] == 10
        lower = np.maximum(each["s"]["b"][inside], each["s"]["c"][inside])
        upper = np.minimum(each["t"]["d"], each["t"]["e"])
        least, most = int(lower.min(initial=least)), int(upper.max(initial=most))
    return least, most


def _q7_floor(batches: Iterable[Frames]) -> object:
    counts = np.zeros((2, 12), dtype=np.int64)
    for each in batches:
        b = each["s"]["b"][(each["s"]["a"] == 10) & (each["s"]["b"] < 20)]
        counts[0] += np.bincount(np.clip(b, 10, 19) - 10, minlength=12)
        d = each["t"]["d"][each["t"]["d"] > 10]
        counts[1] += np.bincount(np.clip(d, 11, 20) - 10, minlength=12)
    return counts


def _three_floor(batches: Iterable[Frames]) -> object:
    counts = [np.zeros(9, np.int64), np.zeros(90, np.int64), np.zeros(10, np.int64)]
    for each in batches:
        counts[0] += _counts(each["s"]["a"], 11, 19)
        d, e = each["t"]["d"], each["t"]["e"]
        inside = (d >= 11) & (d <= 19) & (e >= 0) & (e <= 9)
        counts[1] += np.bincount((d[inside] - 11) * 10 + e[inside], minlength=90)
        counts[2] += _counts(each["u"]["f"], 0, 9)
    return counts


def _sum_floor(batches: Iterable[Frames]) -> object:
    counts, totals = np.zeros((2, 9), dtype=np.int64), np.zeros(9)
    for each in batches:
        counts[0] += _counts(each["s"]["a"], 11, 19)
        d = each["t"]["d"]
        inside = (d >= 11) & (d <= 19)
        counts[1] += np.bincount(d[inside] - 11, minlength=9)
        totals += np.bincount(d[inside] - 11, weights=each["t"]["e"][inside], minlength=9)
    return counts, totals


def _values_floor(batches: Iterable[Frames]) -> object:
    counts = np.zeros(1000, dtype=np.int64)
    for each in batches:
        counts += _counts(each["s"]["a"], 0, 999)
    return counts


_W1 = "SELECT s.a, COUNT(*) AS n FROM s, t WHERE s.a = t.d AND s.a > 10 AND t.d < 20 GROUP BY s.a"


def _below(tables: Mapping[str, Any]) -> Any:
    """W2 in Polars, whose SQL has no join by an inequality."""
    import polars as pl

    s = tables["s"].filter(pl.col("a").is_between(11, 19))
    return s.join_where(tables["t"], pl.col("b") < pl.col("d")).select("a").unique()


def _below_both(tables: Mapping[str, Any]) -> Any:
    import polars as pl

    s = tables["s"].filter(pl.col("a") == 10)
    conditions = [pl.col(x) < pl.col(y) for x in "bc" for y in "de"]
    return s.join_where(tables["t"], *conditions).select("a").unique()


def _below_in_ranges(tables: Mapping[str, Any]) -> Any:
    import polars as pl

    s = tables["s"].filter(pl.col("a") == 10, pl.col("b") < 20)
    t = tables["t"].filter(pl.col("d") > 10)
    pairs = s.join_where(t, pl.col("b") < pl.col("d"))
    return pairs.group_by("a").agg(pl.len().alias("n"))


WORKLOADS = (
    Workload("W1, keys in 0..10^6", _W1, 10**6, _w1_floor, _w1_by_hand),
    Workload("W1, keys in 0..30", _W1, 31, _w1_floor, _w1_by_hand),
    Workload(
        "W2",
        "SELECT DISTINCT s.a FROM s, t WHERE s.b < t.d AND s.a BETWEEN 11 AND 19",
        31,
        _w2_floor,
        _w2_by_hand,
        polars=_below,
        ranges={"d": 0},
        quadratic=True,
    ),
    Workload(
        "Q6",
        "SELECT DISTINCT a FROM s, t WHERE b < d AND c < e AND b < e AND c < d AND a = 10",
        31,
        _q6_floor,
        polars=_below_both,
        ranges={"d": 0},
        quadratic=True,
    ),
    Workload(
        "Q7",
        "SELECT a FROM s, t WHERE b < d AND d > 10 AND b < 20 AND a = 10",
        31,
        _q7_floor,
        asked=(
            "SELECT a, COUNT(*) AS n FROM s, t WHERE b < d AND d > 10 AND b < 20 AND a = 10 "
            "GROUP BY a"
        ),
        polars=_below_in_ranges,
        ranges={"b": 100, "d": 100},
        quadratic=True,
    ),
    Workload(
        "three streams",
        "SELECT s.a, u.f FROM s, t, u WHERE s.a = t.d AND t.e = u.f AND s.a BETWEEN 11 AND 19 "
        "AND u.f BETWEEN 0 AND 9",
        31,
        _three_floor,
        asked=(
            "SELECT s.a, u.f, COUNT(*) AS n FROM s, t, u WHERE s.a = t.d AND t.e = u.f "
            "AND s.a BETWEEN 11 AND 19 AND u.f BETWEEN 0 AND 9 GROUP BY s.a, u.f"
        ),
        streams=("s", "t", "u"),
        ranges={"e": 100, "f": 100},
        quadratic=True,
    ),
    Workload(
        "SUM over a join",
        "SELECT s.a, SUM(t.e) AS total FROM s, t WHERE s.a = t.d AND s.a BETWEEN 11 AND 19 "
        "GROUP BY s.a",
        31,
        _sum_floor,
        ranges={"e": 1000},
        quadratic=True,
    ),
    Workload(
        "COUNT DISTINCT",
        "SELECT COUNT(DISTINCT a) AS n FROM s WHERE a BETWEEN 0 AND 999",
        2000,
        _values_floor,
        streams=("s",),
    ),
    Workload(
        "MEDIAN",
        "SELECT MEDIAN(a) AS m FROM s WHERE a BETWEEN 0 AND 999",
        2000,
        _values_floor,
        streams=("s",),
    ),
)
