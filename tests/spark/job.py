"""A streaming job as a process of its own, so that it can be killed: spool, checkpoint, sink."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.spark.conftest import CONF
from tests.spark.harness import compiled

from millpond.spark.session import session
from millpond.spark.sinks import FolderSink
from millpond.spark.sources import tagged_files
from millpond.spark.stream import SparkRun


def main(text: str, spool: str, checkpoint: str, sink: str) -> None:
    script, programs = compiled(text)
    spark = session(master="local[2]", conf=CONF)
    run = SparkRun(
        spark, script, programs, checkpoint=Path(checkpoint), sink=FolderSink(Path(sink))
    )
    run.start(tagged_files(spark, script, Path(spool))).awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
