"""Runs programs as one Structured Streaming query, exactly once.

Each batch is reduced in Catalyst, its few buckets are merged into the state here, the lines that it
causes go to the sink, and then state and counts are committed (`commit.py`).  Instants are as
`--instants batch` has them: the last of each batch.
"""

from __future__ import annotations

import re
import shutil
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Literal

from millpond.diagnostic import Diagnostic, InternalError, UserError
from millpond.plan import Query, Script
from millpond.program import Delta, Merger, Program
from millpond.schema import Stream
from millpond.spark.commit import CommitLog, Held
from millpond.spark.lines import answer_line, change_lines, final_lines, written_lines
from millpond.spark.lowering import Reduced, Reducer
from millpond.spark.sinks import FolderSink, Sink, copied, hadoop_path

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

Emit = Literal["changes", "answers", "final"]

_DURATION = re.compile(
    r"\s*(\d+)\s*(ms|milliseconds?|s|sec|seconds?|m|min|minutes?|h|hours?)\s*", re.IGNORECASE
)
_UNITS = {"ms": "milliseconds", "m": "minutes", "s": "seconds", "h": "hours"}


@dataclass(frozen=True)
class Progress:
    """What a batch came to; totals are over the checkpoint's life."""

    batch: int
    rows: int
    rejected: int
    at: int
    total_rows: int
    total_rejected: int
    units: Mapping[str, int]
    certificate: Mapping[str, int]
    seconds: float


