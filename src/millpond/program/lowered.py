"""What every lowering of a program offers, whatever carries it out.

    empty() -> State                     nothing has come in          (the part ∅ of the synopsis)
    advance(state, batch) -> Delta       rows in, changes out         (Δ, and Γ of the new rows)
    answer(state) -> Delta | None        all that is the case now     (Γ)
    next_due(state) -> instant | None    when something changes though nothing arrives

`advance` takes whole instants, in order, complete up to `batch.upto`; it changes the state in place
and gives the changes of each instant, which the caller consolidates.  A reduction of rows and its
merge (`Partial`, `Merger`) are the other way in: for a batch that was reduced elsewhere.
`laws.py` says what has to hold of all of them.
"""

from __future__ import annotations

from typing import Protocol

from millpond.program.delta import Batch, Delta
from millpond.program.group_bulk import group_answer
from millpond.program.grouping import GroupedProgram
from millpond.program.partial import Merger
from millpond.program.program import Program
from millpond.program.store import State


class Lowered(Protocol):
    """A program that can be advanced."""

    @property
    def program(self) -> Program: ...

    def advance(self, state: State, batch: Batch) -> Delta:
        """Takes the rows of a batch in; gives the changes they cause, not consolidated."""
        ...


def answer(program: Program, state: State) -> Delta | None:
    """The answer that a state stands for; None where nothing is remembered."""
    if isinstance(program, GroupedProgram):
        return group_answer(program, state)
    return Merger(program).answer(state)


def next_due(program: Program, state: State) -> int | None:
    """The next instant at which something changes though nothing arrives.

    Rows of these programs never expire, so there is none.
    """
    return None
