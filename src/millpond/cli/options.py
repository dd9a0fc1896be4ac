"""The options of a run, checked against one another before anything is read."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from millpond.cli.given import not_yet, wrong
from millpond.diagnostic import did_you_mean
from millpond.plan import Script
from millpond.run import Emit, Lowering


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


class Strategy(StrEnum):
    AUTO = "auto"
    UPA = "upa"
    NT = "nt"
    DIRECT = "direct"


@dataclass(frozen=True)
class Options:
    """The options of a run."""

    engine: Engine
    input: str | None
    sources: dict[str, str]
    sink: str | None
    emit: Emit
    checkpoint: Path | None
    batch_rows: int | None
    json: bool
    on_error: OnError | None
    rejects: str | None
    late: str | None
    idle_timeout: str | None
    allow_unbounded: bool
    max_state: int | None
    strategy: Strategy
    instants: Instants
    lowering: Lowering
    master: str
    spark_conf: dict[str, str]
    trigger: str
    debug: bool = False

    @property
    def skip(self) -> bool:
        return self.on_error is OnError.SKIP


def checked(script: Script, options: Options) -> Options:
    """Options that fit one another, with the engine settled."""
    for name in options.sources:
        if script.catalog.get(name) is None:
            raise wrong(
                f"--source {name}: there is no such stream",
                *did_you_mean(name, script.catalog.names),
            )
    options = replace(
        options, sources={_declared(script, name): uri for name, uri in options.sources.items()}
    )
    if options.input is not None:
        _only_tables(script, options)
    else:
        _has_sources(script, options)
    if options.rejects is not None and not options.skip:
        raise wrong("--rejects goes with --on-error skip")
    _goes_together(options)
    options = replace(options, engine=_engine(options))
    return _on_spark(options) if options.engine is Engine.SPARK else _here(options)


def _only_tables(script: Script, options: Options) -> None:
    """Beside tagged input, tables may be loaded from sources of their own."""
    for name in options.sources:
        stream = script.catalog.get(name)
        if stream is not None and stream.is_stream:
            raise wrong(
                f"--input and --source exclude one another for streams, and `{name}` is one",
                "a table can be loaded with --source beside --input",
            )


def _has_sources(script: Script, options: Options) -> None:
    for query in script.queries:
        for stream in query.sources:
            if stream.name not in options.sources:
                kind = "stream" if stream.is_stream else "table"
                raise wrong(
                    f"no input for {kind} `{stream.name}`",
                    "--input rows.jsonl for tagged rows, - for standard input",
                    f"--source {stream.name}=PATH for a file or a folder of one {kind}",
                )


def _goes_together(options: Options) -> None:
    if options.strategy is not Strategy.AUTO:
        raise not_yet(f"--strategy {options.strategy}", "leave it out")
    if options.max_state is not None and not options.allow_unbounded:
        raise wrong("--max-state goes with --allow-unbounded")
    if options.allow_unbounded and options.engine is Engine.SPARK:
        raise wrong("--allow-unbounded goes with --engine local")
    if options.idle_timeout is not None:
        if not _DURATION.fullmatch(options.idle_timeout):
            raise wrong(f"--idle-timeout {options.idle_timeout}: write a time as 30s or 5m")
        if options.input is not None:
            raise wrong("--idle-timeout goes with --source: one file of input is one clock")


_DURATION = re.compile(r"[0-9]+(?:\.[0-9]+)?\s*(?:us|ms|s|m|min|h|d)")


def _engine(options: Options) -> Engine:
    """A pipeline runs on Spark where that is installed; tagged input runs here."""
    if options.engine is not Engine.AUTO:
        return options.engine
    if options.allow_unbounded or (options.input is not None and options.sink is None):
        return Engine.LOCAL
    from importlib.util import find_spec

    if find_spec("pyspark") is not None:
        return Engine.SPARK
    say_where("in this process: pyspark is not installed")
    return Engine.LOCAL


def say_where(where: str) -> None:
    """Says where queries run, if nobody asked for it."""
    print(f"millpond: running {where}", file=sys.stderr)


def here_instead(options: Options) -> Options:
    """The options of a run that was to be on Spark and is in this process."""
    say_where("in this process: not all of its steps are built for Spark")
    return _here(replace(options, engine=Engine.LOCAL))


def _here(options: Options) -> Options:
    for option, given in (("--trigger", options.trigger), ("--spark-conf", options.spark_conf)):
        if given not in ("available-now", {}):
            raise wrong(f"{option} goes with --engine spark")
    return options


def _on_spark(options: Options) -> Options:
    if options.lowering is not Lowering.AUTO:
        raise wrong("--lowering goes with --engine local")
    if options.late is not None:
        raise not_yet("--late on Spark", "--engine local has it")
    if options.input is None:
        if options.batch_rows is not None:
            raise wrong("--batch-rows on Spark goes with --input", "--source is cut by its files")
        if options.on_error is OnError.STOP:
            raise not_yet("--on-error stop for --source on Spark", "bad rows go to a folder")
        if options.rejects is not None:
            raise wrong("on Spark, bad rows go to the folder `rejects` beside the checkpoint")
    return options


def _declared(script: Script, name: str) -> str:
    stream = script.catalog.get(name)
    return name if stream is None else stream.name