class SparkRun:
    """The queries of a script on Spark: one streaming query, one pass over each batch.

    `programs` are by name of query.  The sink takes lines of changes after each batch (or the
    answer, or the last answer when the run ends).  A checkpoint that has seen batches goes on from
    the newest; one of other queries, or damaged, is refused with MP405.
    """

    def __init__(
        self,
        spark: SparkSession,
        script: Script,
        programs: Mapping[str, Program],
        *,
        checkpoint: Path,
        sink: Sink,
        emit: Emit = "changes",
        trigger: str = "available-now",
        on_progress: Callable[[Progress], None] | None = None,
    ) -> None:
        self._spark = spark
        self._script = script
        self._programs = dict(programs)
        self._trigger = trigger_of(trigger)
        self._sink = sink
        self._emit = emit
        self._on_progress = on_progress
        self._queries = [each for each in script.queries if each.name in self._programs]
        self._mergers = {name: Merger(each) for name, each in self._programs.items()}
        self._log = CommitLog(checkpoint, self._programs)
        self._position, self._held = self._log.restore(answers=emit != "changes")
        self._begun = self._broken = False
        self._reducer: Reducer | None = None
        self._streams: tuple[Stream, ...] = ()
        self.progress: Progress | None = None
        """Of the newest batch of this run."""

    @property
    def at(self) -> int:
        """The newest committed instant: accepted rows and ticks so far."""
        return self._position.at

    def units(self) -> dict[str, int]:
        """Units of state held by each query now."""
        return {name: each.state.units() for name, each in self._held.items()}

    def certificate(self) -> dict[str, int]:
        """The most units that each query can ever hold."""
        return {name: each.certificate for name, each in self._programs.items()}

    def answer(self, query: str) -> Counter[tuple[int | None, ...]]:
        """The answer of a query after the newest batch; kept unless changes are emitted."""
        answer = self._held[query].answer
        if answer is None:
            raise ValueError("a run that emits changes keeps no answer")
        return Counter(answer)

    def start(self, tagged: DataFrame) -> SparkHandle:
        """Starts the streaming query over a tagged DataFrame (`sources.py`)."""
        self._begin(tagged)
        handle = SparkHandle(self)
        try:
            self._log.check_spark()
            writer = (
                tagged.writeStream.foreachBatch(handle.batch)
                .option("checkpointLocation", hadoop_path(self._log.spark))
                .trigger(**self._trigger)
            )
            handle.begin(writer.start())
        except BaseException:
            self.close()
            raise
        return handle

    # A batch -------------------------------------------------------------------------------------

    def process(self, tagged: DataFrame, batch: int) -> None:
        """Takes a batch in: output to the sink, then the commit; one that is done is skipped."""
        if batch <= self._position.batch:
            return
        if self._broken:
            raise InternalError(
                Diagnostic("MP900", f"batch {batch} comes after one that failed in this run")
            )
        # Until the commit, the state here is neither that before the batch nor one to go on from.
        self._broken = True
        self._take(tagged, batch)
        self._broken = False
        if self._on_progress is not None and self.progress is not None:
            self._on_progress(self.progress)

    def _take(self, tagged: DataFrame, batch: int) -> None:
        started = time.perf_counter()
        self._begin(tagged)
        assert self._reducer is not None
        reduced = self._reducer.reduce(tagged)
        try:
            self._write_rejects(tagged, batch, reduced.rejected)
            position = replace(
                self._position,
                batch=batch,
                at=self._position.at + reduced.instants,
                rows={
                    name: self._position.rows.get(name, 0) + count
                    for name, count in reduced.accepted.items()
                },
                rejected=self._position.rejected + reduced.rejected,
            )
            self._sink.put(f"part-{batch:08d}", self._said(reduced, position.at))
        finally:
            if reduced.frame is not None:
                reduced.frame.unpersist()
            shutil.rmtree(self._lines_folder, ignore_errors=True)
        self._log.write(position, self._held.values())
        self._position = position
        self.progress = Progress(
            batch,
            sum(reduced.accepted.values()),
            reduced.rejected,
            position.at,
            sum(position.rows.values()),
            position.rejected,
            self.units(),
            self.certificate(),
            time.perf_counter() - started,
        )

    def close(self) -> None:
        """Gives the checkpoint back; a run that is over takes no more batches."""
        self._log.close()

    def finish(self) -> None:
        """Says what is said at the end of a run: the last answer, if that was asked for."""
        if self._emit != "final":
            return
        self._sink.put(
            "final",
            (
                _bytes(final_lines(_names(self._held[each.name].program), answer, self._tag(each)))
                for each in self._queries
                if (answer := self._held[each.name].answer) is not None
            ),
        )

    def _begin(self, tagged: DataFrame) -> None:
        """Once: the reductions of these columns; a checkpoint and a sink that are this run's."""
        if self._begun:
            return
        there = set(tagged.columns)
        self._streams = tuple(each for each in self._script.catalog if each.name in there)
        for query in self._queries:
            for stream in query.streams:
                if stream not in self._streams:
                    raise UserError(
                        Diagnostic(
                            "MP404",
                            f"stream `{stream.name}` of query `{query.name}` has no source",
                            query.span,
                            helps=(f"give --source {stream.name}=PATH",),
                        )
                    )
        programs = [self._programs[each.name] for each in self._queries]
        self._reducer = Reducer(self._streams, programs, tagged.columns)
        self._sink.begin(fresh=self._log.fresh)
        self._log.create()
        if self._log.newest() not in (None, self._position.batch):
            # Another run went on from here between our reading and our having it alone.
            self._position, self._held = self._log.restore(answers=self._emit != "changes")
        self._begun = True

    @property
    def _lines_folder(self) -> Path:
        """Where Spark writes lines that never come here; hidden, so that a restart clears it."""
        return self._log.commits / ".lines"

    def _write_rejects(self, tagged: DataFrame, batch: int, count: int) -> None:
        if count:
            assert self._reducer is not None
            path = hadoop_path(self._log.rejects / f"batch={batch}")
            self._reducer.rejects(tagged).write.mode("overwrite").text(path)

    def _tag(self, query: Query) -> str | None:
        return query.name if len(self._queries) > 1 else None

    def _said(self, reduced: Reduced, at: int) -> Iterator[bytes]:
        """The lines of a batch; the state is merged on the way."""
        for place, query in enumerate(self._queries):
            held = self._held[query.name]
            if (
                held.program.select is not None
                and held.answer is None
                and isinstance(self._sink, FolderSink)
            ):
                yield from self._written(reduced, place, query, at)
                continue
            delta = self._delta(reduced, place, held, at)
            if held.answer is not None:
                for row, n, _ in delta.rows():
                    held.answer[row] += n
                    if not held.answer[row]:
                        del held.answer[row]
            if self._emit == "changes":
                yield _bytes(change_lines(delta, self._tag(query)))
            elif self._emit == "answers" and any(
                reduced.accepted[stream.name] for stream in query.streams
            ):
                assert held.answer is not None
                line = answer_line(_names(held.program), held.answer, at, self._tag(query))
                yield _bytes([line])

    def _delta(self, reduced: Reduced, place: int, held: Held, at: int) -> Delta:
        program = held.program
        assert self._reducer is not None
        if program.select is not None:
            return self._reducer.selected_delta(reduced, place, at).at_instant(at)
        if program.join is None:
            return Delta.empty(tuple(_names(program)))
        merger = self._mergers[program.name]
        return merger.merge(held.state, reduced.partials(place, at)).at_instant(at)

    def _written(self, reduced: Reduced, place: int, query: Query, at: int) -> Iterator[bytes]:
        assert self._reducer is not None
        folder = self._lines_folder / str(place)
        rows = self._reducer.selected(reduced, place)
        names = _names(self._programs[query.name])
        lines = written_lines(rows, names, at, self._tag(query))
        lines.write.mode("overwrite").text(hadoop_path(folder))
        if not (folder / "_SUCCESS").exists():
            raise InternalError(Diagnostic("MP900", f"what Spark wrote is not in {folder}"))
        yield from copied(sorted(folder.glob("part-*")))


