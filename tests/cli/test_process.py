"""The command as a process: pipes, signals, shells."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
from pathlib import Path
from typing import IO

import pytest
from tests.cli.harness import LONGEST, MILLPOND, Done, jsonl, millpond, process, shell

TEXT = "CREATE STREAM s (a INT); SELECT a FROM s WHERE a > 0"
ROWS = jsonl({"s": {"a": number}} for number in range(1, 4))


@pytest.fixture
def query(tmp_path: Path) -> Path:
    path = tmp_path / "q.sql"
    path.write_text(TEXT)
    return path


# Examples of the help ---------------------------------------------------------------------------


def verbs() -> list[str]:
    listed = millpond("--help").out.partition("Commands:\n")[2]
    return re.findall(r"^  (\w+) ", listed, re.MULTILINE)


def example_of(verb: str) -> str:
    """What stands under `Example:` in the help of a verb."""
    _, found, rest = millpond(verb, "--help").out.partition("  Example:\n")
    assert found, f"the help of {verb} shows no example"
    return rest.partition("\n\n")[0]


HEAVY = {"demo", "bench"}


def test_the_verbs_are_those_of_this_version() -> None:
    assert verbs() == ["check", "explain", "compile", "run", "demo", "bench"]


@pytest.mark.parametrize("verb", ["check", "explain", "compile", "run", "demo", "bench"])
def test_the_help_of_a_verb_shows_an_example_of_it(verb: str) -> None:
    assert f"millpond {verb}" in example_of(verb)


@pytest.mark.parametrize(
    "verb",
    [
        "check",
        "explain",
        "compile",
        "run",
        pytest.param("demo", marks=[pytest.mark.heavy, pytest.mark.spark]),
        pytest.param("bench", marks=pytest.mark.heavy),
    ],
)
def test_the_example_of_the_help_works_as_typed(verb: str, tmp_path: Path) -> None:
    done = shell(example_of(verb), tmp_path, LONGEST if verb not in HEAVY else 10 * LONGEST)
    assert done.code == 0, done.err
    assert done.out or any(tmp_path.iterdir()), "it shows or writes something"
    assert "error" not in done.err


# Pipes ------------------------------------------------------------------------------------------


def first_line(stream: IO[bytes]) -> bytes:
    """The first line, if it comes in time."""
    ready, _, _ = select.select([stream], [], [], LONGEST)
    assert ready, "nothing was printed"
    return stream.readline()


def started(*arguments: str | Path, unbuffered: bool = False) -> subprocess.Popen[bytes]:
    """A process under way; whether Python buffers what it prints is not left to the machine."""
    return subprocess.Popen(
        [*MILLPOND, *map(str, arguments)],
        env={**os.environ, "PYTHONUNBUFFERED": "1" if unbuffered else ""},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


@pytest.mark.parametrize("emit", ["changes", "answers"])
def test_a_reader_who_has_seen_enough_ends_the_run_quietly(
    query: Path, tmp_path: Path, emit: str
) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_bytes(b'{"s": {"a": 1}}\n' * 30_000)  # far more than a pipe holds
    with started("run", query, "--input", rows, "--emit", emit) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        first_line(running.stdout)
        running.stdout.close()
        assert running.wait(LONGEST) == 0
        assert running.stderr.read() == b""


@pytest.mark.parametrize(
    ("arguments", "unbuffered"),
    [
        (("check",), False),
        (("check",), True),
        (("explain",), False),
        (("run", "--input", "-"), False),
    ],
)
def test_a_pipe_that_nobody_reads_ends_with_0(
    query: Path, arguments: tuple[str, ...], unbuffered: bool
) -> None:
    with started(arguments[0], query, *arguments[1:], unbuffered=unbuffered) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.close()
        assert running.stdin is not None
        running.stdin.write(ROWS)
        running.stdin.close()
        assert running.wait(LONGEST) == 0
        assert running.stderr.read() == b""


@pytest.mark.parametrize("verb", ["check", "run"])
def test_standard_output_that_is_closed_is_no_error(query: Path, verb: str) -> None:
    more = " --input -" if verb == "run" else ""
    done = shell(f"millpond {verb} q.sql{more} </dev/null >&-", query.parent)
    assert (done.code, done.err) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no full device")
@pytest.mark.parametrize("verb", ["check", "run"])
def test_a_full_disk_is_said(query: Path, tmp_path: Path, verb: str) -> None:
    (tmp_path / "rows.jsonl").write_bytes(ROWS)
    more = " --input rows.jsonl" if verb == "run" else ""
    done = shell(f"millpond {verb} q.sql{more} > /dev/full", tmp_path)
    assert (done.code, done.codes) == (2, ["MP406"])
    assert "No space left" in done.err
    assert "Traceback" not in done.err


# Signals ----------------------------------------------------------------------------------------


def interrupted(query: Path, *options: str) -> Done:
    """A run that is stopped by Ctrl-C while it waits for more input."""
    with started("run", query, "--input", "-", *options) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdin.write(ROWS)
        running.stdin.flush()
        first = first_line(running.stdout)
        running.send_signal(signal.SIGINT)
        out = first + running.stdout.read()
        err = running.stderr.read()
        return Done(running.wait(LONGEST), out.decode(), err.decode())


@pytest.mark.parametrize(
    "options",
    [(), ("--emit", "answers"), ("--engine", "definition"), ("--json",), ("--batch-rows", "1")],
    ids=" ".join,
)
def test_ctrl_c_stops_after_whole_lines_with_130(query: Path, options: tuple[str, ...]) -> None:
    done = interrupted(query, *options)
    assert done.code == 130
    assert done.out.endswith("\n")
    assert [each["at"] for each in done.lines] == [1, 2, 3][: len(done.lines)]
    assert "Traceback" not in done.err
    assert not done.codes
    if "--json" in options:
        assert json.loads(done.err.splitlines()[-1])["at"] == 3
    else:
        assert done.err == ""


def test_ctrl_c_does_not_wait_for_the_end_of_what_has_arrived(tmp_path: Path) -> None:
    """The whole file is read in one piece, and to answer all of it would take far too long."""
    query, rows = tmp_path / "q.sql", tmp_path / "rows.jsonl"
    query.write_text("CREATE STREAM s (a INT); SELECT COUNT(*) AS n FROM s x, s y WHERE x.a = y.a")
    rows.write_bytes(jsonl({"s": {"a": 1}} for _ in range(20_000)))
    with started("run", query, "--engine", "definition", "--input", rows) as running:
        assert running.stdout is not None
        first_line(running.stdout)
        running.send_signal(signal.SIGINT)
        out = running.stdout.read()
        assert running.wait(LONGEST) == 130
    assert out.endswith(b"\n")


def test_standard_input_that_is_closed_is_said(query: Path) -> None:
    for arguments in (["run", query, "--input", "-"], ["check", "-"], ["explain", "-"]):
        command = " ".join(map(str, [*MILLPOND, *arguments]))
        done = shell(f"{command} <&-", query.parent)
        assert (done.code, len(done.codes)) == (2, 1)
        assert "standard input is closed" in done.err


# One whole road ---------------------------------------------------------------------------------


def test_rows_come_out_before_the_input_ends(query: Path) -> None:
    with started("run", query, "--input", "-") as running:
        assert running.stdin is not None
        assert running.stdout is not None
        for number in (1, 2, 3):
            running.stdin.write(jsonl([{"s": {"a": number}}]))
            running.stdin.flush()
            assert json.loads(first_line(running.stdout))["row"] == {"a": number}
        running.stdin.close()
        assert running.wait(LONGEST) == 0


def test_the_process_says_what_the_same_call_says_here(query: Path) -> None:
    arguments = ("run", query, "--input", "-")
    assert process(*arguments, stdin=ROWS) == millpond(*arguments, stdin=ROWS)
    assert process("check", "nope.sql") == millpond("check", "nope.sql")
