"""Whatever ends a run with a checkpoint, the next one goes on: the output is that of one run."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.cli import job
from tests.cli.harness import LONGEST, Done, jsonl, millpond
from tests.cli.test_process import first_line, started

from millpond.cli import run_committed
from millpond.program.codec import write_manifest
from millpond.run import intake

UNTIMED = """
CREATE STREAM s (a INT, b BIGINT); CREATE STREAM t (d INT);
CREATE QUERY passed AS SELECT b, a FROM s WHERE a > 1;
CREATE QUERY pairs AS SELECT s.a FROM s, t WHERE s.a = t.d AND s.a BETWEEN 0 AND 4;
CREATE QUERY below AS SELECT DISTINCT s.a FROM s, t WHERE s.b < t.d AND s.a BETWEEN 1 AND 3;
"""
GROUPED = """
CREATE STREAM s (a INT, b BIGINT); CREATE STREAM t (d INT);
CREATE QUERY grouped AS SELECT a, COUNT(*) AS n, SUM(b) AS total, AVG(b) AS mean, MAX(b) AS top
    FROM s WHERE a BETWEEN 0 AND 4 GROUP BY a;
CREATE QUERY joined AS SELECT t.d, COUNT(*) AS n FROM s, t WHERE s.a = t.d AND s.a BETWEEN 0 AND 4
    GROUP BY t.d;
CREATE QUERY whole AS SELECT COUNT(*) AS n FROM s;
"""
TIMED = """
CREATE STREAM s (a INT, x DECIMAL(6, 2), ts BIGINT, WATERMARK FOR ts AS ts - 3);
CREATE STREAM t (d INT, v VARCHAR, ts BIGINT) WITH (time = 'ts', rows_per_instant = 9);
CREATE STREAM u (z DOUBLE, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL '2' SECOND);
CREATE TABLE r (k INT, m DECIMAL(6, 2));
CREATE QUERY joined AS SELECT s.x, t.v FROM s [RANGE 6], t [ROWS 3] WHERE s.a >= t.d;
CREATE QUERY given AS SELECT ISTREAM k, COUNT(*) AS n FROM s [RANGE 8 SLIDE 4], r WHERE a = k
    GROUP BY k;
CREATE QUERY slow AS SELECT v FROM t [RANGE 5];
CREATE QUERY other AS SELECT z FROM u [RANGE 3 SECOND];
CREATE QUERY nested AS SELECT COUNT(*) AS n FROM (SELECT ISTREAM a FROM s [RANGE 3]) [ROWS 4];
"""


TIMED_BOUNDED = (
    TIMED.partition("CREATE QUERY")[0]
    + """
