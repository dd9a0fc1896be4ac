"""`millpond demo`: the main job from beginning to end, on data that it makes."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from millpond.report import Style

STREAMS = """\
CREATE STREAM orders   (region INT, price INT);
CREATE STREAM payments (region INT, amount INT);
"""
BOUNDED = """\
-- Which orders of regions 11 to 19 meet a payment of the same region, and how often?
SELECT o.region
FROM orders o JOIN payments p ON o.region = p.region
WHERE o.region > 10 AND p.region < 20;
"""
UNBOUNDED = """\
-- In which regions was there an order at a lower price than some payment?
SELECT o.region
FROM orders o, payments p
WHERE o.price < p.amount AND o.region BETWEEN 11 AND 19;
"""
ROWS, BATCH = 20_000, 2_000
_RUN = ("run", "repaired.sql", "--input", "rows.jsonl", "--emit", "final", "--json")


def demo() -> int:
    """Check a query, refuse an unbounded one and repair it, run it here and on Spark.

    \b
    Example:
      millpond demo
    """
    folder = Path(tempfile.mkdtemp(prefix="millpond-demo-"))
    try:
        return _Demo(folder, Style.of(sys.stdout)).play()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class _Demo:
    def __init__(self, folder: Path, style: Style) -> None:
        self._folder = folder
        self._style = style

    def play(self) -> int:
        self._write("bounded.sql", STREAMS + BOUNDED)
        self._write("unbounded.sql", STREAMS + UNBOUNDED)
        self._rows()
        self._title("A query whose memory has a bound: it is proved before anything runs")
        self._show("bounded.sql")
        self._verb("check", "bounded.sql")
        self._title("A query whose memory has none: refused, with the reason and repairs")
        self._show("unbounded.sql")
        self._verb("check", "unbounded.sql", expect=1)
        self._verb("run", "unbounded.sql", "--input", "rows.jsonl", expect=1)
        self._title("The smallest repair, checked again")
        self._write("repaired.sql", STREAMS + self._repaired())
        self._show("repaired.sql")
        self._verb("check", "repaired.sql")
        self._title(f"The repaired query over {ROWS:,} rows, in this process")
        here = self._timed(
            "run", "repaired.sql", "--input", "rows.jsonl", "--emit", "final", "--json"
        )
        self._title(f"The same on Spark, in micro-batches of {BATCH:,} rows")
        there = self._spark()
        if there is None:
            return 0
        same = _answer(here) == _answer(there)
        print(f"\nThe two answers are {'the same' if same else 'DIFFERENT'}.")
        return 0 if same else 70

    def _spark(self) -> str | None:
        from importlib.util import find_spec

        if find_spec("pyspark") is None:
            print(
                "pyspark is not installed, so this part is left out: pip install 'millpond[spark]'"
            )
            return None
        return self._timed(*_RUN, "--engine", "spark", "--batch-rows", str(BATCH))

    def _repaired(self) -> str:
        """The unbounded query with the first repair that `check` offers."""
        said = json.loads(self._run("check", "unbounded.sql", "--json", expect=1).stdout)
        sql: str = said["queries"][0]["fixes"][0]["sql"]
        return sql + ";\n"

    # -----------------------------------------------------------------------------------------

    def _title(self, text: str) -> None:
        print(f"\n{self._style.bold('== ' + text)}", flush=True)

    def _show(self, name: str) -> None:
        body = (self._folder / name).read_text(encoding="utf-8").removeprefix(STREAMS)
        for line in body.rstrip().splitlines():
            print(f"   {self._style.dim(line)}")

    def _verb(self, *arguments: str, expect: int = 0) -> None:
        print(self._style.bold(f"$ millpond {' '.join(arguments)}"), flush=True)
        done = self._run(*arguments, expect=expect)
        print((done.stdout + done.stderr).rstrip())
        if expect:
            print(self._style.dim(f"(exit code {expect})"))

    def _timed(self, *arguments: str) -> str:
        """Runs a query; prints its answer, its state gauge, and how long it took."""
        from millpond.report import gauge

        print(self._style.bold(f"$ millpond {' '.join(arguments)}"), flush=True)
        start = time.perf_counter()
        done = self._run(*arguments)
        seconds = time.perf_counter() - start
        print(done.stdout.rstrip())
        for line in done.stderr.splitlines():
            if line.startswith("{"):
                said = json.loads(line)
                where = f"batch {said['batch']:>3}" if "batch" in said else "at the end"
                print(f"   {where}, {said['rows']:>6,} rows: {gauge(said['units'], said['bound'])}")
            elif line.strip():
                print(line)
        print(f"   {seconds:.1f} s, start of the process included")
        return done.stdout

    def _run(self, *arguments: str, expect: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "millpond", *arguments],
            cwd=self._folder,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != expect:
            sys.stderr.write(done.stdout + done.stderr)
            raise RuntimeError(f"millpond {' '.join(arguments)} left with {done.returncode}")
        return done

    def _write(self, name: str, text: str) -> None:
        (self._folder / name).write_text(text, encoding="utf-8")

    def _rows(self) -> None:
        """Orders and payments in turn of chance; the same ones every time."""
        rng = random.Random(11)
        with (self._folder / "rows.jsonl").open("w", encoding="utf-8") as file:
            for _ in range(ROWS):
                region, money = rng.randint(1, 40), rng.randint(1, 10_000)
                row = (
                    {"orders": {"region": region, "price": money}}
                    if rng.random() < 0.5
                    else {"payments": {"region": region, "amount": money}}
                )
                file.write(json.dumps(row) + "\n")


def _answer(printed: str) -> list[str]:
    return sorted(line for line in printed.splitlines() if line.startswith("{"))
