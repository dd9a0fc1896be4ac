"""A streaming run says what the contract says it does, wherever its lines go."""

from __future__ import annotations

import io
import json
import os
import random
import signal
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.run.harness import BOUNDED_OF_TABLE_1, DDL
from tests.spark.harness import Row, added, by_duckdb, compiled, lines_of, random_events, static

from millpond.diagnostic import UserError
from millpond.spark.sinks import FolderSink, Sink, StreamSink, sink_of
from millpond.spark.sources import Spool, tagged_files
from millpond.spark.stream import Emit, Progress, SparkRun, trigger_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SQL = {"all": "SELECT a, b FROM s", "q3": BOUNDED_OF_TABLE_1["Q3"]}
TEXT = DDL + ";".join(f'CREATE QUERY "{name}" AS {sql}' for name, sql in SQL.items())


def spooled(folder: Path, chunks: int = 3) -> list[list[Any]]:
    script, _ = compiled(TEXT)
    rng, spool, found = random.Random(5), Spool(folder), []
    for _ in range(chunks):
        found.append(random_events(rng, list(script.catalog), 40))
        spool.put(found[-1])
    return found


def counted(items: list[dict[str, Any]]) -> Counter[Row]:
    return Counter({tuple(item["row"].values()): item["n"] for item in items})


def in_order(rows: list[Any]) -> bool:
    keys = [[(value is not None, value or 0) for value in row] for row in rows]
    return keys == sorted(keys)


def test_lines_written_by_spark_are_those_written_here(spark: SparkSession, tmp_path: Path) -> None:
    chunks = spooled(tmp_path / "spool")
    script, programs = compiled(TEXT)
    stream, seen = io.BytesIO(), list[Progress]()
    sinks: dict[str, Sink] = {"folder": FolderSink(tmp_path / "sink"), "stream": StreamSink(stream)}
    for name, sink in sinks.items():
        run = SparkRun(
            spark,
            script,
            programs,
            checkpoint=tmp_path / name,
            sink=sink,
            on_progress=seen.append,
        )
        handle = run.start(tagged_files(spark, script, tmp_path / "spool"))
        assert handle.awaitTermination()
        assert not handle.isActive
        said = handle.lastProgress
        assert said is not None
        assert (said["batch"], said["at"], said["rejected"]) == (2, 120, 0)
        assert said["units"]["q3"] <= said["certificate"]["q3"] == 18
    parts = [path.read_bytes() for path in sorted((tmp_path / "sink").iterdir())]
    assert b"".join(parts) == stream.getvalue()
    assert [each.at for each in seen] == [40, 80, 120] * 2
    answers: dict[str, Counter[Row]] = {name: Counter() for name in SQL}
    for part, chunk in zip(parts, range(3), strict=True):
        lines = [json.loads(line) for line in part.splitlines()]
        added(answers, lines)
        events = [event for each in chunks[: chunk + 1] for event in each]
        assert answers == by_duckdb(script, SQL, events)
        for name in SQL:
            assert in_order([line["row"].values() for line in lines if line["query"] == name])
        assert [line["query"] for line in lines] == sorted(line["query"] for line in lines)
        assert all(line.get("n") != 1 for line in lines)


@pytest.mark.parametrize("emit", ["answers", "final"])
def test_answers_are_restored_and_go_on(spark: SparkSession, tmp_path: Path, emit: Emit) -> None:
    script, programs = compiled(TEXT)
    rng = random.Random(6)
    chunks = [random_events(rng, list(script.catalog), 30) for _ in range(3)]
    sink, seen = FolderSink(tmp_path / "sink"), []
    for batch, chunk in enumerate(chunks):
        # Each batch in a run of its own, so that everything comes from the checkpoint.
        run = SparkRun(
            spark, script, programs, checkpoint=tmp_path / "checkpoint", sink=sink, emit=emit
        )
        run.process(static(spark, script, chunk), batch)
        seen += chunk
        expected = by_duckdb(script, SQL, seen)
        assert {name: run.answer(name) for name in SQL} == expected
        if emit == "answers":
            lines = lines_of(tmp_path / "sink")[-2:]
            assert {each["query"]: counted(each["answer"]) for each in lines} == expected
            assert [each["at"] for each in lines] == [len(seen)] * 2
    run.finish()
    if emit == "final":
        lines = lines_of(tmp_path / "sink")
        for name in SQL:
            assert counted([each for each in lines if each["query"] == name]) == expected[name]


