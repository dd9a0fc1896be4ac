"""A program: operators in topological order, each feeding the next, and what they read."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

from millpond.program.operator import (
    EmittedSet,
    Operator,
    OutputColumn,
    Reduction,
    Select,
    SynopsisJoin,
)
from millpond.program.store import State, Store


@dataclass(frozen=True)
class InputStream:
    """A stream that the program reads, and the columns that it looks at."""

    name: str
    columns: tuple[str, ...]
    nullable: tuple[bool, ...]


@dataclass(frozen=True)
class Program:
    """What runs: the same on every engine.

    An empty `operators` is the program of a query whose answer is always empty.
    """

    name: str
    inputs: tuple[InputStream, ...]
    operators: tuple[Operator, ...]
    output: tuple[OutputColumn, ...]

    @cached_property
    def certificate(self) -> int:
        """The most units that the state can ever hold."""
        return sum(each.certificate for each in self.operators)

    @cached_property
    def fingerprint(self) -> str:
        """Tells programs apart, whatever their queries are called: state belongs to one of them."""
        said = repr((self.inputs, self.operators, self.output))
        return hashlib.sha256(said.encode()).hexdigest()[:32]

    @cached_property
    def stores(self) -> tuple[Reduction | EmittedSet, ...]:
        """What keeps something, in a fixed order: the stores of the state."""
        found: list[Reduction | EmittedSet] = []
        for each in self.operators:
            if isinstance(each, SynopsisJoin):
                found += [reduction for parts in each.inputs for reduction in parts]
            elif isinstance(each, EmittedSet):
                found.append(each)
        return tuple(found)

    @property
    def join(self) -> SynopsisJoin | None:
        return next((each for each in self.operators if isinstance(each, SynopsisJoin)), None)

    @property
    def select(self) -> Select | None:
        return next((each for each in self.operators if isinstance(each, Select)), None)

    @property
    def emitted(self) -> EmittedSet | None:
        return next((each for each in self.operators if isinstance(each, EmittedSet)), None)

    def empty(self) -> State:
        """The state before any input (the part ∅ of the synopsis)."""
        return State(self.fingerprint, [Store.of(each) for each in self.stores])
