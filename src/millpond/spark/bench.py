"""Measures a bounded join on Spark beside Spark's own join of the same input, batch by batch.

Spark's stream-stream join keeps every row that might still match, so that its batches grow; the
synopsis of the bounded query is a few counts, and its batches do not.
"""

from __future__ import annotations

import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from millpond.language import read_script
from millpond.memory import verdict_of
from millpond.spark.session import session
from millpond.spark.sinks import FolderSink
from millpond.spark.sources import Spool, tagged_files
from millpond.spark.stream import SparkRun
from millpond.synopsis import program_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

TEXT = """
CREATE STREAM s (a INT, b INT, c INT);
CREATE STREAM t (d INT, e INT);
SELECT s.a FROM s, t WHERE s.a = t.d AND s.a > 10 AND t.d < 20
"""


def spark_slice(
    batches: int = 100,
    rows_per_batch: int = 100,
    *,
    keys: int = 30,
    native: bool = True,
    seed: int = 1,
    say: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
    """Milliseconds of each batch of Arasu's Q3, run by millpond and (`native`) as Spark's join.

    Keys are drawn from 0 to `keys` - 1. Gives `millpond_ms` and `native_ms` by batch, what each
    keeps at the end (`millpond_units` beside `certificate`, `native_rows`), and `spark`, its
    version.
    """
    folder = Path(tempfile.mkdtemp(prefix="millpond-bench-"))
    spark = session(conf={"spark.sql.streaming.numRecentProgressUpdates": str(batches + 10)})
    try:
        say(f"writing {batches} files of {rows_per_batch} rows")
        _write(folder / "spool", batches, rows_per_batch, keys, random.Random(seed))
        say("running the synopsis")
        found: dict[str, Any] = {"spark": spark.version, **_synopsis(spark, folder)}
        if native:
            say("running Spark's join")
            found |= _native(spark, folder)
        return found
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _write(folder: Path, batches: int, rows: int, keys: int, rng: random.Random) -> None:
    def lines() -> Iterator[str]:
        for _ in range(rows):
            key, other = rng.randrange(keys), rng.randrange(100)
            if rng.random() < 0.5:
                yield f'{{"s": {{"a": {key}, "b": {other}, "c": 0}}}}'
            else:
                yield f'{{"t": {{"d": {key}, "e": {other}}}}}'

    spool = Spool(folder)
    for _ in range(batches):
        spool.put(lines())


def _synopsis(spark: SparkSession, folder: Path) -> dict[str, Any]:
    script = read_script(TEXT)
    query = script.queries[0]
    program = program_of(query, verdict_of(query))
    run = SparkRun(
        spark,
        script,
        {query.name: program},
        checkpoint=folder / "synopsis",
        sink=FolderSink(folder / "out"),
    )
    handle = run.start(tagged_files(spark, script, folder / "spool"))
    handle.awaitTermination()
    return {
        "millpond_ms": _durations(handle.query),
        "millpond_units": run.units()[query.name],
        "certificate": program.certificate,
    }


def _native(spark: SparkSession, folder: Path) -> dict[str, Any]:
    script = read_script(TEXT)

    def rows(name: str) -> DataFrame:
        tagged = tagged_files(spark, script, folder / "spool")
        return tagged.where(f"{name} is not null").select(f"{name}.*")

    s, t = rows("s").where("a > 10"), rows("t").where("d < 20")
    query = (
        s.join(t, s["a"] == t["d"])
        .select("a")
        .writeStream.format("noop")
        .option("checkpointLocation", str(folder / "native"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    last: Any = query.lastProgress
    kept = sum(each["numRowsTotal"] for each in last["stateOperators"]) if last else 0
    return {"native_ms": _durations(query), "native_rows": kept}


def _durations(query: StreamingQuery) -> list[int]:
    progress: Any = query.recentProgress
    return [int(each["batchDuration"]) for each in progress if each["numInputRows"]]
