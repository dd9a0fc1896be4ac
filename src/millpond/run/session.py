"""A run of every query of a file over one input: events in, what the queries say out.

Untimed queries say what they have to say about an arrival at once.  A timed query says it when its
clock has closed the instant; several of them have clocks of their own, so that what one has said is
held back until no other query with the same kind of time can say something earlier.  Everything is
decided event by event, so that how input is cut into pieces never shows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from millpond.diagnostic import Diagnostic, MillpondError, RefusedError
from millpond.plan import Query
from millpond.plan.functions import EvaluationError
from millpond.program import Columns, Delta, NoValueError
from millpond.run.arrivals import Arrivals, batch_of
from millpond.run.clock import ArrivalClock, InterleavedClock, SeparateClock
from millpond.run.contents import Moment
from millpond.run.definition import DefinitionRun, Refresh
from millpond.run.engine import LocalRun
from millpond.run.entries import (
    Compiled,
    Emit,
    Entry,
    OneTime,
    Said,
    Step,
    StopError,
    Timed,
    TimedProgram,
    Untimed,
    Voice,
    no_value_of,
    told,
)
from millpond.run.event import Event, Op
from millpond.run.feed import ProgramFeed, TimedFeed, UntimedFeed
from millpond.run.kept import HeldKept, SessionKept
from millpond.run.output import Teller
from millpond.run.row_step import RowStep
from millpond.schema import Catalog, Kind, Type

__all__ = ["Emit", "Session"]


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
        self._batched = instants == "batch"
        self._every = self._batched or emit is Emit.ANSWERS
        self._separate = separate
        self._on_late = late
        self._limit = limit
        self._tables = {each.name for each in catalog if not each.is_stream}
        self._started = False
        self._stopped: tuple[int, int, int] | None = None
        self._compiled: list[Compiled] = []
        self._untimed: list[Untimed] = []
        self._times: dict[Kind, OneTime] = {}
        for place, (query, run, teller) in enumerate(queries):
            self._add(place, query, run, Voice(query, teller, emit, batched=self._batched))

    def _add(self, place: int, query: Query, run: LocalRun | DefinitionRun, voice: Voice) -> None:
        if query.time_type is not None:
            clock = (SeparateClock if self._separate else InterleavedClock)(query.streams)
            one = self._times.setdefault(query.time_type.kind, OneTime())
            if isinstance(run, LocalRun):
                feed = ProgramFeed(query, clock)
                one.entries.append(TimedProgram(place, query, voice, feed, run))
            else:
                one.entries.append(Timed(place, query, voice, TimedFeed(query, run, clock)))
        elif isinstance(run, LocalRun):
            self._compiled.append(Compiled(place, query, voice, run))
        else:
            self._untimed.append(Untimed(place, query, voice, UntimedFeed(query, run)))

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
        said: list[Said] = []
        places: dict[int, int] = {}
        steps: list[Step] = []
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
                    steps.append(Step(place, [], {}))
                    self._timed_take(event, steps[-1])
        except StopError as stop:
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

    def _entries(self) -> Iterator[Compiled | Untimed | Timed | TimedProgram]:
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
                self.failure = no_value_of(each, error.error)
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
            step = Step(0, [], {})
            self._stopped = None
            try:
                for one, each in self._timed():
                    self._close(step, one, each, each.feed.finish())
            except StopError as stop:
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
        return entry.feed.run if isinstance(entry, Timed | Untimed) else entry.run

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

    def _timed(self) -> Iterator[tuple[OneTime, Timed | TimedProgram]]:
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
        self, entry: Untimed, event: Event, at: int | None
    ) -> Iterator[tuple[int, list[Any]]]:
        if at is None:
            return
        for refresh in self._guarded(entry, entry.feed.take(event, at)):
            for _, lines in entry.voice.hear(refresh):
                yield entry.place, lines

    def _timed_take(self, event: Event, step: Step) -> None:
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
        step: Step,
        one: OneTime,
        entry: Timed | TimedProgram,
        closed: Iterator[Refresh] | list[int],
    ) -> None:
        if isinstance(closed, list):
            step.closed.append((one, entry, closed))
            return
        refreshes: list[Refresh] = []
        step.closed.append((one, entry, refreshes))
        refreshes.extend(self._guarded(entry, closed))

    def _timed_say(self, steps: Sequence[Step]) -> list[Said]:
        """What the timed queries say, event by event."""
        changes: dict[int, dict[int, Refresh]] = {}
        ends: dict[int, tuple[int, MillpondError]] = {}
        for _, each in self._timed():
            if isinstance(each, TimedProgram):
                found = told(each, each.feed.taken(), every=self._every)
                changes[each.place] = {refresh.at: refresh for refresh in found.refreshes}
                if found.failed is not None:
                    ends[each.place] = found.failed
        said: list[Said] = []
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

    def _hold(self, one: OneTime, entry: Entry, refresh: Refresh) -> None:
        for at, lines in entry.voice.hear(refresh):
            one.hold(at, entry.place, lines)

    def _compiled_say(self, arrivals: Arrivals, places: dict[int, int]) -> list[Said]:
        if not len(arrivals):
            return []
        said: list[Said] = []
        for each in self._compiled:
            found = told(each, arrivals, every=self._every)
            for refresh in found.refreshes:
                for at, lines in each.voice.hear(refresh):
                    said.append(((places[at], 0, each.place), lines))
            if found.failed is not None:
                at, error = found.failed
                self._stop((places[at], 0, each.place), error)
        return said

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

    def _guarded(self, entry: Entry, refreshes: Iterator[Refresh]) -> Iterator[Refresh]:
        """Instants, up to one at which an expression has no value."""
        try:
            yield from refreshes
        except EvaluationError as error:
            raise StopError(no_value_of(entry, error)) from None


def _too_much(units: int, limit: int) -> MillpondError:
    return RefusedError(
        Diagnostic(
            "MP407",
            f"state would be {units} units, and {limit} are allowed",
            helps=("`millpond check` says with what the state grows, and which edit stops that",),
        ),
        exit_code=1,
    )
