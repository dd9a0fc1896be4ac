"""The functions of an input: the numbers that rows of other inputs ask of its rows.

For a column y of another input, the joins `x1 - y <= c1`, `x2 - y <= c2` ask one number of a row,
`max(x1 - c1, x2 - c2)`, clamped to what the values of y tell apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from millpond.memory.lto import Closure, Join
from millpond.memory.parts import Function, Side
from millpond.memory.spj import Attribute, SpjQuery
from millpond.schema import Interval


@dataclass(frozen=True)
class Meeting:
    """A part of each input whose rows can join, and what their rows have to satisfy together."""

    places: tuple[int, ...]
    closure: Closure
    joins: tuple[Join, ...]
    equalities: tuple[Join, ...]


Name = tuple[Side, tuple[tuple[Attribute, int], ...]]


def named(function: Function) -> Name:
    return function.side, function.terms


def widen(functions: dict[Name, Function], function: Function) -> None:
    """Keeps one function for all combinations, over every value that one of them tells apart."""
    known = functions.get(named(function))
    if known is not None:
        function = replace(
            function,
            clamp=_cover(known.clamp, function.clamp),
            told=None if function.told is None else function.told + (known.told or 0),
            anywhere=function.anywhere or known.anywhere,
            gaps=(*known.gaps, *function.gaps),
        )
    functions[named(function)] = function


def _cover(one: Interval, other: Interval) -> Interval:
    low = None if one.low is None or other.low is None else min(one.low, other.low)
    high = None if one.high is None or other.high is None else max(one.high, other.high)
    return Interval(low, high)


def two_sided(functions: Iterable[Function]) -> list[Attribute]:
    """Columns that bound others from below and from above: kept as they are, if they can be."""
    low, high = (
        {x for each in functions if each.side is side for x, _ in each.terms}
        for side in (Side.LOW, Side.HIGH)
    )
    return sorted(low & high)


def functions(
    query: SpjQuery, meeting: Meeting, own: Closure, alias: str, exact: set[Attribute]
) -> list[Function]:
    """The functions of an input beside its exact columns.

    What the others tell apart is said by the combination; which values the rows can have, by
    their own part alone.
    """
    asked: dict[tuple[Side, Attribute], dict[Attribute, int]] = {}
    for x, y, c in meeting.joins:
        if x.alias == alias:
            mine, partner, side, offset = x, y, Side.LOW, -c
        elif y.alias == alias:
            mine, partner, side, offset = y, x, Side.HIGH, c
        else:
            continue
        if mine in exact or own.interval(mine).size == 1:
            continue
        asked.setdefault((side, partner), {})[mine] = offset
    merged: dict[Name, list[int | None]] = {}
    partners: dict[Name, list[tuple[Attribute, int]]] = {}
    for (side, partner), terms in asked.items():
        base = min(terms.values()) if side is Side.LOW else max(terms.values())
        normal = tuple(sorted((each, offset - base) for each, offset in terms.items()))
        limits = meeting.closure.interval(partner)
        limit = limits.low if side is Side.LOW else limits.high
        merged.setdefault((side, normal), []).append(None if limit is None else limit - base)
        partners.setdefault((side, normal), []).append((partner, -base))
    found = []
    for name, told_apart in merged.items():
        function = Function(*name, _clamp(own, *name, told_apart))
        found.append(_counted(function, own, meeting.closure, partners[name]))
    return found


def _counted(
    function: Function,
    own: Closure,
    closure: Closure,
    partners: Sequence[tuple[Attribute, int]],
) -> Function:
    """A function of columns that are not the integers, with what has to be told apart of it: the
    places of its grid, or, of what can lie anywhere, the gaps between its partners' values."""
    values = [own.values(each) for each, _ in function.terms]
    if all(each.step == 1 and not each.dense for each in values):
        return function
    if any(each.dense for each in values):
        gaps = [
            (closure.values(partner).within(_between(function, -shift)), shift)
            for partner, shift in partners
        ]
        known = [each.size for each, _ in gaps if each.size is not None]
        if len(known) < len(gaps):
            return replace(function, anywhere=function.clamp.size != 1)
        return replace(function, told=sum(known) + 1, gaps=tuple(gaps))
    size = function.clamp.size
    if size is None:
        return function
    # `x` and `y + 1` of one grid lie beside one another, not on top: `d < z` and `e <= z`.
    step = min(each.step for each in values)
    beside = len({offset % step for _, offset in function.terms})
    return replace(function, told=beside * ((size - 1) // step + 1) + 1)


def _between(function: Function, shift: int) -> Interval:
    """Where a partner's value, so much greater, has values of the function on either side: those
    up to it meet it and those beyond do not, or the other way round."""
    low, high = function.clamp.low, function.clamp.high
    if function.side is Side.LOW:
        high = None if high is None else high - 1
    else:
        low = None if low is None else low + 1
    return Interval(None if low is None else low + shift, None if high is None else high + shift)


def _clamp(
    predicate: Closure,
    side: Side,
    terms: Iterable[tuple[Attribute, int]],
    limits: Iterable[int | None],
) -> Interval:
    """The values that the partners tell apart, among those that the terms can take.

    A LOW function at or below every partner's least value is as good as that value, so the least
    of those is where it is clamped; HIGH is the mirror image.
    """
    lows, highs = [], []
    for each, offset in terms:
        interval = predicate.interval(each)
        lows.append(None if interval.low is None else interval.low + offset)
        highs.append(None if interval.high is None else interval.high + offset)
    if side is Side.LOW:
        low, high = _greatest(lows, none_is_least=True), _greatest(highs, none_is_least=False)
        floor = _least(limits, none_is_least=True)
        return Interval(low if floor is None else floor if low is None else max(low, floor), high)
    low, high = _least(lows, none_is_least=True), _least(highs, none_is_least=False)
    ceiling = _greatest(limits, none_is_least=False)
    return Interval(
        low, high if ceiling is None else ceiling if high is None else min(high, ceiling)
    )


def _greatest(values: Iterable[int | None], *, none_is_least: bool) -> int | None:
    found = list(values)
    if not none_is_least and None in found:
        return None
    return max((each for each in found if each is not None), default=None)


def _least(values: Iterable[int | None], *, none_is_least: bool) -> int | None:
    found = list(values)
    if none_is_least and None in found:
        return None
    return min((each for each in found if each is not None), default=None)
