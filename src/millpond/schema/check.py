"""What a CHECK says of a column: a range of values, a list of them, or both.

A CHECK lets NULL pass, as in SQL.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from millpond.schema.types import Value


@dataclass(frozen=True)
class Check:
    """The values from `low` to `high` (an end may be open), and if `among` is given only those."""

    low: Value = None
    high: Value = None
    low_open: bool = False
    high_open: bool = False
    among: tuple[Value, ...] | None = None

    def admits(self, value: Any) -> bool:
        """Whether a value that is not NULL passes."""
        if self.low is not None and (value < self.low or (self.low_open and value == self.low)):
            return False
        if self.high is not None and (value > self.high or (self.high_open and value == self.high)):
            return False
        return self.among is None or value in self.among

    def meet(self, other: Check) -> Check:
        """What passes both."""
        low, low_open = _tighter(self.low, self.low_open, other.low, other.low_open, least=False)
        high, high_open = _tighter(
            self.high, self.high_open, other.high, other.high_open, least=True
        )
        lists = [each for each in (self.among, other.among) if each is not None]
        among = None
        if lists:
            among = tuple(each for each in lists[0] if all(each in more for more in lists))
        return Check(low, high, low_open, high_open, among)

    @property
    def anything(self) -> bool:
        """Whether every value passes."""
        return self == ANY

    @property
    def listed(self) -> tuple[Value, ...] | None:
        """The values of the list that lie in the range; None without a list."""
        return None if self.among is None else tuple(filter(self.admits, self.among))

    def __str__(self) -> str:
        if self.among is not None:
            return ", ".join(str(each) for each in self.listed or ())
        if self.low is not None and self.low == self.high:
            return str(self.low)
        low = "" if self.low is None else ("more than " if self.low_open else "") + str(self.low)
        high = (
            "" if self.high is None else ("less than " if self.high_open else "") + str(self.high)
        )
        return f"{low}..{high}" if low or high else "any value"


ANY = Check()


def _tighter(
    one: Any, one_open: bool, other: Any, other_open: bool, *, least: bool
) -> tuple[Any, bool]:
    if one is None or other is None:
        return (other, other_open) if one is None else (one, one_open)
    if one == other:
        return one, one_open or other_open
    smaller = one < other
    return (one, one_open) if smaller is least else (other, other_open)
