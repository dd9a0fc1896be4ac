"""`check --source` and `--rate`: what samples and rates say of a query."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.harness import Done, millpond

DDL = """CREATE STREAM s (a INT, k VARCHAR, ts TIMESTAMP, TIMESTAMP BY ts);
CREATE STREAM t (d INT, ts TIMESTAMP, TIMESTAMP BY ts);
"""
DISTINCT = f"{DDL}SELECT DISTINCT k FROM s"
JOIN = f"{DDL}SELECT s.a FROM s, t WHERE s.a = t.d"


def check(text: str, *options: str | Path) -> Done:
    return millpond("check", "-", *options, stdin=text.encode())


def document(text: str, *options: str | Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(check(text, "--json", *options).out)
    return found


@pytest.fixture
def events(tmp_path: Path) -> Path:
    """An hour of rows, one a minute, `k` one of three."""
    path = tmp_path / "events.json"
    rows = [
        {"a": n, "k": "xyz"[n % 3], "ts": f"2024-01-01T{n // 60:02d}:{n % 60:02d}:00Z"}
        for n in range(61)
    ]
    path.write_text("".join(json.dumps(each) + "\n" for each in rows), encoding="utf-8")
    return path


# Rates ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    [("--rate", "s=5/s", "--rate", "S=7/s"), ("--source", "s=a.csv", "--source", "s=b.csv")],
)
def test_a_stream_has_one_rate_and_one_source(given: tuple[str, ...]) -> None:
    done = check(DISTINCT, *given)
    assert (done.code, done.codes) == (2, ["MP403"])
    assert "given twice" in done.err


@pytest.mark.parametrize(
    ("rate", "rows"),
    [("2/s", 7200), ("120/min", 7200), ("7200/h", 7200), ("172800/day", 7200), ("0.5/s", 1800),
     ("2 / second", 7200), ("1/m", 60), ("1/hour", 1), ("24/d", 1)],
)  # fmt: skip
def test_a_rate_makes_growth_rows_and_bytes_an_hour(rate: str, rows: int) -> None:
    (query,) = document(DISTINCT, "--rate", f"s={rate}")["queries"]
    said = "1 row" if rows == 1 else f"{rows} rows"
    assert query["growth"] == f"distinct s.k: at most {said} and {16 * rows} bytes an hour"
    pace = {"rows": rows, "bytes": 16 * rows, "per": "hour", "measured": False, "without": []}
    assert query["pace"] == pace
    assert [each["pace"] for each in query["elsewhere"]] == [pace, pace]


@pytest.mark.parametrize(
    "rate",
    ["s", "s=", "=5/s", "s=5", "s=/s", "s=five/s", "s=5/fortnight", "s=-5/s", "s=5/s/s", "s=1e3/s",
     "x=5/s"],
)  # fmt: skip
def test_what_is_no_rate_is_refused(rate: str) -> None:
    done = check(DISTINCT, "--rate", rate)
    assert (done.code, done.codes, done.out) == (2, ["MP403"], "")


def test_an_unknown_stream_has_a_hint() -> None:
    assert "did you mean" in check(DISTINCT, "--rate", "S2=5/s").err
    assert check(DISTINCT, "--rate", "S=5/s").code == 1


def test_the_text_leads_with_the_growth() -> None:
    first, *rest = check(JOIN, "--rate", "s=2000/s", "--rate", "t=5/min").out.splitlines()
    assert first == (
        "q1: linear, no bound: it grows with distinct s.a, t.d, at most 7.2 million rows and "
        "28.8 MB an hour"
    )
    keeps = "Spark and Flink would keep every row of s and t that passes its filters"
    assert f"  {keeps}: at most 7.2 million rows and 28.8 MB an hour" in rest


def test_without_a_rate_growth_is_as_it_was() -> None:
    (query,) = document(DISTINCT)["queries"]
    assert (query["growth"], query["pace"]) == ("distinct s.k", None)
    assert {each["engine"] for each in query["elsewhere"]} == {"Spark", "Flink"}
    assert "sources" not in document(DISTINCT)


def test_what_others_keep_is_said_where_it_is_worse() -> None:
    bounded = f"{DDL}SELECT s.a FROM s, t WHERE s.a = t.d AND s.a BETWEEN 1 AND 9"
    assert "  Spark and Flink would keep every row of s and t" in check(bounded).out
    assert "Spark" not in check(f"{DDL}SELECT DISTINCT a FROM s WHERE a BETWEEN 1 AND 9").out
    assert "if Spark 4.3" not in check(bounded).out
    assert "if Spark 4.3" in check(bounded, "--why").out


# Samples ----------------------------------------------------------------------------------------


def test_a_sample_says_what_bounds_a_query(events: Path) -> None:
    done = check(DISTINCT, "--source", f"s={events}")
    assert done.code == 1
    lines = done.out.splitlines()
    obeys = next(place for place, each in enumerate(lines) if "your data obeys" in each)
    assert lines[obeys : obeys + 2] == [
        "  your data obeys s.k IN ('x', 'y', 'z'); declaring it makes q1 constant, at most 4 units",
        "    + ALTER STREAM s ADD CHECK (k IN ('x', 'y', 'z'));",
    ]
    assert obeys < next(place for place, each in enumerate(lines) if "repair:" in each)


def test_what_is_suggested_makes_the_query_what_was_said(events: Path) -> None:
    suggested = document(DISTINCT, "--source", f"s={events}")["sources"]["s"]["suggestions"]
    (bounding,) = [each for each in suggested if each["makes"]]
    (made,) = bounding["makes"]
    assert made == {"query": "q1", "memory": "constant", "units": 4, "with": ["s.k"]}
    (again,) = document(DISTINCT.replace("SELECT", f"{bounding['sql']}\nSELECT", 1))["queries"]
    assert (again["memory"], again["units"]) == (made["memory"], made["units"])
    assert "your data obeys" not in check(DDL + bounding["sql"] + "SELECT DISTINCT k FROM s").out


def test_the_sources_of_a_document(events: Path) -> None:
    found = document(DISTINCT, "--source", f"s={events}")
    assert found["version"] == 1
    assert list(found) == ["version", "queries", "sources"]
    sample = found["sources"]["s"]
    assert (sample["uri"], sample["rows"]) == (str(events), 61)
    assert sample["columns"][1] == {
        "name": "k", "type": "VARCHAR", "nulls": 0, "distinct": 3, "low": "x", "high": "z",
        "values": ["x", "y", "z"],
    }  # fmt: skip
    assert sample["time"] == {
        "column": "ts", "declared": True, "first": "2024-01-01T00:00:00Z",
        "last": "2024-01-01T01:00:00Z", "instants": 61, "rows_per_instant": 1, "delay": 0,
        "rows_per_hour": 61.0,
    }  # fmt: skip


def test_a_sample_s_own_rate_and_share_give_the_growth(events: Path) -> None:
    (query,) = document(DISTINCT, "--source", f"s={events}")["queries"]
    assert query["growth"] == "distinct s.k: about 3 rows and 48 bytes an hour"
    (query,) = document(DISTINCT, "--source", f"s={events}", "--rate", "s=6100/h")["queries"]
    assert query["growth"] == "distinct s.k: about 300 rows and 4800 bytes an hour"


def test_the_text_has_a_table_of_the_columns(events: Path) -> None:
    out = check(DISTINCT, "--source", f"s={events}").out
    table = out[out.index("\ns: 61 rows in ") + 1 :].splitlines()
    assert table[1:6] == [
        "  column  type       NULLs  distinct  values",
        "  a       INT        0      61        0 to 60",
        "  k       VARCHAR    0      3         x, y, z",
        "  ts      TIMESTAMP  0      61        2024-01-01T00:00:00Z to 2024-01-01T01:00:00Z",
        "  rows come in order, 61 an hour, at most 1 with one ts",
    ]
    assert table[6] == "  as far as these rows go, it obeys"


@pytest.mark.parametrize(
    ("source", "code"),
    [("s=missing.json", "MP404"), ("x=events.json", "MP403"), ("s", "MP403"),
     ("s=kafka://broker/topic", "MP110")],
)  # fmt: skip
def test_sources_that_cannot_be_measured_are_refused(source: str, code: str) -> None:
    done = check(DISTINCT, "--source", source)
    assert (done.code, done.codes, done.out) == (2, [code], "")


def test_a_bad_row_is_refused_as_by_a_run(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text('{"d": 1, "ts": 0}\n{"d": "x", "ts": 0}\n', encoding="utf-8")
    done = check(JOIN, "--source", f"t={path}")
    assert (done.code, done.codes) == (2, ["MP304"])
    assert f"{path}:2" in done.err


def test_several_files_have_their_own_samples(tmp_path: Path, events: Path) -> None:
    one, two = tmp_path / "one.sql", tmp_path / "two.sql"
    one.write_text(DISTINCT)
    two.write_text("CREATE STREAM t (d INT); SELECT DISTINCT d FROM t")
    done = millpond("check", one, two, "--json", "--source", f"s={events}", "--rate", "t=1/h")
    found = json.loads(done.out)
    assert list(found["sources"]) == [f"{one}: s"]
    assert found["queries"][1]["growth"] == "distinct t.d: at most 1 row and 4 bytes an hour"
