"""A run of every query of a file over one input: events in, what the queries say out.

Untimed queries say what they have to say about an arrival at once.  A timed query says it when its
clock has closed the instant; several of them have clocks of their own, so that what one has said is
held back until no other query with the same kind of time can say something earlier.  Everything is
decided event by event, so that how input is cut into pieces never shows.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from millpond.diagnostic import Diagnostic, MillpondError, RefusedError
from millpond.plan import Query
from millpond.plan.evaluate import no_value
from millpond.plan.functions import EvaluationError
from millpond.run.arrivals import Arrivals
from millpond.run.clock import ArrivalClock, InterleavedClock, SeparateClock
from millpond.run.contents import Bag, Moment
from millpond.run.definition import DefinitionRun, Refresh, gives_rows
from millpond.run.engine import LocalRun
from millpond.run.event import Event, Op
from millpond.run.feed import TimedFeed, UntimedFeed
from millpond.run.output import Teller, apply
from millpond.schema import Catalog, Kind, Type


class Emit(StrEnum):
    """What a run prints."""

    CHANGES = "changes"
    ANSWERS = "answers"
    FINAL = "final"


class _Voice:
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
class _Entry:
    place: int
    query: Query
    voice: _Voice


@dataclass
class _Compiled(_Entry):
    run: LocalRun


@dataclass
class _Untimed(_Entry):
    feed: UntimedFeed


@dataclass
class _Timed(_Entry):
    feed: TimedFeed


Held = tuple[Moment, int, int, list[Any]]


@dataclass
class _OneTime:
    """The timed queries with one kind of time, and what is held back of what they said."""

    entries: list[_Timed] = field(default_factory=list)
    held: list[Held] = field(default_factory=list)
    said: int = 0

    def hold(self, at: int, place: int, said: list[Any]) -> None:
        self.said += 1
        heapq.heappush(self.held, (at, place, self.said, said))

    def release(self, *, everything: bool = False) -> list[Any]:
        """What no query can precede any more, in order."""
        end = min(each.feed.clock.now for each in self.entries)
        found: list[Any] = []
        while self.held and (everything or self.held[0][0] < end):
            found += heapq.heappop(self.held)[3]
        return found


class _StopError(Exception):
    def __init__(self, error: MillpondError) -> None:
        super().__init__()
        self.error = error


class Session:
    """Runs queries side by side and says their output in the order of the contract.

    `separate` says that every stream has a source of its own; `late` gets each row that is late
    for some query, once; above `limit` units, held after an instant, the run has failed.
    """

    def __init__(
        self,
        catalog: Catalog,
        queries: Iterable[tuple[Query, LocalRun | DefinitionRun, Teller[Any]]],
        emit: Emit,
        *,
        instants: str = "all",
        separate: bool = False,
        late: Callable[[Event], None] | None = None,
        limit: int | None = None,
    ) -> None:
        self.clock = ArrivalClock()
        self.late = 0
        self.failure: MillpondError | None = None
        """What the run has to end with, once what was said before is written."""
        self._catalog = catalog
        self._emit = emit
        self._batched = instants == "batch"
        self._separate = separate
        self._on_late = late
        self._limit = limit
        self._tables = {each.name for each in catalog if not each.is_stream}
        self._started = False
        self._compiled: list[_Compiled] = []
        self._untimed: list[_Untimed] = []
        self._times: dict[Kind, _OneTime] = {}
        for place, (query, run, teller) in enumerate(queries):
            self._add(place, query, run, _Voice(query, teller, emit, batched=self._batched))

    def _add(self, place: int, query: Query, run: LocalRun | DefinitionRun, voice: _Voice) -> None:
        if isinstance(run, LocalRun):
            self._compiled.append(_Compiled(place, query, voice, run))
        elif query.time_type is None:
            self._untimed.append(_Untimed(place, query, voice, UntimedFeed(query, run)))
        else:
            clock = SeparateClock if self._separate else InterleavedClock
            feed = TimedFeed(query, run, clock(query.streams))
            one = self._times.setdefault(query.time_type.kind, _OneTime())
            one.entries.append(_Timed(place, query, voice, feed))

    # Events in, output out

    def advance(self, events: Sequence[Event]) -> list[Any]:
        """What a piece of the input makes the queries say.

        After an error, `failure` is set: what was said before it is given all the same.
        """
        arrivals = Arrivals(self._catalog)
        said: list[tuple[tuple[int, int, int], list[Any]]] = []
        places: dict[int, int] = {}
        try:
            for place, event in enumerate(events):
                at = self._number(event)
                if at is not None and (event.stream not in self._tables):
                    arrivals.add(event.stream, event.row, at)
                    places[at] = place
                for each in self._untimed:
                    for where, lines in self._untimed_says(each, event, at):
                        said.append(((place, 0, where), lines))
                if self._times:
                    said.append(((place, 1, 0), self._timed_say(event)))
        except _StopError as stop:
            self.failure = stop.error
        said += self._compiled_say(arrivals, places)
        if self._batched:
            said += self._end_of_piece(len(events))
        said.sort(key=lambda each: each[0])
        return [line for _, lines in said for line in lines]

    def finish(self, *, ended: bool = True) -> list[Any]:
        """What is said when no more input is read: because it has `ended`, or all the same."""
        try:
            if ended and self.failure is None:
                for one, each in self._timed():
                    self._hear(one, each, each.feed.finish())
        except _StopError as stop:
            self.failure = stop.error
        said: list[Any] = []
        if self._batched:
            said += [line for _, lines in self._end_of_piece(0) for line in lines]
        for _, one in sorted(self._times.items()):
            said += one.release(everything=True)
        entries = [*self._compiled, *self._untimed, *(each for _, each in self._timed())]
        for entry in sorted(entries, key=lambda each: each.place):
            said += entry.voice.final()
        return said

    def units(self) -> int:
        """Units of state held by all queries."""
        runs = [each.feed.run for each in self._untimed]
        runs += [each.feed.run for _, each in self._timed()]
        return sum(each.run.units() for each in self._compiled) + sum(each.units() for each in runs)

    def times(self) -> tuple[Type, Moment, Moment] | None:
        """Of the first kind of time: its type, the largest time read and the smallest clock."""
        for _, one in sorted(self._times.items()):
            clocks = [each.feed.clock for each in one.entries]
            kind = one.entries[0].query.time_type
            assert kind is not None
            return kind, max(each.read for each in clocks), min(each.now for each in clocks)
        return None

    # Inside

    def _timed(self) -> Iterator[tuple[_OneTime, _Timed]]:
        for one in self._times.values():
            for each in one.entries:
                yield one, each

    def _number(self, event: Event) -> int | None:
        """The number of an arrival; what a table holds at first has none."""
        if event.op is Op.TICK:
            return self.clock.arrive()
        if event.op not in (Op.INSERT, Op.DELETE):
            return None
        if event.stream not in self._tables:
            self._started = True
        elif not self._started:
            for untimed in self._untimed:
                untimed.feed.first(event)
            for _, timed in self._timed():
                timed.feed.first(event)
            return None
        return self.clock.arrive()

    def _untimed_says(
        self, entry: _Untimed, event: Event, at: int | None
    ) -> Iterator[tuple[int, list[Any]]]:
        if at is None:
            return
        for refresh in self._guarded(entry, entry.feed.take(event, at)):
            for _, lines in entry.voice.hear(refresh):
                yield entry.place, lines

    def _timed_say(self, event: Event) -> list[Any]:
        if event.stream in self._tables and not self._started:
            return []
        late = False
        for one, each in self._timed():
            if not each.feed.take(event):
                late = True
            self._hear(one, each, each.feed.closed())
        if late:
            self.late += 1
            if self._on_late is not None:
                self._on_late(event)
        if self._batched:
            return []
        return [line for _, one in sorted(self._times.items()) for line in one.release()]

    def _hear(self, one: _OneTime, entry: _Timed, refreshes: Iterator[Refresh]) -> None:
        for refresh in self._guarded(entry, refreshes):
            for at, lines in entry.voice.hear(refresh):
                one.hold(at, entry.place, lines)

    def _compiled_say(
        self, arrivals: Arrivals, places: dict[int, int]
    ) -> list[tuple[tuple[int, int, int], list[Any]]]:
        if not len(arrivals):
            return []
        said = []
        for each in self._compiled:
            for refresh in self._of_program(each, arrivals):
                for at, lines in each.voice.hear(refresh):
                    said.append(((places[at], 0, each.place), lines))
        return said

    def _of_program(self, entry: _Compiled, arrivals: Arrivals) -> Iterator[Refresh]:
        """The instants of a compiled query: all of them where each one is said."""
        changes: dict[int, list[Any]] = {}
        if self._batched or self._emit is Emit.ANSWERS:
            own = arrivals.instants([each.name for each in entry.query.streams])
            changes = {at: [] for at in own}
        for row, n, at in entry.run.advance(arrivals.batch(entry.run.program)).rows():
            changes.setdefault(at, []).append((row, n))
        return (Refresh(at, found) for at, found in changes.items())

    def _end_of_piece(self, place: int) -> list[tuple[tuple[int, int, int], list[Any]]]:
        untimed = [
            (at, each.place, lines)
            for each in (*self._compiled, *self._untimed)
            for at, lines in each.voice.end_of_piece()
        ]
        for one, each in self._timed():
            for at, lines in each.voice.end_of_piece():
                one.hold(at, each.place, lines)
        said = [((place, at, number), lines) for at, number, lines in untimed]
        timed = [line for _, one in sorted(self._times.items()) for line in one.release()]
        return [*said, ((place + 1, 0, 0), timed)]

    def _guarded(self, entry: _Entry, refreshes: Iterator[Refresh]) -> Iterator[Refresh]:
        """Instants, up to one at which an expression has no value or state has no room."""
        try:
            for refresh in refreshes:
                yield refresh
                if self._limit is not None and self.units() > self._limit:
                    raise _StopError(_too_much(self.units(), self._limit))
        except EvaluationError as error:
            if error.span is None:
                error.span = entry.query.span
            raise _StopError(no_value(error)) from None


def _too_much(units: int, limit: int) -> MillpondError:
    return RefusedError(
        Diagnostic(
            "MP407",
            f"the run holds {units} units of state, and --max-state allows {limit}",
            helps=("`millpond check` says with what the state grows, and which edit stops that",),
        ),
        exit_code=1,
    )
