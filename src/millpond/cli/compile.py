"""`millpond compile`: the steps of bounded queries as text that other engines run."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from millpond.cli.given import not_yet, unwritable
from millpond.cli.notes import say_notes
from millpond.diagnostic import Collector, Diagnostic, MillpondError, NotBuiltError
from millpond.language import read_file
from millpond.memory import Verdict, check_script
from millpond.plan import Query
from millpond.plan.error import PlanError
from millpond.program import Program
from millpond.program.sql import ENGINES, sql_steps
from millpond.run.admission import refusal
from millpond.run.respond import Responses
from millpond.synopsis import program_of


class Target(StrEnum):
    SQL = "sql"
    MACHINE = "machine"
    C = "c"


class SqlEngine(StrEnum):
    DUCKDB = "duckdb"
    SPARK = "spark"


def compile(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A file of SQL, or -.")],
    to: Annotated[Target, typer.Option("--to", help="What to print.")],
    engine: Annotated[
        SqlEngine, typer.Option(help="Whose words, where no SQL is the same for both.")
    ] = SqlEngine.DUCKDB,
    output: Annotated[
        str | None, typer.Option("-o", "--output", metavar="OUT", help="Write to a file.")
    ] = None,
    dialect: Annotated[
        str, typer.Option(metavar="NAME", help="The SQL that FILE is written in.")
    ] = "cql",
) -> int:
    """Print the steps of each bounded query: what it keeps, and how a batch changes it.

    \b
    Example:
      echo "CREATE STREAM s (a INT); CREATE STREAM t (d INT);
            SELECT s.a FROM s, t WHERE s.a = t.d AND s.a > 10 AND t.d < 20;" |
        millpond compile - --to sql
    """
    if to is not Target.SQL:
        raise not_yet(f"--to {to}", "--to sql prints the bulk steps")
    script = read_file(file, dialect)
    say_notes(script)
    verdicts = check_script(script, Responses, dialect=dialect)
    collector = Collector()
    printed: list[str] = []
    for query, verdict in zip(script.queries, verdicts, strict=True):
        try:
            printed.append(_printed(query, verdict, engine))
        except NotBuiltError as error:
            collector.add(error)
    collector.checkpoint()
    _write("\n".join(printed), output)
    return 0


def _printed(query: Query, verdict: Verdict, engine: SqlEngine) -> str:
    refused: MillpondError | None = refusal(query, verdict)
    if refused is not None:
        raise refused
    program = program_of(query, verdict)
    try:
        return f"{_heading(query, program, engine)}\n{sql_steps(query, program, engine)}"
    except PlanError as error:
        raise NotBuiltError(
            Diagnostic(
                "MP110",
                f"the steps of query {query.name} in SQL are not built: {error}",
                helps=("millpond run has them",),
            )
        ) from None


def _heading(query: Query, program: Program, engine: SqlEngine) -> str:
    """For whom the text is."""
    texts = {each: _steps(query, program, each) for each in ENGINES}
    if len(set(texts.values())) == 1:
        return "-- for DuckDB and for Spark"
    return f"-- for {'DuckDB' if engine is SqlEngine.DUCKDB else 'Spark'}"


def _steps(query: Query, program: Program, engine: str) -> str | None:
    try:
        return str(sql_steps(query, program, engine))
    except PlanError:
        return None


def _write(text: str, output: str | None) -> None:
    if output is None:
        print(text, end="")
        return
    try:
        Path(output).write_text(text, encoding="utf-8")
    except OSError as error:
        raise unwritable(Path(output), error) from None
