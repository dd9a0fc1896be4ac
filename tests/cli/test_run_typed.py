"""`millpond run` of queries over any type: the same bytes by program and by definition."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.harness import millpond

DDL = """CREATE STREAM s (a INT, c VARCHAR, d DECIMAL(5, 2), ts TIMESTAMP) WITH (time = 'ts');
CREATE STREAM t (k VARCHAR CHECK (k IN ('x', 'y')), e DOUBLE, ts TIMESTAMP) WITH (time = 'ts');
"""
ROWS = """
{"s": {"a": 1, "c": "x", "d": "1.50", "ts": "2024-01-01T00:00:00"}}
{"t": {"k": "x", "e": 1.25, "ts": "2024-01-01T00:00:00"}}
{"t": {"k": null, "e": 9, "ts": "2024-01-01T00:00:00"}}
{"s": {"a": 0, "c": "seven", "d": "1.25", "ts": "2024-01-01T00:00:01"}}
{"s": {"a": 2, "c": "y", "d": null, "ts": "2024-01-01T00:00:01"}}
{"t": {"k": "y", "e": -0.0, "ts": "2024-01-01T00:00:03"}}
{"s": {"a": 1, "c": "7", "d": "9.99", "ts": "2024-01-01T00:00:04"}}
"""
QUERIES = [
    "SELECT c, d FROM s WHERE a > 0 OR c LIKE 's%'",
    "SELECT DISTINCT k FROM s, t WHERE s.d > t.e AND (t.k = s.c OR t.k <> 'y')",
    "SELECT s.a, t.k FROM s, t WHERE s.a BETWEEN 0 AND 2 AND t.k = s.c",
    "SELECT a FROM s WHERE a = 1 AND CAST(c AS INT) = 7",
]


def run(text: str, rows: str, folder: Path, *more: str) -> tuple[int, str, str]:
    script, events = folder / "q.sql", folder / "rows.jsonl"
    script.write_text(text)
    events.write_text(rows.strip() + "\n")
    done = millpond("run", script, "--input", events, *more)
    return done.code, done.out, done.err


@pytest.mark.parametrize("emit", ["changes", "answers", "final"])
@pytest.mark.parametrize("query", QUERIES[:3])
def test_a_program_prints_what_the_definition_prints(query: str, emit: str, tmp_path: Path) -> None:
    expected = run(DDL + query, ROWS, tmp_path, "--emit", emit, "--engine", "definition")
    assert expected[0] == 0
    assert expected[1]
    for size in ("1", "3", "100"):
        found = run(DDL + query, ROWS, tmp_path, "--emit", emit, "--batch-rows", size)
        assert found[:2] == expected[:2]


def test_a_row_without_a_value_stops_the_run_where_the_definition_does(tmp_path: Path) -> None:
    text = DDL + ";\n".join(QUERIES[:1] + QUERIES[3:])
    found = run(text, ROWS, tmp_path)
    assert found == run(text, ROWS, tmp_path, "--engine", "definition")
    assert found[0] == 2, "of the first row the CAST is asked: a is 1, and c is x"
    assert found[2].startswith("error[MP309]")


def test_a_value_is_asked_for_only_where_what_stands_before_it_is_not_false(tmp_path: Path) -> None:
    text = DDL + QUERIES[3]
    rows = "\n".join(ROWS.strip().splitlines()[3:])
    found = run(text, rows, tmp_path)
    assert found == run(text, rows, tmp_path, "--engine", "definition")
    assert found[0] == 0
    assert '"a": 1' in found[1]
    turned = DDL + "SELECT a FROM s WHERE CAST(c AS INT) = 7 AND a = 1"
    assert run(turned, rows, tmp_path)[0] == 2


def test_what_spark_has_no_steps_for_runs_here_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_text('{"c": "x"}\n{"c": "y"}\n')
    script = tmp_path / "q.sql"
    script.write_text("CREATE STREAM s (c VARCHAR); SELECT c FROM s WHERE c LIKE 'x%'")
    source = f"s={tmp_path / 's.jsonl'}"
    done = millpond("run", script, "--source", source)
    assert (done.code, done.out) == (0, '{"op": "+", "row": {"c": "x"}, "at": 1}\n')
    assert "running in this process: not all of its steps are built for Spark" in done.err
    refused = millpond("run", script, "--source", source, "--engine", "spark")
    assert (refused.code, refused.codes) == (3, ["MP408"])
