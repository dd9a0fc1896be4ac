"""`millpond explain`: what a query does, what it keeps, and how it runs."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from millpond.cli.given import unwritable
from millpond.cli.notes import say_notes
from millpond.language import read_file
from millpond.memory import Verdict, check_script
from millpond.plan import Query
from millpond.program import Program
from millpond.report import Style, explain_dict, explain_lines, to_dot, to_svg
from millpond.run.respond import Responses
from millpond.synopsis import program_of


class Format(StrEnum):
    TEXT = "text"
    JSON = "json"
    DOT = "dot"
    SVG = "svg"


def explain(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A file of SQL, or -.")],
    format_: Annotated[Format, typer.Option("--format", help="How to print it.")] = Format.TEXT,
    output: Annotated[
        str | None, typer.Option("-o", "--output", metavar="OUT", help="Write to a file.")
    ] = None,
    dialect: Annotated[
        str, typer.Option(metavar="NAME", help="The SQL that FILE is written in.")
    ] = "cql",
) -> int:
    """Show the plan of each query, its verdict, and the program that runs it.

    \b
    Example:
      echo "CREATE STREAM s (a INT); CREATE STREAM t (d INT);
            SELECT DISTINCT s.a FROM s, t WHERE s.a = t.d AND s.a > 10 AND t.d < 20;" |
        millpond explain - --format svg -o query.svg
    """
    script = read_file(file, dialect)
    say_notes(script)
    checked = check_script(script, Responses, dialect=dialect)
    found = [
        (query, verdict, program_of(query, verdict) if verdict.runs else None)
        for query, verdict in zip(script.queries, checked, strict=True)
    ]
    text = _rendered(format_, found, Style() if output else Style.of(sys.stdout))
    if output is None:
        print(text)
        return 0
    try:
        Path(output).write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise unwritable(Path(output), error) from None
    return 0


def _rendered(
    format_: Format, found: Sequence[tuple[Query, Verdict, Program | None]], style: Style
) -> str:
    if format_ is Format.TEXT:
        shown = []
        for query, verdict, program in found:
            head = [style.bold(query.name)] if len(found) > 1 else []
            shown.append("\n".join([*head, *explain_lines(query, verdict, program, style)]))
        return "\n\n".join(shown)
    documents = [explain_dict(*each) for each in found]
    if format_ is Format.JSON:
        return json.dumps({"version": 1, "queries": documents}, ensure_ascii=False, indent=2)
    return to_dot(documents) if format_ is Format.DOT else to_svg(documents)
