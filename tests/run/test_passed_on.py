"""Rows of one timed stream that are filtered and passed on, their time with them."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.cli.harness import jsonl, millpond

from millpond.language import read_script
from millpond.memory import verdict_of

DECLARED = {
    "whole": "CREATE STREAM s (a INT, ts BIGINT) WITH (time = 'ts');",
    "moments": "CREATE STREAM s (a INT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL '1' HOUR);",
}
QUERIES = {
    "whole": "SELECT ts, ts + a AS later FROM s WHERE ts BETWEEN 3 AND 20 AND a < ts",
    "moments": "SELECT ts, a FROM s WHERE ts > TIMESTAMP '2024-01-01 05:00:00' "
    "UNION ALL SELECT ts, 7 FROM s WHERE a = 1",
}


@pytest.mark.parametrize("time", DECLARED)
def test_rows_with_a_time_are_passed_on_as_by_definition(time: str, tmp_path: Path) -> None:
    text = DECLARED[time] + QUERIES[time]
    (query,) = read_script(text).queries
    verdict = verdict_of(query)
    assert (verdict.memory, verdict.units, verdict.runs) == ("none", 0, True)
    rng = random.Random(3)
    hours = sorted(rng.randint(0, 23) for _ in range(60))
    events = [
        {"s": {"a": rng.choice((None, 1, 2, 30)), "ts": _moment(at) if time == "moments" else at}}
        for at in hours
    ]
    file = tmp_path / "q.sql"
    file.write_text(text)
    here, defined = (
        millpond("run", file, "--input", "-", "--engine", engine, stdin=jsonl(events))
        for engine in ("local", "definition")
    )
    assert (here.code, here.out) == (0, defined.out)
    assert len(here.lines) > 10


def _moment(hour: int) -> str:
    return f"2024-01-01T{hour:02d}:00:00Z"
