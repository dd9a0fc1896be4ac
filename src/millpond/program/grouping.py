"""Grouping as data: what is kept of each group, and what is made of it (Arasu, section 8.2).

What comes in are *contributions*: rows of the groups' columns and of what the aggregates are of,
each as often as it comes.  Behind a join they may hold numbers that are added up already
(Example 8.7).  How a contribution changes a group is the business of `group_bulk.py`, which takes
whole batches, and of `group_tick.py`, which goes row by row.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

from millpond.diagnostic import Span
from millpond.plan import Expression
from millpond.plan.folds import Fold
from millpond.plan.node import Field
from millpond.program.accumulator import Accumulator, arrays
from millpond.program.expression import Condition
from millpond.program.operator import Best, Constant, Keep, Key, KeyOf, RowSet, slots
from millpond.program.program import Program
from millpond.program.store import RowStore, State, Store
from millpond.program.translated import Translated
from millpond.program.user_state import StateStore
from millpond.schema import Type, UserAggregate, Value


@dataclass(frozen=True)
class Groups:
    """The store of the groups: a bucket for each, with its numbers."""

    keys: tuple[Key, ...]
    held: tuple[Accumulator, ...]
    buckets: int
    dense: bool
    alone: bool
    """Whether that there is a group is all that is kept of it."""
    keep = Keep.AGGREGATE
    bests: tuple[Best, ...] = ()

    @cached_property
    def slots(self) -> int:
        return slots(self.keys)

    @property
    def values(self) -> int:
        return len(arrays(self.held))

    @property
    def units(self) -> int:
        return len(self.held) + self.alone

    @property
    def columns(self) -> tuple[str, ...]:
        return arrays(self.held)

    @property
    def certificate(self) -> int:
        return self.buckets * (self.units + (0 if self.dense else len(self.keys)))


@dataclass(frozen=True)
class Tally:
    """The values of a column in each group: how often each came, or that it came.

    The first keys are those of the groups; there is one more unless a group has one value alone.
    """

    name: str
    keys: tuple[Key, ...]
    keep: Keep
    guard: tuple[Condition, ...]
    """The contributions that it looks at."""
    value: KeyOf | Constant
    """What a bucket says of the value."""
    type: Type
    shown: Slot | None
    """What the integers of the value stand for."""
    buckets: int
    dense: bool
    bests: tuple[Best, ...] = ()
    held: tuple[Accumulator, ...] = ()
    values = 1
    units = 1

    @cached_property
    def slots(self) -> int:
        return slots(self.keys)

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.keep.value,)

    @property
    def certificate(self) -> int:
        return self.buckets * (1 + (0 if self.dense else len(self.keys)))


@dataclass(frozen=True)
class States:
    """The states of a user's aggregate, one for each group that has a value for it."""

    keys: tuple[Key, ...]
    name: str
    units: int
    value: str
    """The column of its values."""
    guard: tuple[Condition, ...]
    taken: Slot | None
    """What the integers of that column stand for."""
    buckets: int
    declared: UserAggregate = field(repr=False)
    span: Span | None = field(default=None, compare=False, repr=False)
    keep = Keep.AGGREGATE
    bests: tuple[Best, ...] = ()
    values = 1
    dense = True

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.name,)

    @property
    def certificate(self) -> int:
        return self.buckets * self.units


class Slot(Protocol):
    """What the integers of a column stand for."""

    def value(self, number: Any) -> Value: ...


@dataclass(frozen=True)
class GroupColumn:
    """A column of the groups: a coordinate of the key, plus a constant; or a constant."""

    of: KeyOf | Constant
    shown: Slot | None = None
    """What its integers stand for; None if they are the values."""


