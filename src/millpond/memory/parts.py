"""What is kept of the inputs of a query, as data: the shape of its synopsis."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from millpond.memory.lto import Closure, Join
from millpond.memory.spj import Attribute, SpjQuery
from millpond.order import Values
from millpond.schema import Interval


class Side(Enum):
    """What a function of a row is compared with."""

    EXACT = "exact"
    """The value itself matters."""
    LOW = "low"
    """The greatest of its terms has to be at most something: smaller is better."""
    HIGH = "high"
    """The least of its terms has to be at least something: greater is better."""


@dataclass(frozen=True)
class Function:
    """`x`, `max(x1 + o1, ...)` or `min(x1 + o1, ...)` of a row, clamped to an interval."""

    side: Side
    terms: tuple[tuple[Attribute, int], ...]
    clamp: Interval
    null_slot: bool = False
    told: int | None = None
    """How many values have to be told apart where they are not the integers of `clamp`."""
    anywhere: bool = False
    """Whether infinitely many have to be, in an interval or not."""
    gaps: tuple[tuple[Values, int], ...] = ()
    """The values between which it is told where it lies, each so much greater."""

    @property
    def finite(self) -> bool:
        return self.clamp.size is not None and not self.anywhere

    @property
    def size(self) -> int:
        """How many values it takes, NULL among them."""
        size = self.clamp.size
        if size is None or self.anywhere:
            raise ValueError(f"{self} has no bound")
        return (size if self.told is None else self.told) + self.null_slot

    @property
    def name(self) -> str:
        names = [
            each.column + (f" {'+' if offset > 0 else '-'} {abs(offset)}" if offset else "")
            for each, offset in self.terms
        ]
        if len(names) == 1:
            return names[0]
        return f"{'max' if self.side is Side.LOW else 'min'}({', '.join(names)})"


@dataclass(frozen=True)
class Part:
    """Rows of one input that share a form of synopsis."""

    predicate: Closure
    """P+ with the filters of this part."""
    keys: tuple[Function, ...]
    bests: tuple[Function, ...]
    """The functions whose best value is kept per bucket, each on its own."""
    buckets: int
    """How many buckets a row can fall into."""


@dataclass(frozen=True)
class StreamShape:
    """What is kept of one input."""

    alias: str
    stream: str
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Combination:
    """A part of each input, and what rows of them have to satisfy together."""

    parts: tuple[int, ...]
    best: tuple[int | None, ...]
    """For each input, which of its part's best values speaks for its rows here."""
    active: tuple[tuple[Function, ...], ...]
    """For each input, the functions that its rows are compared by here."""
    joins: tuple[Join, ...]
    equalities: tuple[Join, ...]


@dataclass(frozen=True)
class Shape:
    """What is kept of a bounded query: the synopses of its inputs, and the rows already given."""

    query: SpjQuery
    streams: tuple[StreamShape, ...]
    combinations: tuple[Combination, ...]
    emitted: tuple[Function, ...] | None
    emitted_rows: int


class ShapeNotFoundError(Exception):
    """A bounded query for which no synopsis was found: a bug of ours."""
