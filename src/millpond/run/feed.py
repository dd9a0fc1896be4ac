"""Events to instants: what feeds a query that runs by definition.

A timed query keeps the rows of open instants, sorted by timestamp and then by arrival, until its
clock has passed them (design.md, semantics 5); an untimed one takes each arrival at once.  A change
of a table takes effect at the largest time read so far, or when it says itself, and before the rows
of its instant; those before any row of a stream are what the table holds at first.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field

from millpond.plan import Query
from millpond.run.arrivals import Arrivals
from millpond.run.clock import QueryClock
from millpond.run.contents import BEFORE, Moment
from millpond.run.definition import DefinitionRun, Refresh
from millpond.run.event import Event, Op, Reject
from millpond.run.kept import FeedKept
from millpond.schema import Stream


class UntimedFeed:
    """A query whose instants are counted."""

    def __init__(self, query: Query, run: DefinitionRun) -> None:
        self.run = run
        self._sources = {each.name: each for each in query.sources}

    def first(self, event: Event) -> None:
        """A row that a table holds at first."""
        _into_table(self.run, event, BEFORE)

    def take(self, event: Event, at: int) -> Iterator[Refresh]:
        """The next arrival, and the instant that it is, if the query has to do with it."""
        contents = self.run.contents
        if event.op is Op.TICK:
            contents.ticks.add((), at)
        elif event.stream in contents.logs:
            contents.logs[event.stream].add(event.row, at)
        elif event.stream in contents.tables:
            _into_table(self.run, event, at)
        else:
            return
        yield from self.run.refreshes(at, inclusive=True)


class _Waiting:
    """Rows that wait for their instants, and the clock that closes those."""

    def __init__(self, query: Query, clock: QueryClock) -> None:
        self.clock = clock
        self._places = {each.name: each.time_place for each in query.streams}
        self._kind = query.time_type.kind if query.time_type is not None else None
        self._tables = {each.name for each in query.tables}
        self._waiting: list[tuple[int, int, Event]] = []
        self._arrived = 0
        self._end: Moment = BEFORE

    def first(self, event: Event) -> None:
        """A row that a table holds at first."""

    def take(self, event: Event) -> bool:
        """The next arrival; false if it is late, and then nothing has come of it."""
        if event.op is Op.TIME:
            if event.at is not None and event.kind in (None, self._kind):
                self.clock.set(event.at)
        elif event.stream is None:
            pass
        elif event.stream in self._tables:
            return self._change(event)
        elif event.stream not in self._places:
            pass
        elif event.op is Op.END:
            self.clock.end(event.stream)
        else:
            return self._row(event, event.stream)
        return True

    def _row(self, event: Event, stream: str) -> bool:
        place = self._places[stream]
        at = None if place is None else event.row[place]
        assert isinstance(at, int)
        if at < self.clock.now:
            return False
        self.clock.row(stream, at)
        self._wait(at, event)
        return True

    def _change(self, event: Event) -> bool:
        if event.at is None and self.clock.read == BEFORE:
            self.first(event)
            return True
        if event.at is not None and event.at < self.clock.now:
            return False
        at = int(self.clock.read) if event.at is None else event.at
        if event.at is None:
            self._end = max(self._end, at)
        self._wait(at, event)
        return True

    def _wait(self, at: int, event: Event) -> None:
        self._arrived += 1
        heapq.heappush(self._waiting, (at, self._arrived, event))

    def snapshot(self) -> FeedKept:
        """What waits, and how far the clock is; the run has a snapshot of its own."""
        return FeedKept(list(self._waiting), self._arrived, self._end, self.clock.snapshot())

    def restore(self, kept: FeedKept) -> None:
        self._waiting, self._arrived = list(kept.waiting), kept.arrived
        self._end = kept.end
        self.clock.restore(kept.clock)

    def _next(self, end: Moment, *, inclusive: bool) -> int | None:
        """The first instant that rows wait for, if it is over."""
        if not self._waiting:
            return None
        at = self._waiting[0][0]
        return None if at > end or (at == end and not inclusive) else at

    def _released(self, at: int) -> Iterator[Event]:
        """What waited for an instant."""
        while self._waiting and self._waiting[0][0] == at:
            yield heapq.heappop(self._waiting)[2]


class TimedFeed(_Waiting):
    """A query with a clock that runs by definition."""

    def __init__(self, query: Query, run: DefinitionRun, clock: QueryClock) -> None:
        super().__init__(query, clock)
        self.run = run

    def first(self, event: Event) -> None:
        """A row that a table holds at first."""
        _into_table(self.run, event, BEFORE)

    def closed(self) -> Iterator[Refresh]:
        """The instants below the clock that have not been said yet."""
        yield from self._through(self.clock.now, inclusive=False)

    def finish(self) -> Iterator[Refresh]:
        """The instants that the end of input closes: through the largest timestamp read, and the
        changes of tables that took effect at a time that was read."""
        end = max(self.clock.largest, self._end)
        if end >= self.clock.now and end != BEFORE:
            yield from self._through(end, inclusive=True)
            self.clock.close(end)

    def _through(self, end: Moment, *, inclusive: bool) -> Iterator[Refresh]:
        """Instant by instant, so that a run never holds what comes after the one it is asked
        about."""
        while (at := self._next(end, inclusive=inclusive)) is not None:
            yield from self.run.refreshes(at)
            for event in self._released(at):
                self._release(event, at)
            yield from self.run.refreshes(at, inclusive=True)
        yield from self.run.refreshes(end, inclusive=inclusive)

    def _release(self, event: Event, at: int) -> None:
        assert event.stream is not None
        if event.stream in self._tables:
            _into_table(self.run, event, at)
        else:
            self.run.contents.logs[event.stream].add(event.row, at)


class ProgramFeed(_Waiting):
    """A query with a clock that runs by a program: the rows of closed instants are handed on."""

    def __init__(self, query: Query, clock: QueryClock) -> None:
        super().__init__(query, clock)
        self._query = query
        self._arrivals = Arrivals(query.streams)

    def closed(self) -> list[int]:
        """The instants below the clock; their rows are those of `taken`."""
        return self._through(self.clock.now, inclusive=False)

    def finish(self) -> list[int]:
        """The instants that the end of input closes: through the largest timestamp read."""
        end = self.clock.largest
        if end < self.clock.now or end == BEFORE:
            return []
        found = self._through(end, inclusive=True)
        self.clock.close(end)
        return found

    def taken(self) -> Arrivals:
        """The rows of instants that were closed since they were taken last."""
        found, self._arrivals = self._arrivals, Arrivals(self._query.streams)
        return found

    def _through(self, end: Moment, *, inclusive: bool) -> list[int]:
        instants = []
        while (at := self._next(end, inclusive=inclusive)) is not None:
            instants.append(at)
            for event in self._released(at):
                self._arrivals.add(event.stream, event.row, at)
        return instants


def _into_table(run: DefinitionRun, event: Event, at: Moment) -> None:
    if event.stream in run.contents.tables:
        inserts = event.op is not Op.DELETE
        run.contents.tables[event.stream].add(event.row, inserts=inserts, at=at)


# Sources ----------------------------------------------------------------------------------------


@dataclass
class _Source:
    stream: Stream
    pieces: Iterator[list[Event | Reject]]
    held: deque[Event | Reject] = field(default_factory=deque)
    mark: Moment = BEFORE

    @property
    def exhausted(self) -> bool:
        """Whether there is no row any more."""
        while not self.held:
            piece = next(self.pieces, None)
            if piece is None:
                return True
            self.held.extend(piece)
        return False

    def next(self) -> Event | Reject | None:
        if self.exhausted:
            return None
        found = self.held.popleft()
        if isinstance(found, Event) and self.stream.time is not None:
            assert self.stream.time_place is not None
            at = found.row[self.stream.time_place]
            assert isinstance(at, int)
            self.mark = max(self.mark, at - self.stream.time.delay)
        return found


def merged(
    sources: Mapping[Stream, Iterator[list[Event | Reject]]],
    size: int,
    *,
    taken: Mapping[str, int] | None = None,
    ended: Container[str] = (),
    marks: Mapping[str, Moment] | None = None,
    within: int = 0,
) -> Iterator[list[Event | Reject]]:
    """The rows of several timed sources as one input, in pieces of a size.

    The source that is furthest behind is read next, the first of several, so that no row is late
    by the way that we read; the end of a source is an event.  To go on where one was, `taken` says
    how many rows of each are passed over, `ended` whose end was given, `marks` how far the time of
    each was, and `within` how much of a piece was given.
    """
    left = [_Source(stream, pieces) for stream, pieces in sources.items()]
    for source in list(left):
        source.mark = (marks or {}).get(source.stream.name, BEFORE)
        for _ in range((taken or {}).get(source.stream.name, 0)):
            source.next()
        if source.stream.name in ended and source.exhausted:
            left.remove(source)
    piece: list[Event | Reject] = []
    while left:
        source = min(left, key=lambda each: each.mark)
        found = source.next()
        if found is None:
            left.remove(source)
            found = Event(source.stream.name, (), 0, Op.END)
        piece.append(found)
        if len(piece) >= size - within:
            yield piece
            piece, within = [], 0
    if piece:
        yield piece
