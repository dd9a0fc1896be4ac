"""The clocks: which instant an arrival belongs to, and which instants are closed.

Untimed input is counted over everything that is read, from 1.  A query over timed streams has a
clock that its input moves: an instant is closed when it lies below the clock, and a row below the
clock is late.  In one interleaved file the clock is the largest timestamp read less the largest
delay that a stream declares; over separate sources it is that of the source furthest behind.  No
clock goes back, and none sees wall time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from millpond.run.contents import BEFORE, NEVER, Moment
from millpond.schema import Stream


class ClockKept(NamedTuple):
    """A clock as it stands; `marks` are the watermarks of the streams that have not ended, where
    each has its own."""

    now: Moment
    read: Moment
    largest: Moment
    marks: Mapping[str, Moment]


class ArrivalClock:
    """Counts arrivals: rows that were accepted, changes of tables, and ticks."""

    def __init__(self, now: int = 0) -> None:
        self.now = now

    def arrive(self) -> int:
        """The instant of the next arrival."""
        self.now += 1
        return self.now


class QueryClock:
    """What the clocks of timed queries share; this one stands still unless it is set."""

    def __init__(self, streams: Iterable[Stream]) -> None:
        self._streams = {each.name: each for each in streams}
        self.now: Moment = BEFORE
        """Instants below it are closed."""
        self.read: Moment = BEFORE
        """The largest time read: a timestamp, or a time that the clock was set to."""
        self.largest: Moment = BEFORE
        """The largest timestamp read."""

    def row(self, stream: str, at: int) -> None:
        """A row with this timestamp was read."""
        self.largest = max(self.largest, at)
        self.read = max(self.read, at)

    def set(self, to: Moment) -> None:
        """Closes what lies below a time, no delay taken off."""
        self.read = max(self.read, to)
        self._to(to)

    def end(self, stream: str) -> None:
        """A stream has ended."""

    def close(self, through: Moment) -> None:
        """All instants through this one have been said, and a row of them is late."""
        self._to(through + 1)

    def snapshot(self) -> ClockKept:
        """How far it is, to `restore` later."""
        return ClockKept(self.now, self.read, self.largest, dict.fromkeys(self._streams, BEFORE))

    def restore(self, kept: ClockKept) -> None:
        self.now, self.read, self.largest = kept.now, kept.read, kept.largest

    def _to(self, to: Moment) -> None:
        self.now = max(self.now, to)

    def _delay(self, stream: str) -> int:
        time = self._streams[stream].time
        return 0 if time is None else time.delay


class InterleavedClock(QueryClock):
    """Of input in one file, whose order of lines is the order of arrival.

    >>> from millpond.schema import BIGINT, Column, Stream, Time
    >>> s = Stream("s", (Column("ts", BIGINT),), time=Time("ts", delay=2))
    >>> clock = InterleavedClock([s])
    >>> clock.row("s", 7)
    >>> clock.now
    5
    """

    def __init__(self, streams: Iterable[Stream]) -> None:
        super().__init__(streams)
        self._largest_delay = max(map(self._delay, self._streams), default=0)
        self._open = set(self._streams)

    def row(self, stream: str, at: int) -> None:
        super().row(stream, at)
        self._to(self.largest - self._largest_delay)

    def end(self, stream: str) -> None:
        """When all streams of the query have ended, time has come to the last of their ends.

        It is a timestamp that the streams could have had, and so the end of input closes it too.
        """
        self._open.discard(stream)
        if not self._open:
            ends = (each.until for each in self._streams.values())
            last = max((each for each in ends if each is not None), default=BEFORE)
            self.largest = max(self.largest, last)
            self.set(last)

    def snapshot(self) -> ClockKept:
        return super().snapshot()._replace(marks=dict.fromkeys(sorted(self._open), BEFORE))

    def restore(self, kept: ClockKept) -> None:
        super().restore(kept)
        self._open = set(kept.marks)


class SeparateClock(QueryClock):
    """Of a source for each stream: the smallest of their watermarks, but for those that ended.

    A file is never idle, so that `--idle-timeout` has nothing to leave out here.
    """

    def __init__(self, streams: Iterable[Stream]) -> None:
        super().__init__(streams)
        self._marks: dict[str, Moment] = dict.fromkeys(self._streams, BEFORE)

    def row(self, stream: str, at: int) -> None:
        super().row(stream, at)
        mark = self._marks.get(stream, BEFORE)  # One that had ended, and goes on, is back.
        self._marks[stream] = max(mark, at - self._delay(stream))
        self._to(min(self._marks.values()))

    def end(self, stream: str) -> None:
        self._marks.pop(stream, None)
        if self._marks:
            self._to(min(self._marks.values(), default=NEVER))

    def snapshot(self) -> ClockKept:
        return super().snapshot()._replace(marks=dict(self._marks))

    def restore(self, kept: ClockKept) -> None:
        super().restore(kept)
        self._marks = dict(kept.marks)
