"""Random declarations and random tagged input for them.

Times are small integers, counted from an `origin` in units of the case: for an integer time column
the unit is 1, for a TIMESTAMP a microsecond, a second or a minute.  Input is in disorder inside the
declared delay, with some rows later than that, heartbeats and table events between the rows, or
ticks where nothing has a time.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Any

from tests.strategies.expressions import VALUES, Type

Event = dict[str, Any]


class Clock(StrEnum):
    """How the streams of a case know time."""

    INTEGER = "integer"
    TIMESTAMP = "timestamp"
    NONE = "none"


@dataclass(frozen=True)
class Time:
    """The time of a case: its unit in microseconds (for TIMESTAMP), and where its input begins."""

    clock: Clock
    unit: int = 1
    word: str = ""
    """The unit as SQL writes it behind a number; nothing for integers."""
    origin: int = 0

    @property
    def timed(self) -> bool:
        return self.clock is not Clock.NONE

    def length(self, count: int) -> str:
        """A length of time as text."""
        return f"{count} {self.word}".rstrip()

    def said(self, at: int) -> int | str:
        """A time as JSON has it."""
        if self.clock is not Clock.TIMESTAMP:
            return at
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at * self.unit)
        return moment.isoformat().replace("+00:00", "Z")

    def heard(self, text: int | str) -> int | Decimal:
        """What `said` says, back; a part of a unit stays one."""
        if isinstance(text, int):
            return text
        passed = datetime.fromisoformat(text) - datetime(1970, 1, 1, tzinfo=UTC)
        micros = (passed.days * 86400 + passed.seconds) * 1_000_000 + passed.microseconds
        whole, part = divmod(micros, self.unit)
        return whole if part == 0 else Decimal(micros) / self.unit


@dataclass(frozen=True)
class Declared:
    """A column of a stream or a table."""

    name: str
    type: Type
    sql: str
    nullable: bool = True
    values: tuple[str, ...] = ()
    """What rows may have here, as SQL writes it; empty for time."""


@dataclass(frozen=True)
class Relation:
    """A declared stream or table."""

    name: str
    columns: tuple[Declared, ...]
    table: bool = False
    retroactive: bool = True
    delay: int = 0
    finite: int | None = None
    """The last timestamp, of a finite stream."""
    time: Time = Time(Clock.NONE)

    @property
    def ddl(self) -> str:
        inner = [each.sql for each in self.columns]
        if self.table:
            tail = "" if self.retroactive else " WITH (retroactive = false)"
            return f"CREATE TABLE {self.name} ({', '.join(inner)}){tail};\n"
        tail = ""
        if self.finite is not None:
            until = self.time.said(self.finite)
            tail = f" WITH (time = 'ts', until = {until!r})"
        elif self.time.timed and self.delay:
            length = self.time.length(self.delay)
            if self.time.word:
                length = f"INTERVAL '{self.delay}' {self.time.word}"
            inner.append(f"WATERMARK FOR ts AS ts - {length}")
        elif self.time.timed:
            tail = random.Random(self.name).choice([" TIMESTAMP BY ts", " WITH (time = 'ts')"])
        kind = "FINITE STREAM" if self.finite is not None else "STREAM"
        return f"CREATE {kind} {self.name} ({', '.join(inner)}){tail};\n"


_NAMES = {"s": "abc", "t": "def", "r": "kl", "n": "mo"}
_TYPES = {
    Type.INT: ("INT", "BIGINT", "SMALLINT", "TINYINT"),
    Type.TEXT: ("VARCHAR", "VARCHAR(8)", "TEXT"),
    Type.BOOL: ("BOOLEAN",),
    Type.DOUBLE: ("DOUBLE", "REAL"),
    Type.DECIMAL: ("DECIMAL(9, 2)",),
}


def random_time(rng: random.Random) -> Time:
    """How a case knows time."""
    roll = rng.random()
    if roll < 0.3:
        return Time(Clock.NONE)
    if roll < 0.75:
        return Time(Clock.INTEGER, origin=rng.choice([0, 1, -9, 100, 10**12]))
    word, unit = rng.choice([("MICROSECOND", 1), ("SECOND", 10**6), ("MINUTE", 60 * 10**6)])
    begin = 1_577_836_800 * 10**6 + rng.randint(0, 50) * unit
    return Time(Clock.TIMESTAMP, unit, word, begin // unit)


def random_relations(rng: random.Random, time: Time) -> tuple[Relation, ...]:
    """One or two streams, at times a table."""
    finite = rng.random() < 0.15
    delay = rng.choice([0, 0, 1, 2, 4]) if time.timed else 0
    found = []
    for name in "st" if rng.random() < 0.75 else "s":
        own = delay if rng.random() < 0.7 else 0
        until = time.origin + 200 if time.timed and finite and name == "t" else None
        columns = _columns(rng, name, time)
        found.append(Relation(name, columns, delay=0 if until else own, finite=until, time=time))
    for name, share in (("r", 0.35), ("n", 0.2)):
        if rng.random() < share:
            columns = _columns(rng, name, Time(Clock.NONE))
            found.append(Relation(name, columns, table=True, retroactive=name == "r"))
    return tuple(found)


def _columns(rng: random.Random, relation: str, time: Time) -> tuple[Declared, ...]:
    found = []
    for place, name in enumerate(_NAMES[relation]):
        others = [Type.TEXT, Type.BOOL, Type.DOUBLE, Type.DECIMAL, Type.INT, Type.INT]
        found.append(_column(rng, name, Type.INT if place == 0 else rng.choice(others)))
    if time.timed:
        type_ = "TIMESTAMP" if time.clock is Clock.TIMESTAMP else "BIGINT"
        place = rng.choice([len(found), len(found), 0])
        found.insert(place, Declared("ts", Type.TIME, f"ts {type_}", nullable=False))
    return tuple(found)


def _column(rng: random.Random, name: str, type_: Type) -> Declared:
    words = [name, rng.choice(_TYPES[type_])]
    values = VALUES[type_]
    nullable = rng.random() < 0.8
    if type_ is Type.INT and rng.random() < 0.4:
        words.append(f"CHECK ({name} BETWEEN -1 AND 2)")
        values = ("-1", "0", "1", "2")
    elif type_ is Type.TEXT and rng.random() < 0.3:
        words = [name, rng.choice(["VARCHAR CHECK (" + name + " IN ('x', 'y'))", "ENUM('x', 'y')"])]
        values = ("'x'", "'y'")
    elif type_ is Type.INT and rng.random() < 0.6:
        values = ("0", "1", "2")
    if not nullable:
        words.append("NOT NULL")
    return Declared(name, type_, " ".join(words), nullable, values)


def as_json(type_: Type, text: str) -> Any:
    """A constant of SQL as a JSON value."""
    match type_:
        case Type.TEXT | Type.DECIMAL:
            return text.strip("'")
        case Type.DOUBLE:
            return float(text)
        case _:
            return json.loads(text.lower())


class RandomInput:
    """Writes the events of one case, keeping what it has to know of those before."""

    def __init__(self, rng: random.Random, time: Time, relations: Sequence[Relation]) -> None:
        self._rng = rng
        self._time = time
        self._streams = [each for each in relations if not each.table]
        self._tables = [each for each in relations if each.table]
        self._held: Counter[tuple[str, str]] = Counter()
        self._now = time.origin
        self._own = time.timed and rng.random() < 0.4
        """Whether table events say their own time."""
        self._at = time.origin
        self._found: list[Event] = []
        self._late = 0.08 if rng.random() < 0.3 else 0.0
        self._beats = 0.1 if rng.random() < 0.3 else 0.0
        self._ticks = 0.1 if rng.random() < 0.5 else 0.0
        self._steps = rng.choice([(0, 1), (0, 1, 1, 2), (0, 0, 0, 1, 3), (1, 2), (0, 4)])

    def events(self, size: int) -> list[Event]:
        """First contents of tables, then `size` events, then a row that closes what waits."""
        for table in self._tables:
            for _ in range(self._rng.randint(0, 3)):
                self._insert(table, first=True)
        for _ in range(size):
            self._event()
        if self._tables or self._rng.random() < 0.3:
            self._now = max(self._now, self._at) + self._rng.randint(0, 2)
            for stream in self._streams:
                self._row(stream, self._now)
        if self._time.timed and self._beats and not self._tables:
            self._beat()
        for stream in self._streams:
            if stream.finite is not None and self._rng.random() < 0.5:
                self._found.append({"@end": stream.name})
        return self._found

    def _event(self) -> None:
        roll = self._rng.random()
        started = any(each.name in event for each in self._streams for event in self._found)
        if self._tables and started and roll < 0.2:
            self._table_event(self._rng.choice(self._tables))
        elif not self._time.timed and roll > 1 - self._ticks:
            self._found.append({"@tick": 1})
        elif self._time.timed and started and roll > 1 - self._beats:
            self._beat()
        else:
            self._stream_row(self._rng.choice(self._streams))

    def _beat(self) -> None:
        self._now += self._rng.randint(0, 3)
        self._found.append({"@time": self._time.said(self._now)})

    def _stream_row(self, stream: Relation) -> None:
        if not self._time.timed:
            self._row(stream, 0)
            return
        self._now += self._rng.choice(self._steps)
        behind = self._rng.randint(0, stream.delay)
        if self._rng.random() < self._late:
            behind = stream.delay + self._rng.randint(1, 3)
        self._row(stream, self._now - behind)

    def _row(self, stream: Relation, ts: int) -> None:
        self._found.append({stream.name: self._values(stream, ts)})

    def _values(self, relation: Relation, ts: int) -> Event:
        rng = self._rng
        row: Event = {}
        for each in relation.columns:
            if each.type is Type.TIME:
                row[each.name] = self._time.said(ts)
            elif each.nullable and rng.random() < 0.12:
                row[each.name] = None
            else:
                row[each.name] = as_json(each.type, rng.choice(each.values))
        if rng.random() < 0.1:
            return dict(rng.sample(list(row.items()), len(row)))
        return row

    def _table_event(self, table: Relation) -> None:
        held = sorted(row for name, row in self._held.elements() if name == table.name)
        if held and self._rng.random() < 0.5:
            row = self._rng.choice(held)
            self._held[table.name, row] -= 1
            self._found.append({table.name: json.loads(row), "@op": "delete", **self._when()})
        else:
            self._insert(table)

    def _insert(self, table: Relation, *, first: bool = False) -> None:
        row = self._values(table, 0)
        self._held[table.name, json.dumps(row, sort_keys=True)] += 1
        self._found.append({table.name: row, **({} if first else self._when())})

    def _when(self) -> Mapping[str, Any]:
        if not self._own:
            return {}
        self._at = max(self._at, self._now + self._rng.randint(0, 2))
        return {"@at": self._time.said(self._at)}
