"""Wall time of `millpond check` beside the import of its largest parts, Polars and sqlglot.

Each command is a process of its own, as in a shell or in a build; they are run in turn, so that
what else the machine does falls on all of them.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

BOUNDED = """CREATE STREAM s (a INT, b BIGINT);
CREATE STREAM t (d INT, e BIGINT);
SELECT s.a FROM s, t WHERE s.a = t.d AND s.a > 10 AND t.d < 20;
"""
LINEAR = """CREATE STREAM s (a INT, b BIGINT);
CREATE STREAM t (d INT, e BIGINT);
SELECT s.a FROM s, t WHERE s.b < t.e AND s.a = 10;
"""
_CHECK = (sys.executable, "-m", "millpond", "check")


def run(*, quick: bool, say: Callable[[str], None]) -> Iterator[str]:
    """The table as lines of Markdown."""
    repeats = 3 if quick else 11
    with tempfile.TemporaryDirectory() as name:
        commands = _commands(Path(name))
        times: dict[str, list[float]] = {each: [] for each in commands}
        for number in range(repeats + 1):  # the first one warms the disk up
            say(f"round {number} of {repeats}")
            for what, command in commands.items():
                took = _timed(command)
                if number:
                    times[what].append(took)
    base = statistics.median(times[next(iter(times))])
    yield f"| | s (median of {repeats}) | least to most | of the imports |"
    yield "| --- | --- | --- | --- |"
    for what, took in times.items():
        middle = statistics.median(took)
        yield (
            f"| {what} | {middle:.3f} | {min(took):.3f} to {max(took):.3f} | {middle / base:.2f} |"
        )


def _commands(folder: Path) -> dict[str, tuple[str, ...]]:
    bounded, linear = folder / "bounded.sql", folder / "linear.sql"
    bounded.write_text(BOUNDED)
    linear.write_text(LINEAR)
    return {
        "import polars, sqlglot": (sys.executable, "-c", "import polars, sqlglot"),
        "check of a query with a bound": (*_CHECK, str(bounded)),
        "check of one without, witness and repairs": (*_CHECK, str(linear)),
        "the same with --witness 8": (*_CHECK, str(linear), "--witness", "8"),
    }


def _timed(command: tuple[str, ...]) -> float:
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, check=False)
    took = time.perf_counter() - start
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.decode()}")
    return took
