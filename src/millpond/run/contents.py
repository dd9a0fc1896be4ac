"""What a query has been given so far: the rows of its streams, and what its tables held when.

A `Log` is the rows of one stream in released order, each with its instant; a `History` is the
changes of one table, each with the instant at which it took effect, first contents before all
instants.  Rows never leave: windows say which of them count (Golab, section 2.1), and a table that
is not retroactive is asked for what it held at an earlier instant (Definition 3.1).
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from millpond.schema import Row, Stream

Bag = Counter[Row]
Moment = float
"""An instant, or a time before or after all of them.  Instants stay integers of any size."""
BEFORE: Moment = -math.inf
NEVER: Moment = math.inf

Lived = tuple[Row, Moment, Moment]
"""A row with its lifetime: the instant at which it came in (BEFORE where that is not known) and
the one at which it leaves."""


class LogKept(NamedTuple):
    """The first `size` rows of a log, and their instants."""

    rows: Sequence[Row]
    at: Sequence[int]
    size: int


class HistoryKept(NamedTuple):
    """The first `size` changes of a table, and when they took effect."""

    changes: Sequence[tuple[Row, bool]]
    at: Sequence[Moment]
    size: int


class Log:
    """The rows of a stream, and their instants, which never go back."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.at: list[int] = []

    def __len__(self) -> int:
        return len(self.rows)

    def add(self, row: Row, at: int) -> None:
        self.rows.append(row)
        self.at.append(at)

    def snapshot(self) -> LogKept:
        return LogKept(self.rows, self.at, len(self.rows))

    def restore(self, kept: LogKept) -> None:
        """Takes what an empty log was given elsewhere."""
        self.rows[:] = kept.rows[: kept.size]
        self.at[:] = kept.at[: kept.size]

    def until(self, now: Moment) -> int:
        """How many rows there are up to an instant, its own included."""
        return bisect_right(self.at, now)

    def has(self, at: int) -> bool:
        """Whether a row came at this instant."""
        place = bisect_left(self.at, at)
        return place < len(self.at) and self.at[place] == at

    def next_due(self, after: Moment) -> Moment:
        """The first instant after another at which a row comes."""
        place = bisect_right(self.at, after)
        return self.at[place] if place < len(self.at) else NEVER


class History:
    """The changes of a table in the order in which they take effect."""

    def __init__(self) -> None:
        self.at: list[Moment] = []
        self._changes: list[tuple[Row, bool]] = []
        self._known: tuple[int, list[Lived]] = (0, [])

    def add(self, row: Row, *, inserts: bool, at: Moment = BEFORE) -> None:
        """One more change; those of the first contents come first and have no instant."""
        self.at.append(at)
        self._changes.append((row, inserts))

    def snapshot(self) -> HistoryKept:
        return HistoryKept(self._changes, self.at, len(self.at))

    def restore(self, kept: HistoryKept) -> None:
        """Takes what an empty history was given elsewhere."""
        self._changes[:] = kept.changes[: kept.size]
        self.at[:] = kept.at[: kept.size]

    def held(self, now: Moment) -> list[Lived]:
        """What the table holds after the changes of an instant, with the instants of insertion.

        A row that is deleted is the oldest one of that value; a deletion that takes effect before
        the insertion it is about cancels that one when it comes.
        """
        many = bisect_right(self.at, now)
        if self._known[0] != many:
            self._known = many, self._held(many)
        return self._known[1]

    def _held(self, many: int) -> list[Lived]:
        there: dict[Row, deque[Moment]] = {}
        owed: Bag = Counter()
        for (row, inserts), at in zip(self._changes[:many], self.at, strict=False):
            queue = there.setdefault(row, deque())
            if inserts and owed[row]:
                owed[row] -= 1
            elif inserts:
                queue.append(at)
            elif queue:
                queue.popleft()
            else:
                owed[row] += 1
        return [(row, at, NEVER) for row, queue in there.items() for at in queue]

    def has(self, at: int) -> bool:
        """Whether a change takes effect at this instant."""
        place = bisect_left(self.at, at)
        return place < len(self.at) and self.at[place] == at

    def next_due(self, after: Moment) -> Moment:
        """The first instant after another at which the table changes."""
        place = bisect_right(self.at, after)
        return self.at[place] if place < len(self.at) else NEVER

    def units(self) -> int:
        """Attribute values held: those of every change."""
        return sum(len(row) for row, _ in self._changes)


class Contents:
    """The logs of a query's streams and the histories of its tables; ticks are a log of instants
    without rows."""

    def __init__(self, sources: Iterable[Stream]) -> None:
        found = list(sources)
        self.logs = {each.name: Log() for each in found if each.is_stream}
        self.tables = {each.name: History() for each in found if not each.is_stream}
        self.ticks = Log()
        self._widths = {each.name: len(each.columns) for each in found}

    def units(self) -> int:
        """Attribute values held: all of the input."""
        rows = sum(len(log) * self._widths[name] for name, log in self.logs.items())
        return rows + sum(each.units() for each in self.tables.values())
