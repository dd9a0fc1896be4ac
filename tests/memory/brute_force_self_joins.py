"""Whether a query with self-joins needs memory without bound, found over growing boxes.

What a stream has brought is judged by what is printed after every future, in which this stream
and the others get any rows.

Keeping duplicates, the number of results is a polynomial in how often each row occurs, and what
is printed shows its coefficients: rows respond alike if they join the same rows, as often, when
any of the stream's aliases may hold them.  Each class of rows needs a count: memory is bounded
iff the number of classes stays the same as the box grows.

Removing duplicates, a set of rows is irredundant if each of them matters: with some future, an
output needs it.  Putting the rest of what that output joins into the future shows that each
subset of an irredundant set is another state, while a row that does not matter may be dropped
from any other set.  So memory is bounded iff the largest irredundant set stays the same.

Exact, with and without self-joins.  Nothing of `millpond` is used here.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations as choose
from itertools import permutations, product
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from tests.memory.by_definition import NULL, Rows, Truths, Values, joined
from tests.strategies.spj import SpjText

_MOST_COMBINATIONS: Final = 8_000_000
_MOST_COMPARED: Final = 30_000_000
_MOST_CRITICAL: Final = 6_000
_STEPS: Final = 4_000
_TRIES: Final = 20
_TRIED: Final = 40


class TooMuch(Exception):
    """A box holds more than can be looked at."""


class Size(NamedTuple):
    """How much a stream has to tell apart: so much, or at least so much."""

    found: int
    exact: bool = True


def grows(query: SpjText, margins: Sequence[int] = (2, 3, 4)) -> bool | None:
    """Whether some stream has more to tell apart in a larger box; None where that would take too
    long to find out."""
    measure = irredundant if query.distinct else classes
    answers = []
    for stream in dict.fromkeys(name for _, name in query.inputs):
        try:
            answers.append(_grows(partial(measure, query, stream), margins))
        except TooMuch:
            answers.append(None)
        if answers[-1]:
            return True
    return None if None in answers else False


def _grows(measure: Callable[..., Size], margins: Sequence[int]) -> bool | None:
    """Compares with the smallest box; if only sets that were met are known, and not that they are
    the largest, then these have to become larger with each box."""
    small = previous = measure(margins[0])
    for margin in margins[1:]:
        size = measure(margin, previous.found + 1)
        if small.exact and size.found > small.found:
            return True
        if not small.exact and size.found <= previous.found:
            return None
        previous = size
    return not small.exact or (None if not previous.exact else False)


def classes(query: SpjText, stream: str, margin: int, most: int | None = None) -> Size:
    """How many classes of a stream's rows respond alike; all are counted whatever `most` says."""
    if len(query.inputs) == 1:
        return Size(1)
    inputs = _inputs(query, margin)
    found = _joined(query, inputs)
    joins = np.where(found, _outputs(query, inputs), np.uint64(0))
    places = [at for at, (_, name) in enumerate(query.inputs) if name == stream]
    others = [at for at in range(len(inputs)) if at not in places]
    total = sum(joins.transpose(*order, *others) for order in permutations(places))
    shape = np.asarray(total).shape
    table = np.asarray(total).reshape(shape[0], math.prod(shape[1:]))
    return Size(len(np.unique(table[table.any(axis=1)], axis=0)))


def irredundant(query: SpjText, stream: str, margin: int, most: int | None = None) -> Size:
    """The size of the largest set of rows of which each matters, followed up to `most`."""
    inputs = _inputs(query, margin)
    found = np.argwhere(_joined(query, inputs))
    outputs = _outputs(query, inputs)[tuple(found.T)]
    # Rows of all streams together are numbered, those of one stream alike for all its aliases.
    starts: dict[str, int] = {}
    count = 0
    for (_, name), rows in zip(query.inputs, inputs, strict=True):
        if name not in starts:
            starts[name] = count
            count += len(rows)
    used = found + np.array([starts[name] for _, name in query.inputs])
    place = [name for _, name in query.inputs].index(stream)
    own = np.zeros(count, dtype=np.bool_)
    own[starts[stream] : starts[stream] + len(inputs[place])] = True
    joins = [_least(used[outputs == each]) for each in np.unique(outputs)]
    if sum(len(each) ** 2 for each in joins) > _MOST_COMPARED:
        raise TooMuch
    return _Search(joins, own, most).largest()


