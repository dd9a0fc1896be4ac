"""Accumulators: numbers that a bucket or a group keeps of columns of its rows.

Each has an array of the store for its number and, unless it counts, one that says whether there was
a value at all: a sum of no values is NULL.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from millpond.plan.folds import Fold
from millpond.program.expression import Compare, Condition, NotNull, Number, fields


@dataclass(frozen=True)
class Accumulator:
    """How a number changes with a row."""

    name: str
    fold: Fold
    value: Number | None
    """What it is of; None counts rows."""
    guard: tuple[NotNull | Compare, ...] = ()
    """The rows that it looks at: where the value is no NULL, and what FILTER asks."""
    text: bool = False
    """Whether it is the best of texts, which are no integers."""
    folded: bool = False
    """Whether the value is such a number of several rows already."""

    @property
    def expressions(self) -> Iterator[Condition | Number]:
        """What it looks at of a row."""
        yield from self.guard
        if self.value is not None:
            yield self.value

    @property
    def reads(self) -> Iterator[str]:
        """The columns that it looks at."""
        for each in self.expressions:
            yield from fields(each)

    @property
    def counts(self) -> bool:
        """Whether it is 0 of no values, and never NULL."""
        return self.fold is Fold.COUNT

    @property
    def arrays(self) -> tuple[str, ...]:
        """The names of its columns in the state."""
        return (self.name,) if self.counts else (self.name, f"{self.name} is there")


def arrays(held: tuple[Accumulator, ...]) -> tuple[str, ...]:
    """The columns of several: where each starts is what `places` says."""
    return tuple(name for each in held for name in each.arrays)


def places(held: tuple[Accumulator, ...]) -> list[int]:
    """Where the array of each accumulator's number stands among those of the store."""
    found, place = [], 0
    for each in held:
        found.append(place)
        place += len(each.arrays)
    return found
