"""Types of columns and the intervals of values that they, or a CHECK, allow.

A *type* says what a value may be at all; a *domain* is what verdicts may rely on (Arasu, section
9).  TINYINT is both; INT and BIGINT are types only: a bound of 2^32 values is no bound.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Interval:
    """The integers from `low` to `high`; None is no limit on that side."""

    low: int | None = None
    high: int | None = None

    def __contains__(self, value: int) -> bool:
        return (self.low is None or self.low <= value) and (self.high is None or value <= self.high)

    @property
    def empty(self) -> bool:
        return self.low is not None and self.high is not None and self.low > self.high

    @property
    def size(self) -> int | None:
        """How many integers there are; None if infinitely many."""
        if self.low is None or self.high is None:
            return None
        return max(0, self.high - self.low + 1)

    def meet(self, other: Interval) -> Interval:
        lows = [each for each in (self.low, other.low) if each is not None]
        highs = [each for each in (self.high, other.high) if each is not None]
        return Interval(max(lows, default=None), min(highs, default=None))

    def __str__(self) -> str:
        if self.low is None and self.high is None:
            return "any value"
        if self.low == self.high:
            return str(self.low)
        low = "" if self.low is None else str(self.low)
        high = "" if self.high is None else str(self.high)
        return f"{low}..{high}"


ANYTHING = Interval()


@dataclass(frozen=True)
class IntegerType:
    """A signed integer of `bits` bits."""

    name: str
    bits: int
    is_domain: bool = False

    @property
    def range(self) -> Interval:
        return Interval(-(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1)

    def __str__(self) -> str:
        return self.name


TINYINT = IntegerType("TINYINT", 8, is_domain=True)
SMALLINT = IntegerType("SMALLINT", 16)
INT = IntegerType("INT", 32)
BIGINT = IntegerType("BIGINT", 64)
INTEGER_TYPES = {each.name: each for each in (TINYINT, SMALLINT, INT, BIGINT)}