def _least(combinations: Values) -> Values:
    """The sets of rows that give an output, without those that hold another; one set a line,
    filled up with its last row."""
    width = combinations.shape[1]
    sets = {frozenset(each) for each in combinations.tolist()}
    least = [
        sorted(each)
        for each in sets
        if not any(
            frozenset(some) in sets for size in range(1, len(each)) for some in choose(each, size)
        )
    ]
    filled = sorted(each + each[-1:] * (width - len(each)) for each in least)
    return np.array(filled, dtype=np.int64).reshape(len(filled), width)


class Critical(NamedTuple):
    """That a row matters to one output, given the rest of what is joined to it."""

    row: int
    joins: Values
    """Every combination of rows that gives this output."""
    future: Truths
    blocked: int
    """Rows, as a bit mask, of which each alone would do as well."""


class _Search:
    """For the largest set of rows, each with something that shows that it matters."""

    def __init__(self, joins: list[Values], own: Truths, most: int | None) -> None:
        self._most = most
        self._found = [each for every in joins for each in _critical(every, own)]
        if len(self._found) > _MOST_CRITICAL:
            raise TooMuch
        self._beside = self._pairs()
        self._steps = 0
        self._best = 0

    def largest(self) -> Size:
        rng = random.Random(len(self._found))
        for _ in range(_TRIES if self._found else 0):
            self._try(rng)
        try:
            self._grow([], np.zeros(0, dtype=np.int64), (1 << len(self._found)) - 1)
        except TooMuch:
            return Size(self._best, exact=False)
        return Size(self._best)

    def _pairs(self) -> list[int]:
        """Which two do not block each other."""
        same: defaultdict[int, int] = defaultdict(int)
        blocking: defaultdict[int, int] = defaultdict(int)
        for at, each in enumerate(self._found):
            same[each.row] |= 1 << at
            for row in _bits(each.blocked):
                blocking[row] |= 1 << at
        every = (1 << len(self._found)) - 1
        beside = []
        for each in self._found:
            away = same[each.row] | blocking[each.row]
            for row in _bits(each.blocked):
                away |= same[row]
            beside.append(every & ~away)
        return beside

    def _try(self, rng: random.Random) -> None:
        """Takes, again and again, of some the one that leaves most to choose from."""
        chosen: list[Critical] = []
        rows = np.zeros(0, dtype=np.int64)
        candidates = (1 << len(self._found)) - 1
        while candidates and not self._enough():
            every = _bits(candidates)
            some = rng.sample(every, min(len(every), _TRIED if chosen else 1))
            at = max(some, key=lambda each: (candidates & self._beside[each]).bit_count())
            more, together = [*chosen, self._found[at]], np.append(rows, self._found[at].row)
            candidates &= ~(1 << at)
            if all(_matters(each, together) for each in more):
                chosen, rows, candidates = more, together, candidates & self._beside[at]
        self._best = max(self._best, len(chosen))

    def _enough(self) -> bool:
        return self._most is not None and self._best >= self._most

    def _grow(self, chosen: list[Critical], rows: Values, candidates: int) -> None:
        """Branch and bound by greedy colouring; at each step all that is chosen still matters."""
        self._best = max(self._best, len(chosen))
        for at, bound in reversed(self._coloured(candidates)):
            if len(chosen) + bound <= self._best:
                return
            if self._enough():
                return
            self._steps += 1
            if self._steps > _STEPS:
                raise TooMuch
            more = [*chosen, self._found[at]]
            together = np.append(rows, self._found[at].row)
            if len(more) <= 2 or all(_matters(each, together) for each in more):
                self._grow(more, together, candidates & self._beside[at])
            candidates &= ~(1 << at)

    def _coloured(self, candidates: int) -> list[tuple[int, int]]:
        order: list[tuple[int, int]] = []
        uncoloured, colour = candidates, 0
        while uncoloured:
            colour += 1
            independent = uncoloured
            while independent:
                at = (independent & -independent).bit_length() - 1
                order.append((at, colour))
                independent &= ~(self._beside[at] | 1 << at)
                uncoloured &= ~(1 << at)
        return order


