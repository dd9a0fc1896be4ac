"""Witnesses: inputs that every evaluator has to tell apart, for a query without a bound.

For each number i there is a *match*, rows of all inputs that join.  The rows of one input are what
a subset of the numbers feeds or leaves out; those of the others are the probe of i.  Matches lie on
a line: a column that is bounded stays, others rise or fall with i, so far apart that what is
compared is decided by the order of the numbers alone.  Directions are drawn at random, first for
few columns, and the slack that the condition has to leave for n steps is put into it before a match
is chosen, so that the same directions serve for every n (Arasu, Examples 5.8, 5.9 and 5.12: each
way to fail a condition is one such line).

Whether subsets are told apart is not argued here but tried: `told_apart` asks a run by definition,
which is handed in, for the responses of the subsets to the probes.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from itertools import islice

from millpond.memory.attribute import Attribute
from millpond.memory.independent import settled
from millpond.memory.lto import Closure, joins
from millpond.memory.spj import SpjQuery
from millpond.order import ZERO, Zero
from millpond.schema import Check, Column, EnumType, Interval, Kind, Row, Stream, Value

Fed = tuple[str, Row]
"""A stream, and a row of it."""

Respond = Callable[[Sequence[Fed], Sequence[Fed]], object]
"""What is said while the second rows are read after the first."""


@dataclass(frozen=True)
class Witness:
    """`prefix[i]` is fed when i is in the subset or when it is not; `probes[i]` asks for it."""

    n: int
    base: tuple[Fed, ...]
    prefix: tuple[tuple[tuple[Fed, ...], tuple[Fed, ...]], ...]
    probes: tuple[tuple[Fed, ...], ...]

    def fed(self, subset: frozenset[int]) -> list[Fed]:
        """The rows before a probe."""
        rows = list(self.base)
        for number, (inside, outside) in enumerate(self.prefix):
            rows += inside if number in subset else outside
        return rows


class Probe(Enum):
    """What the probe of a number feeds."""

    OTHERS = "its rows of the other inputs"
    AGAIN = "its stored row again, and those of the others"
    BESIDE = "its rows of the others, and those of the last number"
    RANK = "rows that make its stored row, or the one fed instead of it, the one in the middle"


@dataclass(frozen=True)
class Line:
    """How matches are laid out: the input that is stored, and which way its columns and those of
    the others go; `seed` draws the rest."""

    stored: str
    directions: Mapping[Attribute, int]
    seed: int
    probe: Probe = Probe.OTHERS


MOST_TRIED = 3_000
_ROOM = 64


def lines(
    query: SpjQuery,
    named: Sequence[Attribute],
    probes: Sequence[Probe] = (Probe.OTHERS,),
    seed: int = 0,
) -> Iterator[Line]:
    """Lines to try, every other one along the columns that a failing condition names and what they
    are compared with, with or without those of aggregates; columns that differ by a constant go
    together."""
    rng = random.Random(seed)
    predicate = query.predicate
    groups: list[list[Attribute]] = []
    for each in predicate.elements:
        if predicate.bounded(each):
            continue  # a bounded range is left behind as n grows
        for group in groups:
            if predicate.offset(each, group[0]) is not None:
                group.append(each)
                break
        else:
            groups.append([each])
    aliases = [alias for alias, _ in query.streams]
    met = [{x, y} for x, y, _ in joins(predicate)]
    joined = {each for pair in met if pair & set(named) for each in pair} | set(named)
    blamed = [group for group in groups if set(group) & joined]
    beside = [group for group in groups if set(group) & joined.union(query.beside)]
    for trial in range(MOST_TRIED):
        chosen = blamed if trial % 4 else beside
        if trial % 2 or not chosen:
            chosen = rng.sample(groups, min(len(groups), 1 + trial // 2 % 4))
        directions: dict[Attribute, int] = {}
        for group in chosen:
            step = rng.choice((-1, 1))
            directions |= dict.fromkeys(group, step)
        probe = probes[trial // 2 % len(probes)]
        yield Line(rng.choice(aliases), directions, rng.randrange(1 << 30), probe)


def witness_on(query: SpjQuery, line: Line, n: int) -> Witness | None:
    """The matches of n numbers on a line; None where the condition leaves no room for them."""
    size = 2 * n + 2 if line.probe is Probe.RANK else n
    roomy = replace(query, room=_ROOM * (size + 2))
    steps = _steps(roomy, line)
    closure = _with_slack(roomy.predicate, steps, size)
    if not closure.satisfiable:
        return None
    start = _start(roomy, closure, random.Random(line.seed))
    if start is None:
        return None
    matches = [
        {each: value + number * steps.get(each, 0) for each, value in start.items()}
        for number in range(size)
    ]
    rows = matches_of(roomy, matches)
    stored = [each[line.stored] for each in rows]
    aliases = [alias for alias, _ in query.streams]
    others = [
        tuple(each[alias] for alias in aliases if alias != line.stored or len(aliases) == 1)
        for each in rows
    ]
    if line.probe is Probe.RANK:
        return _ranked(n, stored, others[0] if len(aliases) > 1 else ())
    probes = {
        Probe.OTHERS: others,
        Probe.AGAIN: [(*each, own) for each, own in zip(others, stored, strict=True)],
        Probe.BESIDE: [(*each, *others[-1]) for each in others],
    }[line.probe]
    return Witness(n, (), tuple(((each,), ()) for each in stored), tuple(probes))


def _whole(hull: Interval, unit: int) -> int:
    """A whole number near an end of a wide interval."""
    if hull.low is None:
        return ((hull.high or 0) // unit) * unit
    return -(-hull.low // unit) * unit


def matches_of(
    query: SpjQuery, matches: Sequence[Mapping[Attribute, int | None]]
) -> list[dict[str, Fed]]:
    """The rows of matches, under their inputs' names."""
    fixed = settled(query)
    return [
        {
            alias: (stream.name, _row(query, alias, stream, match, fixed))
            for alias, stream in query.streams
        }
        for match in matches
    ]


