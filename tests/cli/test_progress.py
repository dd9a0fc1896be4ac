"""What an operator sees of a run: a line on a terminal, lines of JSON, or nothing."""

from __future__ import annotations

import io
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.harness import LONGEST, MILLPOND, jsonl, millpond

from millpond.cli.progress import ProgressLine

TEXT = "CREATE STREAM s (a INT); CREATE STREAM t (d INT);" \
       "SELECT s.a FROM s, t WHERE s.a = t.d AND s.a BETWEEN 0 AND 9"  # fmt: skip


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def terminal_of(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal as standard error."""
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setenv("COLUMNS", "100")
    return shown


def lines(terminal: Terminal) -> list[str]:
    return terminal.getvalue().replace("\r\x1b[K", "\n").strip("\n").split("\n")


def test_a_terminal_shows_one_line_that_is_written_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = terminal_of(monkeypatch)
    clock = Clock()
    line = ProgressLine(False, 18, clock)
    assert not line.due()
    clock.now += 1
    assert line.due()
    line.show(rows=2000, at=2000, units=9, rejected=0)
    assert not line.due()
    clock.now += 0.5
    line.show(rows=5000, at=5000, units=18, rejected=3, commit=2)
    line.end()
    assert lines(terminal) == [
        "2,000 rows  2,000 rows/s  [#########---------] 9 of at most 18 units  instant 2,000",
        "5,000 rows  6,000 rows/s  [##################] 18 of at most 18 units  instant 5,000  "
        "commit 2",
    ]


def test_a_narrow_terminal_shows_what_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = terminal_of(monkeypatch)
    monkeypatch.setenv("COLUMNS", "40")
    line = ProgressLine(False, 18, Clock())
    line.show(rows=2000, at=2000, units=9, rejected=0)
    assert max(map(len, lines(terminal))) < 40
    assert lines(terminal)[0].startswith("2,000 rows  ")


def test_output_on_the_same_terminal_does_not_run_into_the_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = terminal_of(monkeypatch)
    line = ProgressLine(False, None, Clock())
    line.clear()
    assert terminal.getvalue() == ""
    line.show(rows=1, at="2013-01-31T05:00:00Z", units=9, rejected=0, watermark="2013-01-31")
    line.clear()
    assert not terminal.getvalue().endswith("\x1b[K"), "output goes elsewhere"
    monkeypatch.setattr(sys, "stdout", terminal)
    line.clear()
    assert terminal.getvalue().endswith("\x1b[K")
    line.end()
    assert terminal.getvalue().endswith("\x1b[K"), "nothing is left standing"


def test_no_terminal_sees_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.StringIO()
    monkeypatch.setattr(sys, "stderr", shown)
    clock = Clock()
    line = ProgressLine(False, 18, clock)
    clock.now += 9
    assert not line.due()
    line.show(rows=1, at=1, units=1, rejected=0)
    line.end()
    assert shown.getvalue() == ""


def test_json_says_the_same_in_lines(tmp_path: Path) -> None:
    (tmp_path / "q.sql").write_text(TEXT)
    rows = jsonl([{"s": {"a": 1}}, {"s": {"a": 2}}, {"t": {"d": 1}}])
    done = millpond("run", tmp_path / "q.sql", "--input", "-", "--json", stdin=rows)
    (said,) = [json.loads(each) for each in done.err.splitlines()]
    assert said.pop("rows_per_second") > 0
    assert said == {"rows": 3, "at": 3, "units": 3, "bound": 20, "rejected": 0}
    options = ("--json", "--checkpoint", tmp_path / "state")
    done = millpond("run", tmp_path / "q.sql", "--input", "-", *options, stdin=rows)
    assert json.loads(done.err)["commit"] == 1


def test_a_real_terminal_sees_rows_and_state(tmp_path: Path) -> None:
    (tmp_path / "q.sql").write_text(TEXT)
    (tmp_path / "rows.jsonl").write_bytes(jsonl([{"s": {"a": 1}}, {"t": {"d": 1}}]))
    ours, theirs = pty.openpty()
    command = [*MILLPOND, "run", str(tmp_path / "q.sql"), "--input", str(tmp_path / "rows.jsonl")]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=theirs, timeout=LONGEST, check=False,
        env={**os.environ, "COLUMNS": "120", "TERM": "xterm"},
    )  # fmt: skip
    os.close(theirs)
    shown = os.read(ours, 10_000).decode()
    os.close(ours)
    assert done.returncode == 0
    assert json.loads(done.stdout) == {"op": "+", "row": {"a": 1}, "at": 2}
    assert "2 rows" in shown
    assert "2 of at most 20 units  instant 2" in shown
