"""The program of a bounded query."""

from __future__ import annotations

from millpond.memory import Verdict
from millpond.plan import Query
from millpond.program import Program
from millpond.synopsis.aggregate import aggregate_program
from millpond.synopsis.spj import program_of as joined_program


def program_of(query: Query, verdict: Verdict) -> Program:
    """The program that runs a bounded query inside its certificate."""
    if verdict.groupings:
        return aggregate_program(query, verdict)
    return joined_program(query, verdict)
