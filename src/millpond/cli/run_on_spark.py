"""`millpond run` on Spark: input to tagged DataFrames, progress to stderr."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from millpond.cli.options import OnError, Options
from millpond.cli.output import Rejects
from millpond.cli.progress import ProgressLine
from millpond.diagnostic import Diagnostic, InputError, RefusedError, UserError
from millpond.memory import Verdict
from millpond.plan import Script
from millpond.run import Event, TaggedReader
from millpond.spark.lowering import can_run
from millpond.spark.session import session
from millpond.spark.sinks import sink_of
from millpond.spark.sources import Spool, source_df, tagged_files, union
from millpond.spark.stream import Progress, SparkRun
from millpond.synopsis import program_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ROWS = 100_000
"""Rows of a batch of tagged input, where none are asked for."""


def not_for_spark(script: Script, verdicts: list[Verdict]) -> RefusedError | None:
    """The first query whose steps Catalyst does not know."""
    for query, verdict in zip(script.queries, verdicts, strict=True):
        if not can_run(program_of(query, verdict)):
            return RefusedError(
                Diagnostic(
                    "MP408",
                    f"query {query.name} is not run: its steps are not built for Spark yet",
                    query.span,
                    helps=("--engine local runs it inside the same bound",),
                ),
                exit_code=3,
            )
    return None


def run_on_spark(script: Script, verdicts: list[Verdict], options: Options) -> int:
    """Runs the queries of a script as one Structured Streaming query."""
    programs = {
        query.name: program_of(query, verdict)
        for query, verdict in zip(script.queries, verdicts, strict=True)
    }
    bound = sum(each.certificate for each in programs.values())
    with _checkpoint(options.checkpoint) as checkpoint:
        if options.input is not None:
            _spool(script, options, checkpoint / "spool")
        spark = session(master=options.master, conf=options.spark_conf)
        try:
            frame = _frame(spark, script, options, checkpoint)
            line = ProgressLine(options.json, bound)
            run = SparkRun(
                spark,
                script,
                programs,
                checkpoint=checkpoint,
                sink=sink_of(options.sink or "-", sys.stdout.buffer),
                emit=options.emit.value,
                trigger=options.trigger,
                on_progress=lambda progress: _say(line, progress),
            )
            handle = run.start(frame)
            try:
                handle.awaitTermination()
            finally:
                line.end()
            _warn(run, options, checkpoint)
        finally:
            spark.stop()
    return 0


def _say(line: ProgressLine, progress: Progress) -> None:
    line.show(
        rows=progress.total_rows,
        at=progress.at,
        units=sum(progress.units.values()),
        rejected=progress.total_rejected,
        batch=progress.batch,
        seconds=round(progress.seconds, 3),
    )


def _warn(run: SparkRun, options: Options, checkpoint: Path) -> None:
    progress = run.progress
    if progress is not None and progress.total_rejected:
        where = f", see {checkpoint / 'rejects'}" if options.checkpoint is not None else ""
        print(f"millpond: {progress.total_rejected} bad rows skipped{where}", file=sys.stderr)


def _frame(spark: SparkSession, script: Script, options: Options, checkpoint: Path) -> DataFrame:
    if options.input is not None:
        return tagged_files(spark, script, checkpoint / "spool")
    wanted = {each.name for query in script.queries for each in query.streams}
    return union(
        [
            source_df(spark, stream, options.sources[stream.name])
            for stream in script.catalog
            if stream.name in wanted
        ]
    )


@contextmanager
def _checkpoint(asked: Path | None) -> Iterator[Path]:
    """The folder to commit to; one that goes when the run ends, if none was asked for."""
    if asked is not None:
        yield asked
        return
    folder = Path(tempfile.mkdtemp(prefix="millpond-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _spool(script: Script, options: Options, folder: Path) -> None:
    """Checks tagged input and writes it, a file a batch, where Spark reads it.

    A run that goes on from a checkpoint spools what is new at the end of the input.
    """
    assert options.input is not None
    spool = Spool(folder)
    size = options.batch_rows or _ROWS
    known, held = spool.lines, list[dict[str, object]]()
    reader = TaggedReader(script.catalog, "<stdin>" if options.input == "-" else options.input)
    names = {each.name: each.names for each in script.catalog}
    with Rejects(options) as rejects:
        for piece in reader.read(options.input):
            for each in piece:
                if not isinstance(each, Event):
                    if options.on_error is not OnError.SKIP:
                        raise InputError(each.diagnostic)
                    rejects.add(each)
                elif known:
                    known -= 1
                else:
                    held.append(
                        {"@tick": 1}
                        if each.stream is None
                        else {each.stream: dict(zip(names[each.stream], each.row, strict=True))}
                    )
                if len(held) == size:
                    spool.put(held)
                    held = []
    if held:
        spool.put(held)
    if known:
        raise UserError(
            Diagnostic(
                "MP405",
                "the input is shorter than what the checkpoint has seen of it",
                file=options.input,
                helps=("give the input of the run before, or an empty folder for --checkpoint",),
            )
        )
