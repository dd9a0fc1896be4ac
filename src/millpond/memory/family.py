"""Inputs that every evaluator has to tell apart: the proof that a self-join has no bound.

With a stream in two roles, a failing condition of Theorem 5.10 proves nothing by itself: rows meant
for one role may serve in the other.  So a family of matches is looked for, one for every number i,
each split into rows that are fed or not (`stored`) and rows that ask (the probe), such that

- the probe of i, after the stored rows of i, gives its row of the answer, and
- without them it does not, whichever stored rows of other numbers are there,
- nor do stored rows alone, of any numbers, give that row.

Then any two sets of numbers are told apart by a probe, so that n numbers take 2^n states.

A value of the i-th match lies in a *lane*: all values of a lane are far above those of the lanes
below, and in it they rise with i, fall with i, or stay; what is left is a small number.  Hence
whether rows match depends only on the order of their numbers.  A match takes at most as many
numbers as there are inputs: if none among that many breaks the family, none does.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from millpond.memory.arasu import Violation
from millpond.memory.core import every_column
from millpond.memory.lto import Closure
from millpond.memory.spj import Attribute, SpjQuery
from millpond.order import ZERO, Zero

Lane = tuple[int, int]
"""Its height, and whether values rise with the number (1), fall (-1) or stay (0) in it."""

_CONSTANT: Lane = (0, 0)
_LANES = sorted(
    [_CONSTANT, *((height, slope) for height in (-2, -1, 1, 2) for slope in (-1, 0, 1))]
)
_TRIALS = 400
_BESIDE = 0.6
"""How often a column lies in the lane of one that it is compared with."""
_SPREAD = 12
"""How far from each other the small numbers are drawn."""
_MOST_MATCHES = 20_000
_MOST_STEPS = 30_000
"""After so many matches in all trials the search is given up."""


@dataclass(frozen=True)
class Family:
    """A family of matches: for each column of each input its lane and its small number (None for
    NULL), and the inputs whose rows are stored."""

    query: SpjQuery
    lanes: Mapping[Attribute, Lane]
    small: Mapping[Attribute, int | None]
    stored: frozenset[str]

    @cached_property
    def varying(self) -> frozenset[Attribute]:
        """The columns whose values grow apart."""
        return frozenset(each for each, lane in self.lanes.items() if lane[1])

    def row(self, alias: str, number: int, numbers: int) -> dict[str, int | None]:
        """The row of an input in one of so many matches, as far as its columns matter."""
        gap = 1 + 2 * max(
            (abs(each) for each in self.small.values() if each is not None), default=0
        )
        gap += max((abs(c) for _, _, c in self.query.predicate.atoms()), default=0)
        found: dict[str, int | None] = {}
        for each, (height, slope) in self.lanes.items():
            small = self.small[each]
            if each.alias == alias:
                step = 3 * numbers * height + slope * number
                found[each.column] = None if small is None else step * gap + small
        return found


def family_of(query: SpjQuery) -> Family | None:
    """A family that proves that no bound exists; None if none was found.

    Projected columns must be bounded: the row of the answer is the same for every number.
    """
    if not (query.satisfiable and query.plain) or any(
        not query.predicate.bounded(x) for x in query.projected
    ):
        return None
    closure = every_column(query)
    rng = random.Random(0)
    steps = iter(range(_MOST_STEPS))
    for trial in range(_TRIALS):
        lanes = _lanes(closure, rng)
        small = _small(query, closure, lanes, rng, nulls=trial % 2 == 1)
        if small is None:
            continue
        for stored in _Check(query, closure, lanes, small, steps).stored():
            return Family(query, lanes, small, stored)
    return None


def proved(query: SpjQuery, failed: Sequence[Violation]) -> list[Violation]:
    """The failing conditions of a self-join under DISTINCT that do mean that there is no bound.

    A projected column without bound needs no family.  Matches can be chosen with a value of it
    that no row of another match has, so each match gives a row of the answer that no others give,
    and whether it was given has to be remembered.
    """
    shown = [each for each in failed if each.condition == "C1"]
    if shown:
        return shown
    family = family_of(query)
    if family is None:
        return []
    named = [each for each in failed if family.varying.issuperset(each.attributes)]
    return named or list(failed)


# Drawing a match --------------------------------------------------------------------------------


def _lanes(closure: Closure, rng: random.Random) -> dict[Attribute, Lane]:
    """A lane for every column: `x - y <= c` for every number means that x's is not above y's."""
    found: dict[Attribute | Zero, Lane] = {ZERO: _CONSTANT}
    for x in rng.sample(closure.elements, len(closure.elements)):
        below = [lane for y, lane in found.items() if closure.bound(y, x) is not None]
        above = [lane for y, lane in found.items() if closure.bound(x, y) is not None]
        low, high = max(below, default=_LANES[0]), min(above, default=_LANES[-1])
        beside = [lane for lane in (*below[1:], *above[1:]) if low <= lane <= high]
        between = [lane for lane in _LANES if low <= lane <= high]
        found[x] = rng.choice(beside if beside and rng.random() < _BESIDE else between)
    return {each: found[each] for each in closure.elements}


def _small(
    query: SpjQuery,
    closure: Closure,
    lanes: Mapping[Attribute, Lane],
    rng: random.Random,
    *,
    nulls: bool,
) -> dict[Attribute, int | None] | None:
    """A small number for every column, or NULL where the input does not ask for the column; None
    if those drawn leave a column no value of the list that its CHECK allows."""
    found: dict[Attribute, int | None] = {}
    relevant = set(query.relevant)
    for x in rng.sample(closure.elements, len(closure.elements)):
        column = query.columns[x]
        if x not in relevant and column.nullable and (nulls or column.domain.empty):
            found[x] = None
            continue
        interval = closure.interval(x)
        low = interval.low if interval.low is not None else (interval.high or 0) - _SPREAD
        high = interval.high if interval.high is not None else low + _SPREAD
        values: Sequence[int] = range(low, min(high, low + 4 * _SPREAD) + 1)
        if column.check.listed is not None:
            listed = [each for each in column.check.listed if isinstance(each, int)]
            values = [each for each in listed if low <= each <= high]
            if not values:
                return None
        found[x] = value = rng.choice(values)
        closure = closure.with_bounds([(x, ZERO, value), (ZERO, x, -value)])
    return found


# Checking it ------------------------------------------------------------------------------------


class _Check:
    """Which rows may stand in which role, and so which sets of inputs may be the stored ones."""

    def __init__(
        self,
        query: SpjQuery,
        closure: Closure,
        lanes: Mapping[Attribute, Lane],
        small: Mapping[Attribute, int | None],
        steps: Iterator[int],
    ) -> None:
        self._query, self._lanes, self._small = query, lanes, small
        self._steps = steps
        self._roles = [alias for alias, _ in query.streams]
        self._bits = {role: 1 << place for place, role in enumerate(self._roles)}
        streams = {alias: stream.name for alias, stream in query.streams}
        self._kinds = {
            role: [each for each in self._roles if streams[each] == streams[role]]
            for role in self._roles
        }
        self._atoms: dict[
            tuple[str, str], list[tuple[Attribute | Zero, Attribute | Zero, int]]
        ] = {}
        for x, y, c in query.predicate.atoms():
            one = x if isinstance(x, Attribute) else y
            other = y if isinstance(y, Attribute) else x
            assert isinstance(one, Attribute)
            assert isinstance(other, Attribute)
            self._atoms.setdefault((one.alias, other.alias), []).append((x, y, c))
        self._pairs: dict[tuple[str, str, str, str, int], bool] = {}
        self._alone = {
            role: [kind for kind in self._kinds[role] if self._serves(role, kind)]
            for role in self._roles
        }

    def stored(self) -> list[frozenset[str]]:
        """The sets of inputs whose rows can be the stored ones."""
        candidates = [
            sum(each)
            for size in range(1, len(self._roles))
            for each in combinations(self._bits.values(), size)
        ]
        for numbers in (2, len(self._roles)):
            candidates = self._left(candidates, numbers)
        return [
            frozenset(role for role, bit in self._bits.items() if each & bit) for each in candidates
        ]

    def _left(self, candidates: list[int], numbers: int) -> list[int]:
        """Those that no match over so many numbers breaks; what a match breaks, all matches of the
        same inputs' rows do."""
        known: set[int] = set()
        for steps, match in enumerate(self._matches(numbers)):
            if match not in known:
                known.add(match)
                parts = self._by_number(match)
                candidates = [each for each in candidates if not _breaks(parts, each)]
            if not candidates or steps > _MOST_MATCHES or next(self._steps, None) is None:
                return []
        return candidates

    def _by_number(self, match: int) -> list[int]:
        """The inputs whose rows of each number are in a match."""
        width = len(self._roles)
        parts = []
        while match:
            parts.append(match & ((1 << width) - 1))
            match >>= width
        return [each for each in parts if each]

    def _matches(self, numbers: int) -> Iterator[int]:
        """The matches over so many numbers, each as the set of its rows: a bit for every input in
        the digit of the row's number."""
        width = len(self._roles)
        rows = [
            [(kind, number) for kind in self._alone[role] for number in range(1, numbers + 1)]
            for role in self._roles
        ]
        codes = [
            [self._bits[kind] << (width * (number - 1)) for kind, number in each] for each in rows
        ]
        known: dict[tuple[int, int], list[int]] = {}

        def beside(place: int, row: int) -> list[int]:
            """Which rows of each input behind a place meet a row there, as bits."""
            found = known.get((place, row))
            if found is None:
                found = known[place, row] = [
                    sum(
                        1 << other
                        for other, (kind, number) in enumerate(rows[behind])
                        if self._meet(
                            self._roles[behind], kind, number, self._roles[place], *rows[place][row]
                        )
                    )
                    for behind in range(place + 1, width)
                ]
            return found

        def extend(place: int, left: Sequence[int], match: int) -> Iterator[int]:
            """The matches with these rows, of which so many are left for the inputs from a place
            on."""
            here, behind = left[0], left[1:]
            while here:
                row = (here & -here).bit_length() - 1
                here &= here - 1
                with_row = match | codes[place][row]
                if not behind:
                    yield with_row
                    continue
                meets = beside(place, row)
                narrowed = [one & other for one, other in zip(behind, meets, strict=True)]
                if all(narrowed):
                    yield from extend(place + 1, narrowed, with_row)

        return extend(0, [(1 << len(each)) - 1 for each in rows], 0)

    def _serves(self, role: str, kind: str) -> bool:
        """Whether a row of one input can stand in another one's role, as far as it alone goes, and
        gives the same columns of the answer."""
        compared = (each for each in self._query.compared if each.alias == role)
        shown = (each for each in self._query.projected if each.alias == role)
        return (
            all(self._small[Attribute(kind, each.column)] is not None for each in compared)
            and all(
                self._shown(Attribute(kind, each.column)) == self._shown(each) for each in shown
            )
            and self._holds(role, kind, role, kind, 0)
        )

    def _shown(self, x: Attribute) -> tuple[Lane, int] | None:
        value = self._small[x]
        return None if value is None else (self._lanes[x], value)

    def _meet(
        self, one: str, kind: str, number: int, other: str, other_kind: str, other_number: int
    ) -> bool:
        order = (number > other_number) - (number < other_number)
        key = (one, kind, other, other_kind, order)
        if key not in self._pairs:
            self._pairs[key] = self._holds(one, kind, other, other_kind, order) and self._holds(
                other, other_kind, one, kind, -order
            )
        return self._pairs[key]

    def _holds(self, one: str, kind: str, other: str, other_kind: str, order: int) -> bool:
        return all(
            self._below(_of(kind, x), _of(other_kind, y), c, order)
            for x, y, c in self._atoms.get((one, other), ())
        )

    def _below(self, x: Attribute | Zero, y: Attribute | Zero, c: int, order: int) -> bool:
        """`x - y <= c`, where `order` says which of the rows has the greater number."""
        value, other = self._value(x), self._value(y)
        if value is None or other is None:
            return True  # what is compared is no NULL; a CHECK lets it pass
        lane, other_lane = self._lane(x), self._lane(y)
        if lane != other_lane:
            return lane < other_lane
        if lane[1] * order:
            return lane[1] * order < 0
        return value - other <= c

    def _lane(self, x: Attribute | Zero) -> Lane:
        return self._lanes[x] if isinstance(x, Attribute) else _CONSTANT

    def _value(self, x: Attribute | Zero) -> int | None:
        return self._small[x] if isinstance(x, Attribute) else 0


def _of(kind: str, side: Attribute | Zero) -> Attribute | Zero:
    return Attribute(kind, side.column) if isinstance(side, Attribute) else side


def _breaks(parts: Sequence[int], stored: int) -> bool:
    """Whether a match gives the row of some number without its stored rows or its probe: rows of
    all numbers but one are stored ones, and of that one none is."""
    probes = 0
    for each in parts:
        if each & stored == 0:
            probes += 1
        elif each & ~stored:
            return False
    return probes <= 1
