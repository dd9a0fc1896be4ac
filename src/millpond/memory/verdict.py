"""A verdict: how much memory a query can ever need, why, and what to change when it is too much."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from millpond.diagnostic import Diagnostic, Span

if TYPE_CHECKING:
    from millpond.memory.aggregate_shape import AggregateShape
    from millpond.memory.attribute import Attribute
    from millpond.memory.elsewhere import Elsewhere
    from millpond.memory.pace import Pace
    from millpond.memory.remedy import Remedy
    from millpond.memory.shape import Shape
    from millpond.memory.spj import SpjQuery
    from millpond.memory.witness import Witness
    from millpond.schema import Stream, Value

DEFAULT_BUDGET = 10_000_000
"""Units above which a constant is called impractical."""


class MemoryClass(StrEnum):
    """How the operator state of a query grows; from best to worst, `OUTSIDE` apart."""

    NONE = "none"
    CONSTANT = "constant"
    IMPRACTICAL = "impractical"
    WINDOW = "window"
    DOMAIN = "domain"
    LINEAR = "linear"
    OUTSIDE = "outside"

    @property
    def bounded(self) -> bool | None:
        if self in (MemoryClass.OUTSIDE, MemoryClass.WINDOW):
            return None
        return self not in (MemoryClass.DOMAIN, MemoryClass.LINEAR)


class Bits(StrEnum):
    """How the digits of the stored counts grow with the input's length (Toman's measure)."""

    CONSTANT = "constant"
    LOG = "log"
    LINEAR = "linear"


@dataclass(frozen=True)
class Reason:
    """A rule that holds or fails, with the attributes that it is about."""

    rule: str
    code: str
    text: str
    attributes: tuple[str, ...] = ()
    span: Span | None = None

    @property
    def diagnostic(self) -> Diagnostic:
        return Diagnostic(self.code, self.text, self.span, notes=(f"by {self.rule}",))


@dataclass(frozen=True)
class StateEntry:
    """One synopsis: of which input, what it keeps, and at most how many units."""

    of: str
    keeps: tuple[str, ...]
    kind: str
    units: int | None
    """None where it depends on rates: the formula says how."""
    formula: str


@dataclass(frozen=True)
class SideUnits:
    """Memory that is kept apart from operator state: the materialised answer, the buffer."""

    memory: MemoryClass
    units: int | None


@dataclass(frozen=True)
class Fix:
    """An edit of the query that makes it bounded, checked again after the edit."""

    text: str
    sql: str
    memory: MemoryClass
    units: int | None
    keeps_answers: str
    """What becomes of the answers: same, subset, fewer duplicates, recent only, narrower input."""
    tokens: int = 0
    """How many words of the text it puts in or takes out."""


@dataclass(frozen=True)
class Growing:
    """A part of a query without a bound, and the columns that say so."""

    query: SpjQuery
    attributes: tuple[Attribute, ...]
    counts: bool
    """Whether its answer is made of aggregates."""
    constants: tuple[Value, ...] | None = None
    """What HAVING and the aggregates compare with; None where every group shows."""
    hidden: bool = False
    """Whether the criterion leaves it open that no group ever shows."""


@dataclass(frozen=True)
class Verdict:
    """What `millpond check` says of a query."""

    name: str
    memory: MemoryClass
    units: int | None
    bits: Bits
    answer: SideUnits
    buffer: SideUnits
    because: tuple[Reason, ...]
    growth: str | None = None
    given: tuple[str, ...] = ()
    """The rates that have to be known for a number."""
    state: tuple[StateEntry, ...] = ()
    state_bytes: int | None = None
    fixes: tuple[Fix, ...] = ()
    growing: tuple[Growing, ...] = field(default=(), compare=False, repr=False)
    """The parts of it that have no bound."""
    suspected: Verdict | None = field(default=None, compare=False, repr=False)
    """What it is if a witness is found, where the criterion does not tell."""
    witness: Witness | None = field(default=None, compare=False, repr=False)
    monotonic: bool = True
    """Whether its answer is known to grow only."""
    shapes: tuple[Shape, ...] = field(default=(), compare=False, repr=False)
    """The shapes of the synopses that its program is made of: one for each of its parts."""
    groupings: tuple[AggregateShape, ...] = field(default=(), compare=False, repr=False)
    """The same of an aggregate query."""
    waits: tuple[tuple[Stream, int], ...] = field(default=(), compare=False, repr=False)
    """Of a join by times, for how many instants rows of each input wait."""
    pace: Pace | None = field(default=None, compare=False, repr=False)
    """How fast it grows, where rates are known."""
    elsewhere: tuple[Elsewhere, ...] = field(default=(), compare=False, repr=False)
    """What other engines would keep."""
    remedy: Remedy | None = field(default=None, compare=False, repr=False)
    """What its inputs obey, as far as samples tell, that would bound it."""

    @property
    def shape(self) -> Shape | None:
        """The shape of the synopsis, where there is one part."""
        return self.shapes[0] if len(self.shapes) == 1 else None

    @property
    def runs(self) -> bool:
        """Whether there is a program that runs it inside its bound."""
        return bool(self.shapes or self.groupings)

    @property
    def bounded(self) -> bool | None:
        return self.memory.bounded

    @property
    def formula(self) -> str | None:
        if self.units is None and not self.state:
            return None
        return " + ".join(each.formula for each in self.state) or "nothing is kept"

    def __str__(self) -> str:
        if self.units is not None:
            return f"{self.name}: {self.memory}, at most {self.units} units"
        return f"{self.name}: {self.memory}" + (
            f", grows with {self.growth}" if self.growth else ""
        )
