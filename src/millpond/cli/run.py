"""`millpond run`: runs queries whose state has a bound, here or on Spark, and any by definition."""

from __future__ import annotations

import math
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from millpond.cli.late import LateRows
from millpond.cli.options import (
    Engine,
    Instants,
    OnError,
    Options,
    Strategy,
    checked,
    pairs,
    wrong,
)
from millpond.cli.output import Output, Rejects
from millpond.cli.progress import ProgressLine
from millpond.diagnostic import Diagnostic, InputError, RefusedError
from millpond.language import read_file
from millpond.memory import MemoryClass, Verdict, check_script
from millpond.plan import Script
from millpond.run import (
    DefinitionRun,
    Emit,
    Event,
    LocalRun,
    Lowering,
    Op,
    Reject,
    Session,
    TaggedReader,
    merged,
)
from millpond.run.contents import Moment
from millpond.run.respond import Responses
from millpond.run.sources import rows_of_source
from millpond.run.values import plain_text
from millpond.schema import Kind, Type
from millpond.synopsis import program_of

_TURN = 8192
"""Rows of one source before those of the next one."""
_STEP = 256
"""Events that a query by definition is given at a time, so that Ctrl-C is not long in coming."""


def run(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A file of SQL, or -.")],
    engine: Annotated[Engine, typer.Option(help="Where to run.")] = Engine.AUTO,
    input_: Annotated[
        str | None, typer.Option("--input", metavar="TAGGED.jsonl", help="Tagged JSON lines, or -.")
    ] = None,
    source: Annotated[
        list[str] | None,
        typer.Option("--source", metavar="NAME=URI", help="Rows of a stream or of a table."),
    ] = None,
    sink: Annotated[
        str | None,
        typer.Option("--sink", metavar="URI", help="A file or a folder for the output."),
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
    late: Annotated[
        str | None, typer.Option(metavar="FILE", help="Where rows go that come too late.")
    ] = None,
    idle_timeout: Annotated[
        str | None,
        typer.Option(
            metavar="T",
            help="After how long a source that waits holds up no other; files never do.",
        ),
    ] = None,
    allow_unbounded: Annotated[
        bool, typer.Option("--allow-unbounded", help="Run queries without a bound, too.")
    ] = False,
    max_state: Annotated[
        int | None,
        typer.Option(min=1, metavar="UNITS", help="Stop it above so many units."),
    ] = None,
    strategy: Annotated[
        Strategy, typer.Option(help="How window state is maintained.")
    ] = Strategy.AUTO,
    dialect: Annotated[
        str, typer.Option(metavar="NAME", help="The SQL that FILE is written in.")
    ] = "cql",
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
    script = read_file(file, dialect)
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
        late,
        idle_timeout,
        allow_unbounded,
        max_state,
        strategy,
        instants,
        lowering,
        master,
        pairs(spark_conf, "--spark-conf"),
        trigger,
    )
    options = checked(script, options)
    by_definition = options.engine is Engine.DEFINITION and bool(script.queries)
    verdicts = [] if by_definition else check_script(script, Responses)
    if not options.allow_unbounded:
        _refuse(script, verdicts)
    if options.engine is Engine.SPARK:
        from millpond.cli.run_on_spark import run_on_spark

        return run_on_spark(script, verdicts, options)
    return _run_here(script, verdicts, options)


def _refuse(script: Script, verdicts: list[Verdict]) -> None:
    """Queries that do not run inside a known bound are not run."""
    for query, verdict in zip(script.queries, verdicts, strict=False):
        if verdict.shape is not None:
            continue
        reason = verdict.because[0]
        linear = verdict.memory is MemoryClass.LINEAR
        code, why, notes = "MP402", reason.text, tuple[str, ...]()
        if linear:
            code, why, notes = "MP401", f"its state grows with {verdict.growth}", (reason.text,)
        elif verdict.units is not None:
            code = "MP408"
            enough = "1 unit is" if verdict.units == 1 else f"{verdict.units} units are"
            why = f"{enough} enough for it, but its steps are not built yet"
        repairs = tuple(f"{fix.text} makes it {fix.memory}" for fix in verdict.fixes[:2])
        raise RefusedError(
            Diagnostic(
                code,
                f"query {query.name} is not run: {why}",
                reason.span,
                notes=notes,
                helps=(
                    *repairs,
                    "--allow-unbounded --max-state 1000000 runs it until it holds so much",
                    "--engine definition keeps all input and refuses nothing",
                ),
            ),
            exit_code=1 if linear else 3,
        )


# Running here -----------------------------------------------------------------------------------


def _run_here(script: Script, verdicts: list[Verdict], options: Options) -> int:
    rows = 0
    with (
        LateRows(script, options.late) as late,
        Output(options.sink, script.queries, options.emit.value) as output,
        Rejects(options) as rejects,
        _interruptible() as waiting,
    ):
        session, bound = _session(script, verdicts, options, output, late)
        progress = ProgressLine(options.json, bound)

        def say() -> None:
            at, more = _instant(session)
            progress.show(rows=rows, at=at, units=session.units(), rejected=rejects.count, **more)

        ended = False
        try:
            for piece in _pieces(script, options, waiting):
                events, stopped = _accepted(piece, options, rejects)
                output.write(session.advance(events))
                rows += sum(each.op not in (Op.TIME, Op.END) for each in events)
                if progress.due():
                    say()
                if session.failure is not None:
                    raise session.failure
                if stopped is not None:
                    raise InputError(stopped.diagnostic)
            ended = True
        finally:
            output.write(session.finish(ended=ended))
            say()
            progress.end()
        if session.failure is not None:
            raise session.failure
    return 0


def _instant(session: Session) -> tuple[int | str, dict[str, int | str | None]]:
    """How far time has come: by count, or by the times that were read."""
    times = session.times()
    if times is None:
        return session.clock.now, {}
    kind, read, mark = times
    return _label(kind, read) or 0, {"watermark": _label(kind, mark), "late": session.late}


def _label(kind: Type, moment: Moment) -> int | str | None:
    if math.isinf(moment):
        return None
    return int(moment) if kind.kind is Kind.INTEGER else plain_text(kind)(int(moment))


def _session(
    script: Script, verdicts: list[Verdict], options: Options, output: Output, late: LateRows
) -> tuple[Session, int | None]:
    runs: list[LocalRun | DefinitionRun] = []
    bound: int | None = 0
    for place, query in enumerate(script.queries):
        verdict = verdicts[place] if verdicts else None
        if verdict is None or verdict.shape is None:
            runs.append(DefinitionRun(query, every=options.emit is Emit.ANSWERS))
            bound = None
            continue
        runs.append(LocalRun(program_of(query, verdict), lowering=options.lowering))
        bound = None if bound is None or verdict.units is None else bound + verdict.units
    queries = zip(script.queries, runs, map(output.teller, script.queries), strict=True)
    session = Session(
        script.catalog,
        queries,
        options.emit,
        instants=options.instants.value,
        separate=options.input is None,
        late=late.add,
        limit=options.max_state,
    )
    return session, options.max_state if bound is None else bound


def _pieces(script: Script, options: Options, waiting: _Waiting) -> Iterator[list[Event | Reject]]:
    """The input in batches: as it arrives, or of --batch-rows rows."""
    pieces = _of_tables(script, options)
    if options.input is not None:
        reader = TaggedReader(script.catalog, "<stdin>" if options.input == "-" else options.input)
        pieces = chain(pieces, reader.read(options.input))
    else:
        pieces = chain(pieces, _interleaved(script, options))
    size, held = options.batch_rows, list[Event | Reject]()
    slow = options.engine is Engine.DEFINITION or options.allow_unbounded
    # A batch whose last instant alone is printed has to stay whole.
    whole = not slow or options.instants is Instants.BATCH
    while True:
        with waiting.for_input():
            piece = next(pieces, None)
        if piece is None:
            break
        if size is None:
            step = max(1, len(piece)) if whole else _STEP
            for start in range(0, len(piece), step):
                waiting.stop_if_asked()
                yield piece[start : start + step]
            continue
        held += piece
        while len(held) >= size:
            yield held[:size]
            held = held[size:]
    if held:
        yield held


def _of_tables(script: Script, options: Options) -> Iterator[list[Event | Reject]]:
    """What tables hold at first: all of it comes before any row of a stream."""
    for table in script.catalog:
        if table.name in options.sources and not table.is_stream:
            yield from rows_of_source(script.catalog, table, options.sources[table.name], _TURN)


def _interleaved(script: Script, options: Options) -> Iterator[list[Event | Reject]]:
    """The pieces of several sources, one of each in turn: the same turns for any --batch-rows.

    Those of timed streams are one, in the order of time.
    """
    streams = [each for each in script.catalog if each.name in options.sources and each.is_stream]
    found = {
        each: rows_of_source(script.catalog, each, options.sources[each.name], _TURN)
        for each in streams
    }
    left = [rows for each, rows in found.items() if each.time is None]
    timed = {each: rows for each, rows in found.items() if each.time is not None}
    if timed:
        left.append(merged(timed, _TURN))
    while left:
        for each in list(left):
            piece = next(each, None)
            if piece is None:
                left.remove(each)
            else:
                yield piece


def _accepted(
    piece: list[Event | Reject], options: Options, rejects: Rejects
) -> tuple[list[Event], Reject | None]:
    """The accepted events of a piece, up to a bad one at which the run has to stop."""
    events: list[Event] = []
    for each in piece:
        if isinstance(each, Event):
            events.append(each)
        elif options.skip:
            rejects.add(each)
        else:
            return events, each
    return events, None


class _Waiting:
    """Ctrl-C while waiting for input stops at once; while a batch is worked on, after it."""

    def __init__(self) -> None:
        self.interrupted = False
        self._waiting = False

    def stop_if_asked(self) -> None:
        if self.interrupted:
            raise KeyboardInterrupt

    @contextmanager
    def for_input(self) -> Iterator[None]:
        self.stop_if_asked()
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
