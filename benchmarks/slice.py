"""Rows per second of both lowerings for Arasu's Q3 and Q4, beside one NumPy pass; Spark's time per
batch beside a native stream-stream join.

The rows are in memory, in order of arrival, an instant each; what is measured is the reduction,
the changes and their consolidation, not reading or printing.  Repeats of all ways to run are
interleaved, so that a slow moment of the machine hits them alike; the median is shown with the
least and the most.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from millpond.language import read_script
from millpond.memory import verdict_of
from millpond.program import Batch, Columns, IntArray, Program
from millpond.program.lowered import Lowered
from millpond.run.bulk import BulkLowering
from millpond.run.tick import TickLowering
from millpond.synopsis import program_of

DDL = "CREATE STREAM s (a BIGINT, b BIGINT, c BIGINT); CREATE STREAM t (d BIGINT, e BIGINT);\n"
QUERIES = {
    "Q3, keys in 0..30": (
        "SELECT s.a FROM s, t WHERE s.a = t.d AND s.a > 10 AND t.d < 20",
        31,
    ),
    "Q3, keys in 0..10^6": (
        "SELECT s.a FROM s, t WHERE s.a = t.d AND s.a > 10 AND t.d < 20",
        10**6,
    ),
    "Q4, keys in 0..30": ("SELECT DISTINCT s.a FROM s, t WHERE s.b < t.d AND s.a = 10", 31),
}
BATCHES = (1, 1_000, 100_000)


@dataclass(frozen=True)
class Line:
    """One line of the table: rows per second, the median with the least and the most."""

    query: str
    batch: int
    how: str
    median: float
    least: float
    most: float
    of_floor: float


def run(*, quick: bool, say: Callable[[str], None]) -> Iterator[str]:
    """The tables as lines of Markdown."""
    yield from _local(quick, say)
    yield ""
    yield from _spark(quick, say)


def _local(quick: bool, say: Callable[[str], None]) -> Iterator[str]:
    repeats = 3 if quick else 7
    yield (
        "| query | batch | | M rows/s (median of "
        + str(repeats)
        + ") | least to most | of the NumPy pass |"
    )
    yield "| --- | --- | --- | --- | --- | --- |"
    for name, (sql, keys) in QUERIES.items():
        script = read_script(DDL + sql)
        program = program_of(script.queries[0], verdict_of(script.queries[0]))
        for size in BATCHES:
            total = {1: 2_000, 1_000: 200_000, 100_000: 1_000_000}[size] * (1 if quick else 4)
            say(f"{name}, batches of {size:,}: {total:,} rows, {repeats} repeats")
            for line in _lines(name, program, keys, size, total, repeats):
                yield (
                    f"| {line.query} | {line.batch:,} | {line.how} | {line.median / 1e6:.3g} | "
                    f"{line.least / 1e6:.3g} to {line.most / 1e6:.3g} | {line.of_floor:.2f} |"
                )


def _lines(
    name: str, program: Program, keys: int, size: int, total: int, repeats: int
) -> Iterator[Line]:
    batches = _batches(program, keys, size, total)
    ways: dict[str, Callable[[], None]] = {
        "one NumPy pass": lambda: _floor(name, batches),
        "bulk": lambda: _advance(BulkLowering(program), batches),
        "tick": lambda: _advance(TickLowering(program), batches),
    }
    for way in ways.values():
        way()  # compiled, and in the caches of the machine
    seconds: dict[str, list[float]] = {each: [] for each in ways}
    for _ in range(repeats):
        for each, way in ways.items():
            start = time.perf_counter()
            way()
            seconds[each].append(time.perf_counter() - start)
    floor = statistics.median(seconds["one NumPy pass"])
    for each, times in seconds.items():
        median = statistics.median(times)
        yield Line(
            name, size, each, total / median, total / max(times), total / min(times), floor / median
        )


def _advance(lowered: Lowered, batches: list[Batch]) -> None:
    state = lowered.program.empty()
    for batch in batches:
        lowered.advance(state, batch).consolidate()


def _floor(name: str, batches: list[Batch]) -> None:
    """What has to be looked at, in one vectorised pass over the same columns, by hand."""
    counts = np.zeros((2, 9), dtype=np.int64)
    least, greatest = np.iinfo(np.int64).max, np.iinfo(np.int64).min
    for batch in batches:
        s, t = batch.columns[0].values, batch.columns[1].values
        rows_s, rows_t = batch.row[batch.stream == 0], batch.row[batch.stream == 1]
        if name.startswith("Q3"):
            for place, column in ((0, s["a"][rows_s]), (1, t["d"][rows_t])):
                inside = column[(column > 10) & (column < 20)]
                counts[place] += np.bincount(inside - 11, minlength=9)
        else:
            b = s["b"][rows_s][s["a"][rows_s] == 10]
            least = min(least, int(b.min(initial=least)))
            greatest = max(greatest, int(t["d"][rows_t].max(initial=greatest)))


def _batches(program: Program, keys: int, size: int, total: int) -> list[Batch]:
    rng = np.random.default_rng(7)
    found = []
    for start in range(0, total, size):
        stream = rng.integers(0, 2, size)
        row = np.where(stream == 0, np.cumsum(stream == 0), np.cumsum(stream == 1)) - 1
        columns = tuple(
            _columns(rng, each.columns, int((stream == number).sum()), keys)
            for number, each in enumerate(program.inputs)
        )
        at: IntArray = np.arange(start + 1, start + size + 1)
        found.append(Batch(stream, row, at, columns, int(at[-1])))
    return found


def _columns(rng: np.random.Generator, names: tuple[str, ...], size: int, keys: int) -> Columns:
    """Keys from a range; whatever is only compared is any 64-bit number."""
    values = {
        name: rng.integers(0, keys, size)
        if name in ("a", "d")
        else rng.integers(-(2**62), 2**62, size)
        for name in names
    }
    nulls = {name: np.zeros(size, dtype=np.uint8) for name in names}
    return Columns(values, nulls, size)


def _spark(quick: bool, say: Callable[[str], None]) -> Iterator[str]:
    from importlib.util import find_spec

    if find_spec("pyspark") is None:
        yield "Spark was not measured: pyspark is not installed."
        return
    from millpond.spark.bench import spark_slice

    batches, rows = (20, 200) if quick else (100, 2_000)
    measured = spark_slice(batches, rows, say=say)
    head = f"Spark {measured['spark']}, Q3, {batches} batches of {rows:,} rows, keys in 0..29"
    # The first tenth warms the JVM up and says nothing of the query.
    shown = {"second tenth": 1, "sixth": 5, "last": 9}
    yield f"| {head} | {', ms a batch | '.join(shown)}, ms a batch | kept at the end |"
    yield "| --- " * (2 + len(shown)) + "|"
    kept = f"{measured['millpond_units']} of at most {measured['certificate']} units"
    for name, times, what in (
        ("the synopsis", measured["millpond_ms"], kept),
        ("Spark's stream-stream join", measured["native_ms"], f"{measured['native_rows']:,} rows"),
    ):
        tenth = max(1, len(times) // 10)
        medians = [
            statistics.median(times[place * tenth : (place + 1) * tenth])
            for place in shown.values()
        ]
        yield f"| {name} | {' | '.join(f'{each:.0f}' for each in medians)} | {what} |"
