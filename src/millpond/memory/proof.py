"""A verdict that says no, with the input that proves it.

The criterion says that there is no bound, and on which columns; a witness shows it, to whoever does
not want to believe it: any evaluator that gives right answers is in 2^n different states after the
2^n subsets.  A witness is given only after running by definition told its subsets apart.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import islice

from millpond.memory.family import Family, family_of
from millpond.memory.spj import Attribute
from millpond.memory.threshold import found_thresholds, threshold_on
from millpond.memory.verdict import Growing, Verdict
from millpond.memory.witness import (
    MOST_TRIED,
    Fed,
    Probe,
    Respond,
    Witness,
    every_subset,
    found_lines,
    matches_of,
    some_subsets,
    told_apart,
    witness_on,
)

DEFAULT_SIZE = 8
_ALL = 8
"""Up to so many numbers, all subsets are compared."""
_MOST_ROWS = 1_500_000
"""So many rows are read, at most, to tell subsets apart."""
_LONG = 3
"""A join of more inputs takes long by definition, and is asked fewer questions."""
_LINES = 24
"""How many lines are tried that tell few numbers apart."""


def witness_of(
    verdict: Verdict, respond: Respond, n: int = DEFAULT_SIZE, most: int = MOST_TRIED
) -> Witness | None:
    """A verified witness of n numbers; None if none was found."""
    for growing in verdict.growing:
        for found in _candidates(growing, respond, n, most):
            if _told_apart(found, respond, len(growing.query.streams)):
                return _timed(found, growing)
    return None


def _told_apart(witness: Witness, respond: Respond, inputs: int) -> bool:
    """Whether all subsets are told apart; of more than can be gone through, those of the first few
    numbers and many others; of numbers with many rows each, or of long joins, some."""
    n = witness.n
    rows = sum(len(each) for parts in witness.prefix for each in parts)
    most = _MOST_ROWS // max(1, rows * n * max(1, inputs - _LONG) ** 6)
    if n <= _ALL and most >= 1 << n:
        return told_apart(witness, respond, every_subset(n))
    few = [subset | frozenset(range(_ALL, n)) for subset in every_subset(min(n, _ALL))]
    some = some_subsets(n)
    subsets = (
        [*some, *few]
        if len(few) < most
        else random.Random(n).sample(some, min(len(some), most + 4))
    )
    return told_apart(witness, respond, subsets)


def _timed(witness: Witness, growing: Growing) -> Witness:
    """The same with timestamps: rows before a probe are one instant, a probe is the next."""
    places = {stream.name: stream.time_place for _, stream in growing.query.streams}

    def at(rows: Sequence[Fed], time: int) -> tuple[Fed, ...]:
        found = []
        for stream, row in rows:
            place = places[stream]
            if place is not None:
                row = (*row[:place], time, *row[place + 1 :])
            found.append((stream, row))
        return tuple(found)

    return Witness(
        witness.n,
        at(witness.base, 1),
        tuple((at(inside, 1), at(outside, 1)) for inside, outside in witness.prefix),
        tuple(at(each, 2) for each in witness.probes),
    )


def _candidates(growing: Growing, respond: Respond, n: int, most: int) -> Iterator[Witness]:
    query = growing.query
    # A family is a proof, and lines are guesses that running by definition has to sort out.
    if query.distinct and query.self_join:
        family = family_of(query)
        if family is not None:
            yield _of_family(family, n)
    if growing.constants is not None:
        heaps = found_thresholds(query, growing.attributes, growing.constants, respond)
        for heap in islice(heaps, _LINES):
            found = threshold_on(query, heap, n)
            if found is not None:
                yield found
    if growing.hidden:
        return
    probes = tuple(Probe) if growing.counts else (Probe.OTHERS, Probe.AGAIN)
    lines = found_lines(query, growing.attributes, respond, probes, most)
    for line in islice(lines, _LINES):
        found = witness_on(query, line, n)
        if found is not None:
            yield found


def _of_family(family: Family, n: int) -> Witness:
    """The stored rows of each match, and the others as its probe."""
    query = family.query
    matches: list[dict[Attribute, int | None]] = [
        {
            Attribute(alias, column): value
            for alias, _ in query.streams
            for column, value in family.row(alias, number, n).items()
        }
        for number in range(1, n + 1)
    ]
    rows = matches_of(query, matches)
    return Witness(
        n,
        (),
        tuple((_some(each, family.stored), ()) for each in rows),
        tuple(_some(each, each.keys() - family.stored) for each in rows),
    )


def _some(rows: Mapping[str, Fed], aliases: Set[str]) -> tuple[Fed, ...]:
    return tuple(row for alias, row in rows.items() if alias in aliases)
