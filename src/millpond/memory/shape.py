"""The shape of the synopsis (Arasu, sections 7.1 and 7.2): what is kept of each stream.

A row matters only through the comparisons that it takes part in with rows of other streams.  For
a column y of another stream, the joins `x1 - y <= c1`, `x2 - y <= c2` ask one number of the row,
`max(x1 - c1, x2 - c2)`: the smaller it is, the more rows y it meets.  Such numbers are the
*functions* of a stream, next to the columns that it has to keep exactly (projected, or joined by
equality).  Rows with the same exact columns and the same functions are equivalent; a function is
clamped to the values that the other side tells apart, which makes it finite wherever the criterion
asks for it.  Of at most one function the values have no bound, under DISTINCT only: there the
best value per bucket is kept (`max of min`, `min of max`, Definition 7.3), because a row that is
better in it and equal in the rest replaces the other.

Where rows are compared by two functions without bound, inputs are split into *parts* by where a
column lies among the constants, or by the order of two columns: the buckets of the paper, but only
where they are needed, so that the synopsis is the merged one and not the union over all LTO
queries.  Rows of one part may be compared by one function with one part of another input, and by
another with the next: then the best value of each is kept (the paper's one or two representatives).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import product

from millpond.memory.lto import Closure, Join, differences, joins, order_choices
from millpond.memory.reachable import reachable
from millpond.memory.spj import Attribute, SpjQuery
from millpond.order import ZERO, Bound, DifferenceBounds, Values
from millpond.schema import Interval


class Side(Enum):
    """What a function of a row is compared with."""

    EXACT = "exact"
    """The value itself matters."""
    LOW = "low"
    """The greatest of its terms has to be at most something: smaller is better."""
    HIGH = "high"
    """The least of its terms has to be at least something: greater is better."""


@dataclass(frozen=True)
class Function:
    """`x`, `max(x1 + o1, ...)` or `min(x1 + o1, ...)` of a row, clamped to an interval."""

    side: Side
    terms: tuple[tuple[Attribute, int], ...]
    clamp: Interval
    null_slot: bool = False
    told: int | None = None
    """How many values have to be told apart where they are not the integers of `clamp`."""
    anywhere: bool = False
    """Whether infinitely many have to be, in an interval or not."""
    gaps: tuple[tuple[Values, int], ...] = ()
    """The values between which it is told where it lies, each so much greater."""

    @property
    def finite(self) -> bool:
        return self.clamp.size is not None and not self.anywhere

    @property
    def size(self) -> int:
        """How many values it takes, NULL among them."""
        size = self.clamp.size
        if size is None or self.anywhere:
            raise ValueError(f"{self} has no bound")
        return (size if self.told is None else self.told) + self.null_slot

    @property
    def name(self) -> str:
        names = [
            each.column + (f" {'+' if offset > 0 else '-'} {abs(offset)}" if offset else "")
            for each, offset in self.terms
        ]
        if len(names) == 1:
            return names[0]
        return f"{'max' if self.side is Side.LOW else 'min'}({', '.join(names)})"


@dataclass(frozen=True)
class Part:
    """Rows of one input that share a form of synopsis."""

    predicate: Closure
    """P+ with the filters of this part."""
    keys: tuple[Function, ...]
    bests: tuple[Function, ...]
    """The functions whose best value is kept per bucket, each on its own."""
    buckets: int
    """How many buckets a row can fall into."""


@dataclass(frozen=True)
class StreamShape:
    """What is kept of one input."""

    alias: str
    stream: str
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Combination:
    """A part of each input, and what rows of them have to satisfy together."""

    parts: tuple[int, ...]
    best: tuple[int | None, ...]
    """For each input, which of its part's best values speaks for its rows here."""
    active: tuple[tuple[Function, ...], ...]
    """For each input, the functions that its rows are compared by here."""
    joins: tuple[Join, ...]
    equalities: tuple[Join, ...]


@dataclass(frozen=True)
class Shape:
    """What is kept of a bounded query: the synopses of its inputs, and the rows already given."""

    query: SpjQuery
    streams: tuple[StreamShape, ...]
    combinations: tuple[Combination, ...]
    emitted: tuple[Function, ...] | None
    emitted_rows: int


