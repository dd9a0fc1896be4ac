"""One row at a time: rows per second through `feeder`, beside a Python loop that only calls.

The compile cache is warm.  The floor calls an empty function with the same values.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator

import numpy as np

import millpond as mp

QUERIES = {
    "Q3": "SELECT s.a FROM s, t WHERE s.a = t.d AND s.a > 10 AND t.d < 20",
    "Q4": "SELECT DISTINCT s.a FROM s, t WHERE s.b < t.d AND s.a = 10",
    "COUNT per key": (
        "SELECT s.a, COUNT(*) AS n FROM s, t WHERE s.a = t.d AND s.a > 10 AND t.d < 20 GROUP BY s.a"
    ),
}


def run(*, quick: bool, say: Callable[[str], None]) -> Iterator[str]:
    """The table as lines of Markdown."""
    rows, repeats = (20_000, 3) if quick else (400_000, 7)
    yield f"| query | | thousand rows/s (median of {repeats}) | least to most |"
    yield "| --- | --- | --- | --- |"
    rng = np.random.default_rng(7)
    values = rng.integers(0, 1_000, (rows, 2)).tolist()
    for name, sql in QUERIES.items():
        say(f"{name}: {rows:,} rows, {repeats} repeats")
        ways: dict[str, Callable[[], None]] = {
            "feeder": lambda sql=sql: _fed(sql, values),  # type: ignore[misc]
            "calls alone": lambda: _called(values),
        }
        seconds: dict[str, list[float]] = {each: [] for each in ways}
        for way in ways.values():
            way()
        for _ in range(repeats):
            for each, way in ways.items():
                start = time.perf_counter()
                way()
                seconds[each].append(time.perf_counter() - start)
        for each, times in seconds.items():
            yield (
                f"| {name} | {each} | {rows / statistics.median(times) / 1e3:,.0f} | "
                f"{rows / max(times) / 1e3:,.0f} to {rows / min(times) / 1e3:,.0f} |"
            )


def _fed(sql: str, values: list[list[int]]) -> None:
    pond = mp.Pond("CREATE STREAM s (a BIGINT, b BIGINT); CREATE STREAM t (d BIGINT, e BIGINT)")
    running = pond.query(sql).start()
    feeds = running.feeder("s"), running.feeder("t")
    for number, (x, y) in enumerate(values):
        feeds[number & 1](x, y)


def _called(values: list[list[int]]) -> None:
    calls = _nothing, _nothing
    for number, (x, y) in enumerate(values):
        calls[number & 1](x, y)


def _nothing(x: int, y: int) -> list[int]:
    return []
