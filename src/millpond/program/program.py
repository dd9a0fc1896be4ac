"""A program: operators in topological order, each feeding the next, and what they read."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

from millpond.program.line import Position
from millpond.program.operator import (
    Constant,
    EmittedSet,
    GreatestOf,
    Held,
    KeyOf,
    LeastOf,
    Operator,
    OutputColumn,
    Reduction,
    RowSet,
    Select,
    SynopsisJoin,
)
from millpond.program.prepared import Prepared
from millpond.program.shown import Shown
from millpond.program.store import RowStore, State, Store


@dataclass(frozen=True)
class InputStream:
    """A stream that the program reads, and the columns that it looks at.

    A column is one of integers, read as it is, or prepared.
    """

    name: str
    columns: tuple[str, ...]
    nullable: tuple[bool, ...]
    prepared: tuple[Prepared | None, ...] = ()

    @property
    def coding(self) -> tuple[Prepared | None, ...]:
        """How each column is made; None where it is read as it is."""
        return self.prepared or (None,) * len(self.columns)

    @property
    def plain(self) -> bool:
        """Whether all columns are read as they are."""
        return not any(self.prepared)


@dataclass(frozen=True)
class Program:
    """What runs: the same on every engine.

    Operators that read streams are its parts: their rows add up.  A set of rows already given, if
    there is one, comes last and is shared by all parts.  An empty `operators` is the program of a
    query whose answer is always empty.
    """

    name: str
    inputs: tuple[InputStream, ...]
    operators: tuple[Operator, ...]
    output: tuple[OutputColumn, ...]
    shown: Shown | None = None
    """What is made of the rows that come out of the operators; None if they are the answer's."""

    @property
    def runs(self) -> bool:
        """Whether there is anything to do; else the answer is always empty."""
        return bool(self.operators)

    @cached_property
    def certificate(self) -> int:
        """The most units that the state can ever hold."""
        return sum(each.certificate for each in self.operators)

    @cached_property
    def fingerprint(self) -> str:
        """Tells programs apart, whatever their queries are called: state belongs to one of them."""
        shown = () if self.shown is None else (self.shown,)
        said = repr((self.inputs, self.operators, self.output, *shown))
        return hashlib.sha256(said.encode()).hexdigest()[:32]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the answer."""
        if self.shown is not None:
            return self.shown.names
        return tuple(each.name for each in self.output)

    @cached_property
    def plain(self) -> bool:
        """Whether it reads and gives columns of integers, as they are."""
        return self.shown is None and all(each.plain for each in self.inputs)

    @cached_property
    def whole(self) -> bool:
        """Whether its steps know integers only."""
        places = (place for table in self.tables for place in table)
        return all(isinstance(each, int) for each in places) and all(
            each is None or each.whole for one in self.inputs for each in one.coding
        )

    @cached_property
    def stores(self) -> tuple[Reduction | EmittedSet | RowSet, ...]:
        """What keeps something, in a fixed order: the stores of the state."""
        found: list[Reduction | EmittedSet | RowSet] = []
        for each in self.operators:
            if isinstance(each, SynopsisJoin):
                found += [reduction for parts in each.inputs for reduction in parts]
            elif isinstance(each, EmittedSet | RowSet):
                found.append(each)
        return tuple(found)

    @cached_property
    def joins(self) -> tuple[SynopsisJoin, ...]:
        return tuple(each for each in self.operators if isinstance(each, SynopsisJoin))

    @cached_property
    def selects(self) -> tuple[Select, ...]:
        return tuple(each for each in self.operators if isinstance(each, Select))

    @property
    def join(self) -> SynopsisJoin | None:
        return next(iter(self.joins), None)

    @property
    def select(self) -> Select | None:
        return next(iter(self.selects), None)

    @property
    def emitted(self) -> EmittedSet | None:
        return next((each for each in self.operators if isinstance(each, EmittedSet)), None)

    @property
    def row_set(self) -> RowSet | None:
        return next((each for each in self.operators if isinstance(each, RowSet)), None)

    @cached_property
    def tables(self) -> tuple[tuple[Position, ...], ...]:
        """What keys stand for, where the key does not say it, and constants that are no integers:
        arrays that steps look places up in."""
        found: dict[tuple[Position, ...], None] = {}
        for join in self.joins:
            for case in join.cases:
                sides = [side for link in case.links for side in (link.left, link.right)]
                for held in (*sides, *case.columns):
                    for each in _leaves(held):
                        table = table_of(each)
                        if table is not None:
                            found[table] = None
        return tuple(found)

    def empty(self) -> State:
        """The state before any input (the part ∅ of the synopsis)."""
        return State(
            self.fingerprint,
            [RowStore.for_rows(x) if isinstance(x, RowSet) else Store.of(x) for x in self.stores],
        )


def table_of(held: Held) -> tuple[Position, ...] | None:
    """The table that a number is looked up in, if it is."""
    if isinstance(held, KeyOf):
        return held.table
    if isinstance(held, Constant) and held.value is not None and not isinstance(held.value, int):
        return (held.value,)
    return None


def _leaves(held: Held) -> tuple[Held, ...]:
    return held.operands if isinstance(held, LeastOf | GreatestOf) else (held,)
