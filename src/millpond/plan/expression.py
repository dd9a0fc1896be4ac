"""Typed expressions of a plan, each with the place in the text that it came from."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from millpond.diagnostic import Span
from millpond.schema import IntegerType


class Operator(StrEnum):
    """The comparisons, in SQL's spelling."""

    LT = "<"
    LE = "<="
    EQ = "="
    GE = ">="
    GT = ">"

    @property
    def flipped(self) -> Operator:
        """The same comparison with its sides exchanged."""
        return _FLIPPED[self]


_FLIPPED = {
    Operator.LT: Operator.GT,
    Operator.LE: Operator.GE,
    Operator.EQ: Operator.EQ,
    Operator.GE: Operator.LE,
    Operator.GT: Operator.LT,
}

COMPARISONS: dict[Operator, Callable[[int, int], bool]] = {
    Operator.LT: operator.lt,
    Operator.LE: operator.le,
    Operator.EQ: operator.eq,
    Operator.GE: operator.ge,
    Operator.GT: operator.gt,
}


@dataclass(frozen=True)
class ColumnRef:
    """A column of one of the query's inputs, named by the input's alias."""

    alias: str
    name: str
    type: IntegerType
    nullable: bool
    span: Span | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return f"{self.alias}.{self.name}"


@dataclass(frozen=True)
class Literal:
    """An integer constant, or NULL."""

    value: int | None
    span: Span | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return "NULL" if self.value is None else str(self.value)


@dataclass(frozen=True)
class Comparison:
    """`left op right`; not true when a side is NULL."""

    op: Operator
    left: ColumnRef | Literal
    right: ColumnRef | Literal
    span: Span | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return f"{self.left} {self.op} {self.right}"


Expression = ColumnRef | Literal | Comparison