class ShapeNotFoundError(Exception):
    """A bounded query for which no synopsis was found: a bug of ours."""


def shape_of(query: SpjQuery) -> Shape:
    """The shape of the synopsis of a query that meets the criterion."""
    if not query.satisfiable:
        return Shape(query, (), (), None, 0)
    emitted: tuple[Function, ...] | None = None
    rows = 0
    if query.distinct:
        emitted = answer_keys(query)
        rows = reachable(emitted, query.predicate)
    if len(query.streams) == 1:
        return Shape(query, (), (), emitted, rows)
    streams, combinations = _Splitter(query).run()
    return Shape(query, streams, combinations, emitted, rows)


def answer_keys(query: SpjQuery) -> tuple[Function, ...]:
    """The keys that tell the rows of the answer apart."""
    return tuple(_exact_keys(query, query.predicate, query.shown))


_Bounds = list[Bound[Attribute]]
_MOST_COMBINATIONS = 20_000


@dataclass(frozen=True)
class _Meeting:
    """A part of each input whose rows can join, and what their rows have to satisfy together."""

    places: tuple[int, ...]
    closure: Closure
    joins: tuple[Join, ...]
    equalities: tuple[Join, ...]


class _Splitter:
    """Splits inputs into parts until every combination of parts is compared by at most one
    function without bound per input."""

    def __init__(self, query: SpjQuery) -> None:
        self._query = query
        self._aliases = [alias for alias, _ in query.streams]
        self._parts: list[list[_Bounds]] = [[[]] for _ in query.streams]
        self._owns: list[list[Closure]] = []
        self._asked = _asked(query)

    def run(self) -> tuple[tuple[StreamShape, ...], tuple[Combination, ...]]:
        while True:
            self._owns = [
                [self._query.predicate.with_bounds(part) for part in parts] for parts in self._parts
            ]
            found = list(self._meetings())
            exact = self._exact(found)
            stuck = self._stuck(found, exact)
            if stuck is None:
                return self._finish(found, exact)
            self._split(*stuck)

    def _meetings(self) -> Iterator[_Meeting]:
        count = 0
        for places in product(*(range(len(each)) for each in self._parts)):
            closure = self._query.predicate.with_bounds(
                bound
                for parts, place in zip(self._parts, places, strict=True)
                for bound in parts[place]
            )
            if not closure.satisfiable:
                continue
            count += 1
            if count > _MOST_COMBINATIONS:
                raise ShapeNotFoundError(f"too many parts for {self._query.span.text!r}")
            owns = dict(zip(self._aliases, map(self._own, enumerate(places)), strict=True))
            yield _Meeting(places, closure, *_conditions(self._query, self._asked, owns))

    def _own(self, at: tuple[int, int]) -> Closure:
        """What P+ says of rows of a part, whatever they meet."""
        place, part = at
        return self._owns[place][part]

    def _functions(
        self, meeting: _Meeting, at: tuple[int, int], exact: set[Attribute]
    ) -> list[Function]:
        return _functions(self._query, meeting, self._own(at), self._aliases[at[0]], exact)

    def _exact(self, found: Sequence[_Meeting]) -> dict[tuple[int, int], set[Attribute]]:
        """The columns of each part that are kept exactly, whichever combination asks for it."""
        exact: dict[tuple[int, int], set[Attribute]] = {}
        for meeting in found:
            for at in enumerate(meeting.places):
                own = self._own(at)
                mine = exact.setdefault(at, set())
                mine |= _needed(self._query, own, self._aliases[at[0]])
                mine |= {each for each in self._equated(meeting, at) if own.bounded(each)}
                functions = self._functions(meeting, at, mine)
                mine |= {each for each in _two_sided(functions) if own.bounded(each)}
                open_ended = [each for each in functions if not each.finite]
                if len(open_ended) > 1:
                    mine |= {x for each in open_ended for x, _ in each.terms if own.bounded(x)}
        return exact

    def _equated(self, meeting: _Meeting, at: tuple[int, int]) -> list[Attribute]:
        """The columns of a part that the combination joins by equality, and that vary in it."""
        own, alias = self._own(at), self._aliases[at[0]]
        return [
            each
            for x, y, _ in meeting.equalities
            for each in (x, y)
            if each.alias == alias and own.interval(each).size != 1
        ]

    def _stuck(
        self, found: Sequence[_Meeting], exact: Mapping[tuple[int, int], set[Attribute]]
    ) -> tuple[_Meeting, list[Attribute]] | None:
        """The first combination that is compared by too much, and the columns to split by."""
        allowed = 1 if self._query.distinct else 0
        for meeting in found:
            for at in enumerate(meeting.places):
                equated = [each for each in self._equated(meeting, at) if each not in exact[at]]
                functions = self._functions(meeting, at, exact[at])
                open_ended = [each for each in functions if not each.finite]
                # What lies anywhere is told by two functions where it cannot be kept as it is.
                whole = [x for x in _two_sided(functions) if not self._own(at).dense(x)]
                if equated or whole or len(open_ended) > allowed:
                    mine = [*equated, *(x for each in functions for x, _ in each.terms)]
                    theirs = [
                        y if x in mine else x
                        for x, y, _ in (*meeting.joins, *meeting.equalities)
                        if x in mine or y in mine
                    ]
                    return meeting, list(dict.fromkeys([*theirs, *mine]))
        return None

    def _split(self, meeting: _Meeting, attributes: Sequence[Attribute]) -> None:
        """Splits the part of one input, after the buckets of Definition 7.3."""
        place, alternatives = self._open(meeting, attributes)
        refined = []
        for part, own in zip(self._parts[place], self._owns[place], strict=True):
            if any(_holds(own, each) for each in alternatives):
                refined.append(part)
                continue
            refined += [
                [*part, *each] for each in alternatives if own.with_bounds(each).satisfiable
            ]
        self._parts[place] = refined

    def _open(
        self, meeting: _Meeting, attributes: Sequence[Attribute]
    ) -> tuple[int, tuple[_Bounds, ...]]:
        """An input, and alternatives that its part of the combination leaves open.

        First what the combination leaves open; then what the part alone does: the others may say
        where a column lies, and yet it is kept for combinations that do not.
        """
        owns = [self._own(at) for at in enumerate(meeting.places)]
        for told in ([meeting.closure] * len(owns), owns):
            for alternatives in _alternatives(self._query, attributes):
                place = self._aliases.index(_alias_of(alternatives[0]))
                if not any(_holds(told[place], each) for each in alternatives):
                    return place, alternatives
        raise ShapeNotFoundError(f"no synopsis for {self._query.span.text!r}")

    def _finish(
        self, found: Sequence[_Meeting], exact: Mapping[tuple[int, int], set[Attribute]]
    ) -> tuple[tuple[StreamShape, ...], tuple[Combination, ...]]:
        keys: dict[tuple[int, int], dict[_Name, Function]] = {each: {} for each in exact}
        bests: dict[tuple[int, int], dict[_Name, Function]] = {each: {} for each in exact}
        chosen: list[tuple[list[_Name | None], list[tuple[Function, ...]]]] = []
        for meeting in found:
            best_of: list[_Name | None] = []
            active: list[tuple[Function, ...]] = []
            for at in enumerate(meeting.places):
                functions = self._functions(meeting, at, exact[at])
                active.append(tuple(functions))
                best = None
                keyed = self._aliases[at[0]] in self._query.keyed
                if keyed and all(each.finite for each in functions):
                    pass  # every value is told apart
                elif self._query.distinct and functions:
                    best = max(functions, key=lambda each: (not each.finite, each.clamp.size or 0))
                    functions.remove(best)
                    _widen(bests[at], best)
                for each in functions:
                    _widen(keys[at], each)
                best_of.append(None if best is None else _named(best))
            chosen.append((best_of, active))
        combinations = []
        numbers = self._numbers(exact)
        for meeting, (best_of, active) in zip(found, chosen, strict=True):
            held = [list(bests[each]) for each in enumerate(meeting.places)]
            combinations.append(
                Combination(
                    tuple(numbers[each] for each in enumerate(meeting.places)),
                    tuple(
                        None if name is None else names.index(name)
                        for name, names in zip(best_of, held, strict=True)
                    ),
                    tuple(active),
                    meeting.joins,
                    meeting.equalities,
                )
            )
        streams = []
        for place, (alias, stream) in enumerate(self._query.streams):
            parts = []
            for at in exact:
                if at[0] != place:
                    continue
                own = self._own(at)
                fixed = [each for each in own.elements if each in exact[at]]
                all_keys = (*_exact_keys(self._query, own, fixed), *keys[at].values())
                parts.append(
                    Part(own, all_keys, tuple(bests[at].values()), reachable(all_keys, own))
                )
            streams.append(StreamShape(alias, stream.name, tuple(parts)))
        return tuple(streams), tuple(combinations)

    def _numbers(self, exact: Iterable[tuple[int, int]]) -> dict[tuple[int, int], int]:
        """Parts that no combination uses are left out, so the others are numbered anew."""
        numbers: dict[tuple[int, int], int] = {}
        used: dict[int, int] = {}
        for place, part in exact:
            numbers[place, part] = used.setdefault(place, 0)
            used[place] += 1
        return numbers


