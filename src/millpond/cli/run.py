"""`millpond run`: runs queries whose state has a bound, here or on Spark, and any by definition."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from millpond.cli.given import pairs, wrong
from millpond.cli.notes import say_notes
from millpond.cli.options import (
    Engine,
    Instants,
    OnError,
    Options,
    Strategy,
    checked,
    here_instead,
    say_where,
)
from millpond.cli.run_here import run_here
from millpond.language import read_file
from millpond.memory import Verdict, check_script
from millpond.plan import Script
from millpond.run import Emit, Lowering
from millpond.run.admission import refusal
from millpond.run.respond import Responses


def run(
    context: typer.Context,
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
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Where to commit state, position and output, to go on from there: exactly once "
            "for a --sink, at least once for standard output.",
        ),
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
    say_notes(script)
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
        debug=bool(context.obj),
    )
    options = checked(script, options)
    by_definition = options.engine is Engine.DEFINITION and bool(script.queries)
    verdicts = [] if by_definition else check_script(script, Responses)
    if not options.allow_unbounded:
        _refuse(script, verdicts)
    if options.engine is Engine.SPARK:
        from millpond.cli.run_on_spark import not_for_spark, run_on_spark

        foreign = not_for_spark(script, verdicts)
        if foreign is None:
            if engine is Engine.AUTO:
                say_where("on Spark")
            return run_on_spark(script, verdicts, options)
        if engine is not Engine.AUTO:
            raise foreign
        options = here_instead(options)
    return run_here(script, verdicts, options)


def _refuse(script: Script, verdicts: list[Verdict]) -> None:
    """Queries that do not run inside a known bound are not run."""
    for query, verdict in zip(script.queries, verdicts, strict=False):
        refused = refusal(
            query,
            verdict,
            "--allow-unbounded --max-state 1000000 runs it until it holds so much",
            "--engine definition keeps all input and refuses nothing",
        )
        if refused is not None:
            raise refused
