"""Verdicts in a lock file: kept up to date, and guarded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.harness import Done, millpond

DDL = "CREATE STREAM s (a INT, b INT);\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def check(folder: Path, *queries: str) -> Done:
    text = DDL + ";\n".join(f"CREATE QUERY {name} AS {sql}" for name, sql in map(_named, queries))
    (folder / "q.sql").write_text(text, encoding="utf-8")
    return millpond("check", "q.sql", "--lock", "verdicts.json")


def _named(query: str) -> tuple[str, str]:
    name, _, sql = query.partition(": ")
    return name, sql


def held(folder: Path) -> dict[str, object]:
    document = json.loads((folder / "verdicts.json").read_text(encoding="utf-8"))
    assert document["version"] == 1
    found: dict[str, object] = document["queries"]
    return found


NARROW = "q: SELECT DISTINCT a FROM s WHERE a BETWEEN 1 AND 5"
WIDE = "q: SELECT DISTINCT a FROM s WHERE a BETWEEN 1 AND 9"
OPEN = "q: SELECT DISTINCT a FROM s"


def test_a_first_check_writes_the_lock(folder: Path) -> None:
    assert check(folder, NARROW).code == 0
    assert held(folder) == {"q.sql:q": {"memory": "constant", "units": 5}}


def test_a_window_is_better_than_no_bound_and_worse_than_a_number(folder: Path) -> None:
    timed = "CREATE STREAM w (a INT, ts BIGINT, TIMESTAMP BY ts);\n"

    def windowed(window: str) -> Done:
        text = f"{DDL}{timed}CREATE QUERY q AS SELECT DISTINCT a FROM w {window};"
        (folder / "q.sql").write_text(text, encoding="utf-8")
        return millpond("check", "q.sql", "--lock", "verdicts.json")

    assert windowed("[RANGE 9]").code == 0
    assert held(folder) == {"q.sql:q": {"memory": "window", "units": None}}
    assert windowed("").code == 1
    assert windowed("[ROWS 9]").code == 0
    assert windowed("[RANGE 9]").code == 1
    assert held(folder) == {"q.sql:q": {"memory": "constant", "units": 9 * 2 + 9 * 2}}


def test_the_same_and_what_is_better_pass_and_are_kept(folder: Path) -> None:
    assert check(folder, WIDE).code == 0
    before = (folder / "verdicts.json").stat().st_mtime_ns
    assert check(folder, WIDE).code == 0
    assert (folder / "verdicts.json").stat().st_mtime_ns == before
    assert check(folder, NARROW, "other: SELECT a FROM s").code == 0
    assert held(folder) == {
        "q.sql:q": {"memory": "constant", "units": 5},
        "q.sql:other": {"memory": "none", "units": 0},
    }


@pytest.mark.parametrize(("text", "said"), [(WIDE, "constant of 9 units"), (OPEN, "linear")])
def test_what_is_worse_fails_and_leaves_the_lock(folder: Path, text: str, said: str) -> None:
    check(folder, NARROW)
    done = check(folder, text)
    assert done.code == 1
    assert done.codes == ["MP409"]
    assert f"query q is {said}, and was constant of 5 units" in done.err
    assert "q.sql:2" in done.err
    assert held(folder) == {"q.sql:q": {"memory": "constant", "units": 5}}


def test_a_linear_query_that_is_known_still_fails_the_check(folder: Path) -> None:
    assert check(folder, OPEN).code == 1
    assert held(folder) == {"q.sql:q": {"memory": "linear", "units": None}}
    done = check(folder, OPEN)
    assert (done.code, done.codes) == (1, [])


@pytest.mark.parametrize(
    "text", ["", "[]", '{"version": 2, "queries": {}}', '{"queries": {"q": 1}}']
)
def test_what_is_no_lock_is_refused_and_kept(folder: Path, text: str) -> None:
    lock = folder / "verdicts.json"
    lock.write_text(text, encoding="utf-8")
    done = check(folder, NARROW)
    assert (done.code, done.codes) == (2, ["MP404"])
    assert lock.read_text(encoding="utf-8") == text


def test_a_lock_that_cannot_be_written_is_said(folder: Path) -> None:
    (folder / "q.sql").write_text(DDL + "SELECT a FROM s", encoding="utf-8")
    done = millpond("check", "q.sql", "--lock", "no/such/folder/verdicts.json")
    assert (done.code, done.codes) == (2, ["MP406"])


def test_a_lock_knows_its_files_wherever_the_check_is_started(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(folder, NARROW)
    (folder / "q.sql").write_text(f"{DDL}CREATE QUERY {OPEN.replace(':', ' AS')}", encoding="utf-8")
    assert millpond("check", "./q.sql", "--lock", "verdicts.json").codes == ["MP409"]
    (folder / "deeper").mkdir()
    monkeypatch.chdir(folder / "deeper")
    done = millpond("check", "../q.sql", "--lock", "../verdicts.json")
    assert done.codes == ["MP409"]
    assert held(folder) == {"q.sql:q": {"memory": "constant", "units": 5}}


def test_a_check_of_one_file_keeps_what_is_held_of_others(folder: Path) -> None:
    check(folder, NARROW)
    (folder / "other.sql").write_text(DDL + "SELECT a FROM s", encoding="utf-8")
    assert millpond("check", "other.sql", "--lock", "verdicts.json").code == 0
    assert set(held(folder)) == {"q.sql:q", "other.sql:q1"}
    (folder / "q.sql").unlink()
    assert millpond("check", "other.sql", "--lock", "verdicts.json").code == 0
    assert set(held(folder)) == {"other.sql:q1"}