_Name = tuple[Side, tuple[tuple[Attribute, int], ...]]


def _named(function: Function) -> _Name:
    return function.side, function.terms


def _widen(functions: dict[_Name, Function], function: Function) -> None:
    """Keeps one function for all combinations, over every value that one of them tells apart."""
    known = functions.get(_named(function))
    if known is not None:
        function = replace(
            function,
            clamp=_cover(known.clamp, function.clamp),
            told=None if function.told is None else function.told + (known.told or 0),
            anywhere=function.anywhere or known.anywhere,
            gaps=(*known.gaps, *function.gaps),
        )
    functions[_named(function)] = function


def _cover(one: Interval, other: Interval) -> Interval:
    low = None if one.low is None or other.low is None else min(one.low, other.low)
    high = None if one.high is None or other.high is None else max(one.high, other.high)
    return Interval(low, high)


def _needed(query: SpjQuery, predicate: Closure, alias: str) -> set[Attribute]:
    """The attributes of an input that are kept exactly: projected, or joined by equality."""
    others = [each for each in predicate.elements if each.alias != alias]
    return {
        _canonical(query, predicate, x)
        for x in query.of(alias)
        if not _fixed(query, predicate, x)
        and (x in query.projected or any(_rigid(query, predicate, x, y) for y in others))
    }


