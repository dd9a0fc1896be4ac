"""Tick steps for buckets that keep numbers of their rows (Arasu, Example 8.7).

The numbers of an input's bucket, or of the row that arrives, stand in registers `x` (the number)
and `y` (whether there is one).  What a bucket gives to a group is its number, as often as rows of
the other inputs meet it; what arrives is merged only when every sum is known to fit, so that a trap
leaves nothing half done.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from millpond.plan.folds import Fold
from millpond.program.accumulator import Accumulator, places
from millpond.program.expression import At, Compare, Condition, Int, Local, Number
from millpond.program.operator import Reduction
from millpond.program.tick import AnyOf, Grow, Put, Scale, Set, Step, When


def number_of(place: int, k: int) -> str:
    """The register of a number of an input."""
    return f"x{place}_{k}"


def there_is(place: int, k: int) -> str:
    """The register that says whether there is one."""
    return f"y{place}_{k}"


def of_row(
    reduction: Reduction,
    place: int,
    here: Callable[[Number], Number],
    test: Callable[[Condition], Condition],
) -> list[Step]:
    """The numbers of a row that arrives."""
    steps: list[Step] = []
    for k, each in enumerate(reduction.held):
        number, there = number_of(place, k), there_is(place, k)
        value = Int(1) if each.value is None or each.counts else here(each.value)
        body: list[Step] = [Set(number, value), Set(there, Int(1))]
        if each.fold is Fold.SQUARES:
            body.append(Scale(number, value))
        steps += [Set(number, Int(0)), Set(there, Int(0))]
        steps.append(When(tuple(test(found) for found in each.guard), tuple(body)))
    return steps


def of_partial(reduction: Reduction, place: int) -> list[Step]:
    """The numbers of some rows that were reduced elsewhere."""
    here = Local("r")
    steps: list[Step] = []
    for k in range(len(reduction.held)):
        steps.append(Set(number_of(place, k), At(f"held{k}", here)))
        steps.append(Set(there_is(place, k), At(f"there{k}", here)))
    return steps


def of_bucket(reduction: Reduction, number: int, place: int, cell: Local) -> list[Step]:
    """The numbers of a bucket of an input."""
    steps: list[Step] = []
    for k, (each, at) in enumerate(_arrays(reduction)):
        steps.append(Set(number_of(place, k), At(f"v{number}_{at}", cell)))
        there: Number = Int(1) if each.counts else At(f"v{number}_{at + 1}", cell)
        steps.append(Set(there_is(place, k), there))
    return steps


def merged(reduction: Reduction, number: int, place: int, cell: Local) -> list[Step]:
    """What arrives, merged into its bucket."""
    sums: list[Step] = []
    puts: list[Step] = []
    for k, (each, at) in enumerate(_arrays(reduction)):
        array, mine = f"v{number}_{at}", Local(number_of(place, k))
        mark = () if each.counts else (Put(f"v{number}_{at + 1}", cell, Int(1)),)
        some = (Compare("!=", Local(there_is(place, k)), Int(0)),)
        if each.fold.adds:
            sums += [Set(f"z{k}", At(array, cell)), Grow(f"z{k}", mine)]
            puts.append(When(some, (Put(array, cell, Local(f"z{k}")), *mark)))
        else:
            puts.append(When(some, (AnyOf(_better(each, number, at, mine, cell), (
                Put(array, cell, mine), *mark,
            )),)))  # fmt: skip
    return [*sums, *puts]


def improves(reduction: Reduction, number: int, place: int, cell: Local) -> list[Step]:
    """Whether what arrives betters a best value, in registers `better`: by number of the value."""
    steps: list[Step] = []
    for k, (each, at) in enumerate(_arrays(reduction)):
        better = _better(each, number, at, Local(number_of(place, k)), cell)
        some = (Compare("!=", Local(there_is(place, k)), Int(0)),)
        steps.append(Set(f"better{k}", Int(0)))
        steps.append(When(some, (AnyOf(better, (Set(f"better{k}", Int(1)),)),)))
    return steps


def _better(
    each: Accumulator, number: int, at: int, mine: Number, cell: Number
) -> tuple[Condition, ...]:
    op: Sequence[Condition] = (
        Compare("==", At(f"v{number}_{at + 1}", cell), Int(0)),
        Compare("<" if each.fold is Fold.LEAST else ">", mine, At(f"v{number}_{at}", cell)),
    )
    return tuple(op)


def _arrays(reduction: Reduction) -> list[tuple[Accumulator, int]]:
    """The numbers that a bucket keeps, and where the array of each stands."""
    first = len(reduction.bests)
    return [
        (each, first + at) for each, at in zip(reduction.held, places(reduction.held), strict=True)
    ]


def rows_of(reduction: Reduction) -> int | None:
    """Which number of a bucket is how many rows it has; None if it does not say."""
    return next(
        (k for k, each in enumerate(reduction.held) if each.value is None and not each.guard), None
    )
