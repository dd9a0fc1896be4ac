"""Time of the polynomial checker (Arasu, Figure 2) beside going through all LTO queries.

Random joins of 2 to 6 streams with 2 to 5 columns each and 12 predicates, from a seed: some compare
columns of two streams, the others limit one by a constant.  A third of the queries is over DOUBLE
columns, and every other one is bounded.  The enumeration is stopped after a while; the whole
verdict, which builds the synopsis for its number, is timed beside them.
"""

from __future__ import annotations

import math
import random
import signal
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from html import escape

from millpond.language import read_script
from millpond.memory import SpjQuery, normal_form, verdict_of
from millpond.memory.arasu import trivial, violates_by_enumeration, violations
from millpond.plan import Query

STREAMS = (2, 3, 4, 5, 6)
COLUMNS = (2, 3, 4, 5)
PREDICATES = 12
_HANGS = 60.0
Times = list[float | None]
"""Seconds of each query; None where it was stopped."""
pictures: dict[str, str] = {}
"""What `-o` writes beside the table, by name of the file."""


def run(*, quick: bool, say: Callable[[str], None]) -> Iterator[str]:
    """The table as lines of Markdown."""
    repeats, limit = (6, 0.5) if quick else (30, 5.0)
    found: dict[tuple[int, int], tuple[Times, Times, Times]] = {}
    yield (
        f"| streams | columns each | checker, ms: median (most) of {repeats} | "
        f"all LTO queries, ms: median; stopped after {limit:g} s | verdict, ms: median (most) |"
    )
    yield "| --- | --- | --- | --- | --- |"
    for streams in STREAMS:
        for columns in COLUMNS:
            say(f"{streams} streams, {columns} columns each")
            queries = [_query(seed, streams, columns) for seed in range(repeats)]
            checker = [_timed(partial(_check, each), _HANGS) for each in queries]
            # Each takes as long as it may: a few tell what the median is.
            few = queries[: 3 if quick else 7]
            every = [_timed(partial(_enumerate, each), limit) for each in few]
            verdict = [_timed(partial(verdict_of, each), _HANGS) for each in queries]
            found[streams, columns] = checker, every, verdict
            stopped = sum(each is None for each in every)
            yield (
                f"| {streams} | {columns} | {_shown(checker)} | {_median(every)}"
                f"{f'; {stopped} of {len(every)} stopped' if stopped else ''} | {_shown(verdict)} |"
            )
    pictures["checker.svg"] = picture(found, limit)


def _query(seed: int, streams: int, columns: int) -> Query:
    """A join that something has to be decided of; every other one is bounded, so that neither way
    stops at the first condition that fails."""
    rng = random.Random(1_000_000 * streams + 10_000 * columns + seed)
    while True:
        said = _any(rng, streams, columns) if seed % 2 else _bounded(rng, streams, columns)
        query = read_script(_text(rng, streams, columns, said)).queries[0]
        fresh = _fresh(query)
        if not trivial(fresh) and (seed % 2 or not violations(fresh)):
            return query


def _any(rng: random.Random, streams: int, columns: int) -> list[str]:
    """Joins and filters as they come."""
    names = [[f"s{s}.c{c}" for c in range(columns)] for s in range(streams)]
    said = []
    for _ in range(rng.randint(4, PREDICATES)):
        one, other = rng.sample(names, 2)
        op = rng.choice(["<", "<", "<", "<=", "="])
        said.append(f"{rng.choice(one)} {op} {rng.choice(other)}")
    return said + _filters(rng, streams, columns, PREDICATES - len(said))


