"""Peak memory of the engine between 1 and 10 million rows, beside DuckDB asked again.

Each run is a process of its own, which makes its rows batch by batch and keeps none; what is shown
is the most memory that it ever held (its resident set).  The rows are those of `engine.py`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

_CHILD = """
import json, resource, sys
sys.path.insert(0, sys.argv[1])
import engine
name, way, rows, k = sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
workload = next(each for each in engine.WORKLOADS if each.name == name)
batches = engine.drawn(workload, rows, k)
if way == "millpond":
    engine.ours(engine.compiled(workload), batches)
elif way == "DuckDB, state by hand":
    workload.by_hand(engine.opened(), batches)
else:
    engine.duckdb_again(workload, batches, ask=False)
print(json.dumps(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024))
"""


def run(*, quick: bool, say: Callable[[str], None]) -> Iterator[str]:
    """The table as lines of Markdown."""
    few, many = (100_000, 1_000_000) if quick else (1_000_000, 10_000_000)
    yield f"| workload | | MB at {few:,} rows | MB at {many:,} rows | growth, MB |"
    yield "| --- | --- | --- | --- | --- |"
    for name in ("W1, keys in 0..30", "W2", "SUM over a join", "MEDIAN"):
        ways = ["millpond"]
        if name.startswith("W"):
            ways.append("DuckDB, state by hand")
        if name == "W2":
            ways.append("DuckDB, all rows kept")
        for way in ways:
            say(f"{name}: {way}")
            low, high = (_peak(name, way, rows) for rows in (few, many))
            yield f"| {name} | {way} | {low:.0f} | {high:.0f} | {high - low:.0f} |"


def _peak(name: str, way: str, rows: int) -> float:
    here = str(Path(__file__).parent)
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, here, name, way, str(rows), "100000"],
        check=True,
        capture_output=True,
        text=True,
    )
    return float(json.loads(done.stdout.splitlines()[-1]))
