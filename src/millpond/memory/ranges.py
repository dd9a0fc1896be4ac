"""What a range is put on, and from where to where.

A range starts or ends where the query already says so, with constants that the query compares the
column with if it has some; else it allows so many values.  Where a range is no bound (text, DOUBLE)
there is a list, for the user to fill in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction

from millpond.memory.attribute import Attribute, attribute
from millpond.memory.condition import Number, Range
from millpond.memory.scale import declared
from millpond.memory.spj import SpjQuery
from millpond.plan import columns_of
from millpond.schema import Column, Interval, Kind

WIDTH = 1000
"""How many values a range of ours allows where the query has no end of its own."""
WIDTHS = (WIDTH, 100, 10, 2)
"""Narrower ones, where a bound would be impractical."""

Place = tuple[int, str]
"""A column of an input: where in the file the input's stream is named, and the column's name."""


@dataclass(frozen=True)
class Open:
    """A column without a bound, as all parts of a query have it."""

    place: Place
    stream: str
    column: Column
    low: int | None
    high: int | None
    constants: tuple[int, ...]
    """What the query compares it with, negative ones left out: a sign is a word more."""
    examples: tuple[Number, ...] = ()
    """Values that it may have, for a list."""

    def limits(self, width: int) -> str:
        """What has to hold of the column."""
        if self.listed:
            return f"IN ({', '.join(map(self._shown, self.examples))})"
        if self.low is not None:
            return f"<= {self._shown(self._top(self.low, width))}"
        if self.high is not None:
            return f">= {self._shown(self._bottom(self.high, width))}"
        low, high = 0, width - 1
        if width == WIDTH and len(self.constants) > 1:
            low, high = self.constants[0], self.constants[-1]
        return f"BETWEEN {self._shown(low)} AND {self._shown(high)}"

    def halves(self, width: int) -> tuple[str, ...]:
        """The two ends of a range by themselves: a comparison may give the other one."""
        if self.listed or self.low is not None or self.high is not None:
            return ()
        return f">= {self._shown(0)}", f"<= {self._shown(width - 1)}"

    @property
    def listed(self) -> bool:
        """Whether a range is no bound of such a column, or no practical one."""
        return self.column.type.kind in _EXAMPLES

    def _top(self, low: int, width: int) -> int:
        above = [each for each in self.constants if each > low]
        return above[0] if above and width == WIDTH else low + width - 1

    def _bottom(self, high: int, width: int) -> int:
        below = [each for each in self.constants if each < high]
        if below and width == WIDTH:
            return below[-1]
        return max(0, high - width + 1) if high >= 0 else high - width + 1

    def _shown(self, value: int | Number) -> str:
        if isinstance(value, str):
            return "'" + value.replace("'", "''") + "'"
        match self.column.type.kind:
            case Kind.DATE:
                return f"DATE '{_EPOCH.date() + timedelta(days=int(value))}'"
            case Kind.TIMESTAMP:
                return f"TIMESTAMP '{_EPOCH + timedelta(microseconds=int(value))}'"
            case Kind.DOUBLE:
                return str(float(value))
        return str(value)


_EPOCH = datetime(1970, 1, 1)
_DAY = 86_400_000_000
_EXAMPLES: Mapping[Kind, tuple[Number, ...]] = {
    Kind.VARCHAR: ("a", "b"),
    Kind.DOUBLE: (Fraction(0), Fraction(1)),
    Kind.TIMESTAMP: (Fraction(10_957 * _DAY),),
}
"""Values of columns on which a range is no bound, or no practical one."""


def open_columns(parts: Iterable[SpjQuery]) -> list[Open]:
    """The columns that some part of a query leaves without a bound, in the order of the parts."""
    found: dict[Place, list[tuple[SpjQuery, Attribute]]] = {}
    unbounded: dict[Place, None] = {}
    for part in parts:
        if not part.satisfiable:
            continue
        known = set(part.relevant)
        for each in part.relevant:
            for base in bases(each):
                place = place_of(part, base)
                if place is None:
                    continue
                if base in known:
                    found.setdefault(place, []).append((part, base))
                if not part.predicate.bounded(each):
                    unbounded.setdefault(place)
                    found.setdefault(place, [])
    columns = (_column(found[place], place) for place in unbounded)
    return [column for column in columns if column is not None]


def place_of(part: SpjQuery, each: Attribute) -> Place | None:
    """Where the column stands; None of an input whose place is not known."""
    span = dict(part.places).get(each.alias)
    return None if span is None else (span.start, each.column)


def bases(each: Attribute) -> Sequence[Attribute]:
    """The columns that an attribute is computed from."""
    if each.derived is None:
        return (each,)
    return [attribute(ref) for ref in columns_of(each.derived)]


def _column(uses: Sequence[tuple[SpjQuery, Attribute]], place: Place) -> Open | None:
    if not uses:
        return None
    first, named = uses[0]
    column = first.columns[named]
    ends = [_ends(part, each) for part, each in uses]
    lows, highs = [each.low for each in ends], [each.high for each in ends]
    low = min((each for each in lows if each is not None), default=None)
    high = max((each for each in highs if each is not None), default=None)
    constants = {c for part, each in uses for c in _constants(part, each)}
    return Open(
        place,
        dict(first.streams)[named.alias].name,
        column,
        None if None in lows else low,
        None if None in highs else high,
        tuple(sorted(each for each in constants if each >= 0)),
        _examples(column, uses),
    )


def _examples(column: Column, uses: Sequence[tuple[SpjQuery, Attribute]]) -> tuple[Number, ...]:
    """Values that the declaration lets pass, and all parts of the query, or some: ours, or some
    beside the ends that are there."""
    ours = _EXAMPLES.get(column.type.kind, ())
    own = declared(column)
    said = [part.limits[each].ranges for part, each in uses if each in part.limits]
    ends = [end for ranges in (*said, own) for one in ranges for end in (one.low, one.high)]
    beside = [value for end in ends if end is not None for value in _beside(end)]
    pool = [value for value in dict.fromkeys((*ours, *beside)) if _passes(value, own)]
    everywhere = [value for value in pool if all(_passes(value, each) for each in said)]
    somewhere = [value for value in pool if any(_passes(value, each) for each in said)]
    return tuple((everywhere or somewhere or ours)[: len(ours)])


def _passes(value: Number, ranges: Iterable[Range]) -> bool:
    return any(not each.meet(Range(value, value)).empty for each in ranges)


def _beside(end: Number) -> Iterator[Number]:
    yield end
    if isinstance(end, str):
        yield from (f"{end}a", f"{end}b")
    else:
        yield from (end + 1, end - 1, end + Fraction(1, 2), end - Fraction(1, 2))


def _ends(part: SpjQuery, each: Attribute) -> Interval:
    """What a part says of a column, as whole numbers."""
    if part.columns[each].type.kind not in (Kind.INTEGER, Kind.DATE):
        return Interval()
    interval, unit = part.predicate.interval(each), part.scale.unit
    low = None if interval.low is None else -(-interval.low // unit)
    return Interval(low, None if interval.high is None else interval.high // unit)


def _constants(part: SpjQuery, each: Attribute) -> Iterator[int]:
    """The constants of columns of its kind that it is compared with, directly or not."""
    kind = part.columns[each].type.kind
    for other in _compared_with(part, each):
        limit = part.limits.get(other)
        if limit is None or part.columns[other].type.kind is not kind:
            continue
        for one in limit.ranges:
            for end in (one.low, one.high):
                if isinstance(end, Fraction) and end.denominator == 1:
                    yield int(end)


def _compared_with(part: SpjQuery, each: Attribute) -> set[Attribute]:
    near: Mapping[Attribute, set[Attribute]] = {x: set() for x in part.columns}
    for pair in part.pairs:
        near[pair.left].add(pair.right)
        near[pair.right].add(pair.left)
    found, left = {each}, [each]
    while left:
        more = near.get(left.pop(), set()) - found
        found |= more
        left += more
    return found