def test_an_answer_is_said_at_the_instants_of_its_query_only(
    spark: SparkSession, tmp_path: Path
) -> None:
    script, programs = compiled(TEXT)
    stream = io.BytesIO()
    run = SparkRun(
        spark, script, programs, checkpoint=tmp_path, sink=StreamSink(stream), emit="answers"
    )
    run.process(static(spark, script, [{"t": {"d": 11, "e": 1}}]), 0)
    assert [json.loads(line)["query"] for line in stream.getvalue().splitlines()] == ["q3"]


def test_ctrl_c_ends_a_run_after_a_committed_batch(spark: SparkSession, tmp_path: Path) -> None:
    spooled(tmp_path / "spool", 30)
    script, programs = compiled(TEXT)
    before = signal.getsignal(signal.SIGINT)

    def interrupt(progress: Progress) -> None:
        if progress.batch == 1:
            os.kill(os.getpid(), signal.SIGINT)

    run = SparkRun(
        spark,
        script,
        programs,
        checkpoint=tmp_path / "checkpoint",
        sink=FolderSink(tmp_path / "sink"),
        on_progress=interrupt,
    )
    handle = run.start(tagged_files(spark, script, tmp_path / "spool"))
    with pytest.raises(KeyboardInterrupt):
        handle.awaitTermination()
    assert not handle.isActive
    assert signal.getsignal(signal.SIGINT) is before
    assert run.progress is not None
    assert 1 <= run.progress.batch < 29
    commits = sorted((tmp_path / "checkpoint" / "commits").iterdir())
    assert int(commits[-1].name) == run.progress.batch
    assert len(lines_of(tmp_path / "sink")) > 0


def test_an_error_of_spark_is_a_diagnostic(spark: SparkSession, tmp_path: Path) -> None:
    spooled(tmp_path / "spool", 2)
    script, programs = compiled(TEXT)
    run = SparkRun(
        spark, script, programs, checkpoint=tmp_path / "c", sink=StreamSink(io.BytesIO())
    )
    frame = tagged_files(spark, script, tmp_path / "spool")
    broken = frame.selectExpr("s", "if(t is null, t, raise_error('no good')) as t")
    with pytest.raises(UserError, match="MP503") as failed:
        run.start(broken).awaitTermination()
    assert "no good" in " ".join(failed.value.diagnostics[0].notes)


def test_a_query_that_can_never_say_anything_runs(spark: SparkSession, tmp_path: Path) -> None:
    script, programs = compiled(DDL + "SELECT a FROM s WHERE a > 10 AND a < 5")
    stream = io.BytesIO()
    run = SparkRun(
        spark, script, programs, checkpoint=tmp_path, sink=StreamSink(stream), emit="answers"
    )
    run.process(static(spark, script, [{"s": {"a": 7, "b": 1, "c": None}}]), 0)
    run.finish()
    assert stream.getvalue() == b'{"at": 1, "answer": []}\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("available-now", {"availableNow": True}),
        ("once", {"once": True}),
        ("5s", {"processingTime": "5 seconds"}),
        ("500 ms", {"processingTime": "500 milliseconds"}),
        ("1min", {"processingTime": "1 minutes"}),
        ("2 hours", {"processingTime": "2 hours"}),
    ],
)
def test_triggers(text: str, said: dict[str, Any]) -> None:
    assert trigger_of(text) == said


@pytest.mark.parametrize("text", ["", "5", "soon", "-1s", "5 weeks"])
def test_what_is_no_trigger_is_said(text: str) -> None:
    with pytest.raises(UserError, match="MP403"):
        trigger_of(text)


def test_a_sink_is_named_by_path_uri_or_dash(tmp_path: Path) -> None:
    out = io.BytesIO()
    assert isinstance(sink_of("-", out), StreamSink)
    for uri in (str(tmp_path / "a b"), (tmp_path / "a b").as_uri()):
        sink = sink_of(uri, out)
        assert isinstance(sink, FolderSink)
        assert sink.folder == tmp_path / "a b"
    with pytest.raises(UserError, match="MP403"):
        sink_of("s3://bucket/x", out)
