"""`millpond run`: runs bounded queries, here or on Spark."""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from types import FrameType
from typing import IO, Annotated

import typer

from millpond.cli.check import check_script
from millpond.diagnostic import Diagnostic, InputError, RefusedError, UserError, did_you_mean
from millpond.language import read_file
from millpond.memory import MemoryClass, Verdict
from millpond.plan import Query, Script
from millpond.report import Style, gauge, render_diagnostic
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
    open_input,
)
from millpond.synopsis import program_of


class Engine(StrEnum):
    AUTO = "auto"
    SPARK = "spark"
    LOCAL = "local"
    DEFINITION = "definition"


class Instants(StrEnum):
    ALL = "all"
    BATCH = "batch"


class OnError(StrEnum):
    STOP = "stop"
    SKIP = "skip"


@dataclass(frozen=True)
class Options:
    """The options of a run, checked."""

    engine: Engine
    input: str | None
    sources: dict[str, str]
    sink: str | None
    emit: Emit
    checkpoint: Path | None
    batch_rows: int | None
    json: bool
    skip: bool
    rejects: str | None
    instants: Instants
    lowering: Lowering
    master: str
    spark_conf: dict[str, str] = field(default_factory=dict)
    trigger: str = "available-now"


def run(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A file of SQL; - is standard input.")],
    engine: Annotated[Engine, typer.Option(help="Where to run.")] = Engine.AUTO,
    input_: Annotated[
        str | None, typer.Option("--input", metavar="TAGGED.jsonl", help="Tagged JSON lines, or -.")
    ] = None,
    source: Annotated[
        list[str] | None, typer.Option("--source", metavar="NAME=URI", help="Where a stream's rows are.")
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
    json_: Annotated[bool, typer.Option("--json", help="Progress as JSON lines on stderr.")] = False,
    on_error: Annotated[
        OnError | None, typer.Option(help="What to do at a bad row.")
    ] = None,
    rejects: Annotated[
        str | None, typer.Option(metavar="FILE", help="Where bad rows go.")
    ] = None,
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
        raise _wrong("the query and the rows cannot both come from standard input")
    options = Options(
        engine,
        input_,
        _pairs(source or [], "--source"),
        sink,
        emit,
        checkpoint,
        batch_rows,
        json_,
        on_error is OnError.SKIP if on_error else False,
        rejects,
        instants,
        lowering,
        master,
        _pairs(spark_conf or [], "--spark-conf"),
        trigger,
    )
    options = _checked(script, options)
    verdicts = check_script(script)
    if options.engine is not Engine.DEFINITION:
        _refuse(script, verdicts)
    if options.engine is Engine.SPARK:
        from millpond.cli.run_on_spark import run_on_spark

        return run_on_spark(script, verdicts, options, on_error)
    return _run_here(script, verdicts, options)


# Options ----------------------------------------------------------------------------------------


def _pairs(given: list[str], option: str) -> dict[str, str]:
    found = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not (name and equals and value):
            raise _wrong(f"{option} {each}: write {option} NAME=VALUE")
        found[name] = value
    return found


def _checked(script: Script, options: Options) -> Options:
    """Options that fit one another, with the engine settled."""
    from dataclasses import replace

    for name in options.sources:
        if script.catalog.get(name) is None:
            raise _wrong(
                f"--source {name}: there is no such stream", *did_you_mean(name, script.catalog.names)
            )
    sources = {_name(script, name): uri for name, uri in options.sources.items()}
    if options.input is not None and sources:
        raise _wrong("--input and --source exclude one another")
    if options.input is None:
        missing = [
            each.name
            for query in script.queries
            for each in query.streams
            if each.name not in sources
        ]
        if missing:
            raise _wrong(
                f"no input for stream `{missing[0]}`",
                "--input rows.jsonl for tagged rows, - for standard input",
                f"--source {missing[0]}=PATH for a file or a folder of one stream",
            )
    if options.rejects is not None and not options.skip:
        raise _wrong("--rejects goes with --on-error skip")
    engine = options.engine
    if engine is Engine.AUTO:
        engine = Engine.LOCAL
        if options.input is None:
            engine = Engine.SPARK if _spark_is_here() else Engine.LOCAL
            where = "on Spark" if engine is Engine.SPARK else "in this process: pyspark is not installed"
            print(f"millpond: running {where}", file=sys.stderr)
    if engine is not Engine.SPARK and options.checkpoint is not None:
        raise _not_yet("--checkpoint with the local engine", "--engine spark")
    return replace(options, engine=engine, sources=sources)


def _name(script: Script, name: str) -> str:
    stream = script.catalog.get(name)
    return name if stream is None else stream.name


def _spark_is_here() -> bool:
    from importlib.util import find_spec

    return find_spec("pyspark") is not None


def _wrong(message: str, *helps: str) -> UserError:
    return UserError(Diagnostic("MP403", message, helps=helps))


def _not_yet(what: str, *helps: str) -> UserError:
    return UserError(Diagnostic("MP110", f"{what} is not built yet", helps=helps))


def _refuse(script: Script, verdicts: list[Verdict]) -> None:
    """Queries without a known bound are not run."""
    for query, verdict in zip(script.queries, verdicts, strict=True):
        if verdict.memory not in (MemoryClass.LINEAR, MemoryClass.OUTSIDE):
            continue
        linear = verdict.memory is MemoryClass.LINEAR
        reason = verdict.because[0]
        repairs = tuple(
            f"{fix.text} makes it {fix.memory}" for fix in verdict.fixes[:2]
        )
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
    with _Output(options) as output:
        clock, session, bound = ArrivalClock(), *_session(script, verdicts, options)
        progress = _Progress(options.json, bound)
        with _interruptible() as waiting:
            try:
                for piece in _pieces(script, options, waiting):
                    arrivals, stopped = _arrivals(script, piece, clock, options, output)
                    output.lines(session.advance(arrivals))
                    progress.advance(len(arrivals), clock.now, session.units(), output.rejected)
                    if stopped is not None:
                        raise InputError(stopped.diagnostic)
                    if waiting.interrupted:
                        raise KeyboardInterrupt
            finally:
                output.lines(session.finish())
                progress.done(clock.now, session.units(), output.rejected)
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


def _pieces(
    script: Script, options: Options, waiting: _Waiting
) -> Iterator[list[Event | Reject]]:
    """The input in batches: as it arrives, or of --batch-rows rows."""
    if options.input is not None:
        reader = TaggedReader(
            script.catalog, "<stdin>" if options.input == "-" else options.input
        )
        pieces = reader.chunks(open_input(options.input))
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
    """The pieces of several sources, one of each in turn."""
    from millpond.run.sources import rows_of_source

    size = options.batch_rows or 8192
    left = [
        rows_of_source(script.catalog, stream, options.sources[stream.name], size)
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
    output: _Output,
) -> tuple[Arrivals, Reject | None]:
    """The accepted events of a piece, up to a bad one at which the run has to stop."""
    arrivals = Arrivals(script.catalog)
    for each in piece:
        if isinstance(each, Event):
            arrivals.add(each.stream, each.row, clock.arrive())
        elif options.skip:
            output.reject(each)
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


class _Output:
    """Where lines and bad rows go."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._file: IO[str] = sys.stdout
        self._rejects: IO[str] | None = None
        self.rejected = 0

    def __enter__(self) -> _Output:
        if self._options.sink is not None:
            self._file = _opened(_sink_file(self._options.sink))
        if self._options.rejects is not None:
            self._rejects = _opened(Path(self._options.rejects))
        return self

    def __exit__(self, *failure: object) -> None:
        if self._file is not sys.stdout:
            self._file.close()
        if self._rejects is not None:
            self._rejects.close()
        if self.rejected:
            print(
                f"millpond: {self.rejected} bad rows skipped"
                + (f", see {self._options.rejects}" if self._options.rejects else ""),
                file=sys.stderr,
            )

    def lines(self, lines: Iterator[str] | list[str]) -> None:
        text = "\n".join(lines)
        if text:
            self._file.write(text + "\n")
            self._file.flush()

    def reject(self, reject: Reject) -> None:
        self.rejected += 1
        if self._rejects is not None:
            said = {
                "line": reject.line,
                "code": reject.diagnostic.code,
                "error": reject.diagnostic.message,
                "text": reject.text,
            }
            self._rejects.write(json.dumps(said, ensure_ascii=False) + "\n")
        elif self.rejected == 1:
            style = Style.of(sys.stderr)
            print(render_diagnostic(reject.diagnostic, style), file=sys.stderr)


def _sink_file(uri: str) -> Path:
    from millpond.run.sources import local_path

    path = local_path(uri)
    if path.suffix in (".json", ".jsonl", ".ndjson") and not path.is_dir():
        return path
    if path.suffix in (".parquet", ".csv"):
        raise _not_yet(f"a sink of kind {path.suffix[1:]}", "--sink out.jsonl, or a folder")
    path.mkdir(parents=True, exist_ok=True)
    return path / "part-000000.jsonl"


def _opened(path: Path) -> IO[str]:
    try:
        return path.open("w", encoding="utf-8")
    except OSError as error:
        raise _wrong(f"cannot write {path}: {error.strerror or error}") from None


class _Progress:
    """Rows, rows/s, instant and the state gauge on stderr: for people, or as JSON lines."""

    def __init__(self, as_json: bool, bound: int | None) -> None:
        self._json = as_json
        self._bound = bound
        self._live = not as_json and sys.stderr.isatty()
        self._rows = 0
        self._start = self._shown = time.monotonic()

    def advance(self, rows: int, at: int, units: int, rejected: int) -> None:
        self._rows += rows
        now = time.monotonic()
        if (self._live or self._json) and now - self._shown >= 0.5:
            self._shown = now
            self._say(at, units, rejected, "\r" if self._live else "\n")

    def done(self, at: int, units: int, rejected: int) -> None:
        if self._live or self._json:
            self._say(at, units, rejected, "\n")

    def _say(self, at: int, units: int, rejected: int, end: str) -> None:
        rate = self._rows / max(1e-9, time.monotonic() - self._start)
        if self._json:
            said = {
                "rows": self._rows,
                "rows_per_second": round(rate),
                "at": at,
                "units": units,
                "bound": self._bound,
                "rejected": rejected,
            }
            print(json.dumps(said), file=sys.stderr)
            return
        line = f"{self._rows:,} rows  {rate:,.0f} rows/s  instant {at:,}  {gauge(units, self._bound)}"
        print(f"{line:<78}", end=end, file=sys.stderr, flush=True)
