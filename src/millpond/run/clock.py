"""The one clock: which instant an arrival belongs to.

Untimed rows are an instant each, counted over everything that is read, from 1.  No operator sees
wall time; whoever drives a run asks the clock and hands the instants on.
"""

from __future__ import annotations


class ArrivalClock:
    """Counts arrivals: rows that were accepted, and ticks."""

    def __init__(self, now: int = 0) -> None:
        self.now = now

    def arrive(self) -> int:
        """The instant of the next arrival."""
        self.now += 1
        return self.now
