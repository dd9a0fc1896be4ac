"""A checkpoint belongs to one run and is whole, or it is refused; a sink likewise."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.run.harness import BOUNDED_OF_TABLE_1, DDL
from tests.spark.harness import Pieces, compiled, random_events, static

from millpond.diagnostic import UserError
from millpond.program.codec import write_manifest
from millpond.program.commits import KEPT
from millpond.spark.sinks import FolderSink, Sink
from millpond.spark.sources import Spool, tagged_files
from millpond.spark.stream import Emit, SparkRun

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Q3, Q7 = BOUNDED_OF_TABLE_1["Q3"], BOUNDED_OF_TABLE_1["Q7"]
NO_SPARK: SparkSession = None  # type: ignore[assignment]  # Opening a checkpoint needs none.


def opened(
    folder: Path, sql: str = Q3, emit: Emit = "changes", sink: Sink | None = None
) -> SparkRun:
    script, programs = compiled(DDL + sql)
    return SparkRun(NO_SPARK, script, programs, checkpoint=folder, sink=sink or Pieces(), emit=emit)


@pytest.fixture(scope="module")
def written(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint of Q3 after some batches of a real streaming query."""
    folder = tmp_path_factory.mktemp("written")
    script, programs = compiled(DDL + Q3)
    spool, rng = Spool(folder / "spool"), random.Random(3)
    for _ in range(KEPT + 2):
        spool.put(random_events(rng, list(script.catalog), 30))
    run = SparkRun(spark, script, programs, checkpoint=folder / "checkpoint", sink=Pieces())
    run.start(tagged_files(spark, script, folder / "spool")).awaitTermination()
    return folder / "checkpoint"


@pytest.fixture
def checkpoint(written: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(written, tmp_path / "checkpoint"))


def newest(folder: Path) -> Path:
    return max((folder / "commits").iterdir())


def test_old_commits_are_let_go(checkpoint: Path) -> None:
    names = sorted(int(each.name) for each in (checkpoint / "commits").iterdir())
    assert names == list(range(2, KEPT + 2))


def test_a_run_goes_on_from_the_newest_commit(checkpoint: Path) -> None:
    again = opened(checkpoint)
    assert again.at == 30 * (KEPT + 2)
    assert again.units()["q1"] > 0


def other_query(folder: Path) -> None:
    opened(folder, Q7)


def other_name(folder: Path) -> None:
    opened(folder, f"CREATE QUERY other AS {Q3}")


def answers_that_were_not_kept(folder: Path) -> None:
    opened(folder, emit="answers")


def no_manifest(folder: Path) -> None:
    (folder / "manifest.json").unlink()
    opened(folder)


def a_run_without_spark(folder: Path) -> None:
    write_manifest(folder / "manifest.json", {"by": "local", "queries": {}})
    opened(folder)


def truncated_manifest(folder: Path) -> None:
    (folder / "manifest.json").write_bytes((folder / "manifest.json").read_bytes()[:-5])
    opened(folder)


def truncated_commit(folder: Path) -> None:
    path = newest(folder) / "manifest.json"
    path.write_bytes(path.read_bytes()[:-5])
    opened(folder)


def commit_of_another_batch(folder: Path) -> None:
    newest(folder).rename(newest(folder).with_name("000000000099"))
    opened(folder)


def damaged_state(folder: Path) -> None:
    path = newest(folder) / "query-0" / "store-0.arrow"
    path.write_bytes(path.read_bytes().replace(b"\x01", b"\x02"))
    opened(folder)


def missing_state(folder: Path) -> None:
    (newest(folder) / "query-0" / "store-1.arrow").unlink()
    opened(folder)


def a_file(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_text("not a folder")
    opened(folder)


@pytest.mark.parametrize(
    "harmed",
    [
        other_query,
        other_name,
        answers_that_were_not_kept,
        no_manifest,
        a_run_without_spark,
        truncated_manifest,
        truncated_commit,
        commit_of_another_batch,
        damaged_state,
        missing_state,
        a_file,
    ],
)
def test_a_checkpoint_that_does_not_fit_is_refused(
    harmed: Callable[[Path], None], checkpoint: Path
) -> None:
    with pytest.raises(UserError) as refused:
        harmed(checkpoint)
    (said,) = refused.value.diagnostics
    assert said.code == "MP405"
    assert said.file
    assert said.helps


@pytest.mark.parametrize("lost", ["spark", "commits", "newest"])
def test_state_and_input_have_to_agree(
    spark: SparkSession, checkpoint: Path, tmp_path: Path, lost: str
) -> None:
    """Spark's half alone would skip input that no state has; ours alone would take it twice."""
    shutil.rmtree(newest(checkpoint) if lost == "newest" else checkpoint / lost)
    script, programs = compiled(DDL + Q3)
    run = SparkRun(spark, script, programs, checkpoint=checkpoint, sink=Pieces())
    with pytest.raises(UserError, match="MP405"):
        run.start(static(spark, script, []))


def test_a_sink_with_the_output_of_another_run_is_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "sink").mkdir()
    (tmp_path / "sink" / "part-00000007.jsonl").write_text("{}\n")
    script, _ = compiled(DDL + Q3)
    run = opened(tmp_path / "checkpoint", sink=FolderSink(tmp_path / "sink"))
    with pytest.raises(UserError, match="output of another run"):
        run.process(static(spark, script, []), 0)
    assert not (tmp_path / "checkpoint").exists()


def test_a_batch_that_is_done_is_skipped(spark: SparkSession, tmp_path: Path) -> None:
    script, programs = compiled(DDL + Q3)
    sink = Pieces()
    events = static(spark, script, [{"s": {"a": 11, "b": 1, "c": 1}}, {"t": {"d": 11, "e": 1}}])
    run = SparkRun(spark, script, programs, checkpoint=tmp_path, sink=sink)
    run.process(events, 4)
    sink.said.clear()
    for again in (run, SparkRun(spark, script, programs, checkpoint=tmp_path, sink=sink)):
        again.process(events, 4)
        assert (again.at, sink.said) == (2, {})


def test_a_checkpoint_has_one_run_at_a_time(spark: SparkSession, tmp_path: Path) -> None:
    script, programs = compiled(DDL + Q3)

    def run() -> SparkRun:
        return SparkRun(spark, script, programs, checkpoint=tmp_path, sink=Pieces())

    first, second, third = run(), run(), run()
    batch = static(spark, script, [{"t": {"d": 11, "e": 1}}])
    first.process(batch, 0)
    with pytest.raises(UserError, match="in use by another run"):
        second.process(batch, 0)
    first.close()
    third.process(batch, 1)
    assert third.at == 2, "it has to go on from what the first committed after it was made"
