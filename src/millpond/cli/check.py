"""`millpond check`: how much memory each query of a file can ever need."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from millpond.cli.given import pairs
from millpond.cli.lock import Lock
from millpond.cli.notes import say_notes
from millpond.cli.rates import in_script, known_somewhere, rates_of
from millpond.cli.samples import samples_of
from millpond.diagnostic import CODES, Diagnostic, UserError, did_you_mean, page
from millpond.language import read_file
from millpond.memory import DEFAULT_BUDGET, MemoryClass, Respond, Verdict, at_rates, check_script
from millpond.plan import Query
from millpond.report import (
    Style,
    render_diagnostic,
    render_page,
    render_verdict,
    sample_dict,
    sample_lines,
    verdict_dict,
)


def check(
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILE...", help="Files of SQL, or -."),
    ] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print the verdicts as JSON.")] = False,
    budget: Annotated[
        int, typer.Option(min=1, help="Units above which a bound is called impractical.")
    ] = DEFAULT_BUDGET,
    strict: Annotated[
        bool, typer.Option(help="Also fail on impractical (1) and undecided (3) queries.")
    ] = False,
    why: Annotated[bool, typer.Option("--why", help="Add the rule behind each verdict.")] = False,
    witness: Annotated[
        int | None,
        typer.Option(
            "--witness", metavar="N", min=1, max=64, help="Print inputs that need 2^N states."
        ),
    ] = None,
    lock: Annotated[
        str | None,
        typer.Option(
            "--lock", metavar="FILE", help="Keep verdicts in a file; fail if one gets worse."
        ),
    ] = None,
    source: Annotated[
        list[str] | None,
        typer.Option(
            "--source", metavar="NAME=URI", help="Rows of a stream: measured, and what they obey."
        ),
    ] = None,
    rate: Annotated[
        list[str] | None,
        typer.Option("--rate", metavar="NAME=N/s", help="How fast rows of a stream come."),
    ] = None,
    one_pass: Annotated[
        bool,
        typer.Option("--one-pass", help="Ask it of stored tables that are read once each."),
    ] = False,
    dialect: Annotated[
        str, typer.Option(metavar="NAME", help="The SQL that the files are written in.")
    ] = "cql",
    explain: Annotated[
        str | None, typer.Option("--explain", metavar="CODE", help="Print the page of a code.")
    ] = None,
) -> int:
    """Say how much memory each query can ever need: a bound, or why there is none and a repair.

    \b
    Example:
      echo "CREATE STREAM s (a INT); CREATE STREAM t (d INT);
            SELECT s.a FROM s, t WHERE s.a = t.d AND s.a > 10 AND t.d < 20;" |
        millpond check -

    \b
    Exit codes: 0 every query is bounded, 1 one is not, 2 the input is wrong,
    3 one is not decided (with --strict).
    """
    style = Style.of(sys.stdout)
    if explain is not None:
        found = page(explain)
        if found is None:
            raise UserError(
                Diagnostic(
                    "MP403", f"there is no code {explain}", helps=did_you_mean(explain, CODES)
                )
            )
        print(render_page(found, style))
        return 0
    if not files:
        raise UserError(
            Diagnostic("MP403", "no file to check", helps=("millpond check query.sql",))
        )
    scripts = [read_file(file, dialect, stored=one_pass) for file in files]
    for script in scripts:
        say_notes(script)
    hourly, uris = rates_of(rate), pairs(source, "--source")
    known_somewhere(scripts, hourly, "--rate")
    known_somewhere(scripts, uris, "--source")
    kept = None if lock is None else Lock(Path(lock))
    worse: list[Diagnostic] = []
    documents: list[dict[str, Any]] = []
    measured: dict[str, Any] = {}
    verdicts: list[Verdict] = []
    for file, script in zip(files, scripts, strict=True):
        samples = samples_of(script, in_script(script, uris))
        rates = samples.rates(in_script(script, hourly))
        checked = check_script(
            script, _responses, budget, one_pass=one_pass, dialect=dialect, witness=witness
        )
        judged = [
            samples.with_remedy(query, at_rates(query, verdict, rates), budget)
            for query, verdict in zip(script.queries, checked, strict=True)
        ]
        verdicts += judged
        head = f"{file}: " if len(files) > 1 else ""
        for query, verdict in zip(script.queries, judged, strict=True):
            fallen = None if kept is None else kept.add(file, verdict)
            worse += [] if fallen is None else [fallen]
            if json_:
                named = verdict_dict(verdict)
                documents.append({"file": file, **named} if head else named)
            else:
                shown = render_verdict(
                    verdict, style, query=query, why=why, witness=witness is not None
                )
                print(style.dim(head) + shown if head else shown)
        for name, sample in samples.by_name.items():
            about = sample, samples.uris[name], samples.suggested[name]
            if json_:
                measured[f"{head}{name}"] = sample_dict(*about, judged)
            else:
                print("\n".join(sample_lines(*about, style)))
    if json_:
        document: dict[str, Any] = {"version": 1, "queries": documents}
        if uris:
            document["sources"] = measured
        print(json.dumps(document, ensure_ascii=False, indent=2))
    for each in worse:
        print(render_diagnostic(each, Style.of(sys.stderr)), file=sys.stderr)
    if kept is not None and not worse:
        kept.write()
    return 1 if worse else exit_code(verdicts, strict=strict)


def _responses(query: Query) -> Respond:
    """Runs a query by definition; loaded for queries without a bound alone."""
    from millpond.run.respond import Responses

    return Responses(query)


def exit_code(verdicts: list[Verdict], *, strict: bool) -> int:
    """The contract's exit code of a check."""
    classes = {each.memory for each in verdicts}
    if MemoryClass.LINEAR in classes or (strict and MemoryClass.IMPRACTICAL in classes):
        return 1
    return 3 if strict and MemoryClass.OUTSIDE in classes else 0