def _critical(joins: Values, own: Truths) -> Iterator[Critical]:
    """What shows that a row matters to one output, without what another does at least as well."""
    found: defaultdict[int, dict[tuple[int, bytes], Critical]] = defaultdict(dict)
    for combination in joins:
        for row in set(combination[own[combination]].tolist()):
            future = np.zeros(len(own), dtype=np.bool_)
            future[combination] = True
            future[row] = False
            missing = ~future[joins]
            without = ~(joins == row).any(axis=1) & (own[joins] | ~missing).all(axis=1)
            if not missing[without].any(axis=1).all():
                continue
            least = np.where(missing, joins, len(own)).min(axis=1)
            last = np.where(missing, joins, -1).max(axis=1)
            alone = least[without & (least == last)]
            blocked = sum(1 << each for each in set(alone.tolist()))
            several = without & (least != last)
            several &= ~(np.isin(joins, alone) & missing).any(axis=1)
            others = np.unique(np.where(missing, joins, -1)[several], axis=0)
            key = blocked, others.tobytes()
            found[row].setdefault(key, Critical(row, joins, future, blocked))
    for every in found.values():
        simple = [blocked for blocked, rest in every if not rest]
        for (blocked, rest), each in every.items():
            weaker = (other for other in simple if other & ~blocked == 0)
            if not any(other != blocked or rest for other in weaker):
                yield each


def _matters(critical: Critical, rows: Values) -> bool:
    """Whether the output still needs the row when these rows have come."""
    there = critical.future.copy()
    there[rows] = True
    there[critical.row] = False
    return not there[critical.joins].all(axis=1).any()


def _inputs(query: SpjText, margin: int) -> list[Rows]:
    """For each alias all rows of its stream, in the columns that the query names with any alias,
    with values that go `margin` beyond the constants and NULL, that may take part in a result."""
    ends = query.constants or (0, 0)
    named: dict[str, dict[str, None]] = {name: {} for _, name in query.inputs}
    streams = dict(query.inputs)
    for each in query.relevant:
        alias, _, column = each.partition(".")
        named[streams[alias]][column] = None
    values = {
        name: _values(query, name, list(columns), ends[0] - margin, ends[-1] + margin)
        for name, columns in named.items()
    }
    every = [
        Rows(alias, tuple(f"{alias}.{each}" for each in named[name]), values[name])
        for alias, name in query.inputs
    ]
    useful = {name: np.zeros(len(rows), dtype=np.bool_) for name, rows in values.items()}
    for (_, name), rows in zip(query.inputs, every, strict=True):
        filters = (each for each in query.comparisons if set(each.columns) <= set(rows.columns))
        useful[name] |= joined(replace(query, comparisons=tuple(filters)), [rows])
    return [
        rows.take(np.flatnonzero(useful[name]))
        for (_, name), rows in zip(query.inputs, every, strict=True)
    ]


def _values(query: SpjText, stream: str, columns: list[str], low: int, high: int) -> Values:
    declared = next(each for each in query.streams if each.name == stream)
    kinds = []
    for each in declared.columns:
        if each.name in columns:
            least = low if each.low is None else max(low, each.low)
            most = high if each.high is None else min(high, each.high)
            kinds.append((each.name, [*range(least, most + 1), *([] if each.not_null else [NULL])]))
    order = {name: at for at, (name, _) in enumerate(kinds)}
    rows = list(product(*(values for _, values in kinds)))
    found = np.array(rows, dtype=np.int64).reshape(len(rows), len(kinds))
    return found[:, [order[each] for each in columns]]


def _joined(query: SpjText, inputs: list[Rows]) -> Truths:
    if math.prod(len(each) for each in inputs) > _MOST_COMBINATIONS:
        raise TooMuch
    return joined(query, inputs)


def _outputs(query: SpjText, inputs: list[Rows]) -> NDArray[np.uint64]:
    """Of each combination a number that stands for its output, and is as good as random."""
    code = np.zeros(tuple(len(each) for each in inputs), dtype=np.uint64)
    for side in query.projection:
        if isinstance(side, str):
            at = next(place for place, each in enumerate(inputs) if side in each.columns)
            axes = [1] * len(inputs)
            axes[at] = len(inputs[at])
            code = _mixed(code + inputs[at].of(side).astype(np.uint64).reshape(axes))
    return _mixed(code)


def _mixed(code: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """SplitMix64."""
    code = code + np.uint64(0x9E3779B97F4A7C15)
    code = (code ^ (code >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    code = (code ^ (code >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return code ^ (code >> np.uint64(31))


def _bits(mask: int) -> list[int]:
    return [place for place in range(mask.bit_length()) if mask >> place & 1]
