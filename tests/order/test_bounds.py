"""Difference bounds against Z3, and against every assignment in a small box."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest
import z3

from millpond.order import ZERO, Bound, DifferenceBounds, Zero
from millpond.schema import Interval

Atoms = list[Bound[str]]
Closure = DifferenceBounds[str]


def random_atoms(rng: random.Random, names: Sequence[str], *, reach: int = 3) -> Atoms:
    """Some bounds, equalities and ranges among them; some conjunctions are unsatisfiable."""
    found: Atoms = []
    elements: list[str | Zero] = [*names, ZERO]
    for _ in range(rng.randint(0, 2 * len(names))):
        x, y = rng.sample(elements, 2)
        c = rng.randint(-reach, reach)
        found.append((x, y, c))
        if rng.random() < 0.25:
            found.append((y, x, rng.choice([-c, -c, rng.randint(-reach, reach)])))
    return found


def closure_of(names: Sequence[str], atoms: Iterable[Bound[str]]) -> Closure:
    return DifferenceBounds(names).with_bounds(atoms)


class Oracle:
    """The same questions, put to Z3."""

    def __init__(self, names: Sequence[str], atoms: Iterable[Bound[str]]) -> None:
        self._values: dict[object, Any] = {name: z3.Int(name) for name in names}
        self._values[ZERO] = z3.IntVal(0)
        self._solver = z3.Solver()
        limit = 1
        for each in atoms:
            self._solver.add(self.says(each))
            limit += abs(each[2])
        self.beyond = limit
        """More than any bound of these differences, if there is one."""

    def says(self, atom: Bound[str]) -> Any:
        x, y, c = atom
        return self._values[x] - self._values[y] <= c

    def possible(self, *extra: Any) -> bool:
        return bool(self._solver.check(*extra) == z3.sat)

    def implies(self, atom: Bound[str]) -> bool:
        return not self.possible(z3.Not(self.says(atom)))

    def bound(self, x: str | Zero, y: str | Zero) -> int | None:
        difference = self._values[x] - self._values[y]
        if self.possible(difference > self.beyond):
            return None
        low, high = -self.beyond - 1, self.beyond
        while high - low > 1:
            middle = (low + high) // 2
            if self.possible(difference > middle):
                low = middle
            else:
                high = middle
        return high


def check_against_z3(seed: int) -> None:
    rng = random.Random(seed)
    names = "ABCDE"[: rng.randint(1, 5)]
    atoms = random_atoms(rng, names)
    closure, oracle = closure_of(names, atoms), Oracle(names, atoms)
    said = f"seed {seed}: {atoms}"
    assert closure.satisfiable == oracle.possible(), said
    x, y = rng.choice(names), rng.choice([*names, ZERO])
    probe = (x, y, rng.randint(-4, 4))
    assert closure.implies(*probe) == ((x == y and probe[2] >= 0) or oracle.implies(probe)), said
    if not closure.satisfiable:
        return
    elements: list[str | Zero] = [*names, ZERO]
    for one, other in product(elements, repeat=2):
        expected = 0 if one == other else oracle.bound(one, other)
        assert closure.bound(one, other) == expected, f"{said}: bound of {one} - {other}"
    for one in names:
        high, low = oracle.bound(one, ZERO), oracle.bound(ZERO, one)
        interval = Interval(None if low is None else -low, high)
        assert closure.interval(one) == interval, f"{said}: interval of {one}"
        assert closure.bounded(one) == (low is not None and high is not None), said
    assert set(closure.atoms()) == {
        (one, other, c)
        for one, other in product(elements, repeat=2)
        if one != other and (c := closure.bound(one, other)) is not None
    }, said
    _check_redundancy(closure, said)
    _check_restriction(rng, closure, atoms, said)


def _check_redundancy(closure: Closure, said: str) -> None:
    """`x - y <= c` is redundant iff it follows without the atoms between what equals x and what
    equals y; where x or y is a constant it is a filter, and always redundant."""
    names = closure.elements

    def equal(x: str | Zero, y: str | Zero) -> bool:
        up, down = closure.bound(x, y), closure.bound(y, x)
        return up is not None and down is not None and up == -down

    for x, y in product(names, repeat=2):
        c = closure.bound(x, y)
        if x == y or equal(x, y):
            continue
        if c is None or equal(x, ZERO) or equal(y, ZERO):
            assert closure.redundant(x, y), f"{said}: {x} - {y} is a filter"
            continue
        others = [each for each in closure.atoms() if not (equal(each[0], x) and equal(each[1], y))]
        expected = Oracle(names, others).implies((x, y, c))
        assert closure.redundant(x, y) == expected, f"{said}: redundancy of {x} - {y}"


def _check_restriction(rng: random.Random, closure: Closure, atoms: Atoms, said: str) -> None:
    """A restriction allows what extends to a solution, and nothing else."""
    kept = rng.sample(closure.elements, rng.randint(0, len(closure.elements)))
    small = closure.restrict(kept)
    assert small.elements == tuple(kept)
    assert small.satisfiable == closure.satisfiable
    elements: list[str | Zero] = [*kept, ZERO]
    for x, y in product(elements, repeat=2):
        assert small.bound(x, y) == closure.bound(x, y), said
    point = {each: rng.randint(-3, 3) for each in kept}
    fixed: Atoms = [
        bound for each, at in point.items() for bound in ((each, ZERO, at), (ZERO, each, -at))
    ]
    inside = small.with_bounds(fixed).satisfiable
    assert inside == Oracle(closure.elements, [*atoms, *fixed]).possible(), f"{said}: {point}"


@pytest.mark.parametrize("start", range(0, 240, 60))
def test_every_answer_is_the_one_of_z3(start: int) -> None:
    for seed in range(start, start + 60):
        check_against_z3(seed)


@pytest.mark.heavy
@pytest.mark.parametrize("start", range(1000, 5000, 250))
def test_every_answer_is_the_one_of_z3_at_length(start: int) -> None:
    for seed in range(start, start + 250):
        check_against_z3(seed)


def check_against_the_box(seed: int) -> None:
    """All assignments in a box that reaches beyond twice the sum of the constants."""
    rng = random.Random(seed)
    names = "ABC"[: rng.randint(1, 3)]
    atoms = random_atoms(rng, names, reach=1)
    closure, said = closure_of(names, atoms), f"seed {seed}: {atoms}"
    limit = sum(abs(c) for _, _, c in atoms)
    axis = np.arange(-2 * limit - 1, 2 * limit + 2)
    values: dict[object, Any] = dict(
        zip(names, np.meshgrid(*[axis] * len(names), indexing="ij"), strict=True)
    )
    values[ZERO] = np.int64(0)
    solutions = np.ones([len(axis)] * len(names), dtype=np.bool_)
    for x, y, c in atoms:
        solutions &= values[x] - values[y] <= c
    assert closure.satisfiable == solutions.any(), said
    if not closure.satisfiable:
        return
    elements: list[str | Zero] = [*names, ZERO]
    for x, y in product(elements, repeat=2):
        found = closure.bound(x, y)
        most = np.broadcast_to(values[x] - values[y], solutions.shape)[solutions].max()
        if found is None:
            assert most > limit, f"{said}: {x} - {y}"
        else:
            assert most == found, f"{said}: {x} - {y}"


@pytest.mark.parametrize("start", range(1000, 1300, 100))
def test_every_bound_is_attained_and_holds_in_the_box(start: int) -> None:
    for seed in range(start, start + 100):
        check_against_the_box(seed)


def test_the_order_of_the_atoms_does_not_matter() -> None:
    for seed in range(300):
        rng = random.Random(seed)
        atoms = random_atoms(rng, "ABCD")
        one = closure_of("ABCD", atoms)
        rng.shuffle(atoms)
        other = closure_of("ABCD", atoms)
        assert one.satisfiable == other.satisfiable, f"seed {seed}"
        if one.satisfiable:
            assert set(one.atoms()) == set(other.atoms()), f"seed {seed}"


def test_adding_bounds_leaves_the_closure_before_as_it_was() -> None:
    before = DifferenceBounds("AB").less("A", "B")
    atoms = set(before.atoms())
    before.equal("A", "B")
    before.at_most("A", 3).at_least("B", 9)
    assert before.satisfiable
    assert set(before.atoms()) == atoms == {("A", "B", -1)}


LESS = [("A", "B", -1), ("B", "C", -1)]


@pytest.mark.parametrize(
    ("atoms", "pair", "redundant"),
    [
        pytest.param([*LESS, ("A", "C", -1)], "AC", True, id="an element between"),
        pytest.param(LESS, "AB", False, id="nothing between"),
        pytest.param([*LESS, ("A", "C", -5)], "AC", False, id="more than what lies between says"),
        pytest.param([("A", "B", 0), ("B", "C", 0)], "AC", True, id="not strict"),
        pytest.param(
            [("A", "B", 0), ("B", "A", 0), ("A", "C", -1)], "AC", False, id="an equal one"
        ),
        pytest.param([("A", ZERO, 5), (ZERO, "B", -6)], "AB", True, id="A < 6 and B > 5"),
        pytest.param(
            [("A", ZERO, 5), (ZERO, "A", -5), ("A", "C", -1)], "AC", True, id="A = 5 and A < C"
        ),
        pytest.param(
            [("A", ZERO, 5), (ZERO, "B", -6), ("A", "B", -2)],
            "AB",
            False,
            id="more than the filters",
        ),
        pytest.param([], "AB", True, id="no bound at all"),
    ],
)
def test_redundancy(atoms: Atoms, pair: str, redundant: bool) -> None:
    assert closure_of("ABC", atoms).redundant(pair[0], pair[1]) is redundant


@pytest.mark.parametrize(
    ("low", "high", "interval"),
    [
        pytest.param(10, 10, Interval(10, 10), id="a point"),
        pytest.param(10, 9, None, id="nothing"),
        pytest.param(None, 9, Interval(None, 9), id="below only"),
        pytest.param(-(10**30), 10**30, Interval(-(10**30), 10**30), id="past 64 bits"),
    ],
)
def test_intervals(low: int | None, high: int | None, interval: Interval | None) -> None:
    closure: Closure = DifferenceBounds("A")
    closure = closure if low is None else closure.at_least("A", low)
    closure = closure if high is None else closure.at_most("A", high)
    assert closure.satisfiable == (interval is not None)
    if interval is not None:
        assert closure.interval("A") == interval


def test_offsets_tell_equal_elements_from_shifted_ones() -> None:
    closure = DifferenceBounds("ABC").equal("A", "B").with_bounds([("B", "C", 2), ("C", "B", -2)])
    assert closure.same("A", "B")
    assert not closure.same("A", "C")
    assert (closure.offset("A", "C"), closure.offset("C", "A")) == (2, -2)
    assert DifferenceBounds("AB").offset("A", "B") is None


def test_unsatisfiable_stays_so_and_implies_everything() -> None:
    closure = DifferenceBounds("AB").less("A", "B").less("B", "A")
    assert not closure.satisfiable
    assert not closure.at_most("A", 0).satisfiable
    assert not closure.restrict("A").satisfiable
    assert closure.implies("A", "B", -100)


def test_a_difference_of_an_element_to_itself() -> None:
    closure: Closure = DifferenceBounds("A")
    assert closure.with_bounds([("A", "A", 0)]).satisfiable
    assert not closure.less("A", "A").satisfiable


def test_elements_are_distinct() -> None:
    with pytest.raises(ValueError, match="distinct"):
        DifferenceBounds(["A", "A"])
