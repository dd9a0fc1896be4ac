"""What arrives: a row, a change of a table, a mark of time; or a line that is none of them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from millpond.diagnostic import Diagnostic
from millpond.schema import Kind, Row


class Op(StrEnum):
    """What an event does."""

    INSERT = "insert"
    DELETE = "delete"
    TICK = "tick"
    """An instant with no row, of untimed input."""
    TIME = "time"
    """Sets the clock to `at`."""
    END = "end"
    """A finite stream has ended."""
    PUNCT = "punct"
    """A promise about later rows; readers keep it to themselves."""


class Event(NamedTuple):
    """A row of a stream or a table, or, with no row, what else steers a run.

    `at` is the time that a table's event asks for, that a TIME event sets, or at which a stream
    ends.  `kind` is given for a TIME event that is about the clocks of that kind of time only.
    """

    stream: str | None
    row: Row
    line: int
    op: Op = Op.INSERT
    at: int | None = None
    kind: Kind | None = None


@dataclass(frozen=True)
class Reject:
    """A line that is no event, and why."""

    line: int
    text: str
    diagnostic: Diagnostic
    source: str | None = None
    """The stream that it would have been a row of, where it came from a source of that stream."""
