"""What a run holds at an instant, as plain data: to go back to, or to go on from elsewhere.

Taking it costs nothing where rows only ever come behind one another: a log is kept as the log
itself and its length.  `checkpoint.py` writes it to disk.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from millpond.run.clock import ClockKept
from millpond.run.contents import Bag, HistoryKept, LogKept, Moment
from millpond.run.event import Event

if TYPE_CHECKING:
    from millpond.program import State


class AnswersKept(NamedTuple):
    """How far a plan has been asked, and what it answered last."""

    now: Moment
    asked: Moment | None
    last: Bag


class DefinitionKept(NamedTuple):
    """A query that runs by definition: its input, and its plans from the top down."""

    logs: Mapping[str, LogKept]
    tables: Mapping[str, HistoryKept]
    ticks: LogKept
    answers: Sequence[AnswersKept]
    derived: Sequence[LogKept]
    said: Bag


class FeedKept(NamedTuple):
    """The rows of a timed query that wait for their instants, and its clock."""

    waiting: Sequence[tuple[int, int, Event]]
    arrived: int
    end: Moment
    clock: ClockKept


class EntryKept(NamedTuple):
    """A query of a session."""

    run: State | DefinitionKept
    feed: FeedKept | None
    answer: Bag


class HeldKept(NamedTuple):
    """What one of several timed queries has said, until no other can say something earlier."""

    said: int
    lines: Sequence[tuple[Moment, int, int, list[Any]]]


class SessionKept(NamedTuple):
    """All of a session, query by query and kind of time by kind of time."""

    now: int
    started: bool
    late: int
    entries: Sequence[EntryKept]
    held: Mapping[str, HeldKept]
