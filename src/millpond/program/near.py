"""Places on a line: a text or a number, and how far infinitely close to it.

`x < y` over values that lie anywhere is `x + 1 <= y` over places, where 1 is less than the distance
of any two values.  So the steps that compare whole numbers at a distance compare these, too.
"""

from __future__ import annotations

from fractions import Fraction

Value = str | int | Fraction
Sortable = tuple[int, Value, int]


class Near:
    """A value, or what lies infinitely close to it (`shade`), or beyond all values (`level`).

    Numbers are counted in units of which `grid` is the distance of neighbouring whole places, so
    that a number added is some of those and a rest of shades; of texts there are only shades.
    """

    __slots__ = ("_sort", "grid")

    def __init__(self, value: Value, shade: int = 0, *, grid: int = 0, level: int = 0) -> None:
        self._sort: Sortable = (level, value, shade)
        self.grid = grid

    @property
    def sort(self) -> Sortable:
        """Level, value and shade: in this order places are compared."""
        return self._sort

    def __add__(self, by: int) -> Near:
        level, value, shade = self._sort
        if not by or level:
            return self
        if not self.grid or isinstance(value, str):
            return Near(value, shade + by)
        half = self.grid // 2
        whole, rest = divmod(by + half, self.grid)
        return Near(value + whole * self.grid, shade + rest - half, grid=self.grid)

    def __sub__(self, by: int) -> Near:
        return self + -by

    def __lt__(self, other: Near) -> bool:
        return self._sort < other._sort

    def __le__(self, other: Near) -> bool:
        return self._sort <= other._sort

    def __gt__(self, other: Near) -> bool:
        return self._sort > other._sort

    def __ge__(self, other: Near) -> bool:
        return self._sort >= other._sort

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Near) and self._sort == other._sort

    def __hash__(self) -> int:
        return hash(self._sort)

    def __repr__(self) -> str:
        return f"Near{self._sort}"


NOWHERE = Near("", level=-1)
"""What stands where there is no place: before all others."""
