"""Witnesses for groups that show only from some threshold on: HAVING COUNT(*) > 3, SUM(x) > 1000.

One stored row and one probe do not get a group past its threshold.  So a number stores a *heap* of
rows and asks with another: copies of the row that a line gives it, in which the columns that
aggregates are computed from hold values near the constants of the query, the same in all copies or
another one in each.  How many copies there are comes from the same constants.  Heaps are drawn at
random; whether one tells subsets apart is for a run by definition to say.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import islice

from millpond.memory.attribute import Attribute, number
from millpond.memory.independent import bases_of
from millpond.memory.spj import SpjQuery
from millpond.memory.witness import (
    Fed,
    Line,
    Respond,
    Witness,
    every_subset,
    lines,
    told_apart,
    witness_on,
)
from millpond.schema import Column, DecimalType, EnumType, Kind, Row, Stream, Value

_MOST_COPIES = 1_024
_MOST_ROWS = 120_000
"""After so many rows in all trials the search is given up."""
_MOST_TRIED = 1_500

Fill = Callable[[int], Value]
"""The value of a column in a copy."""


@dataclass(frozen=True)
class Heap:
    """So many copies of a row, and what some of its columns hold."""

    copies: int
    fills: Mapping[str, Fill]

    def rows(self, stream: Stream, row: Row) -> Iterator[Row]:
        places = {each.name: place for place, each in enumerate(stream.columns)}
        for copy in range(self.copies):
            made = list(row)
            for name, fill in self.fills.items():
                made[places[name]] = fill(copy)
            yield tuple(made)


@dataclass(frozen=True)
class Threshold:
    """A line, with the heap that each number stores, and the one that its probe adds."""

    line: Line
    stored: Heap
    asks: Heap


def threshold_on(query: SpjQuery, threshold: Threshold, n: int) -> Witness | None:
    """The heaps of n numbers; None where the condition leaves no room for them."""
    found = witness_on(query, threshold.line, n)
    if found is None:
        return None
    streams = dict(query.streams)
    stream = streams[threshold.line.stored]
    alone = len(streams) == 1

    def heap(of: Heap, row: Fed) -> tuple[Fed, ...]:
        return tuple((stream.name, each) for each in of.rows(stream, row[1]))

    prefix, probes = [], []
    for (inside, _), others in zip(found.prefix, found.probes, strict=True):
        own = inside[0]
        prefix.append((heap(threshold.stored, own), ()))
        probes.append((*(() if alone else others), *heap(threshold.asks, own)))
    return Witness(n, (), tuple(prefix), tuple(probes))


def found_thresholds(
    query: SpjQuery, named: Sequence[Attribute], constants: Sequence[Value], respond: Respond
) -> Iterator[Threshold]:
    """Heaps that tell every subset of a few numbers apart."""
    left = _MOST_ROWS
    for each in islice(thresholds(query, named, constants), _MOST_TRIED):
        for n in (1, 2, 3):
            tried = threshold_on(query, each, n)
            if tried is None:
                break
            left -= n * (each.stored.copies + each.asks.copies)
            if not told_apart(tried, respond, every_subset(n)):
                break
        else:
            yield each
        if left < 0:
            return


def thresholds(
    query: SpjQuery, named: Sequence[Attribute], constants: Sequence[Value], seed: int = 0
) -> Iterator[Threshold]:
    """Heaps to try, every third of single rows."""
    rng = random.Random(seed)
    numbers = _near(constants)
    counts = sorted({1, 2, 3, *(int(each) for each in numbers if 1 <= each <= _MOST_COPIES)})
    streams = dict(query.streams)
    shown = set(query.shown)
    for line in lines(query, named, seed=seed):
        if not line.directions.keys() & shown:
            continue  # every number has a group of its own
        stream = streams[line.stored]
        free = [
            column
            for column in stream.columns
            if Attribute(line.stored, column.name) in _free(query)
        ]

        def heap(most: int, least: int, free: Sequence[Column] = free) -> Heap:
            copies = rng.choice(counts[: rng.randint(1, most)] if least else (0, *counts[:most]))
            fills = {each.name: _fill(each, numbers, constants, rng) for each in free}
            return Heap(copies, fills)

        yield Threshold(line, heap(len(counts), 1), heap(len(counts), int(len(streams) == 1)))


def alike(query: SpjQuery) -> bool:
    """Whether all groups without bound are the same to what aggregates say of them: of one input,
    and aggregates of columns that no group shows and no condition compares.  What tells a few of
    them apart then does so for any number."""
    return len(query.streams) == 1 and bases_of(query.beside) <= _free(query)


def _free(query: SpjQuery) -> set[Attribute]:
    """The columns of aggregates that no group shows and no join compares."""
    fixed = {x for each in query.pairs for x in each.columns} | set(query.shown)
    return bases_of(query.beside) - bases_of(tuple(fixed))


def _near(constants: Sequence[Value]) -> tuple[Fraction, ...]:
    """Numbers beside those of the query, and those that pass them only twice."""
    given = [number(each) for each in constants if each is not None and not isinstance(each, str)]
    found = {Fraction(0), Fraction(1), Fraction(-1)}
    for each in given:
        found |= {each, each - 1, each + 1, Fraction(each // 2 + 1), 2 * each}
    return tuple(sorted(found))


def _fill(
    column: Column, numbers: Sequence[Fraction], constants: Sequence[Value], rng: random.Random
) -> Fill:
    """One value for all copies, or another one for each as far as the column has so many."""
    likely = [each for each in _likely(column, numbers, constants) if column.check.admits(each)]
    if column.nullable:
        likely.append(None)
    if rng.random() < 0.3:
        first, each_one = rng.randint(0, 1) * 1_000, _counted(column)
        if each_one is not None and all(column.check.admits(each_one(k)) for k in (0, 2_048)):
            return lambda copy: each_one(first + copy)
        rng.shuffle(likely)
        return lambda copy: likely[copy % len(likely)] if likely else None
    value = rng.choice(likely) if likely else None
    return lambda _: value


def _likely(
    column: Column, numbers: Sequence[Fraction], constants: Sequence[Value]
) -> Iterator[Value]:
    type_ = column.type
    if column.check.listed is not None:
        yield from column.check.listed
    elif isinstance(type_, EnumType):
        yield from type_.values
    elif type_.kind is Kind.VARCHAR:
        yield from ("", "a", *(each for each in constants if isinstance(each, str)))
    elif type_.kind is Kind.BOOLEAN:
        yield from (False, True)
    elif type_.kind is Kind.DOUBLE:
        yield from map(float, numbers)
    elif isinstance(type_, DecimalType):
        for each in numbers:
            if (each * 10**type_.scale).denominator == 1:
                yield Decimal(each.numerator) / Decimal(each.denominator)
    else:
        whole = column.values
        yield from (int(each) for each in numbers if int(each) in whole)


def _counted(column: Column) -> Fill | None:
    """Different values without end, if the type has them."""
    if column.type.kind is Kind.VARCHAR and not isinstance(column.type, EnumType):
        return lambda copy: f"v{copy}"
    if column.type.kind in (Kind.INTEGER, Kind.DATE, Kind.TIMESTAMP):
        values = column.values
        fits = 0 in values and 4_096 in values
        return (lambda copy: copy) if fits else None
    return float if column.type.kind is Kind.DOUBLE else None