@dataclass(frozen=True)
class Finish:
    """How an aggregate is made of the numbers of a group."""

    function: str
    type: Type
    """The type of what it is of."""
    folds: tuple[tuple[Fold, int], ...] = ()
    """Which numbers it is made of."""
    tally: int | None = None
    """Or whose values it is made of."""
    state: int | None = None
    """Or which states of a user's aggregate."""
    declared: UserAggregate | None = field(default=None, repr=False)
    """A user's aggregate that is made of the values of a tally."""
    span: Span | None = field(default=None, compare=False, repr=False)
    shown: Slot | None = None
    """What the integers of a best value stand for."""
    used: bool = True


@dataclass(frozen=True)
class Said:
    """What is said of the groups: conditions of HAVING, and the columns of the answer."""

    texts: tuple[str, ...]
    distinct: bool
    direct: tuple[int | None, ...]
    """For each column of the answer, the column of the groups or of the aggregates that it is."""
    fields: tuple[Field, ...] = field(default=(), compare=False, repr=False)
    having: tuple[Expression, ...] = field(default=(), compare=False, repr=False)
    columns: tuple[Expression, ...] = field(default=(), compare=False, repr=False)


@dataclass(frozen=True)
class Grouping:
    """Groups, the aggregates of each, and what is said of them."""

    groups: Groups
    tallies: tuple[Tally, ...]
    columns: tuple[GroupColumn, ...]
    finishes: tuple[Finish, ...]
    said: Said
    states: tuple[States, ...] = ()

    @property
    def stores(self) -> tuple[Groups | Tally | States, ...]:
        return (self.groups, *self.tallies, *self.states)

    @property
    def by_rows(self) -> bool:
        """Whether it has to go row by row: a user's code takes values one by one."""
        return bool(self.states) or any(each.declared for each in self.finishes)

    @property
    def everything(self) -> bool:
        """Whether all rows are one group, which is there from the first instant on."""
        return not self.columns

    @property
    def certificate(self) -> int:
        return sum(each.certificate for each in self.stores)


@dataclass(frozen=True)
class GroupedProgram(Program):
    """The program of an aggregate query: its parts give contributions, which the grouping takes.

    `operators` are those of the parts; `output` are the columns of the answer.
    """

    parts: tuple[Program, ...] = ()
    grouping: Grouping = field(kw_only=True)
    computed: tuple[tuple[Any, ...], ...] = ()
    """Of each part: the columns of contributions that are computed (`computed.py`)."""
    translations: tuple[tuple[Translated, ...], ...] = ()
    """Of several parts: the columns of contributions that all of them have."""

    @property
    def runs(self) -> bool:
        return bool(self.parts) or self.grouping.everything

    @cached_property
    def certificate(self) -> int:
        return sum(each.certificate for each in (*self.operators, self.grouping))

    @cached_property
    def fingerprint(self) -> str:
        said = repr(
            (self.inputs, self.parts, self.grouping, self.computed, self.translations, self.output)
        )
        return hashlib.sha256(said.encode()).hexdigest()[:32]

    @cached_property
    def stores(self) -> tuple[Any, ...]:
        return (*(each for part in self.parts for each in part.stores), *self.grouping.stores)

    def empty(self) -> State:
        stores = [
            StateStore.for_states(x)
            if isinstance(x, States)
            else RowStore.for_rows(x)
            if isinstance(x, RowSet)
            else Store.of(x)
            for x in self.stores
        ]
        return State(self.fingerprint, stores)

    def parts_of(self, state: State) -> Iterator[tuple[Program, State]]:
        """Each part with its own stores of a state."""
        start = 0
        for part in self.parts:
            stop = start + len(part.stores)
            yield part, _view(part, state, start, stop)
            start = stop

    def grouped_of(self, state: State) -> State:
        """The stores of the grouping."""
        start = sum(len(part.stores) for part in self.parts)
        return _view(self, state, start, len(state.stores))


def _view(program: Program, state: State, start: int, stop: int) -> State:
    """Some stores of a state, shared with it."""
    view = State(program.fingerprint, state.stores[start:stop])
    view.filled = state.filled[start:stop]
    return view
