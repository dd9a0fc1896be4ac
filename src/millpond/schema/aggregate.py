"""Aggregate functions that a file declares: their types, and what is promised of their code.

The classes are Gray's as Arasu has them (section 8.2).  Nothing here runs the code: a verdict goes
by what is declared.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from millpond.diagnostic import Span
from millpond.schema.types import Type


class AggregateClass(StrEnum):
    """What has to be kept of the values of a group."""

    DISTRIBUTIVE = "distributive"
    """What the function gives of them: the results of parts make that of the whole."""
    ALGEBRAIC = "algebraic"
    """A state of so many units."""
    HOLISTIC = "holistic"
    """All of them; no state of a fixed size does."""


@dataclass(frozen=True)
class UserAggregate:
    """A user's aggregate function of one column, by `init`, `step`, `merge` and `final`."""

    name: str
    argument: str
    takes: Type
    returns: Type
    code: str
    """Where its code is: `package.module:Name`."""
    kind: AggregateClass
    sensitive: bool
    """Whether it depends on how often a value comes."""
    units: int | None
    """How many values a state is at most; None for a holistic one."""
    span: Span | None = field(default=None, compare=False)
    code_span: Span | None = field(default=None, compare=False)