class SparkHandle:
    """A run under way, in the manner of pyspark's StreamingQuery."""

    def __init__(self, run: SparkRun) -> None:
        self._run = run
        self._query: StreamingQuery | None = None
        self._error: BaseException | None = None
        self._closing = False
        self._ended = False
        self._between = threading.Lock()
        """Held during a batch, so that stopping waits for its commit."""
        self._wake = threading.Event()

    def batch(self, tagged: DataFrame, number: int) -> None:
        """What Spark calls with each batch."""
        with self._between:
            if self._closing:
                raise _StoppingError
            try:
                self._run.process(tagged, number)
            except BaseException as error:
                # Spark hands on only the text of an error.
                self._error = error
                raise

    def begin(self, query: StreamingQuery) -> None:
        """Watches a query that Spark has started."""
        self._query = query
        threading.Thread(target=self._watch, name="millpond-spark", daemon=True).start()

    @property
    def query(self) -> StreamingQuery:
        """Spark's own handle."""
        assert self._query is not None
        return self._query

    @property
    def isActive(self) -> bool:
        """Whether batches may still come."""
        return self._query is not None and bool(self._query.isActive)

    @property
    def lastProgress(self) -> dict[str, Any] | None:
        """The newest committed batch of this run: rows, rejected rows, units beside their bound."""
        return None if self._run.progress is None else asdict(self._run.progress)

    def awaitTermination(self, timeout: float | None = None) -> bool:
        """Waits for the end of the run (True) or for `timeout` seconds.

        On Ctrl-C the batch under way is committed, and then KeyboardInterrupt is raised. Raises
        what ended the run if that was an error.
        """
        with _sigint(self._wake) as interrupted:
            if not self._wake.wait(timeout):
                return False
            if interrupted.is_set():
                self.stop()
                raise KeyboardInterrupt
        self._end()
        return True

    def stop(self) -> None:
        """Ends the run after the batch under way."""
        with self._between:
            self._closing = True
        if self._query is not None:
            self._query.stop()
        self._end()

    def _watch(self) -> None:
        assert self._query is not None
        try:
            self._query.awaitTermination()
        except Exception as error:
            self._error = self._error or error
        finally:
            self._wake.set()

    def _end(self) -> None:
        self._run.close()
        if self._error is not None and not self._closing:
            said = _said_of(self._error)
            raise said from (None if said is self._error else self._error)
        if not self._ended:
            self._ended = True
            self._run.finish()


class _StoppingError(Exception):
    """Ends a batch that began after the run was told to stop."""


@contextmanager
def _sigint(wake: threading.Event) -> Iterator[threading.Event]:
    """In the main thread, Ctrl-C sets both events instead of cancelling Spark's jobs."""
    interrupted = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield interrupted
        return

    def handle(number: int, frame: FrameType | None) -> None:
        # A second one goes the way it went before us.
        signal.signal(signal.SIGINT, before)
        interrupted.set()
        wake.set()

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield interrupted
    finally:
        signal.signal(signal.SIGINT, before)


def _said_of(error: BaseException) -> BaseException:
    """An error of Spark's as a diagnostic; others are what they are."""
    if not type(error).__module__.startswith(("pyspark", "py4j")):
        return error
    lines = [each.strip() for each in str(error).splitlines() if each.strip()]
    causes = [each for each in lines if each.startswith("Caused by: ")]
    notes = tuple(dict.fromkeys((*lines[:1], *causes[-1:])))
    return UserError(
        Diagnostic(
            "MP503",
            f"Spark failed: {type(error).__name__}",
            notes=notes,
            helps=("what was committed stays: start again with the same --checkpoint to go on",),
        )
    )


def trigger_of(text: str) -> dict[str, Any]:
    """The trigger that `--trigger` names, as pyspark wants it.

    >>> trigger_of("5s"), trigger_of("available-now")
    ({'processingTime': '5 seconds'}, {'availableNow': True})
    """
    if text == "available-now":
        return {"availableNow": True}
    if text == "once":
        return {"once": True}
    said = _DURATION.fullmatch(text)
    if said is None:
        raise UserError(
            Diagnostic(
                "MP403",
                f"`{text}` is no trigger",
                helps=("give available-now, once, or a time such as 5s, 500ms or 1min",),
            )
        )
    unit = said[2].lower()
    spelled = _UNITS["ms" if unit.startswith(("ms", "milli")) else unit[0]]
    return {"processingTime": f"{said[1]} {spelled}"}


def _names(program: Program) -> list[str]:
    return [each.name for each in program.output]


def _bytes(lines: Iterable[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()
