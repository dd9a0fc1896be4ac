"""The whole check of a file: a verdict a query, the input that proves it, and repairs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from millpond.diagnostic import Diagnostic, UserError
from millpond.language import read_script
from millpond.memory.decide import unproved, verdict_of
from millpond.memory.proof import DEFAULT_SIZE, witness_of
from millpond.memory.repair import repairs
from millpond.memory.verdict import DEFAULT_BUDGET, MemoryClass, Verdict
from millpond.memory.witness import MOST_TRIED, Respond
from millpond.plan import Query, Script

Evaluator = Callable[[Query], Respond]
"""Runs a query by definition, to verify witnesses; handed in, because this room knows no engine."""

_TRIES_OF_A_GUESS = 600
"""Where the criterion does not say that there is a witness, fewer are tried."""


def check_script(
    script: Script,
    evaluator: Evaluator,
    budget: int = DEFAULT_BUDGET,
    *,
    one_pass: bool = False,
    dialect: str = "cql",
    witness: int | None = None,
) -> list[Verdict]:
    """The verdicts on the queries of a file; a witness of `witness` numbers where there is no
    bound."""
    if not script.queries:
        raise UserError(
            Diagnostic(
                "MP003",
                "the file has no query",
                file=script.source.name,
                line=1,
                helps=("add a SELECT, or CREATE QUERY name AS SELECT ...",),
            )
        )

    def read(text: str) -> Script:
        return read_script(text, "<repair>", dialect, stored=one_pass)

    verdicts = []
    for query in script.queries:
        verdict = verdict_of(query, budget=budget, one_pass=one_pass)
        if not one_pass:
            verdict = _proved(query, verdict, evaluator, witness or DEFAULT_SIZE)
        fixes = repairs(script, query, verdict, read, dialect=dialect, one_pass=one_pass)
        verdicts.append(replace(verdict, fixes=fixes))
    return verdicts


def _proved(query: Query, verdict: Verdict, evaluator: Evaluator, size: int) -> Verdict:
    """The verdict with its witness; without a bound and without a witness nothing is decided."""
    claimed = verdict.suspected or verdict
    if claimed.memory is not MemoryClass.LINEAR:
        return verdict
    tries = MOST_TRIED if claimed is verdict else _TRIES_OF_A_GUESS
    shown = witness_of(claimed, evaluator(query), size, tries)
    if shown is not None:
        return replace(claimed, witness=shown)
    return unproved(verdict) if claimed is verdict else verdict
