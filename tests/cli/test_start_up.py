"""A run starts at once: it loads what it needs, and never waits for a compiler."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.harness import MILLPOND, jsonl

TEXT = "CREATE STREAM s (a INT, b INT); CREATE STREAM t (d INT);" \
       "SELECT s.a FROM s, t WHERE s.b < t.d AND s.a = 10 AND s.b > 0 AND t.d < 20"  # fmt: skip
EVENTS = [{"s": {"a": 10, "b": 5}}, {"t": {"d": 7}}]


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    (tmp_path / "q.sql").write_text(TEXT)
    (tmp_path / "rows.jsonl").write_bytes(jsonl(EVENTS))
    return ["run", str(tmp_path / "q.sql"), "--input", str(tmp_path / "rows.jsonl")]


def test_a_few_rows_need_no_big_library(command: list[str]) -> None:
    code = (
        "import sys\nfrom millpond.cli import main\n"
        f"try: main({command!r})\n"
        "except SystemExit as leaving: assert not leaving.code\n"
        "print(sorted({'numba', 'polars', 'pyarrow', 'pyspark'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    said, loaded = done.stdout.splitlines()
    assert said == '{"op": "+", "row": {"a": 10}, "at": 2}'
    assert loaded == "[]"


def seconds(command: list[str], cache: Path) -> float:
    """Of processor time, the least of some runs."""
    found = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            command, check=True, capture_output=True,
            env={**os.environ, "XDG_CACHE_HOME": str(cache)},
        )  # fmt: skip
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(found)


@pytest.mark.heavy
def test_the_first_answer_takes_at_most_twice_as_long_as_what_it_imports(
    command: list[str], tmp_path: Path
) -> None:
    parts = "import millpond.cli.main, millpond.cli.run_here, millpond.run.engine"
    imports = seconds([sys.executable, "-c", parts], tmp_path)
    assert seconds([*MILLPOND, *command], tmp_path) <= 2 * imports
