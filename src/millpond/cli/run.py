"""`millpond run`: runs bounded queries, here or on Spark."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from millpond.cli.check import check_script
from millpond.cli.options import Engine, Instants, OnError, Options, checked, pairs, wrong
from millpond.cli.output import Lines, Rejects
from millpond.cli.progress import ProgressLine
from millpond.diagnostic import Diagnostic, InputError, RefusedError
from millpond.language import read_file
from millpond.memory import MemoryClass, Verdict
from millpond.plan import Query, Script
from millpond.run import (
    ArrivalClock,
    Arrivals,
    ByDefinition,
    Compiled,
    Emit,
    Event,
    LocalRun,
    Lowering,
    Reject,
    Running,
    Session,
    TaggedReader,
)
from millpond.synopsis import program_of

_TURN = 8192
"""Rows of one source before those of the next one."""


def run(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A file of SQL, or -.")],
    engine: Annotated[Engine, typer.Option(help="Where to run.")] = Engine.AUTO,
    input_: Annotated[
        str | None, typer.Option("--input", metavar="TAGGED.jsonl", help="Tagged JSON lines, or -.")
    ] = None,
    source: Annotated[
        list[str] | None,
        typer.Option("--source", metavar="NAME=URI", help="Rows of a stream."),
    ] = None,
    sink: Annotated[
        str | None, typer.Option("--sink", metavar="URI", help="A folder for JSON lines of output.")
    ] = None,
    emit: Annotated[Emit, typer.Option(help="What to print.")] = Emit.CHANGES,
    checkpoint: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where to commit state, to go on from there.")
    ] = None,
    batch_rows: Annotated[
        int | None, typer.Option(min=1, help="Rows of a batch; no answer depends on it.")
    ] = None,
    json_: Annotated[bool, typer.Option("--json", help="Progress as JSON on stderr.")] = False,
    on_error: Annotated[OnError | None, typer.Option(help="What to do at a bad row.")] = None,
    rejects: Annotated[str | None, typer.Option(metavar="FILE", help="Where bad rows go.")] = None,
    instants: Annotated[
        Instants, typer.Option(help="Print every instant, or the last of each batch.")
    ] = Instants.ALL,
    lowering: Annotated[
        Lowering, typer.Option(help="How the local engine advances; no answer depends on it.")
    ] = Lowering.AUTO,
    master: Annotated[str, typer.Option(metavar="URL", help="Spark's master.")] = "local[*]",
    spark_conf: Annotated[
        list[str] | None, typer.Option("--spark-conf", metavar="K=V", help="A setting of Spark.")
    ] = None,
    trigger: Annotated[
        str, typer.Option(help="When Spark starts a batch: available-now, once, or a time as 5s.")
    ] = "available-now",
) -> int:
    """Run every query of a file, exactly and inside its bound.

    \b
    Example:
      echo '{"s": {"a": 11}}' > rows.jsonl
      echo "CREATE STREAM s (a INT); SELECT a FROM s WHERE a > 10;" |
        millpond run - --input rows.jsonl

    Tagged --input runs in this process; --source and --sink run on Spark when it is installed.
    """
    script = read_file(file)
    if file == "-" and input_ == "-":
        raise wrong("the query and the rows cannot both come from standard input")
    options = Options(
        engine,
        input_,
        pairs(source, "--source"),
        sink,
        emit,
        checkpoint,
        batch_rows,
        json_,
        on_error,
        rejects,
        instants,
        lowering,
        master,
        pairs(spark_conf, "--spark-conf"),
        trigger,
    )
    options = checked(script, options)
    verdicts = check_script(script)
    if options.engine is not Engine.DEFINITION:
        _refuse(script, verdicts)
    if options.engine is Engine.SPARK:
        from millpond.cli.run_on_spark import run_on_spark

        return run_on_spark(script, verdicts, options)
    return _run_here(script, verdicts, options)


def _refuse(script: Script, verdicts: list[Verdict]) -> None:
    """Queries without a known bound are not run."""
    for query, verdict in zip(script.queries, verdicts, strict=True):
        if verdict.memory not in (MemoryClass.LINEAR, MemoryClass.OUTSIDE):
            continue
        linear = verdict.memory is MemoryClass.LINEAR
        reason = verdict.because[0]
        repairs = tuple(f"{fix.text} makes it {fix.memory}" for fix in verdict.fixes[:2])
        raise RefusedError(
            Diagnostic(
                "MP401" if linear else "MP402",
                f"query {query.name} is not run: "
                + (f"its state grows with {verdict.growth}" if linear else reason.text),
                reason.span,
                notes=(reason.text,) if linear else (),
                helps=(
                    *repairs,
                    "--engine definition keeps all input and refuses nothing",
                ),
            ),
            exit_code=1 if linear else 3,
        )


# Running here -----------------------------------------------------------------------------------


def _run_here(script: Script, verdicts: list[Verdict], options: Options) -> int:
    clock, (session, bound) = ArrivalClock(), _session(script, verdicts, options)
    progress = ProgressLine(options.json, bound)
    rows = 0
    with Lines(options.sink) as lines, Rejects(options) as rejects, _interruptible() as waiting:

        def say() -> None:
            progress.show(rows=rows, at=clock.now, units=session.units(), rejected=rejects.count)

        try:
            for piece in _pieces(script, options, waiting):
                arrivals, stopped = _arrivals(script, piece, clock, options, rejects)
                lines.write(session.advance(arrivals))
                rows += len(arrivals)
                if progress.due():
                    say()
                if stopped is not None:
                    raise InputError(stopped.diagnostic)
        finally:
            lines.write(session.finish())
            say()
            progress.end()
    return 0


def _session(
    script: Script, verdicts: list[Verdict], options: Options
) -> tuple[Session, int | None]:
    runs: list[tuple[Query, Running]] = []
    bound: int | None = 0
    for query, verdict in zip(script.queries, verdicts, strict=True):
        if options.engine is Engine.DEFINITION:
            runs.append((query, ByDefinition(query)))
            bound = None
            continue
        run_ = LocalRun(program_of(query, verdict), lowering=options.lowering)
        runs.append((query, Compiled(run_)))
        bound = None if bound is None or verdict.units is None else bound + verdict.units
    return Session(runs, options.emit, instants=options.instants.value), bound


def _pieces(script: Script, options: Options, waiting: _Waiting) -> Iterator[list[Event | Reject]]:
    """The input in batches: as it arrives, or of --batch-rows rows."""
    if options.input is not None:
        reader = TaggedReader(script.catalog, "<stdin>" if options.input == "-" else options.input)
        pieces = reader.read(options.input)
    else:
        pieces = _interleaved(script, options)
    size, held = options.batch_rows, list[Event | Reject]()
    while True:
        with waiting.for_input():
            piece = next(pieces, None)
        if piece is None:
            break
        if size is None:
            yield piece
            continue
        held += piece
        while len(held) >= size:
            yield held[:size]
            held = held[size:]
    if held:
        yield held


def _interleaved(script: Script, options: Options) -> Iterator[list[Event | Reject]]:
    """The pieces of several sources, one of each in turn: the same turns for any --batch-rows."""
    from millpond.run.sources import rows_of_source

    left = [
        rows_of_source(script.catalog, stream, options.sources[stream.name], _TURN)
        for stream in script.catalog
        if stream.name in options.sources
    ]
    while left:
        for each in list(left):
            piece = next(each, None)
            if piece is None:
                left.remove(each)
            else:
                yield piece


def _arrivals(
    script: Script,
    piece: list[Event | Reject],
    clock: ArrivalClock,
    options: Options,
    rejects: Rejects,
) -> tuple[Arrivals, Reject | None]:
    """The accepted events of a piece, up to a bad one at which the run has to stop."""
    arrivals = Arrivals(script.catalog)
    for each in piece:
        if isinstance(each, Event):
            arrivals.add(each.stream, each.row, clock.arrive())
        elif options.skip:
            rejects.add(each)
        else:
            return arrivals, each
    return arrivals, None


class _Waiting:
    """Ctrl-C while waiting for input stops at once; while a batch is worked on, after it."""

    def __init__(self) -> None:
        self.interrupted = False
        self._waiting = False

    @contextmanager
    def for_input(self) -> Iterator[None]:
        if self.interrupted:
            raise KeyboardInterrupt
        self._waiting = True
        try:
            yield
        finally:
            self._waiting = False

    def interrupt(self, signum: int, frame: FrameType | None) -> None:
        self.interrupted = True
        if self._waiting:
            raise KeyboardInterrupt


@contextmanager
def _interruptible() -> Iterator[_Waiting]:
    waiting = _Waiting()
    before = signal.signal(signal.SIGINT, waiting.interrupt)
    try:
        yield waiting
    finally:
        signal.signal(signal.SIGINT, before)