def _ranked(n: int, stored: Sequence[Fed], others: Sequence[Fed]) -> Witness:
    """Of each pair of neighbours one is fed, so that a rank says which; rows at both ends move the
    middle to it."""
    low, *inner, high = stored
    pairs = list(zip(inner[::2], inner[1::2], strict=True))
    probes = []
    for number in range(n):
        shift = n - 1 - 2 * number
        probes.append((*others, *([low] * shift if shift > 0 else [high] * -shift)))
    return Witness(n, (), tuple(((one,), (other,)) for one, other in pairs), tuple(probes))


def _steps(query: SpjQuery, line: Line) -> dict[Attribute, int]:
    """How far each column goes from one number to the next: farther than any offset where there is
    room for it, by one, or by as little as can be."""
    unit = query.scale.unit
    largest = max((abs(c) for _, _, c in query.predicate.atoms()), default=0)
    stride = random.Random(line.seed + 1).choice((unit * (largest // unit + 2), unit, 1))
    found = {}
    for each, direction in line.directions.items():
        values = query.predicate.values(each)
        step = 1 if values.dense else values.step
        found[each] = direction * step * max(1, stride // step)
    return found


def _with_slack(closure: Closure, steps: Mapping[Attribute, int], n: int) -> Closure:
    """The matches of number 0 for which those of all numbers satisfy the condition, too."""
    bounds = []
    for x, y, c in closure.atoms():
        moved = n * (_step(x, steps) - _step(y, steps))
        if moved > 0:
            bounds.append((x, y, c - moved))
    return closure.with_bounds(bounds)


def _step(x: Attribute | Zero, steps: Mapping[Attribute, int]) -> int:
    return steps.get(x, 0) if isinstance(x, Attribute) else 0


def _start(query: SpjQuery, closure: Closure, rng: random.Random) -> dict[Attribute, int] | None:
    """A match, drawn at random near the ends of what is left for each column."""
    found: dict[Attribute, int] = {}
    elements = list(closure.elements)
    rng.shuffle(elements)
    for each in elements:
        values = closure.values(each)
        hull = values.hull
        unit = query.scale.unit
        if hull.low is None and hull.high is None:
            wanted = rng.randint(-3, 3) * unit
        elif values.dense and (hull.size is None or hull.size > 2 * unit):
            wanted = _whole(hull, unit)
        elif hull.low is None or (hull.high is not None and rng.random() < 0.5):
            wanted = (hull.high or 0) - rng.choice((0, 1, 2)) * (1 if values.dense else values.step)
        else:
            wanted = hull.low + rng.choice((0, 1, 2)) * (1 if values.dense else values.step)
        value = values.floor(wanted)
        if value is None:
            value = values.ceiling(wanted)
        if value is None:
            return None
        closure = closure.with_bounds([(each, ZERO, value), (ZERO, each, -value)])
        if not closure.satisfiable:
            return None
        found[each] = value
    return found


def _row(
    query: SpjQuery,
    alias: str,
    stream: Stream,
    match: Mapping[Attribute, int | None],
    fixed: Mapping[Attribute, Value],
) -> Row:
    """A row with the values of a match; of what does not matter, NULL, or the first there is."""
    row: list[Value] = []
    for column in stream.columns:
        each = Attribute(alias, column.name)
        if each in match:
            row.append(_value(query, column, match[each]))
        elif each in fixed:
            row.append(fixed[each])
        else:
            row.append(None if column.nullable else _any(column))
    return tuple(row)


def _value(query: SpjQuery, column: Column, number: int | None) -> Value:
    """The value that a number of units stands for."""
    if number is None:
        return None
    exact = Fraction(number, query.scale.unit)
    match column.type.kind:
        case Kind.VARCHAR:
            return query.scale.text(number)
        case Kind.BOOLEAN:
            return bool(exact)
        case Kind.DOUBLE:
            return float(exact)
        case Kind.DECIMAL:
            return query.scale.decimal(number)
    return int(exact)


def _any(column: Column) -> Value:
    """Some value that a column admits."""
    return next(filter(column.check.admits, _likely(column)), None)


def _likely(column: Column) -> Iterator[Value]:
    """Values of a column's type, in and around the range that its CHECK allows."""
    type_, check = column.type, column.check
    if check.listed is not None:
        yield from check.listed
    elif isinstance(type_, EnumType):
        yield from type_.values
    elif type_.kind is Kind.VARCHAR:
        yield from ("a", "", *(f"{end}{more}" for end in _ends(check) for more in ("", "!")))
    elif type_.kind is Kind.BOOLEAN:
        yield from (False, True)
    else:
        exact = [Fraction(str(end)) for end in _ends(check)]
        middle = sum(exact, Fraction(0)) / max(1, len(exact))
        for number in (Fraction(0), *exact, *(x + by for x in exact for by in (1, -1)), middle):
            match type_.kind:
                case Kind.DOUBLE:
                    yield float(number)
                case Kind.DECIMAL:
                    yield Decimal(number.numerator) / Decimal(number.denominator)
                case _:
                    yield int(number)


def _ends(check: Check) -> list[Value]:
    return [each for each in (check.low, check.high) if each is not None]


# Telling apart ----------------------------------------------------------------------------------


def told_apart(witness: Witness, respond: Respond, subsets: Sequence[frozenset[int]]) -> bool:
    """Whether any two different subsets respond differently to some probe."""
    seen: dict[tuple[object, ...], frozenset[int]] = {}
    for subset in dict.fromkeys(subsets):
        rows = witness.fed(subset)
        responses = tuple(respond(rows, probe) for probe in witness.probes)
        other = seen.setdefault(responses, subset)
        if other != subset:
            return False
    return True


def every_subset(n: int) -> list[frozenset[int]]:
    return [frozenset(i for i in range(n) if mask >> i & 1) for mask in range(1 << n)]


def some_subsets(n: int, count: int = 24) -> list[frozenset[int]]:
    """Different subsets: none, all, neighbours of both, and some at random."""
    rng = random.Random(n)
    full = frozenset(range(n))
    found = {frozenset(), full}
    found |= {frozenset({i}) for i in range(n)} | {full - {i} for i in range(n)}
    while len(found) < min(1 << n, 2 * n + 2 + count):
        found.add(frozenset(i for i in range(n) if rng.random() < 0.5))
    return sorted(found, key=sorted)


def found_lines(
    query: SpjQuery,
    named: Sequence[Attribute],
    respond: Respond,
    probes: Sequence[Probe] = (Probe.OTHERS,),
    most: int = MOST_TRIED,
) -> Iterator[Line]:
    """Lines whose subsets are told apart, tried with every subset of up to five numbers."""
    for line in islice(lines(query, named, probes), most):
        if all(
            (tried := witness_on(query, line, n)) is not None
            and told_apart(tried, respond, every_subset(n))
            for n in (2, 3, 5)
        ):
            yield line