def _bounded(rng: random.Random, streams: int, columns: int) -> list[str]:
    """Each stream has one column without bound, below those of others or above them."""
    below = [each < (streams + 1) // 2 for each in range(streams)]
    free = [f"s{s}.c{rng.randrange(columns)}" for s in range(streams)]
    low = [each for each, under in zip(free, below, strict=True) if under]
    high = [each for each, under in zip(free, below, strict=True) if not under]
    joins = rng.randint(streams, PREDICATES - 2)
    said = [f"{rng.choice(low)} {rng.choice(['<', '<='])} {rng.choice(high)}" for _ in range(joins)]
    return said + _filters(rng, streams, columns, PREDICATES - joins)


def _filters(rng: random.Random, streams: int, columns: int, count: int) -> list[str]:
    return [
        f"s{rng.randrange(streams)}.c{rng.randrange(columns)} "
        f"{rng.choice(['<', '>', '<=', '>='])} {rng.randint(0, 30)}"
        for _ in range(count)
    ]


def _text(rng: random.Random, streams: int, columns: int, said: list[str]) -> str:
    kind = rng.choice(["BIGINT", "BIGINT", "DOUBLE"])
    ddl = "".join(
        f"CREATE STREAM s{s} ({', '.join(f'c{c} {kind}' for c in range(columns))});\n"
        for s in range(streams)
    )
    inputs = ", ".join(f"s{s}" for s in range(streams))
    return f"{ddl}SELECT DISTINCT 1 FROM {inputs} WHERE {' AND '.join(said)}"


def _fresh(query: Query) -> SpjQuery:
    """With nothing computed yet."""
    found = normal_form(query)
    assert found is not None
    return found


def _check(query: Query) -> object:
    return violations(_fresh(query))


def _enumerate(query: Query) -> object:
    return violates_by_enumeration(_fresh(query))


def _timed(what: Callable[[], object], limit: float) -> float | None:
    def stop(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, limit)
    start = time.perf_counter()
    try:
        what()
        return time.perf_counter() - start
    except TimeoutError:
        return None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _median(times: Times) -> str:
    """In milliseconds; a stopped one is longer than all others."""
    middle = statistics.median_low([float("inf") if each is None else each for each in times])
    return "stopped" if middle == float("inf") else f"{1_000 * middle:.3g}"


def _shown(times: Times) -> str:
    most = "stopped" if None in times else f"{1_000 * max(each or 0 for each in times):.3g}"
    return f"{_median(times)} ({most})"


# The picture ------------------------------------------------------------------------------------

_WIDTH, _HEIGHT, _LEFT, _TOP = 630, 360, 70, 24
_INK, _GRID = "#1c2733", "#d5dbe1"
_COLOURS = {2: "#1565c0", 3: "#2e7d32", 4: "#b26a00", 5: "#c62828"}
_DECADES = range(-1, 5)
"""Of milliseconds, from a tenth of one to ten seconds."""


def picture(found: Mapping[tuple[int, int], tuple[Times, Times, Times]], limit: float) -> str:
    """Medians over the number of streams, a line for each number of columns."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" '
        f'viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="monospace" font-size="12">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/>',
    ]
    for decade in _DECADES:
        y = _y(10.0**decade)
        parts.append(
            f'<path d="M{_LEFT} {y:.1f}H{_x(STREAMS[-1]):.1f}" stroke="{_GRID}"/>'
            + _label(f"{10.0**decade:g} ms", _LEFT - 6, y + 4, "end")
        )
    parts += [_label(f"{each} streams", _x(each), _HEIGHT - 12, "middle") for each in STREAMS]
    for number, columns in enumerate(COLUMNS):
        colour = _COLOURS[columns]
        for which, dashes in ((0, ""), (1, ' stroke-dasharray="5 4"')):
            points = [
                f"{_x(streams):.1f},{_y(_milliseconds(found[streams, columns][which], limit)):.1f}"
                for streams in STREAMS
            ]
            parts.append(
                f'<polyline points="{" ".join(points)}" fill="none" stroke="{colour}" '
                f'stroke-width="2"{dashes}/>'
            )
        y = _TOP + 18 * number + 10
        parts.append(
            f'<path d="M{_WIDTH - 118} {y - 4}h20" stroke="{colour}" stroke-width="2"/>'
            + _label(f"{columns} columns", _WIDTH - 92, y, "start")
        )
    y = _TOP + 18 * len(COLUMNS) + 14
    for line in ("solid: checker", "dashed: all", "LTO queries", f"({limit:g} s at most)"):
        parts.append(_label(line, _WIDTH - 118, y, "start"))
        y += 16
    return "\n".join([*parts, "</svg>"])


def _milliseconds(times: Times, limit: float) -> float:
    return 1_000 * statistics.median_low([limit if each is None else each for each in times])


def _x(streams: int) -> float:
    width = _WIDTH - _LEFT - 170
    return _LEFT + 24 + width * (streams - STREAMS[0]) / (STREAMS[-1] - STREAMS[0])


def _y(milliseconds: float) -> float:
    height = _HEIGHT - _TOP - 44
    share = (math.log10(max(milliseconds, 0.1)) - _DECADES[0]) / (_DECADES[-1] - _DECADES[0])
    return _TOP + height * (1 - share)


def _label(text: str, x: float, y: float, anchor: str) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{_INK}">{escape(text)}</text>'
    )
