"""Streams and their columns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from millpond.diagnostic import Span
from millpond.schema.types import ANYTHING, IntegerType, Interval


@dataclass(frozen=True)
class Column:
    """A column of a stream.

    `check` is what CHECK says of a value that is not NULL; `domain` adds what the type says when
    the type is a domain.
    """

    name: str
    type: IntegerType
    nullable: bool = True
    check: Interval = ANYTHING
    span: Span | None = None

    @cached_property
    def domain(self) -> Interval:
        return self.check.meet(self.type.range) if self.type.is_domain else self.check

    @cached_property
    def values(self) -> Interval:
        """Every value that a row can have here, types included."""
        return self.check.meet(self.type.range)

    @cached_property
    def ends(self) -> tuple[int, int]:
        """The least and the greatest of them."""
        low, high = self.values.low, self.values.high
        assert low is not None
        assert high is not None
        return low, high


@dataclass(frozen=True)
class Stream:
    """An append-only bag of rows, in order of arrival."""

    name: str
    columns: tuple[Column, ...]
    span: Span | None = None

    def column(self, name: str) -> Column | None:
        """The column of that name; upper and lower case are the same."""
        folded = name.lower()
        return next((each for each in self.columns if each.name.lower() == folded), None)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(each.name for each in self.columns)
