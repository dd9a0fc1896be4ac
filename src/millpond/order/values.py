"""Which numbers an element can be: whole multiples of a step, or any number, inside some spans.

An element of the difference bounds need not range over the integers.  A DECIMAL takes multiples of
its last digit, a DOUBLE any number, an ENUM the ranks of its texts, and `a IN (1, 5)` two values.
All of it is integers here: whoever makes the bounds counts in a unit so small that between two
constants there is room for all elements that are *dense*, so that order atoms over them mean the
same as over the numbers (Arasu, section 9: what a column can be, its domain may say).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from millpond.schema import Interval


@dataclass(frozen=True)
class Values:
    """The multiples of `step` in the spans; all numbers there, if `dense`."""

    step: int = 1
    dense: bool = False
    spans: tuple[Interval, ...] = (Interval(),)

    @classmethod
    def points(cls, values: Iterable[int], step: int = 1, *, dense: bool = False) -> Values:
        """Nothing but the given numbers."""
        return cls(step, dense, tuple(Interval(each, each) for each in sorted(set(values))))

    @property
    def anything(self) -> bool:
        """Whether nothing but the step limits them."""
        return self.spans == (Interval(),)

    @cached_property
    def hull(self) -> Interval:
        """From the least to the greatest; an empty interval if there is none."""
        if not self.spans:
            return Interval(1, 0)
        return Interval(self.spans[0].low, self.spans[-1].high)

    def floor(self, limit: int) -> int | None:
        """The greatest value up to `limit`; None if there is none.  Values have no least one where
        their spans have none, so that there is none only below all spans."""
        for span in reversed(self.spans):
            high = limit if span.high is None else min(span.high, limit)
            if span.low is None or span.low <= high:
                found = high if self.dense else high - high % self.step
                if span.low is None or span.low <= found:
                    return found
        return None

    def ceiling(self, limit: int) -> int | None:
        """The least value from `limit` on; None if there is none."""
        for span in self.spans:
            low = limit if span.low is None else max(span.low, limit)
            if span.high is None or low <= span.high:
                found = low if self.dense else low + -low % self.step
                if span.high is None or found <= span.high:
                    return found
        return None

    def within(self, interval: Interval) -> Values:
        """Those in an interval."""
        met = (each.meet(interval) for each in self.spans)
        return Values(self.step, self.dense, tuple(each for each in met if not each.empty))

    def moved(self, shift: int) -> Values:
        """The same, each greater by so much."""
        return Values(
            self.step,
            self.dense,
            tuple(
                Interval(
                    None if each.low is None else each.low + shift,
                    None if each.high is None else each.high + shift,
                )
                for each in self.spans
            ),
        )

    def meet(self, other: Values) -> Values:
        """Those that both have; the step is this one's."""
        found = []
        mine, theirs = list(self.spans), list(other.spans)
        at, there = 0, 0
        while at < len(mine) and there < len(theirs):
            met = mine[at].meet(theirs[there])
            if not met.empty:
                found.append(met)
            high, their_high = mine[at].high, theirs[there].high
            if their_high is None or (high is not None and high <= their_high):
                at += 1
            else:
                there += 1
        return Values(self.step, self.dense, tuple(found))

    @cached_property
    def size(self) -> int | None:
        """How many there are; None if infinitely many."""
        count = 0
        for span in self.spans:
            if span.low is None or span.high is None:
                return None
            if self.dense:
                if span.low < span.high:
                    return None
                count += 1
            else:
                count += span.high // self.step - -(-span.low // self.step) + 1
        return count


PLAIN = Values()
"""The integers."""


def normal(spans: Iterable[Interval]) -> tuple[Interval, ...]:
    """Spans in order, those that overlap made one."""
    found: list[Interval] = []
    for each in sorted(spans, key=lambda span: (span.low is not None, span.low or 0)):
        last = found[-1] if found else None
        if last is None or (
            last.high is not None and each.low is not None and last.high < each.low
        ):
            found.append(each)
        elif last.high is None or each.high is None:
            found[-1] = Interval(last.low, None)
        else:
            found[-1] = Interval(last.low, max(last.high, each.high))
    return tuple(found)
