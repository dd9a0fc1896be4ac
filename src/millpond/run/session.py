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
from copy import deepcopy
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

from millpond.diagnostic import Diagnostic, MillpondError, RefusedError
from millpond.plan import Query
from millpond.plan.evaluate import no_value
from millpond.plan.functions import EvaluationError
from millpond.program import Columns, Delta, NoValueError, State
from millpond.run.arrivals import Arrivals, batch_of
from millpond.run.clock import ArrivalClock, InterleavedClock, SeparateClock
from millpond.run.contents import Bag, Moment
from millpond.run.definition import DefinitionRun, Refresh, gives_rows
from millpond.run.engine import LocalRun
from millpond.run.event import Event, Op
from millpond.run.feed import ProgramFeed, TimedFeed, UntimedFeed
from millpond.run.kept import DefinitionKept, EntryKept, HeldKept, SessionKept
from millpond.run.output import Teller, apply
from millpond.run.row_step import RowStep
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
class _Entry:
    place: int
    query: Query
    voice: _Voice


@dataclass
class _Compiled(_Entry):
    run: LocalRun

    def snapshot(self, *, copy: bool) -> EntryKept:
        state = self.run.state
        return EntryKept(_copied(state) if copy else state, None, self.voice.answer.copy())

    def restore(self, kept: EntryKept) -> None:
        assert isinstance(kept.run, State)
        self.run.state = _copied(kept.run)
        self.voice.restore(kept.answer)


@dataclass
class _Untimed(_Entry):
    feed: UntimedFeed

    def snapshot(self, *, copy: bool) -> EntryKept:
        return EntryKept(self.feed.run.snapshot(), None, self.voice.answer.copy())

    def restore(self, kept: EntryKept) -> None:
        assert isinstance(kept.run, DefinitionKept)
        self.feed.run = self.feed.run.restored(kept.run)
        self.voice.restore(kept.answer)


@dataclass
class _Timed(_Entry):
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
class _TimedProgram(_Entry):
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
class _OneTime:
    """The timed queries with one kind of time, and what is held back of what they said."""

    entries: list[_Timed | _TimedProgram] = field(default_factory=list)
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
class _Step:
    """What an event made the timed queries say, once their programs have run."""

    place: int
    closed: list[tuple[_OneTime, _Timed | _TimedProgram, list[Refresh] | list[int]]]
    ends: dict[Kind, Moment]


class _StopError(Exception):
    def __init__(self, error: MillpondError) -> None:
        super().__init__()
        self.error = error


_Said = tuple[tuple[int, int, int], list[Any]]
"""What is said of an event: its place in the piece; after the untimed queries the timed ones; and
the place of the query."""


