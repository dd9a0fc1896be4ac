"""What a random query is made of, said twice: as text of the language, and as SQL for the oracle.

The oracle's SQL is over named windows; what is in a window at an instant is for the oracle to work
out from raw rows (`tests/run/oracle_windows.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from tests.strategies.expressions import Column, Type
from tests.strategies.inputs import Event, Relation, Time


class Kind(StrEnum):
    """What decides which rows of a log are seen."""

    RANGE = "range"
    ROWS = "rows"
    UNBOUNDED = "unbounded"
    HOP = "hop"
    """TUMBLE, too: a HOP by its own length."""
    SESSION = "session"
    TABLE = "table"


@dataclass(frozen=True)
class WindowText:
    """A window in FROM: what its contents are called in SQL, and the log of raw rows below."""

    name: str
    log: str
    columns: tuple[str, ...]
    kind: Kind
    size: int = 0
    slide: int | None = None
    partition: tuple[str, ...] = ()
    internal: bool = False
    close: bool = True
    retroactive: bool = True

    @property
    def on_boundaries(self) -> bool:
        """Whether it changes at slide boundaries only."""
        return self.slide is not None and self.kind in (Kind.RANGE, Kind.ROWS, Kind.UNBOUNDED)


@dataclass(frozen=True)
class QueryText:
    """A query; `tracked` is its SQL with the instant since when a row's parts are there, last."""

    pond: str
    duck: str
    columns: tuple[tuple[str, Type], ...]
    windows: tuple[WindowText, ...]
    derived: tuple[DerivedText, ...] = ()
    change: str | None = None
    restore: bool = False
    output: WindowText | None = None
    """The window of WSTREAM."""
    results: bool = False
    """An aggregate over internal windows: what was given once stays."""
    tracked: str | None = None
    features: frozenset[str] = frozenset()
    name: str = "q1"

    @property
    def every_window(self) -> Iterator[WindowText]:
        """The windows, those of streams below too."""
        yield from self.windows
        for each in self.derived:
            yield from each.query.every_window

    @property
    def logs(self) -> frozenset[str]:
        """The declared streams and tables that it reads, at any depth."""
        made = {each.log for each in self.derived}
        below = frozenset[str]().union(*(each.query.logs for each in self.derived))
        return frozenset(each.log for each in self.windows if each.log not in made) | below

    @property
    def sliding(self) -> bool:
        """Whether every declared stream is read through a SLIDE."""
        made = {each.log for each in self.derived}
        through = all(
            each.on_boundaries
            for each in self.windows
            if each.kind is not Kind.TABLE and each.log not in made
        )
        below = [each.query.sliding for each in self.derived]
        streams = [each for each in self.every_window if each.kind is not Kind.TABLE]
        return bool(streams) and through and all(below)

    @property
    def stream_valued(self) -> bool:
        return self.change is not None


@dataclass(frozen=True)
class DerivedText:
    """A stream that a subquery gives, as a log for windows above it."""

    log: str
    query: QueryText


@dataclass
class Body:
    """A query while it is put together."""

    pond: str
    duck: str
    columns: list[tuple[str, Type]]
    windows: list[WindowText]
    derived: list[DerivedText] = field(default_factory=list)
    features: set[str] = field(default_factory=set)
    tracked: str | None = None
    plain: bool = True
    """Begins with SELECT and without DISTINCT, so that ISTREAM can stand behind it."""


@dataclass
class Item:
    """One thing in FROM."""

    pond: str
    duck: str
    alias: str
    columns: list[Column]
    windows: list[WindowText]
    derived: list[DerivedText] = field(default_factory=list)
    features: set[str] = field(default_factory=set)
    lives: bool = True
    """Whether its rows have `enter_` and `exit_` in SQL."""
    late_bound: bool = False
    """A table whose changes touch later rows only."""
    stream: str | None = None


@dataclass(frozen=True)
class Case:
    """Declarations, queries and input."""

    seed: int
    time: Time
    relations: tuple[Relation, ...]
    queries: tuple[QueryText, ...]
    events: tuple[Event, ...]

    @property
    def text(self) -> str:
        ddl = "".join(each.ddl for each in self.relations)
        if len(self.queries) == 1:
            return f"{ddl}{self.queries[0].pond};\n"
        asked = (f"CREATE QUERY {each.name} AS {each.pond};\n" for each in self.queries)
        return ddl + "".join(asked)

    @property
    def features(self) -> frozenset[str]:
        return frozenset[str]().union(*(each.features for each in self.queries))
