"""The clock of contract.md for one query, as a test understands it: nothing of millpond is used.

What a tagged file says is cut into logs of raw rows, each with its instant and its arrival number;
which rows are late, when table events take effect and how far the end of input closes are decided
here.  Times are integers in the unit of the case, or, without time, the count over the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.strategies.inputs import Event, Relation, Time

FIRST = -(2**62)
"""When the first contents of a table came in."""


@dataclass(frozen=True)
class Row:
    """A raw row of a stream, or an event of a table (`weight` -1 deletes)."""

    values: dict[str, Any]
    at: int
    arrival: int
    weight: int = 1


@dataclass
class Logs:
    """What a query reads of a file."""

    rows: dict[str, list[Row]] = field(default_factory=dict)
    late: int = 0
    end: int = FIRST
    """The last instant that is closed."""
    ticks: list[int] = field(default_factory=list)

    def instants(self, names: frozenset[str]) -> set[int]:
        """When rows or table events of some of the logs are."""
        return {
            each.at for name in names for each in self.rows[name] if FIRST < each.at <= self.end
        }

    def first_row(self, streams: frozenset[str]) -> int | None:
        """The instant of the first row of some streams."""
        found = [each.at for name in streams for each in self.rows[name] if each.at <= self.end]
        return min(found, default=None)


def read_logs(
    events: Sequence[Event], relations: Sequence[Relation], names: frozenset[str], time: Time
) -> Logs:
    """The logs of the named streams and tables, with the clock that these streams have."""
    declared = {each.name: each for each in relations}
    reader = _Timed if time.timed else _Untimed
    return reader(declared, names, time).read(events)


class _Reader:
    def __init__(self, declared: dict[str, Relation], names: frozenset[str], time: Time) -> None:
        self._declared = declared
        self._names = names
        self._time = time
        self._logs = Logs({each: [] for each in names})
        self._started = False

    def read(self, events: Sequence[Event]) -> Logs:
        for number, event in enumerate(events):
            name = next((each for each in event if not each.startswith("@")), None)
            if name is None:
                self.control(event)
            elif self._declared[name].table:
                self.table_event(name, event, number)
            else:
                self._started = True
                self.row(name, event[name], number)
        return self.done()

    def control(self, event: Event) -> None:
        raise NotImplementedError

    def row(self, name: str, values: dict[str, Any], number: int) -> None:
        raise NotImplementedError

    def effect(self, event: Event) -> int:
        raise NotImplementedError

    def done(self) -> Logs:
        raise NotImplementedError

    def table_event(self, name: str, event: Event, number: int) -> None:
        at = self.effect(event) if self._started else FIRST
        if name in self._names:
            weight = -1 if event.get("@op") == "delete" else 1
            self._logs.rows[name].append(Row(event[name], at, number, weight))


class _Timed(_Reader):
    def __init__(self, declared: dict[str, Relation], names: frozenset[str], time: Time) -> None:
        super().__init__(declared, names, time)
        self._delay = max(declared[each].delay for each in names)
        self._largest = FIRST
        """The largest ts read."""
        self._told = FIRST
        """The largest `@time`."""
        self._open = {each for each in names if not declared[each].table}
        """The streams that have not ended."""

    @property
    def _clock(self) -> int:
        return max(self._largest - self._delay, self._told)

    def control(self, event: Event) -> None:
        if "@time" in event:
            self._told = max(self._told, int(self._time.heard(event["@time"])))
        if event.get("@end") in self._open:
            self._open.remove(event["@end"])
            if not self._open:
                self._all_ended()

    def _all_ended(self) -> None:
        """No row can come any more, so that time is at the last of the declared ends."""
        ends = [self._declared[each].finite for each in self._names]
        self._largest = max([self._largest, *(each for each in ends if each is not None)])
        self._told = max(self._told, self._largest)

    def row(self, name: str, values: dict[str, Any], number: int) -> None:
        if name not in self._names:
            return
        ts = int(self._time.heard(values["ts"]))
        if ts < self._clock:
            self._logs.late += 1
            return
        self._logs.rows[name].append(Row({**values, "ts": ts}, ts, number))
        self._largest = max(self._largest, ts)

    def effect(self, event: Event) -> int:
        if "@at" in event:
            return int(self._time.heard(event["@at"]))
        return max(self._largest, self._told)

    def done(self) -> Logs:
        self._logs.end = max(self._largest, self._told - 1)
        return self._logs


class _Untimed(_Reader):
    _count = 0

    def control(self, event: Event) -> None:
        if "@tick" in event:
            self._count += 1
            self._logs.ticks.append(self._count)

    def row(self, name: str, values: dict[str, Any], number: int) -> None:
        self._count += 1
        if name in self._names:
            self._logs.rows[name].append(Row(values, self._count, number))

    def effect(self, event: Event) -> int:
        self._count += 1
        return self._count

    def done(self) -> Logs:
        self._logs.end = self._count
        return self._logs
