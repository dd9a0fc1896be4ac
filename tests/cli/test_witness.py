"""A witness as it is printed, put to the test as its reader would: fed to `millpond run`."""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from tests.cli.harness import millpond

DDL = """CREATE STREAM s (a INT, b BIGINT, k VARCHAR);
CREATE STREAM t (d INT, e DOUBLE);
CREATE STREAM u (a INT, ts BIGINT, TIMESTAMP BY ts);
"""
QUERIES = [
    "SELECT DISTINCT k FROM s",
    "SELECT s.a FROM s, t WHERE s.b < t.e AND s.a = 10",
    "SELECT DISTINCT s.k FROM s, t WHERE s.a = t.d AND s.k IN ('x', 'y')",
    "SELECT DISTINCT a FROM u",
    "SELECT k, COUNT(*) FROM s GROUP BY k",
    "SELECT MEDIAN(b) FROM s",
    "SELECT MAX(s.a) FROM s, t WHERE s.b < t.d",
]


def changes(query: Path, events: list[Any], probe: list[Any], *, answer: bool) -> list[str]:
    """What is printed while the probe is read, `at` left out; or the answer after it."""
    rows = query.with_suffix(".jsonl")
    said: list[Counter[str]] = []
    for fed in (events, [*events, *probe]):
        rows.write_text("".join(json.dumps(each) + "\n" for each in fed), encoding="utf-8")
        emit = "final" if answer else "changes"
        done = millpond("run", query, "--engine", "definition", "--input", rows, "--emit", emit)
        assert done.code == 0, done.err
        lines = [json.loads(each) for each in done.out.splitlines()]
        total: Counter[str] = Counter()
        for each in lines:
            key = json.dumps([each.get("op"), each["row"]])
            total[key] += each.get("n", 1)
        said.append(total)
    return sorted((said[1] if answer else said[1] - said[0]).elements())


@pytest.mark.parametrize("text", QUERIES)
def test_the_printed_witness_holds_when_it_is_fed(text: str, tmp_path: Path) -> None:
    query = tmp_path / "query.sql"
    query.write_text(DDL + text, encoding="utf-8")
    done = millpond("check", query, "--witness", "2", "--json")
    assert done.code == 1
    (verdict,) = json.loads(done.out)["queries"]
    witness = verdict["witness"]
    assert set(witness) == {"n", "base", "prefix", "probes", "claim"}
    assert (witness["n"], len(witness["prefix"]), len(witness["probes"])) == (2, 2, 2)
    aggregated = "(" in text
    responses = set()
    for subset in product([True, False], repeat=2):
        events = list(witness["base"])
        for chosen, each in zip(subset, witness["prefix"], strict=True):
            events += each["in" if chosen else "out"]
        responses.add(
            tuple(
                tuple(changes(query, events, probe, answer=aggregated))
                for probe in witness["probes"]
            )
        )
    assert len(responses) == 4


def test_the_witness_is_shown_when_it_is_asked_for(tmp_path: Path) -> None:
    query = tmp_path / "query.sql"
    query.write_text(DDL + QUERIES[1], encoding="utf-8")
    assert "witness:" not in millpond("check", query).out
    shown = millpond("check", query, "--witness", "5").out
    assert "witness: after any of the 32 subsets of 5 rows" in shown
    assert "... and so on to 5; --json prints all of them" in shown
    assert (
        "witness: after any of the 256 subsets of 8 rows" in millpond("check", query, "--why").out
    )


@pytest.mark.parametrize("size", ["0", "65", "many"])
def test_the_size_of_a_witness_is_in_bounds(size: str, tmp_path: Path) -> None:
    query = tmp_path / "query.sql"
    query.write_text(DDL + QUERIES[1], encoding="utf-8")
    assert millpond("check", query, "--witness", size).code == 2


@pytest.mark.parametrize(
    ("text", "memory"),
    [
        # Its two parts do not make up for one another, as an input shows.
        ("SELECT 1 FROM s, t WHERE s.a <> t.d", "linear"),
        (
            "SELECT 1 FROM s, t WHERE (s.a = 1 OR s.b < t.e) AND s.a = t.d AND t.d IN (1, 2)",
            "linear",
        ),
        ("SELECT a FROM s UNION ALL SELECT s.a FROM s, t WHERE s.a = t.d", "linear"),
        # Here they do, or may: what is asked is whether both columns are there.
        ("SELECT 1 FROM s, t WHERE s.a < t.d OR s.a >= t.d", "outside"),
        ("SELECT 1 FROM s, t WHERE (s.a = 1 OR s.b < t.e) AND s.a = t.d AND t.d = 1", "constant"),
        ("SELECT DISTINCT 1 FROM s, t WHERE s.a <> t.d AND s.b <> t.e", "outside"),
    ],
)
def test_what_parts_do_together_is_shown_by_an_input(
    text: str, memory: str, tmp_path: Path
) -> None:
    query = tmp_path / "query.sql"
    query.write_text(DDL + text, encoding="utf-8")
    (verdict,) = json.loads(millpond("check", query, "--json").out)["queries"]
    assert verdict["memory"] == memory
    assert (verdict["witness"] is None) is (memory != "linear")


def test_rows_that_come_often_are_shown_once(tmp_path: Path) -> None:
    query = tmp_path / "often.sql"
    query.write_text(
        "CREATE STREAM s (a BIGINT); SELECT a FROM s GROUP BY a HAVING COUNT(*) > 100",
        encoding="utf-8",
    )
    done = millpond("check", query, "--witness", "2")
    assert "the 4 subsets of 2 groups of rows" in done.out
    assert re.search(r"1 in: +[0-9]+ x {\"s\": {\"a\": [^}]*}}$", done.out, re.MULTILINE)