def _asked(query: SpjQuery) -> list[tuple[Join, ...]]:
    """What P+ asks of rows of different inputs beside their filters: equalities, as two joins, and
    the nonredundant joins."""
    predicate = query.predicate
    equal: list[tuple[Join, ...]] = [
        ((x, y, offset), (y, x, -offset))
        for place, x in enumerate(predicate.elements)
        for y in predicate.elements[place + 1 :]
        if x.alias != y.alias
        and (offset := predicate.offset(x, y)) is not None
        and not _fixed(query, predicate, x)
    ]
    return [*equal, *((each,) for each in joins(predicate))]


def _conditions(
    query: SpjQuery, asked: Iterable[tuple[Join, ...]], owns: Mapping[str, Closure]
) -> tuple[tuple[Join, ...], tuple[Join, ...]]:
    """The joins and the equalities of a combination: what rows of its parts have to satisfy
    together, where it does not follow from the filters of the parts and from the rest.

    What only the combination implies is no reason to leave a join out: with `i < a`, rows of a
    part `a = 3` and rows of a part `i <= 3` still have to be compared.
    """

    def told(each: Join) -> Join:
        (x, y, c), own_x, own_y = each, owns[each[0].alias], owns[each[1].alias]
        one, other = _canonical(query, own_x, x), _canonical(query, own_y, y)
        return one, other, c - (own_x.offset(x, one) or 0) + (own_y.offset(y, other) or 0)

    filters: Closure = DifferenceBounds(query.relevant)
    for alias, own in owns.items():
        filters = filters.with_bounds(own.restrict(query.of(alias)).atoms())
    kept = list(dict.fromkeys(tuple(map(told, each)) for each in asked))
    for each in tuple(kept):
        others = filters.with_bounds(join for other in kept if other != each for join in other)
        if all(others.implies(*join) for join in each):
            kept.remove(each)
    needed = [join for each in kept for join in each]
    both_ways = [(x, y, c) for x, y, c in needed if (y, x, -c) in needed]
    equalities = [each for at, each in enumerate(both_ways) if _turned(each) not in both_ways[:at]]
    return tuple(each for each in needed if each not in both_ways), tuple(equalities)


