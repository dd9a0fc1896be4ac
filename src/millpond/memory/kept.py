"""What is kept of a query over windows, noted one by one, and the verdict that it adds up to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from millpond.memory.amount import NOTHING, Amount
from millpond.memory.verdict import (
    Bits,
    MemoryClass,
    Reason,
    SideUnits,
    StateEntry,
    Verdict,
)
from millpond.memory.window_rows import Lasting
from millpond.plan import Query


@dataclass(frozen=True)
class Many:
    """How many there are of something, and what it is."""

    amount: Amount
    noun: str
    kind: str

    def __str__(self) -> str:
        if self.amount.number is None:
            return self.amount.factor
        return f"{self.amount.number} {self.noun}" + ("" if self.amount.number == 1 else "s")


def many_rows(amount: Amount) -> Many:
    """So many rows."""
    return Many(amount, "row", "rows")


class Kept:
    """What is kept, and what has to be known for a number of it."""

    def __init__(self) -> None:
        self.state: list[StateEntry] = []
        self.total = NOTHING
        self.given: dict[str, None] = {}
        self.counts = False
        """Whether rows are counted of which there may be any number."""

    def note(self, of: str, keeps: Iterable[str], many: Many, each: int) -> None:
        """One more thing that is kept: so many, of so many units each."""
        amount = many.amount.times(Amount.of(each))
        self.total = self.total.plus(amount)
        what = ("column" if many.kind == "rows" else "unit") + ("" if each == 1 else "s")
        said = f"{of}: {many} x {each} {what}"
        self.state.append(StateEntry(of, tuple(keeps), many.kind, amount.number, said))

    def give(self, time: Lasting) -> None:
        """How long rows last is something that a number depends on."""
        if time.given is not None:
            self.given[time.given] = None

    def verdict(
        self, query: Query, holds: Reason, answer: SideUnits, buffer: SideUnits, budget: int
    ) -> Verdict:
        """What all of it comes to."""
        units = self.total
        memory = MemoryClass.WINDOW
        if units.number is not None:
            memory = MemoryClass.CONSTANT if units.number else MemoryClass.NONE
            memory = MemoryClass.IMPRACTICAL if units.number > budget else memory
        number, because = units.number, [holds]
        if memory is MemoryClass.IMPRACTICAL:
            text = f"{number} units are more than the budget of {budget}"
            because.append(Reason("budget", "MP221", text, span=query.span))
        return Verdict(
            query.name,
            memory,
            number,
            Bits.LOG if self.counts else Bits.CONSTANT,
            answer,
            buffer,
            tuple(because),
            growth=None if number is not None else " + ".join(" x ".join(x) for x in units.leading),
            given=tuple(self.given) if number is None else (),
            state=tuple(self.state),
            state_bytes=None if number is None else 8 * number,
        )
