"""Whatever ends a run, the next one goes on: nothing is lost and nothing is said twice."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.run.harness import BOUNDED_OF_TABLE_1, DDL
from tests.spark import job
from tests.spark.harness import (
    Event,
    Row,
    added,
    by_duckdb,
    compiled,
    lines_of,
    random_events,
)

from millpond.spark.sinks import FolderSink
from millpond.spark.sources import Spool, tagged_files
from millpond.spark.stream import SparkRun

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SQL = {"q1": BOUNDED_OF_TABLE_1["Q1"], "q2": BOUNDED_OF_TABLE_1["Q3"]}
TEXT = DDL + ";".join(SQL.values())
PATIENCE = 120.0


def spooled(folder: Path, files: int, seed: int) -> list[Event]:
    """Writes chunks of random input; all of its events."""
    script, _ = compiled(TEXT)
    rng, spool, every = random.Random(seed), Spool(folder), []
    for _ in range(files):
        events = random_events(rng, list(script.catalog), rng.randint(1, 12))
        spool.put(events)
        every += events
    return every


def answers_of(sink: Path) -> dict[str, Counter[Row]]:
    answers: dict[str, Counter[Row]] = {name: Counter() for name in SQL}
    added(answers, lines_of(sink))
    return answers


def run_to_the_end(spark: SparkSession, spool: Path, checkpoint: Path, sink: Path) -> SparkRun:
    script, programs = compiled(TEXT)
    run = SparkRun(spark, script, programs, checkpoint=checkpoint, sink=FolderSink(sink))
    assert run.start(tagged_files(spark, script, spool)).awaitTermination()
    return run


def parts(sink: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sink.glob("*.jsonl")}


class CrashError(Exception):
    pass


def crash_in_sink(monkeypatch: pytest.MonkeyPatch, at: str) -> dict[str, Any]:
    put = FolderSink.put

    def crashing(self: FolderSink, name: str, pieces: Iterator[bytes]) -> None:
        put(self, name, [each for each in pieces if name != at or each])
        if name == at:
            raise CrashError

    monkeypatch.setattr(FolderSink, "put", crashing)
    return {}


def crash_in_commit(monkeypatch: pytest.MonkeyPatch, at: str) -> dict[str, Any]:
    rename = os.rename

    def crashing(old: Path, new: Path) -> None:
        if int(new.name) == int(at.removeprefix("part-")):
            raise CrashError
        rename(old, new)

    monkeypatch.setattr("millpond.program.commits.os.rename", crashing)
    return {}


def crash_after_commit(monkeypatch: pytest.MonkeyPatch, at: str) -> dict[str, Any]:
    def crashing(progress: Any) -> None:
        if progress.batch == int(at.removeprefix("part-")):
            raise CrashError

    return {"on_progress": crashing}


@pytest.mark.parametrize("crash", [crash_in_sink, crash_in_commit, crash_after_commit])
def test_a_crash_at_any_step_of_a_batch_leaves_no_trace(
    spark: SparkSession,
    tmp_path: Path,
    crash: Callable[[pytest.MonkeyPatch, str], dict[str, Any]],
) -> None:
    events = spooled(tmp_path / "spool", 4, seed=1)
    script, programs = compiled(TEXT)
    checkpoint, sink = tmp_path / "checkpoint", tmp_path / "sink"
    with pytest.MonkeyPatch.context() as monkeypatch:
        said = crash(monkeypatch, "part-00000002")
        run = SparkRun(
            spark, script, programs, checkpoint=checkpoint, sink=FolderSink(sink), **said
        )
        with pytest.raises(CrashError):
            run.start(tagged_files(spark, script, tmp_path / "spool")).awaitTermination()
    run = run_to_the_end(spark, tmp_path / "spool", checkpoint, sink)
    assert answers_of(sink) == by_duckdb(script, SQL, events)
    assert run.at == len(events)


def killed(spool: Path, checkpoint: Path, sink: Path, count: int, after: float) -> bool:
    """Runs the job and kills it and its JVM once `count` parts are there; False if it ended."""
    process = subprocess.Popen(
        [sys.executable, job.__file__, TEXT, str(spool), str(checkpoint), str(sink)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        start_new_session=True,
    )
    tick, end = threading.Event(), time.monotonic() + PATIENCE
    try:
        while len(list(sink.glob("part-*.jsonl"))) < count:
            if process.poll() is not None:
                assert process.returncode == 0
                return False
            assert time.monotonic() < end, "no output"
            tick.wait(0.01)
        tick.wait(after)
        return process.poll() is None
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.mark.spark
def test_a_killed_run_goes_on_where_it_was(spark: SparkSession, tmp_path: Path) -> None:
    events = spooled(tmp_path / "spool", 12, seed=2)
    checkpoint, sink = tmp_path / "checkpoint", tmp_path / "sink"
    assert killed(tmp_path / "spool", checkpoint, sink, 2, 0.0)
    assert len(parts(sink)) < 12
    run = run_to_the_end(spark, tmp_path / "spool", checkpoint, sink)
    script, _ = compiled(TEXT)
    assert answers_of(sink) == by_duckdb(script, SQL, events)
    assert run.at == len(events)


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(3))
def test_a_run_killed_again_and_again_says_the_right_thing_at_every_instant(
    spark: SparkSession, tmp_path: Path, seed: int
) -> None:
    rng = random.Random(seed)
    events = spooled(tmp_path / "spool", 25, seed)
    checkpoint, sink = tmp_path / "checkpoint", tmp_path / "sink"
    script, _ = compiled(TEXT)
    while killed(
        tmp_path / "spool", checkpoint, sink, len(parts(sink)) + rng.randint(1, 5), rng.random() / 2
    ):
        pass
    # A batch that Spark had not planned yet when it was killed may be cut anew, so that the parts
    # are not those of an unharmed run; what they say up to each instant is.
    answers: dict[str, Counter[Row]] = {name: Counter() for name in SQL}
    for path in sorted(sink.glob("part-*.jsonl")):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        added(answers, lines)
        assert answers == by_duckdb(script, SQL, events[: lines[-1]["at"]]), path.name
    run = run_to_the_end(spark, tmp_path / "spool", checkpoint, sink)
    assert answers_of(sink) == by_duckdb(script, SQL, events)
    assert run.at == len(events)