class _Told(NamedTuple):
    """What a program has said of its instants, and the one at which it failed."""

    refreshes: list[Refresh]
    failed: tuple[int, MillpondError] | None


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
        self.taken = 0
        """How many of the last events came to something: all, but for those behind the limit."""
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
        self._stopped: tuple[int, int, int] | None = None
        self._compiled: list[_Compiled] = []
        self._untimed: list[_Untimed] = []
        self._times: dict[Kind, _OneTime] = {}
        for place, (query, run, teller) in enumerate(queries):
            self._add(place, query, run, _Voice(query, teller, emit, batched=self._batched))

    def _add(self, place: int, query: Query, run: LocalRun | DefinitionRun, voice: _Voice) -> None:
        if query.time_type is not None:
            clock = (SeparateClock if self._separate else InterleavedClock)(query.streams)
            one = self._times.setdefault(query.time_type.kind, _OneTime())
            if isinstance(run, LocalRun):
                feed = ProgramFeed(query, clock)
                one.entries.append(_TimedProgram(place, query, voice, feed, run))
            else:
                one.entries.append(_Timed(place, query, voice, TimedFeed(query, run, clock)))
        elif isinstance(run, LocalRun):
            self._compiled.append(_Compiled(place, query, voice, run))
        else:
            self._untimed.append(_Untimed(place, query, voice, UntimedFeed(query, run)))

    # Events in, output out

    def advance(self, events: Sequence[Event]) -> list[Any]:
        """What a piece of the input makes the queries say.

        After an error, `failure` is set: what was said before it is given all the same.
        """
        limit, self.taken = self._limit, len(events)
        said = self._take(events) if limit is None else self._within(limit, events)
        return said + self._end_of_piece() if self._batched else said

    def _take(self, events: Sequence[Event]) -> list[Any]:
        arrivals = Arrivals(self._catalog)
        said: list[_Said] = []
        places: dict[int, int] = {}
        steps: list[_Step] = []
        self._stopped = None
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
                    steps.append(_Step(place, [], {}))
                    self._timed_take(event, steps[-1])
        except _StopError as stop:
            self._stop((place, 2, 0), stop.error)
        said += self._timed_say(steps)
        said += self._compiled_say(arrivals, places)
        said.sort(key=lambda each: each[0])
        return [line for at, lines in said if self._before_stop(at) for line in lines]

    def _stop(self, at: tuple[int, int, int], error: MillpondError) -> None:
        """The run fails there: what would be said after it is not."""
        if self._stopped is None or at < self._stopped:
            self._stopped, self.failure = at, error

    def _before_stop(self, at: tuple[int, int, int]) -> bool:
        return self._stopped is None or at < self._stopped

    def _within(self, limit: int, events: Sequence[Event]) -> list[Any]:
        """The same up to the event that would make state pass the limit: nothing comes of that."""
        before, said = self.snapshot(), list[Any]()
        for place, event in enumerate(events):
            lines = self._take([event])
            if self.units() > limit:
                self.failure = _too_much(self.units(), limit)
                self.restore(before)
                self._again(events[:place])
                self.taken = place
                break
            said += lines
            if self.failure is not None:
                break
        return said

    def _again(self, events: Sequence[Event]) -> None:
        """Takes what was taken before, after going back; nobody is told twice."""
        on_late, self._on_late = self._on_late, None
        for event in events:
            self._take([event])
        self._on_late = on_late

    def snapshot(self, *, copy: bool = True) -> SessionKept:
        """All that is held, to `restore` later; without `copy`, only until it is advanced."""
        entries = sorted(self._entries(), key=lambda each: each.place)
        held = {kind.value: HeldKept(one.said, list(one.held)) for kind, one in self._times.items()}
        return SessionKept(
            self.clock.now,
            self._started,
            self.late,
            [each.snapshot(copy=copy) for each in entries],
            held,
        )

    def restore(self, kept: SessionKept) -> None:
        """Goes back, or on, to a snapshot of a session of the same queries."""
        self.clock.now, self._started, self.late = kept.now, kept.started, kept.late
        entries = sorted(self._entries(), key=lambda each: each.place)
        for entry, said in zip(entries, kept.entries, strict=True):
            entry.restore(said)
        for kind, one in self._times.items():
            one.said, one.held = kept.held[kind.value].said, list(kept.held[kind.value].lines)

    def _entries(self) -> Iterator[_Compiled | _Untimed | _Timed | _TimedProgram]:
        yield from self._compiled
        yield from self._untimed
        for _, each in self._timed():
            yield each

    def advance_columns(self, stream: str, columns: Columns) -> Iterator[tuple[int, Delta]]:
        """The same for rows of one stream, as columns of numbers: the changes that they cause, by
        the place of the query.

        Only where every query is `compiled`.
        """
        first = self.clock.now + 1
        self.clock.now += columns.size
        self._started = True
        if not columns.size:
            return
        for each in self._compiled:
            batch = batch_of(each.run.program, stream, columns, first)
            if batch is None:
                continue
            try:
                yield each.place, each.run.advance(batch)
            except NoValueError as error:
                self.failure = _no_value(each, error.error)
                raise self.failure from None

    def advance_row(self, step: RowStep, row: Sequence[int | None]) -> list[Any] | None:
        """The same for one row, of a session with one query; None where it has to go another
        way."""
        run = self._compiled[0].run
        said = step(run.state, row, self.clock.now + 1)
        if said is not None:
            self._started = True
            self.clock.now += 1
        return said

    @property
    def compiled(self) -> bool:
        """Whether every query runs by a program that takes columns of numbers."""
        plain = all(each.run.program.plain for each in self._compiled)
        return plain and not self._untimed and not self._times and not self._batched

    def finish(self, *, ended: bool = True) -> list[Any]:
        """What is said when no more input is read: because it has `ended`, or all the same."""
        if ended and self.failure is None:
            step = _Step(0, [], {})
            self._stopped = None
            try:
                for one, each in self._timed():
                    self._close(step, one, each, each.feed.finish())
            except _StopError as stop:
                self._stop((0, 2, 0), stop.error)
            self._timed_say([step])
        said: list[Any] = []
        if self._batched:
            said += self._end_of_piece()
        for _, one in sorted(self._times.items()):
            said += one.release(one.now, everything=True)
        for entry in sorted(self._entries(), key=lambda each: each.place):
            said += entry.voice.final()
        return said

    def run_of(self, place: int) -> LocalRun | DefinitionRun:
        """What runs the query of that place."""
        entry = next(each for each in self._entries() if each.place == place)
        return entry.feed.run if isinstance(entry, _Timed | _Untimed) else entry.run

    def units(self) -> int:
        """Units of state held by all queries."""
        return sum(self.run_of(each.place).units() for each in self._entries())

    def times(self) -> tuple[Type, Moment, Moment] | None:
        """Of the first kind of time: its type, the largest time read and the smallest clock."""
        for _, one in sorted(self._times.items()):
            clocks = [each.feed.clock for each in one.entries]
            kind = one.entries[0].query.time_type
            assert kind is not None
            return kind, max(each.read for each in clocks), min(each.now for each in clocks)
        return None

    # Inside

    def _timed(self) -> Iterator[tuple[_OneTime, _Timed | _TimedProgram]]:
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

    def _timed_take(self, event: Event, step: _Step) -> None:
        """Hands an event to the timed queries, and takes down which instants it closes."""
        if event.stream in self._tables and not self._started:
            return
        late = False
        for one, each in self._timed():
            if not each.feed.take(event):
                late = True
            self._close(step, one, each, each.feed.closed())
        if late:
            self.late += 1
            if self._on_late is not None:
                self._on_late(event)
        step.ends = {kind: one.now for kind, one in self._times.items()}

    def _close(
        self,
        step: _Step,
        one: _OneTime,
        entry: _Timed | _TimedProgram,
        closed: Iterator[Refresh] | list[int],
    ) -> None:
        if isinstance(closed, list):
            step.closed.append((one, entry, closed))
            return
        refreshes: list[Refresh] = []
        step.closed.append((one, entry, refreshes))
        refreshes.extend(self._guarded(entry, closed))

    def _timed_say(self, steps: Sequence[_Step]) -> list[_Said]:
        """What the timed queries say, event by event."""
        changes: dict[int, dict[int, Refresh]] = {}
        ends: dict[int, tuple[int, MillpondError]] = {}
        for _, each in self._timed():
            if isinstance(each, _TimedProgram):
                told = self._told(each, each.feed.taken())
                changes[each.place] = {refresh.at: refresh for refresh in told.refreshes}
                if told.failed is not None:
                    ends[each.place] = told.failed
        said: list[_Said] = []
        for step in steps:
            for one, entry, closed in step.closed:
                for what in closed:
                    at = what if isinstance(what, int) else what.at
                    if entry.place in ends and at >= ends[entry.place][0]:
                        self._stop((step.place, 1, 0), ends[entry.place][1])
                        return said
                    refresh = changes[entry.place].get(what) if isinstance(what, int) else what
                    if refresh is not None:
                        self._hold(one, entry, refresh)
            if not self._batched:
                lines = [
                    line
                    for kind, one in sorted(self._times.items())
                    if kind in step.ends
                    for line in one.release(step.ends[kind])
                ]
                said.append(((step.place, 1, 0), lines))
        return said

    def _hold(self, one: _OneTime, entry: _Entry, refresh: Refresh) -> None:
        for at, lines in entry.voice.hear(refresh):
            one.hold(at, entry.place, lines)

    def _compiled_say(self, arrivals: Arrivals, places: dict[int, int]) -> list[_Said]:
        if not len(arrivals):
            return []
        said: list[_Said] = []
        for each in self._compiled:
            told = self._told(each, arrivals)
            for refresh in told.refreshes:
                for at, lines in each.voice.hear(refresh):
                    said.append(((places[at], 0, each.place), lines))
            if told.failed is not None:
                at, error = told.failed
                self._stop((places[at], 0, each.place), error)
        return said

    def _told(self, entry: _Compiled | _TimedProgram, arrivals: Arrivals) -> _Told:
        """The instants of a query that runs by a program: all of them where each one is said."""
        changes: dict[int, list[Any]] = {}
        batch = arrivals.batch(entry.run.program)
        failed = batch.failed
        try:
            delta = entry.run.advance(batch)
        except NoValueError as error:
            delta, failed = error.before.consolidate(), (error.at, error.error)
        if self._batched or self._emit is Emit.ANSWERS:
            own = arrivals.instants([each.name for each in entry.query.streams])
            changes = {at: [] for at in own if failed is None or at < failed[0]}
        for row, n, at in delta.rows():
            changes.setdefault(at, []).append((row, n))
        refreshes = [Refresh(at, found) for at, found in changes.items()]
        if failed is None:
            return _Told(refreshes, None)
        return _Told(refreshes, (failed[0], _no_value(entry, failed[1])))

    def _end_of_piece(self) -> list[Any]:
        untimed = [
            (at, each.place, lines)
            for each in (*self._compiled, *self._untimed)
            for at, lines in each.voice.end_of_piece()
        ]
        for one, each in self._timed():
            for at, lines in each.voice.end_of_piece():
                one.hold(at, each.place, lines)
        untimed.sort(key=lambda each: each[:2])
        said = [line for _, _, lines in untimed for line in lines]
        for _, one in sorted(self._times.items()):
            said += one.release(one.now)
        return said

    def _guarded(self, entry: _Entry, refreshes: Iterator[Refresh]) -> Iterator[Refresh]:
        """Instants, up to one at which an expression has no value."""
        try:
            yield from refreshes
        except EvaluationError as error:
            raise _StopError(_no_value(entry, error)) from None


def _no_value(entry: _Entry, error: EvaluationError) -> MillpondError:
    if error.span is None:
        error.span = entry.query.span
    return no_value(error)


def _too_much(units: int, limit: int) -> MillpondError:
    return RefusedError(
        Diagnostic(
            "MP407",
            f"state would be {units} units, and {limit} are allowed",
            helps=("`millpond check` says with what the state grows, and which edit stops that",),
        ),
        exit_code=1,
    )
