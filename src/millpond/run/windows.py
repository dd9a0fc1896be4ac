"""Which rows of a log are in a window when: lifetimes from instants and arrival order alone.

Every class here is a leaf of a plan that is run by definition.  It says which rows are visible at
an instant, each with its lifetime (`plan/window.py` has the definition), when that changes next,
and, for a window with a SLIDE, where its boundaries are.  A row that is pushed out within the
instant in which it came is never seen.  Results of an INTERNAL window outlive its rows: its rows
stay visible, and keep the lifetimes by which they meet others (Golab, section 3.3.2).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from millpond.plan import Assigned, Extent, Field, WindowFunction, WindowSpec
from millpond.run.contents import NEVER, Lived, Log, Moment
from millpond.schema import Row


class Leaf(Protocol):
    """Where rows of a plan come from."""

    def next_due(self, after: Moment) -> Moment:
        """The first instant after another at which what is visible may change."""
        ...


class Windowed(Leaf, Protocol):
    """A window on a log."""

    def visible(self, now: Moment) -> list[Lived]:
        """The rows that are in the window at an instant."""
        ...


class Slid(Windowed, Protocol):
    """A window that may change at some instants only."""

    by_rows: bool
    """Whether rows make the boundaries: an instant with an M-th row is one of them itself."""

    def boundary_from(self, at: Moment) -> Moment:
        """The first boundary at which a row of instant `at` may be seen."""
        ...

    def next_boundary(self, after: Moment) -> Moment: ...

    def is_boundary(self, at: int) -> bool: ...


class Everything:
    """No window: every row so far."""

    def __init__(self, log: Log) -> None:
        self._log = log

    def visible(self, now: Moment) -> list[Lived]:
        many = self._log.until(now)
        pairs = zip(self._log.rows[:many], self._log.at, strict=False)
        return [(row, at, NEVER) for row, at in pairs]

    def next_due(self, after: Moment) -> Moment:
        return self._log.next_due(after)


class RangeWindow:
    """`[RANGE T]`, `[RANGE T SLIDE S]`, and `[UNBOUNDED SLIDE S]`, which is a RANGE without end."""

    by_rows = False

    def __init__(self, log: Log, size: int | None, slide: int | None, *, internal: bool) -> None:
        self.slides = slide is not None
        self._log = log
        self._size = size
        self._slide = slide
        self._internal = internal

    def _enter(self, at: int) -> int:
        return at if self._slide is None else (at // self._slide + 1) * self._slide

    def _exit(self, at: int) -> Moment:
        if self._size is None:
            return NEVER
        end = at + self._size
        return end if self._slide is None else (end // self._slide + 1) * self._slide

    def visible(self, now: Moment) -> list[Lived]:
        log = self._log
        high = bisect_right(log.at, now, key=self._enter)
        low = 0 if self._internal else bisect_right(log.at, now, hi=high, key=self._exit)
        lived = (
            (row, self._enter(at), self._exit(at))
            for row, at in zip(log.rows[low:high], log.at[low:high], strict=True)
        )
        return [each for each in lived if each[1] < each[2]]

    def next_due(self, after: Moment) -> Moment:
        return min(self._next(after, self._enter), self._next(after, self._exit))

    def _next(self, after: Moment, when: Callable[[int], Moment]) -> Moment:
        """Both ends of a lifetime grow with the instant, so the first one is found by halving."""
        place = bisect_right(self._log.at, after, key=when)
        return when(self._log.at[place]) if place < len(self._log) else NEVER

    def boundary_from(self, at: Moment) -> Moment:
        return self.next_boundary(at)

    def next_boundary(self, after: Moment) -> Moment:
        assert self._slide is not None
        return (after // self._slide + 1) * self._slide

    def is_boundary(self, at: int) -> bool:
        return self._slide is not None and at % self._slide == 0


class RowsWindow:
    """`[PARTITION BY k ROWS N SLIDE M]`: of c rows, those numbered from c' - N + 1 to c', where c'
    is the last multiple of M; without a SLIDE M is 1."""

    by_rows = True

    def __init__(
        self, log: Log, size: int, slide: int | None, places: Sequence[int], *, internal: bool
    ) -> None:
        self.slides = slide is not None
        self._log = log
        self._size = size
        self._every = slide or 1
        self._places = tuple(places)
        self._internal = internal
        self._members: dict[Row, list[int]] = {}
        self._marks: list[int] = []
        self._seen = 0

    def _read(self) -> None:
        """Numbers the rows that the log has got since."""
        for place in range(self._seen, len(self._log)):
            row = self._log.rows[place]
            members = self._members.setdefault(tuple(row[each] for each in self._places), [])
            members.append(place)
            if len(members) % self._every == 0:
                self._marks.append(self._log.at[place])
        self._seen = len(self._log)

    def visible(self, now: Moment) -> list[Lived]:
        self._read()
        many = self._log.until(now)
        return [
            each
            for members in self._members.values()
            for each in self._of(members[: bisect_left(members, many)])
            if each[1] < each[2]
        ]

    def _of(self, members: list[int]) -> Iterator[Lived]:
        last = len(members) - len(members) % self._every
        first = 0 if self._internal else max(0, last - self._size)
        for number in range(first + 1, last + 1):
            row = self._log.rows[members[number - 1]]
            yield row, self._mark(members, number), self._mark(members, number + self._size)

    def _mark(self, members: list[int], number: int) -> Moment:
        """The instant of the first M-th row from the row of that number on."""
        place = -(-number // self._every) * self._every
        return self._log.at[members[place - 1]] if place <= len(members) else NEVER

    def next_due(self, after: Moment) -> Moment:
        self._read()
        place = bisect_right(self._marks, after)
        return self._marks[place] if place < len(self._marks) else NEVER

    def next_boundary(self, after: Moment) -> Moment:
        return self.next_due(after)

    def boundary_from(self, at: Moment) -> Moment:
        return self.next_due(at - 1)

    def is_boundary(self, at: int) -> bool:
        return self.next_due(at - 1) == at


class Hopping:
    """TUMBLE and HOP: each row once for every window `[k S, k S + T)` that holds its instant."""

    def __init__(self, log: Log, function: WindowFunction) -> None:
        self._log = log
        self._size = function.size
        self._slide = function.size if function.assigned is Assigned.TUMBLE else function.slide
        self._close = function.close

    def _starts(self, at: int) -> range:
        first = (at - self._size) // self._slide + 1
        return range(first * self._slide, at + 1, self._slide)

    def visible(self, now: Moment) -> list[Lived]:
        found: list[Lived] = []
        for place in range(self._log.until(now)):
            at = self._log.at[place]
            for start in self._starts(at):
                end = start + self._size
                if end <= now or not self._close:
                    row = (*self._log.rows[place], start, end)
                    found.append((row, end if self._close else at, NEVER))
        return found

    def next_due(self, after: Moment) -> Moment:
        if not self._close:
            return self._log.next_due(after)
        best = NEVER
        for place in range(bisect_right(self._log.at, after - self._size), len(self._log)):
            at = self._log.at[place]
            if at >= best:
                break
            ends = (start + self._size for start in self._starts(at))
            best = min([best, *(end for end in ends if end > after)])
        return best


class Sessions:
    """SESSION: per partition, rows less than a gap apart; `[first, last + gap)`.

    Rows come in the order of their instants, so that a session only ever grows at its end, and
    one that has ended stays as it is.
    """

    def __init__(self, log: Log, function: WindowFunction, places: Sequence[int]) -> None:
        self._log = log
        self._gap = function.size
        self._close = function.close
        self._places = tuple(places)
        self._ends: tuple[int, list[int]] = (0, [])

    def _so_far(self, many: int) -> list[list[int]]:
        """The sessions of the first rows, as places in the log."""
        found: list[list[int]] = []
        latest: dict[Row, list[int]] = {}
        for place in range(many):
            row, at = self._log.rows[place], self._log.at[place]
            key = tuple(row[each] for each in self._places)
            current = latest.get(key)
            if current is None or at - self._log.at[current[-1]] >= self._gap:
                current = latest[key] = []
                found.append(current)
            current.append(place)
        return found

    def visible(self, now: Moment) -> list[Lived]:
        found: list[Lived] = []
        for session in self._so_far(self._log.until(now)):
            start, last = self._log.at[session[0]], self._log.at[session[-1]]
            end = last + self._gap
            if end <= now or not self._close:
                enter = end if self._close else last
                rows = ((*self._log.rows[place], start, end) for place in session)
                found += [(row, enter, NEVER) for row in rows]
        return found

    def next_due(self, after: Moment) -> Moment:
        if not self._close:
            return self._log.next_due(after)
        if self._ends[0] != len(self._log):
            sessions = self._so_far(len(self._log))
            ends = sorted(self._log.at[session[-1]] + self._gap for session in sessions)
            self._ends = len(self._log), ends
        place = bisect_right(self._ends[1], after)
        return self._ends[1][place] if place < len(self._ends[1]) else NEVER


def window_on(log: Log, spec: WindowSpec, fields: Sequence[Field], *, external: bool) -> Windowed:
    """The window that a specification puts on a log; with `external`, INTERNAL is not looked at."""
    internal = spec.internal and not external
    if spec.extent is Extent.ROWS:
        assert spec.size is not None
        places = places_of(spec.partition, fields)
        return RowsWindow(log, spec.size, spec.slide, places, internal=internal)
    if spec.size is None and spec.slide is None:
        return Everything(log)
    return RangeWindow(log, spec.size, spec.slide, internal=internal)


def assigned_on(log: Log, function: WindowFunction, fields: Sequence[Field]) -> Windowed:
    """The windows that TUMBLE, HOP or SESSION assigns to the rows of a log."""
    if function.assigned is Assigned.SESSION:
        return Sessions(log, function, places_of(function.partition, fields))
    return Hopping(log, function)


def places_of(names: Sequence[str], fields: Sequence[Field]) -> list[int]:
    """Where columns stand in a row."""
    there = [each.name for each in fields]
    return [there.index(name) for name in names]