CREATE QUERY pairs AS SELECT s.a FROM s, t WHERE s.a = t.d AND s.a BETWEEN 0 AND 4;
CREATE QUERY few AS SELECT DISTINCT d FROM t WHERE d BETWEEN 1 AND 3;
CREATE QUERY grouped AS SELECT a, COUNT(*) AS n FROM s WHERE a BETWEEN 0 AND 4 GROUP BY a;
CREATE QUERY other AS SELECT z FROM u;
"""
)


def untimed(rng: random.Random) -> Iterator[Any]:
    while True:
        row = {"a": rng.randint(-1, 5), "b": rng.choice([None, rng.randint(-2, 6)])}
        yield rng.choice([{"s": row}, {"s": row}, {"t": {"d": rng.randint(-1, 6)}}, {"@tick": 1}])


def timed(rng: random.Random) -> Iterator[Any]:
    rows = [{"k": k, "m": f"{k}.50"} for k in range(4)]
    for row in rows:
        yield {"r": row}
    now = 0
    while True:
        now += rng.choice([0, 0, 1, 1, 2])
        ts = max(0, now - rng.choice([0, 0, 0, 1, 2, 7]))
        row = rng.choice(rows)
        yield rng.choice(
            [
                {"s": {"a": rng.randint(0, 4), "x": f"{rng.randint(0, 9)}.5", "ts": ts}},
                {"s": {"a": rng.randint(0, 4), "x": None, "ts": ts}},
                {"t": {"d": rng.randint(0, 4), "v": rng.choice("xyz"), "ts": ts}},
                {"u": {"z": rng.random(), "at": ts * 1_000_000}},
                {"r": row},
                {"@time": now - 3},
            ]
        )


Make = Callable[[random.Random], Iterator[Any]]


@dataclass(frozen=True)
class Case:
    """A run: its queries, where its rows come from, and what becomes of its output."""

    text: str
    make: Make
    options: tuple[str, ...] = ()
    sink: str = "out.jsonl"
    sources: bool = False

    def prepare(self, folder: Path, size: int = 40, seed: int = 1) -> None:
        """Writes the query and its input."""
        (folder / "q.sql").write_text(self.text)
        make, rng = self.make(random.Random(seed)), random.Random(seed)
        events = [next(make) for _ in range(size)]
        if not self.sources:
            lines = jsonl(events).splitlines(keepends=True)
            bad = b'{"s": 7}\n'
            lines = [x for line in lines for x in ((line, bad) if rng.random() < 0.1 else (line,))]
            (folder / "rows.jsonl").write_bytes(b"".join(lines))
            return
        for name in re.findall(r"CREATE (?:STREAM|TABLE) (\w+)", self.text):
            rows = [each[name] for each in events if name in each]
            (folder / name).mkdir()
            (folder / name / "1.jsonl").write_bytes(jsonl(rows[: len(rows) // 2]))
            (folder / name / "2.jsonl").write_bytes(jsonl(rows[len(rows) // 2 :]))

    def arguments(self, folder: Path) -> list[str]:
        rows = ["--input", f"{folder / 'rows.jsonl'}"]
        if self.sources:
            names = [each.name for each in folder.iterdir() if each.is_dir() and len(each.name) < 2]
            rows = [x for name in sorted(names) for x in ("--source", f"{name}={folder / name}")]
        skipped = ["--on-error", "skip", "--rejects", f"{folder / 'rejects.jsonl'}"]
        late = ["--late", f"{folder / 'late.jsonl'}"]
        return ["run", f"{folder / 'q.sql'}", "--engine", "local", *rows, *skipped, *late,
                "--sink", f"{folder / self.sink}", "--batch-rows", "4", *self.options]  # fmt: skip

    def output(self, folder: Path) -> dict[str, str]:
        """What stands in every file that was written."""
        out = folder / self.sink
        parts = sorted(out.glob("part-*.jsonl")) if out.is_dir() else [out]
        return {
            "out": "".join(each.read_text() for each in parts),
            "rejects": (folder / "rejects.jsonl").read_text(),
            "late": (folder / "late.jsonl").read_text(),
        }


DEFINED = ("--engine", "definition")
CASES = {
    "compiled": Case(UNTIMED, untimed),
    "grouped": Case(GROUPED, untimed),
    "csv": Case(UNTIMED.partition("CREATE QUERY below")[0].replace("b, a", "a"), untimed,
                sink="out.csv"),
    "parts": Case(UNTIMED, untimed, sink="out"),
    "answers": Case(UNTIMED, untimed, ("--emit", "answers")),
    "final": Case(UNTIMED, untimed, ("--emit", "final")),
    "batches": Case(UNTIMED, untimed, ("--instants", "batch")),
    "untimed by definition": Case(UNTIMED, untimed, DEFINED),
    "timed": Case(TIMED, timed, DEFINED),
    "timed programs": Case(TIMED_BOUNDED, timed),
    "timed answers": Case(TIMED, timed, (*DEFINED, "--emit", "answers")),
    "sources": Case(UNTIMED, untimed, sources=True),
    "timed sources": Case(TIMED, timed, DEFINED, sources=True),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _short_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sources take turns so often that runs end in the middle of one."""
    monkeypatch.setattr(intake, "_TURN", job.TURN)


class CrashError(BaseException):
    """The end of a process, as far as a test can make one."""


