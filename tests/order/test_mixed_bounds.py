"""Difference bounds over integers, decimals, dense numbers and lists together, against Z3."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
import z3

from millpond.order import ZERO, DifferenceBounds, Values, Zero
from millpond.schema import Interval

UNIT = 120
"""What 1 is counted as: between two tenths there is room for many dense numbers."""

KINDS = ("integer", "tenths", "dense", "list", "holes")


class Mixed:
    """A random conjunction, and the same in Z3's reals."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = random.Random(seed)
        self.names = "ABCDE"[: rng.randint(1, 4)]
        self.kinds = {each: rng.choice(KINDS) for each in self.names}
        self.solver = z3.Solver()
        self.solver.set("timeout", 2_000)
        self._numbers: dict[object, Any] = {ZERO: z3.RealVal(0)}
        values = {each: self._values(each) for each in self.names}
        self.atoms = [self.atom() for _ in range(rng.randint(0, 2 * len(self.names)))]
        for each in self.atoms:
            self.solver.add(self.says(*each))
        self.closure: DifferenceBounds[str] = DifferenceBounds(self.names, values).with_bounds(
            map(counted, self.atoms)
        )

    def _values(self, name: str) -> Values:
        kind = self.kinds[name]
        if kind == "dense":
            self._numbers[name] = z3.Real(name)
            return Values(1, dense=True)
        whole = z3.Int(name)
        self._numbers[name] = z3.ToReal(whole) / (10 if kind == "tenths" else 1)
        if kind == "tenths":
            return Values(UNIT // 10)
        if kind == "integer":
            return Values(UNIT)
        points = sorted({self.rng.randint(-4, 4) for _ in range(self.rng.randint(1, 4))})
        if kind == "list":
            self.solver.add(z3.Or([whole == each for each in points]))
            return Values.points([each * UNIT for each in points], UNIT)
        self.solver.add(*(whole != each for each in points))
        return holed(points)

    def atom(self) -> tuple[str | Zero, str | Zero, Fraction, bool]:
        """`x - y <= c`, or `<`; dense columns are compared as they are, as SQL's are."""
        elements: list[str | Zero] = [*self.names, ZERO]
        x, y = self.rng.sample(elements, 2)
        c = Fraction(0)
        if ZERO in (x, y):
            c = Fraction(self.rng.randint(-3, 3))
        elif "dense" not in (self.kinds[str(x)], self.kinds[str(y)]):
            c = Fraction(self.rng.randint(-20, 20), 10)
        return x, y, c, self.rng.random() < 0.5

    def says(self, x: str | Zero, y: str | Zero, c: Fraction, strict: bool) -> Any:
        difference, limit = self._numbers[x] - self._numbers[y], z3.Q(c.numerator, c.denominator)
        return difference < limit if strict else difference <= limit

    def possible(self, *extra: Any) -> bool | None:
        """None if Z3 does not know."""
        found = self.solver.check(*extra)
        return None if found == z3.unknown else bool(found == z3.sat)


def holed(points: Sequence[int]) -> Values:
    """The integers without some."""
    ends = [None, *(each * UNIT for each in points), None]
    spans = [
        Interval(None if low is None else low + 1, None if high is None else high - 1)
        for low, high in pairwise(ends)
    ]
    return Values(UNIT, spans=tuple(spans))


def counted(atom: tuple[str | Zero, str | Zero, Fraction, bool]) -> tuple[Any, Any, int]:
    x, y, c, strict = atom
    return x, y, int(c * UNIT) - strict


def check(seed: int) -> bool:
    """Whether the conjunction can hold; what is implied is, and, without lists, all of it."""
    mixed = Mixed(seed)
    said = f"seed {seed}: {mixed.kinds} {mixed.atoms}"
    possible = mixed.possible()
    if possible is None:
        return False
    assert mixed.closure.satisfiable == possible, said
    if not possible:
        return False
    whole = not {"list", "holes"} & set(mixed.kinds.values())
    for _ in range(6):
        probe = mixed.atom()
        other = mixed.possible(z3.Not(mixed.says(*probe)))
        if other is None:
            continue
        implied = mixed.closure.implies(*counted(probe))
        assert not (implied and other), f"{said}: {probe} is not implied"
        assert implied or other or not whole, f"{said}: {probe} is implied"
    return True


@pytest.mark.parametrize("start", range(0, 600, 150))
def test_mixed_conjunctions_are_those_of_z3(start: int) -> None:
    assert sum(map(check, range(start, start + 150))) > 50


@pytest.mark.heavy
@pytest.mark.parametrize("start", range(10_000, 20_000, 1_000))
def test_mixed_conjunctions_are_those_of_z3_at_length(start: int) -> None:
    assert sum(map(check, range(start, start + 1_000))) > 300


def test_rounding_ends_where_a_chain_of_lists_excludes_one_value_after_the_other() -> None:
    """Two equal elements, one even and one odd, as far as a long list goes."""
    even = Values.points(range(0, 400, 2))
    odd = Values.points(range(1, 400, 2))
    closure = DifferenceBounds("AB", {"A": even, "B": odd}).equal("A", "B")
    assert not closure.satisfiable


def test_two_whole_numbers_half_apart_are_none() -> None:
    whole = {"A": Values(2), "B": Values(2)}
    closure = DifferenceBounds("AB", whole)
    assert not closure.with_bounds([("A", "B", 1), ("B", "A", -1)]).satisfiable
    assert closure.with_bounds([("A", "B", 1)]).bound("A", "B") == 0


def test_between_two_neighbouring_numbers_is_room_for_dense_ones() -> None:
    values = {"A": Values(4), "B": Values(4), "X": Values(dense=True), "Y": Values(dense=True)}
    closure = DifferenceBounds("ABXY", values).with_bounds(
        [("B", "A", 4), ("A", "X", -1), ("X", "Y", -1), ("Y", "B", -1)]
    )
    assert closure.satisfiable
    assert closure.offset("B", "A") == 4
    assert closure.offset("X", "Y") is None
    assert closure.bounded("A") is False
    inside = closure.with_bounds([("A", ZERO, 0), (ZERO, "A", 0)])
    assert inside.bounded("B")
    assert not inside.bounded("X")
