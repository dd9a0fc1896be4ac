"""Difference bounds: conjunctions of `x - y <= c` over the integers, closed under implication.

The predicate P of Arasu's queries is such a conjunction: `x < y` is `x - y <= -1`, and a
comparison with a constant is a difference to the element `ZERO`.  Shortest paths give the closure,
which is exact over the integers: every bound in it is attained by some solution, and a solution of
the bounds between some elements extends to all of them.  So P+ (the atoms that P implies), the
domain of a column, and the filters that one stream inherits from the others are all read off it.

An element may be limited to some integers (`Values`): multiples of a step, or those of a list.
Bounds are then rounded to differences that there are, and rounding goes on until nothing changes.
That decides satisfiability, because what satisfies such atoms is closed under taking the least of
two solutions column by column, and so is every set of values of one column.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from math import gcd
from typing import Final, Generic, TypeVar

from millpond.order.values import PLAIN, Values
from millpond.schema import Interval


class Zero:
    """The element that stands for the constant 0."""

    def __repr__(self) -> str:
        return "0"


ZERO: Final = Zero()

E = TypeVar("E", bound=Hashable)
Bound = tuple[E | Zero, E | Zero, int]
"""`x - y <= c`, as (x, y, c)."""


class DifferenceBounds(Generic[E]):
    """A closed conjunction of `x - y <= c`; immutable.

    >>> p = DifferenceBounds(["A", "B"]).less("A", "B").at_most("B", 20).at_least("A", 10)
    >>> p.interval("A"), p.interval("B")
    (Interval(low=10, high=19), Interval(low=11, high=20))
    """

    __slots__ = ("_elements", "_matrix", "_place", "_values", "satisfiable")

    def __init__(self, elements: Iterable[E], values: Mapping[E, Values] | None = None) -> None:
        self._elements: tuple[E, ...] = tuple(elements)
        self._place: dict[object, int] = {ZERO: 0}
        for place, element in enumerate(self._elements, 1):
            self._place[element] = place
        size = len(self._place)
        if size != len(self._elements) + 1:
            raise ValueError("elements are not distinct")
        self._matrix: list[list[int | None]] = [[None] * size for _ in range(size)]
        for place in range(size):
            self._matrix[place][place] = 0
        self.satisfiable = True
        given = values or {}
        plain = all(given.get(each, PLAIN) == PLAIN for each in self._elements)
        self._values: tuple[Values, ...] | None = None
        """Of each place; None where all elements are plain integers, and nothing is rounded."""
        if not plain:
            self._values = (_ZERO, *(given.get(each, PLAIN) for each in self._elements))
            for place, each in enumerate(self._values[1:], 1):
                self._start(place, each.hull)

    @property
    def elements(self) -> tuple[E, ...]:
        return self._elements

    # Adding atoms ----------------------------------------------------------------------------

    def with_bounds(self, atoms: Iterable[Bound[E]]) -> DifferenceBounds[E]:
        """The closure with every `x - y <= c` of `atoms` added."""
        new = self._copy()
        for x, y, c in atoms:
            new._tighten(new._place[x], new._place[y], c)
        return new

    def less(self, x: E, y: E) -> DifferenceBounds[E]:
        return self.with_bounds([(x, y, -1)])

    def at_most(self, x: E, limit: int) -> DifferenceBounds[E]:
        return self.with_bounds([(x, ZERO, limit)])

    def at_least(self, x: E, limit: int) -> DifferenceBounds[E]:
        return self.with_bounds([(ZERO, x, -limit)])

    def equal(self, x: E, y: E) -> DifferenceBounds[E]:
        return self.with_bounds([(x, y, 0), (y, x, 0)])

    # Asking ----------------------------------------------------------------------------------

    def bound(self, x: E | Zero, y: E | Zero) -> int | None:
        """The least c with `x - y <= c` in every solution; None if there is none."""
        return self._bound(self._place[x], self._place[y])

    def interval(self, x: E) -> Interval:
        """The values that x takes in solutions."""
        place = self._place[x]
        high, low = self._matrix[place][0], self._matrix[0][place]
        return Interval(None if low is None else -low, high)

    def values(self, x: E) -> Values:
        """The values that x can take between its bounds, and where what goes with it can, too."""
        if self._values is None:
            return PLAIN.within(self.interval(x))
        place = self._place[x]
        found = self._values[place].within(self.interval(x))
        for other, values in enumerate(self._values):
            if 0 != other != place and not values.anything and self._rigid(place, other):
                shift = self._bound(place, other) or 0
                found = found.meet(values.moved(shift))
        return found

    def dense(self, x: E) -> bool:
        """Whether x can lie anywhere between two numbers."""
        return self._values is not None and self._values[self._place[x]].dense

    def bounded(self, x: E) -> bool:
        """Definition 4.5 by section 9: x takes finitely many values in solutions."""
        interval = self.interval(x)
        if interval.low is None or interval.high is None:
            return False
        place = self._place[x]
        if self._values is None or not self._values[place].dense or self._finite(place):
            return True
        return any(
            other != place and self._rigid(place, other) and self._finite(other)
            for other in range(1, len(self._values))
        )

    def implies(self, x: E | Zero, y: E | Zero, c: int) -> bool:
        """Whether `x - y <= c` holds in every solution."""
        found = self.bound(x, y)
        return not self.satisfiable or (found is not None and found <= c)

    def same(self, x: E, y: E) -> bool:
        """Definition 4.4: x and y are in one equivalence class."""
        return self.offset(x, y) == 0

    def totally_ordered(self, elements: Sequence[E], constants: Iterable[int] = ()) -> bool:
        """Definition 4.3: of any two, one is less, or they are equal, in every solution."""
        pairs: list[tuple[E | Zero, E | Zero, int]] = [
            (x, y, 0) for place, x in enumerate(elements) for y in elements[place + 1 :]
        ]
        pairs += [(x, ZERO, k) for x in elements for k in constants]
        return all(
            self.implies(x, y, k - 1)
            or self.implies(y, x, -k - 1)
            or (self.implies(x, y, k) and self.implies(y, x, -k))
            for x, y, k in pairs
        )

    def offset(self, x: E, y: E) -> int | None:
        """`x - y` if it is the same in every solution, else None."""
        up, down = self.bound(x, y), self.bound(y, x)
        return up if up is not None and down is not None and up == -down else None

    def redundant(self, x: E, y: E) -> bool:
        """Whether the tightest `x - y <= c` follows through a third element.

        Definition 4.1 in difference bounds.  The third element may be `ZERO`: then a constant
        stands between x and y, or they are that far apart by filters alone (`A < 6` and `D > 5`
        imply `A < D` with no element of the query between).
        """
        return self._redundancy(x, y) is not _NOT

    def rounded(self, x: E, y: E) -> bool:
        """Whether `redundant` holds only because differences are rounded to those that there are.

        Two bounds may each follow from the other that way (`a < b` and `a < c` where `b < c`,
        `c <= b + 0.5`, and `a` and `c` are whole), so that not both can be left out.
        """
        return self._redundancy(x, y) is _ROUNDED

    def _redundancy(self, x: E, y: E) -> str:
        i, j = self._place[x], self._place[y]
        direct = self._bound(i, j)
        if direct is None:
            return _EXACT
        found = _NOT
        for k, row in enumerate(self._matrix):
            first, second = self._matrix[i][k], row[j]
            if k in (i, j) or first is None or second is None:
                continue
            exact = first + second == direct
            if not exact and self._rounded(i, j, first + second) != direct:
                continue
            if k == 0 or (not self._rigid(i, k) and not self._rigid(k, j)):
                found = _EXACT if exact else _ROUNDED
                if exact:
                    break
        return found

    def bare(self) -> DifferenceBounds[E]:
        """The same elements with the same values, and nothing that compares them."""
        values = None if self._values is None else self._values[1:]
        return DifferenceBounds(
            self._elements,
            None if values is None else dict(zip(self._elements, values, strict=True)),
        )

    def restrict(self, elements: Sequence[E]) -> DifferenceBounds[E]:
        """Definition 4.2: the atoms of the closure over some of the elements only."""
        new: DifferenceBounds[E] = DifferenceBounds(elements)
        places = [0, *(self._place[each] for each in elements)]
        if self._values is not None:
            new._values = tuple(self._values[each] for each in places)
        new._matrix = [[self._matrix[i][j] for j in places] for i in places]
        new.satisfiable = self.satisfiable
        return new

    # -----------------------------------------------------------------------------------------

    def _rigid(self, i: int, j: int) -> bool:
        up, down = self._bound(i, j), self._bound(j, i)
        return up is not None and down is not None and up == -down

    def _bound(self, i: int, j: int) -> int | None:
        """The shortest path between two places.

        Those through 0 are not written down: the limits of i and j alone say them, and most columns
        are compared with constants only.
        """
        direct = self._matrix[i][j]
        if i == 0 or j == 0 or i == j:
            return direct
        up, down = self._matrix[i][0], self._matrix[0][j]
        if up is None or down is None:
            return direct
        return up + down if direct is None else min(direct, up + down)

    def _copy(self) -> DifferenceBounds[E]:
        new: DifferenceBounds[E] = DifferenceBounds.__new__(DifferenceBounds)
        new._elements, new._place, new._values = self._elements, self._place, self._values
        new._matrix = [list(row) for row in self._matrix]
        new.satisfiable = self.satisfiable
        return new

    def _finite(self, place: int) -> bool:
        """Whether the values of a place are finitely many by themselves."""
        assert self._values is not None
        high, low = self._matrix[place][0], self._matrix[0][place]
        if high is None or low is None:
            return False
        return self._values[place].within(Interval(-low, high)).size is not None

    def _start(self, place: int, hull: Interval) -> None:
        if hull.empty:
            self.satisfiable = False
        if hull.high is not None:
            self._tighten(place, 0, hull.high)
        if hull.low is not None:
            self._tighten(0, place, -hull.low)

    def _rounded(self, i: int, j: int, c: int) -> int | None:
        """The greatest difference up to c that i and j can have; None if there is none."""
        if self._values is None:
            return c
        one, other = self._values[i], self._values[j]
        if j == 0:
            return one.floor(c)
        if i == 0:
            least = other.ceiling(-c)
            return None if least is None else -least
        if one.dense or other.dense:
            return c
        step = gcd(one.step, other.step)
        return c - c % step

    def _tighten(self, i: int, j: int, c: int) -> None:
        """Adds one edge to a closed matrix, in time quadratic in its size."""
        if i == j:
            self.satisfiable = self.satisfiable and c >= 0
            return
        rounded = self._rounded(i, j, c)
        if rounded is None:
            self.satisfiable = False
            return
        c = rounded
        matrix = self._matrix
        present = self._bound(i, j)
        if present is not None and present <= c:
            return
        back = self._bound(j, i)
        if back is not None and back + c < 0:
            self.satisfiable = False
            return
        into = [(a, row[i]) for a, row in enumerate(matrix)]
        out = list(enumerate(matrix[j]))
        again: list[tuple[int, int, int]] = []
        through = i == 0 or j == 0
        for a, first in into:
            if first is None:
                continue
            row = matrix[a]
            for b, second in out:
                if second is None or (through and a != 0 and b != 0):
                    continue
                length, known = first + c + second, row[b]
                if known is None or length < known:
                    row[b] = length
                    if self._values is not None and a != b:
                        again.append((a, b, length))
        for a, b, length in again:
            shorter = self._rounded(a, b, length)
            if shorter is None:
                self.satisfiable = False
            if not self.satisfiable:
                return
            if shorter is not None and shorter < length:
                self._tighten(a, b, shorter)

    def atoms(self) -> Iterator[Bound[E]]:
        """Every `x - y <= c` of the closure."""
        names: list[E | Zero] = [ZERO, *self._elements]
        for i, x in enumerate(names):
            for j, y in enumerate(names):
                c = self._bound(i, j)
                if i != j and c is not None:
                    yield x, y, c


_NOT, _EXACT, _ROUNDED = "not", "exact", "rounded"
_ZERO = Values.points([0])