@contextmanager
def commits_after_every_batch() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_committed, "_SECONDS", 0.0)
        patch.setattr(run_committed, "_SHARE", 0.0)
        patch.setattr(os, "fsync", lambda handle: None)  # what is on disk is not looked at
        yield


@contextmanager
def crash_at(step: int) -> Iterator[list[str]]:
    """Ends at one of the steps that reach the disk; nothing gets there afterwards."""
    seen: list[str] = []

    def crashing(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def called(*arguments: Any, **more: Any) -> Any:
            seen.append(name)
            if len(seen) >= step:
                raise CrashError
            return call(*arguments, **more)

        return called

    with pytest.MonkeyPatch.context() as patch:
        for name in ("fsync", "rename", "replace", "mkdir", "pread"):
            patch.setattr(os, name, crashing(name, getattr(os, name)))
        yield seen


def crashed(case: Case, folder: Path, step: int) -> bool:
    """Whether the run got as far as that step."""
    with commits_after_every_batch(), crash_at(step):
        try:
            done = millpond(*case.arguments(folder), "--checkpoint", folder / "state")
        except CrashError:
            return True
    assert done.code == 0, done.err
    return False


def resumed(case: Case, folder: Path) -> dict[str, str]:
    with commits_after_every_batch():
        done = millpond(*case.arguments(folder), "--checkpoint", folder / "state")
    assert done.code == 0, done.err
    return case.output(folder)


def at_once(case: Case, folder: Path, size: int = 40, seed: int = 1) -> dict[str, str]:
    """What one run says that nothing ends."""
    folder.mkdir()
    case.prepare(folder, size, seed)
    done = millpond(*case.arguments(folder))
    assert done.code == 0, done.err
    said = case.output(folder)
    assert said["out"]
    return said


def steps_of(case: Case, folder: Path, size: int = 40) -> int:
    """How many steps of a run reach the disk."""
    folder.mkdir()
    case.prepare(folder, size)
    with commits_after_every_batch(), crash_at(10**9) as seen:
        assert millpond(*case.arguments(folder), "--checkpoint", folder / "state").code == 0
    return len(seen)


@pytest.mark.parametrize("name", CASES)
def test_a_crash_at_any_step_leaves_no_trace(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    expected = at_once(case, tmp_path / "whole")
    steps = steps_of(case, tmp_path / "counted")
    for step in random.Random(name).sample(range(1, steps + 1), 2):
        no_trace(case, tmp_path / f"{step}", step, expected)


@pytest.mark.heavy
@pytest.mark.parametrize("name", CASES)
def test_a_crash_at_every_step_leaves_no_trace(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    expected = at_once(case, tmp_path / "whole", 14)
    for step in range(1, steps_of(case, tmp_path / "counted", 14) + 1):
        no_trace(case, tmp_path / f"{step}", step, expected, 14)
        shutil.rmtree(tmp_path / f"{step}")


def no_trace(case: Case, folder: Path, step: int, expected: dict[str, str], size: int = 40) -> None:
    folder.mkdir()
    case.prepare(folder, size)
    assert crashed(case, folder, step)
    assert resumed(case, folder) == expected, f"step {step}"
    assert resumed(case, folder) == expected, "and once more, with nothing new"


@pytest.mark.parametrize("name", ["compiled", "timed", "sources"])
def test_a_run_may_end_again_and_again(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    expected = at_once(case, tmp_path / "whole")
    folder, step = tmp_path / "again", 1
    folder.mkdir()
    case.prepare(folder)
    while crashed(case, folder, step):
        step += 13
    assert case.output(folder) == expected


# Killed -----------------------------------------------------------------------------------------


def killed(case: Case, folder: Path, after: int) -> bool:
    """Starts the command, and kills it once it has made so many commits more; false if it ended."""
    command = [sys.executable, job.__file__, *case.arguments(folder)]
    process = subprocess.Popen(
        [*command, "--checkpoint", str(folder / "state")],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        for _ in range(after):
            if not process.stdout.readline():
                assert process.wait(LONGEST) == 0, process.stderr.read()
                return False
        process.send_signal(signal.SIGKILL)
    finally:
        process.kill()
        process.wait(LONGEST)
        process.stdout.close()
        process.stderr.close()
    return True


def killed_until_it_ends(case: Case, folder: Path, expected: dict[str, str], seed: int) -> int:
    rng, kills = random.Random(seed), 0
    while killed(case, folder, rng.randint(5, 35)):
        kills += 1
    assert case.output(folder) == expected
    return kills


@pytest.mark.parametrize("name", ["compiled", "timed"])
def test_a_run_that_is_killed_goes_on(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    expected = at_once(case, tmp_path / "whole", 100)
    folder = tmp_path / "killed"
    folder.mkdir()
    case.prepare(folder, 100)
    assert killed_until_it_ends(case, folder, expected, seed=3)


@pytest.mark.heavy
def test_two_hundred_kills_leave_no_trace(tmp_path: Path) -> None:
    kills, seed = 0, 0
    while kills < 200:
        seed += 1
        case = CASES[sorted(CASES)[seed % len(CASES)]]
        expected = at_once(case, tmp_path / f"whole{seed}", 400, seed)
        folder = tmp_path / f"killed{seed}"
        folder.mkdir()
        case.prepare(folder, 400, seed)
        kills += killed_until_it_ends(case, folder, expected, seed)


# Stopped ----------------------------------------------------------------------------------------


def test_a_run_goes_on_with_the_input_that_has_come_since(tmp_path: Path) -> None:
    case = CASES["compiled"]
    expected = at_once(case, tmp_path / "whole")
    folder = tmp_path / "grown"
    folder.mkdir()
    case.prepare(folder)
    whole = (folder / "rows.jsonl").read_bytes()
    for end in (0, 300, 301, 900, len(whole)):
        cut = whole.rfind(b"\n", 0, end) + 1 if end != 300 else whole.rfind(b"\n", 0, end)
        (folder / "rows.jsonl").write_bytes(whole[: max(0, cut)])
        said = resumed(case, folder)
    assert said == expected


@pytest.mark.parametrize("time", ["", ", WATERMARK FOR a AS a - 1"])
def test_files_that_were_read_are_not_read_again(time: str, tmp_path: Path) -> None:
    (tmp_path / "q.sql").write_text(f"CREATE STREAM s (a INT{time}); SELECT a FROM s")
    folder, out = tmp_path / "s", tmp_path / "out.jsonl"
    folder.mkdir()
    command = ("run", tmp_path / "q.sql", "--engine", "definition", "--source", f"s={folder}",
               "--sink", out, "--checkpoint", tmp_path / "state")  # fmt: skip

    def put(number: int, *values: int) -> None:
        (folder / f"{number}.jsonl").write_bytes(jsonl({"a": value} for value in values))

    put(1, 1, 2)
    put(2, 3)
    with commits_after_every_batch():
        assert millpond(*command).code == 0
        (folder / "1.jsonl").write_bytes(b"x" * (folder / "1.jsonl").stat().st_size)
        put(2, 3, 5)
        put(3, 6)
        assert millpond(*command).code == 0
    said = [json.loads(each)["row"]["a"] for each in out.read_text().splitlines()]
    assert said == [1, 2, 3, 5, 6]
    (folder / "1.jsonl").write_bytes(b"x")
    done = millpond(*command)
    assert (done.code, done.codes) == (2, ["MP405"])
    assert "the source of `s` is not the one that was read before" in done.err


def test_what_was_written_behind_the_last_commit_is_cut_off(tmp_path: Path) -> None:
    case = CASES["compiled"]
    case.prepare(tmp_path)
    said = resumed(case, tmp_path)
    for name in ("out", "rejects", "late"):
        with (tmp_path / f"{name}.jsonl").open("a") as file:
            file.write("what a run said that was killed then\n")
    assert resumed(case, tmp_path) == said


def test_what_the_end_of_input_has_closed_stays_closed(tmp_path: Path) -> None:
    (tmp_path / "q.sql").write_text(
        "CREATE STREAM s (a INT, ts BIGINT, WATERMARK FOR ts AS ts - 5); SELECT a FROM s [RANGE 9]"
    )
    rows = [{"s": {"a": 1, "ts": 10}}, {"s": {"a": 2, "ts": 10}}, {"s": {"a": 3, "ts": 11}}]

    def run(count: int) -> Done:
        options = ("--engine", "definition", "--checkpoint", tmp_path / "state")
        return millpond("run", tmp_path / "q.sql", "--input", "-", *options,
                        stdin=jsonl(rows[:count]))  # fmt: skip

    assert [each["row"]["a"] for each in run(1).lines] == [1]
    done = run(2)
    assert done.lines == []
    assert "1 late row" in done.err
    assert [each["row"]["a"] for each in run(3).lines] == [3]


def test_standard_input_is_given_again_from_its_start(tmp_path: Path) -> None:
    (tmp_path / "q.sql").write_text("CREATE STREAM s (a INT); SELECT a FROM s")
    lines = jsonl({"s": {"a": number}} for number in range(4)).splitlines(keepends=True)

    def run(count: int) -> Done:
        options = ("--checkpoint", tmp_path / "state")
        stdin = b"".join(lines[:count])
        return millpond("run", tmp_path / "q.sql", "--input", "-", *options, stdin=stdin)

    assert [each["at"] for each in run(2).lines] == [1, 2]
    assert [each["at"] for each in run(4).lines] == [3, 4]
    assert run(4).lines == []
    done = run(3)
    assert (done.code, done.codes) == (2, ["MP405"])
    assert "does not begin as the one" in done.err


def test_ctrl_c_stops_behind_a_commit(tmp_path: Path) -> None:
    (tmp_path / "q.sql").write_text("CREATE STREAM s (a INT); SELECT a FROM s")
    lines = jsonl({"s": {"a": number}} for number in range(3)).splitlines(keepends=True)
    options = ("run", tmp_path / "q.sql", "--input", "-", "--checkpoint", tmp_path / "state")
    with started(*options) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        running.stdin.write(lines[0])
        running.stdin.flush()
        assert json.loads(first_line(running.stdout))["at"] == 1
        running.send_signal(signal.SIGINT)
        assert running.wait(LONGEST) == 130
    done = millpond(*options, stdin=b"".join(lines))
    assert [each["at"] for each in done.lines] == [2, 3]


def test_what_was_said_is_committed_though_nothing_more_comes(tmp_path: Path) -> None:
    (tmp_path / "q.sql").write_text("CREATE STREAM s (a INT); SELECT a FROM s")
    options = ("run", tmp_path / "q.sql", "--engine", "local", "--input", "-")
    where = ("--sink", tmp_path / "out", "--checkpoint", tmp_path / "state")
    with subprocess.Popen(
        [sys.executable, job.__file__, *map(str, (*options, *where))],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "SECONDS": "0.5"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        for number in (1, 2, 3):
            running.stdin.write(jsonl([{"s": {"a": number}}]))
            running.stdin.flush()
            assert running.stdout.readline() == f"begin {number}\n".encode()
            assert running.stdout.readline() == f"commit {number}\n".encode()
        running.stdin.close()
        assert running.wait(LONGEST) == 0
    parts = sorted((tmp_path / "out").glob("part-*.jsonl"))
    assert [json.loads(each.read_text())["at"] for each in parts] == [1, 2, 3]


def test_a_bad_row_stops_behind_a_commit(tmp_path: Path) -> None:
    (tmp_path / "q.sql").write_text("CREATE STREAM s (a INT); SELECT a FROM s")
    rows, out = tmp_path / "rows.jsonl", tmp_path / "out.jsonl"
    command = ("run", tmp_path / "q.sql", "--engine", "local", "--input", rows, "--sink", out,
               "--checkpoint", tmp_path / "state")  # fmt: skip
    rows.write_text('{"s": {"a": 1}}\n{"s": {"a": x}}\n{"s": {"a": 3}}\n')
    done = millpond(*command)
    assert (done.code, done.codes) == (2, ["MP301"])
    assert "rows.jsonl:2" in done.err
    rows.write_text('{"s": {"a": 1}}\n{"s": {"a": 2}}\n{"s": {"a": 3}}\n')
    assert millpond(*command).code == 0
    said = [json.loads(each) for each in out.read_text().splitlines()]
    assert [(each["row"]["a"], each["at"]) for each in said] == [(1, 1), (2, 2), (3, 3)]


def test_a_run_stops_before_it_holds_too_much_and_goes_on_with_more_room(tmp_path: Path) -> None:
    text = "CREATE STREAM s (a INT, b INT); CREATE STREAM t (d INT);" \
           "CREATE QUERY one AS SELECT DISTINCT a FROM s WHERE a < 1 AND a > -1;" \
           "CREATE QUERY two AS SELECT s.b FROM s, t WHERE s.b = t.d"  # fmt: skip
    (tmp_path / "q.sql").write_text(text)
    rows, out = tmp_path / "rows.jsonl", tmp_path / "out.jsonl"
    rows.write_bytes(jsonl({"s": {"a": 0, "b": 1}} if n % 3 else {"t": {"d": 1}}
                           for n in range(1, 31)))  # fmt: skip

    def run(units: int) -> Done:
        options = ("--allow-unbounded", "--max-state", str(units), "--json")
        where = ("--sink", out, "--checkpoint", tmp_path / "state")
        return millpond("run", tmp_path / "q.sql", "--input", rows, *where, *options)

    for units, at in ((11, 6), (20, 11), (21, 12)):
        done = run(units)
        said = [json.loads(each) for each in done.err.splitlines()]
        assert (done.code, done.codes) == (1, ["MP407"])
        assert said[0]["units"] <= units
        assert said[0]["at"] == at
    assert run(51).code == 0
    whole = millpond("run", tmp_path / "q.sql", "--input", rows, "--allow-unbounded",
                     "--max-state", "51")  # fmt: skip
    assert out.read_text() == whole.out


# Refused ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that has ended, with its checkpoint."""
    folder = tmp_path_factory.mktemp("written")
    CASES["timed"].prepare(folder)
    resumed(CASES["timed"], folder)
    return folder


@pytest.fixture
def there(written: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    shutil.copytree(written, tmp_path / "there", dirs_exist_ok=True)
    for path in (tmp_path / "there" / "state").rglob("manifest.json"):
        assert str(tmp_path) not in path.read_text()
    return tmp_path / "there"


def refused(folder: Path, *options: str, text: str | None = None) -> Done:
    if text is not None:
        (folder / "q.sql").write_text(text)
    before = (folder / "out.jsonl").read_bytes()
    arguments = CASES["timed"].arguments(folder)
    done = millpond(*arguments, *options, "--checkpoint", folder / "state")
    assert (done.code, done.codes) == (2, ["MP405"])
    assert (folder / "out.jsonl").read_bytes() == before, "nothing is lost"
    return done


def test_an_edited_file_is_told_what_has_changed(written: Path) -> None:
    edited = TIMED.replace("[ROWS 3]", "[ROWS 2]").replace("- 3)", "- 4)")
    edited = edited.replace("CREATE QUERY other", "CREATE QUERY another")
    said = refused(written, text=edited).err
    assert "joined was: CREATE QUERY joined AS SELECT s.x, t.v FROM s [RANGE 6], t [ROWS 3]" in said
    assert "; and is: CREATE QUERY joined AS SELECT s.x, t.v FROM s [RANGE 6], t [ROWS 2]" in said
    assert "query other is gone" in said
    assert "query another is new" in said
    assert "s was: CREATE STREAM s" in said
    assert "query slow" not in said
    (written / "q.sql").write_text(TIMED)


def test_other_words_for_the_same_are_no_change(written: Path) -> None:
    same = TIMED.replace("SELECT v FROM t [RANGE 5]", "select  v\nFROM t [RANGE 5]")
    (written / "q.sql").write_text(same + "CREATE STREAM unread (a INT, ts INT) WITH (time='ts');")
    resumed(CASES["timed"], written)
    (written / "q.sql").write_text(TIMED)


def test_how_it_was_run_has_to_be_the_same(written: Path) -> None:
    assert "--emit: it was changes, and is answers" in refused(written, "--emit", "answers").err
    assert (
        "the output went to another place"
        in refused(written, "--sink", str(written / "more.jsonl")).err
    )


def test_output_that_is_not_what_was_committed_is_refused(written: Path) -> None:
    out = written / "out.jsonl"
    content = out.read_bytes()
    for harmed in (content[:-1], content[:-3] + b"x" + content[-2:], b""):
        out.write_bytes(harmed)
        assert "out.jsonl is not the output that was committed" in refused(written).err
    out.write_bytes(content)


def test_a_sink_with_the_output_of_another_run_is_left_alone(written: Path, tmp_path: Path) -> None:
    before = (written / "out.jsonl").read_bytes()
    arguments = CASES["timed"].arguments(written)
    done = millpond(*arguments, "--checkpoint", tmp_path / "new")
    assert (done.code, done.codes) == (2, ["MP403"])
    assert (written / "out.jsonl").read_bytes() == before


def test_a_table_in_one_piece_has_no_checkpoint(written: Path, tmp_path: Path) -> None:
    arguments = CASES["timed"].arguments(written)
    done = millpond(*arguments, "--sink", tmp_path / "x.parquet", "--checkpoint", tmp_path / "new")
    assert (done.code, done.codes) == (2, ["MP403"])


def regions(path: Path) -> Iterator[bytes]:
    """A file cut short, and with each of some regions turned over."""
    content = path.read_bytes()
    yield b""
    yield content[: len(content) // 2]
    yield content[:-1]
    for place in sorted({0, 7, len(content) // 3, len(content) // 2, len(content) - 2}):
        if place < len(content):
            turned = bytes([content[place] ^ 0x20])
            yield content[:place] + turned + content[place + 1 :]


def test_a_damaged_checkpoint_is_refused_whatever_is_damaged(written: Path) -> None:
    state = written / "state"
    newest = max((state / "commits").iterdir())
    files = [state / "manifest.json", *(each for each in newest.rglob("*") if each.is_file())]
    assert len(files) > 10
    for number, path in enumerate(files):
        content = path.read_bytes()
        for harmed in list(regions(path))[number % 4 :: 4]:
            path.write_bytes(harmed)
            assert path.name in refused(written).err
        path.unlink()
        refused(written)
        path.write_bytes(content)
    resumed(CASES["timed"], written)


@pytest.mark.heavy
def test_a_flipped_bit_anywhere_is_refused(written: Path) -> None:
    newest = max((written / "state" / "commits").iterdir())
    for path in (written / "state" / "manifest.json", newest / "manifest.json"):
        content = path.read_bytes()
        for place in range(0, len(content) - 1, 7):
            path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
            refused(written)
        path.write_bytes(content)


def test_a_checkpoint_has_one_run_at_a_time(written: Path) -> None:
    from millpond.program.commits import Commits

    first = Commits(written / "state")
    first.create({})
    assert "is in use by another run" in refused(written).err
    first.close()
    resumed(CASES["timed"], written)


def test_a_checkpoint_of_spark_is_refused(written: Path, tmp_path: Path) -> None:
    write_manifest(tmp_path / "manifest.json", {"queries": {"q1": "0" * 32}})
    done = millpond(*CASES["timed"].arguments(written), "--checkpoint", tmp_path)
    assert (done.code, done.codes) == (2, ["MP405"])
    assert "it was written by a run on Spark" in done.err


def test_a_folder_that_is_none_is_refused(written: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    arguments = CASES["timed"].arguments(written)
    done = millpond(*arguments, "--checkpoint", tmp_path / "file")
    assert (done.code, done.codes) == (2, ["MP405"])
