"""The queries of a session: how each runs, what it says, and what waits to be said."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

from millpond.diagnostic import MillpondError
from millpond.plan import Query
from millpond.plan.evaluate import no_value
from millpond.plan.functions import EvaluationError
from millpond.program import NoValueError, State
from millpond.run.arrivals import Arrivals
from millpond.run.contents import Bag, Moment
from millpond.run.definition import Refresh, gives_rows
from millpond.run.engine import LocalRun
from millpond.run.feed import ProgramFeed, TimedFeed, UntimedFeed
from millpond.run.kept import DefinitionKept, EntryKept
from millpond.run.output import Teller, apply
from millpond.schema import Kind


class Emit(StrEnum):
    """What a run prints."""

    CHANGES = "changes"
    ANSWERS = "answers"
    FINAL = "final"


class Voice:
    """What a query says of its instants; with `batched`, once for all instants of a piece."""

    def __init__(self, query: Query, teller: Teller[Any], emit: Emit, *, batched: bool) -> None:
        self._teller = teller
        self._emit = emit
        self._batched = batched
        self._gives = gives_rows(query)
        self._answer: Bag = Counter()
        self._piece: Refresh | None = None

    def hear(self, refresh: Refresh) -> Iterator[tuple[int, list[Any]]]:
        """Takes an instant, and gives what is said of it now."""
        if not self._batched:
            yield refresh.at, self._said(refresh)
            return
        total: Bag = Counter()
        for row, n in (*(self._piece.changes if self._piece else ()), *refresh.changes):
            apply(total, row, n)
        self._piece = Refresh(refresh.at, list(total.items()))

    def end_of_piece(self) -> Iterator[tuple[int, list[Any]]]:
        """What is said of the last instant of a piece."""
        if self._piece is not None:
            yield self._piece.at, self._said(self._piece)
            self._piece = None

    @property
    def answer(self) -> Bag:
        """What is held of the answer, because someone asks for answers."""
        return self._answer

    def restore(self, answer: Bag) -> None:
        self._answer = answer.copy()

    def final(self) -> list[Any]:
        """What is said at the end of input."""
        return self._teller.final(self._answer) if self._emit is Emit.FINAL else []

    def _said(self, refresh: Refresh) -> list[Any]:
        if self._emit is Emit.CHANGES:
            return self._teller.changes(refresh.at, refresh.changes) if refresh.changes else []
        if self._emit is Emit.ANSWERS and self._gives:
            self._answer = Counter()
        for row, n in refresh.changes:
            apply(self._answer, row, n)
        if self._emit is Emit.FINAL:
            return []
        return [self._teller.answer(refresh.at, self._answer)]


@dataclass
class Entry:
    place: int
    query: Query
    voice: Voice


@dataclass
class Compiled(Entry):
    run: LocalRun

    def snapshot(self, *, copy: bool) -> EntryKept:
        state = self.run.state
        return EntryKept(_copied(state) if copy else state, None, self.voice.answer.copy())

    def restore(self, kept: EntryKept) -> None:
        assert isinstance(kept.run, State)
        self.run.state = _copied(kept.run)
        self.voice.restore(kept.answer)


@dataclass
class Untimed(Entry):
    feed: UntimedFeed

    def snapshot(self, *, copy: bool) -> EntryKept:
        return EntryKept(self.feed.run.snapshot(), None, self.voice.answer.copy())

    def restore(self, kept: EntryKept) -> None:
        assert isinstance(kept.run, DefinitionKept)
        self.feed.run = self.feed.run.restored(kept.run)
        self.voice.restore(kept.answer)


@dataclass
class Timed(Entry):
    feed: TimedFeed

    def snapshot(self, *, copy: bool) -> EntryKept:
        run = self.feed.run.snapshot()
        return EntryKept(run, self.feed.snapshot(), self.voice.answer.copy())

    def restore(self, kept: EntryKept) -> None:
        assert isinstance(kept.run, DefinitionKept)
        assert kept.feed is not None
        self.feed.run = self.feed.run.restored(kept.run)
        self.feed.restore(kept.feed)
        self.voice.restore(kept.answer)


@dataclass
class TimedProgram(Entry):
    feed: ProgramFeed
    run: LocalRun

    def snapshot(self, *, copy: bool) -> EntryKept:
        state = self.run.state
        held = _copied(state) if copy else state
        return EntryKept(held, self.feed.snapshot(), self.voice.answer.copy())

    def restore(self, kept: EntryKept) -> None:
        assert isinstance(kept.run, State)
        assert kept.feed is not None
        self.run.state = _copied(kept.run)
        self.feed.restore(kept.feed)
        self.voice.restore(kept.answer)


def _copied(state: State) -> State:
    """A state of its own; what its stores are for is shared."""
    return deepcopy(state, {id(each.spec): each.spec for each in state.stores})


Held = tuple[Moment, int, int, list[Any]]


@dataclass
class OneTime:
    """The timed queries with one kind of time, and what is held back of what they said."""

    entries: list[Timed | TimedProgram] = field(default_factory=list)
    held: list[Held] = field(default_factory=list)
    said: int = 0

    def hold(self, at: int, place: int, said: list[Any]) -> None:
        self.said += 1
        heapq.heappush(self.held, (at, place, self.said, said))

    @property
    def now(self) -> Moment:
        """The time that all clocks have reached."""
        return min(each.feed.clock.now for each in self.entries)

    def release(self, end: Moment, *, everything: bool = False) -> list[Any]:
        """What no query can precede any more, in order."""
        found: list[Any] = []
        while self.held and (everything or self.held[0][0] < end):
            found += heapq.heappop(self.held)[3]
        return found


@dataclass
class Step:
    """What an event made the timed queries say, once their programs have run."""

    place: int
    closed: list[tuple[OneTime, Timed | TimedProgram, list[Refresh] | list[int]]]
    ends: dict[Kind, Moment]


class StopError(Exception):
    def __init__(self, error: MillpondError) -> None:
        super().__init__()
        self.error = error


Said = tuple[tuple[int, int, int], list[Any]]
"""What is said of an event: its place in the piece; after the untimed queries the timed ones; and
the place of the query."""


class Told(NamedTuple):
    """What a program has said of its instants, and the one at which it failed."""

    refreshes: list[Refresh]
    failed: tuple[int, MillpondError] | None


def told(entry: Compiled | TimedProgram, arrivals: Arrivals, *, every: bool) -> Told:
    """The instants of a query that runs by a program: with `every`, those without a change, too."""
    changes: dict[int, list[Any]] = {}
    batch = arrivals.batch(entry.run.program)
    failed = batch.failed
    try:
        delta = entry.run.advance(batch)
    except NoValueError as error:
        delta, failed = error.before.consolidate(), (error.at, error.error)
    if every:
        own = arrivals.instants([each.name for each in entry.query.streams])
        changes = {at: [] for at in own if failed is None or at < failed[0]}
    for row, n, at in delta.rows():
        changes.setdefault(at, []).append((row, n))
    refreshes = [Refresh(at, found) for at, found in changes.items()]
    if failed is None:
        return Told(refreshes, None)
    return Told(refreshes, (failed[0], no_value_of(entry, failed[1])))


def no_value_of(entry: Entry, error: EvaluationError) -> MillpondError:
    """The error of a query that has an expression without a value for a row."""
    if error.span is None:
        error.span = entry.query.span
    return no_value(error)