def _turned(equality: Join) -> Join:
    x, y, c = equality
    return y, x, -c


def _two_sided(functions: Iterable[Function]) -> list[Attribute]:
    """Columns that bound others from below and from above: kept as they are, if they can be."""
    low, high = (
        {x for each in functions if each.side is side for x, _ in each.terms}
        for side in (Side.LOW, Side.HIGH)
    )
    return sorted(low & high)


def _functions(
    query: SpjQuery, meeting: _Meeting, own: Closure, alias: str, exact: set[Attribute]
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
    merged: dict[_Name, list[int | None]] = {}
    partners: dict[_Name, list[tuple[Attribute, int]]] = {}
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


def _exact_keys(
    query: SpjQuery, predicate: Closure, attributes: Sequence[Attribute]
) -> Iterator[Function]:
    """A key for each class of equal attributes that takes more than one value."""
    seen: list[Attribute] = []
    for each in attributes:
        if _fixed(query, predicate, each) or any(
            _rigid(query, predicate, each, other) for other in seen
        ):
            continue
        seen.append(each)
        interval, size = predicate.interval(each), _size(predicate, each)
        yield Function(
            Side.EXACT,
            ((each, 0),),
            interval,
            null_slot=query.nullable(each),
            told=None if size == interval.size else size,
        )


def _size(predicate: Closure, attribute: Attribute) -> int | None:
    """How many values a column takes, where it may be equal to one that takes fewer: a DOUBLE
    that equals an INT has the integers only."""
    equal = [x for x in predicate.elements if predicate.offset(x, attribute) is not None]
    sizes = [predicate.values(each).size for each in (attribute, *equal)]
    return min((each for each in sizes if each is not None), default=None)


def _fixed(query: SpjQuery, predicate: Closure, each: Attribute) -> bool:
    return predicate.interval(each).size == 1 and not query.nullable(each)


def _rigid(query: SpjQuery, predicate: Closure, x: Attribute, y: Attribute) -> bool:
    """Whether each of x and y tells the other; a CHECK that allows one value allows NULL too."""
    if query.nullable(x) or query.nullable(y):
        return x == y
    return predicate.offset(x, y) is not None


def _canonical(query: SpjQuery, predicate: Closure, each: Attribute) -> Attribute:
    """The first attribute of the same input that differs from this one by a constant only."""
    return next(
        other
        for other in predicate.elements
        if other.alias == each.alias and _rigid(query, predicate, other, each)
    )


def _alternatives(
    query: SpjQuery, attributes: Sequence[Attribute]
) -> Iterator[tuple[_Bounds, ...]]:
    """Ways to split rows: by the order of an input's columns, then by where a column lies among
    the constants, of which only the outer ones matter to whole numbers."""
    asked = list(joins(query.predicate)) if query.offsets else []
    for place, x in enumerate(attributes):
        for y in attributes[place + 1 :]:
            if x.alias == y.alias:
                for at in differences(asked, x, y):
                    yield order_choices(x, y, at)
    if query.constants:
        least, greatest = query.constants[0], query.constants[-1]
        for x in attributes:
            yield (
                [(x, ZERO, least - 1)],
                [(ZERO, x, -least), (x, ZERO, greatest)],
                [(ZERO, x, -greatest - 1)],
            )
        for x in attributes:
            if query.predicate.dense(x):
                for k in query.constants:
                    yield (
                        [(x, ZERO, k - 1)],
                        [(x, ZERO, k), (ZERO, x, -k)],
                        [(ZERO, x, -k - 1)],
                    )


def _alias_of(bounds: _Bounds) -> str:
    """The input that a filter is about."""
    return next(side.alias for bound in bounds for side in bound[:2] if isinstance(side, Attribute))


def _holds(predicate: Closure, bounds: Iterable[Bound[Attribute]]) -> bool:
    return all(predicate.implies(*each) for each in bounds)
