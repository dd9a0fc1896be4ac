"""Splits the inputs of a query into parts, so that each part keeps few and finite things.

Where rows are compared by two functions without bound, inputs are split by where a column lies
among the constants, or by the order of two columns: the buckets of Definition 7.3, but only where
they are needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from math import floor

from millpond.memory.exact import canonical, exact_keys, fixed, needed
from millpond.memory.functions import Meeting, Name, functions, named, two_sided, widen
from millpond.memory.lto import Closure, Join, differences, joins, order_choices
from millpond.memory.parts import (
    Combination,
    Function,
    Part,
    ShapeNotFoundError,
    StreamShape,
)
from millpond.memory.reachable import reachable
from millpond.memory.scale import declared
from millpond.memory.spj import Attribute, SpjQuery
from millpond.order import ZERO, Bound, DifferenceBounds
from millpond.schema import Kind

_Bounds = list[Bound[Attribute]]
_MOST_COMBINATIONS = 20_000


class Splitter:
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

    def _meetings(self) -> Iterator[Meeting]:
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
            yield Meeting(places, closure, *_conditions(self._query, self._asked, owns))

    def _own(self, at: tuple[int, int]) -> Closure:
        """What P+ says of rows of a part, whatever they meet."""
        place, part = at
        return self._owns[place][part]

    def _functions(
        self, meeting: Meeting, at: tuple[int, int], exact: set[Attribute]
    ) -> list[Function]:
        return functions(self._query, meeting, self._own(at), self._aliases[at[0]], exact)

    def _exact(self, found: Sequence[Meeting]) -> dict[tuple[int, int], set[Attribute]]:
        """The columns of each part that are kept exactly, whichever combination asks for it."""
        exact: dict[tuple[int, int], set[Attribute]] = {}
        for meeting in found:
            for at in enumerate(meeting.places):
                own = self._own(at)
                mine = exact.setdefault(at, set())
                mine |= needed(self._query, own, self._aliases[at[0]])
                mine |= {each for each in self._equated(meeting, at) if own.bounded(each)}
                functions = self._functions(meeting, at, mine)
                mine |= {each for each in two_sided(functions) if own.bounded(each)}
                open_ended = [each for each in functions if not each.finite]
                if len(open_ended) > 1:
                    mine |= {x for each in open_ended for x, _ in each.terms if own.bounded(x)}
        return exact

    def _equated(self, meeting: Meeting, at: tuple[int, int]) -> list[Attribute]:
        """The columns of a part that the combination joins by equality, and that vary in it."""
        own, alias = self._own(at), self._aliases[at[0]]
        return [
            each
            for x, y, _ in meeting.equalities
            for each in (x, y)
            if each.alias == alias and own.interval(each).size != 1
        ]

    def _stuck(
        self, found: Sequence[Meeting], exact: Mapping[tuple[int, int], set[Attribute]]
    ) -> tuple[Meeting, list[Attribute]] | None:
        """The first combination that is compared by too much, and the columns to split by."""
        allowed = 1 if self._query.distinct else 0
        for meeting in found:
            for at in enumerate(meeting.places):
                equated = [each for each in self._equated(meeting, at) if each not in exact[at]]
                functions = self._functions(meeting, at, exact[at])
                open_ended = [each for each in functions if not each.finite]
                # What lies anywhere is told by two functions where it cannot be kept as it is.
                whole = [x for x in two_sided(functions) if not self._own(at).dense(x)]
                if equated or whole or len(open_ended) > allowed:
                    mine = [*equated, *(x for each in functions for x, _ in each.terms)]
                    theirs = [
                        y if x in mine else x
                        for x, y, _ in (*meeting.joins, *meeting.equalities)
                        if x in mine or y in mine
                    ]
                    return meeting, list(dict.fromkeys([*theirs, *mine]))
        return None

    def _split(self, meeting: Meeting, attributes: Sequence[Attribute]) -> None:
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
        self, meeting: Meeting, attributes: Sequence[Attribute]
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
        self, found: Sequence[Meeting], exact: Mapping[tuple[int, int], set[Attribute]]
    ) -> tuple[tuple[StreamShape, ...], tuple[Combination, ...]]:
        keys: dict[tuple[int, int], dict[Name, Function]] = {each: {} for each in exact}
        bests: dict[tuple[int, int], dict[Name, Function]] = {each: {} for each in exact}
        chosen: list[tuple[list[Name | None], list[tuple[Function, ...]]]] = []
        for meeting in found:
            best_of: list[Name | None] = []
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
                    widen(bests[at], best)
                for each in functions:
                    widen(keys[at], each)
                best_of.append(None if best is None else named(best))
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
                all_keys = (*exact_keys(self._query, own, fixed), *keys[at].values())
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
        and not fixed(query, predicate, x)
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
        one, other = canonical(query, own_x, x), canonical(query, own_y, y)
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
    told = {x: _constants(query, x) for x in attributes}
    for x in attributes:
        if told[x]:
            least, greatest = told[x][0], told[x][-1]
            yield (
                [(x, ZERO, least - 1)],
                [(ZERO, x, -least), (x, ZERO, greatest)],
                [(ZERO, x, -greatest - 1)],
            )
    for x in attributes:
        if query.predicate.dense(x):
            for k in told[x]:
                yield (
                    [(x, ZERO, k - 1)],
                    [(x, ZERO, k), (ZERO, x, -k)],
                    [(ZERO, x, -k - 1)],
                )


def _constants(query: SpjQuery, x: Attribute) -> Sequence[int]:
    """The constants that a column can be told apart by: those that columns of its kind are compared
    with, because no text lies at a number, and no day at a microsecond."""
    alike = [each for each in query.relevant if _family(query, each) == _family(query, x)]
    said = [one for each in alike for one in declared(query.columns[each])]
    said += [one for each in alike if each in query.limits for one in query.limits[each].ranges]
    ends = (end for each in said for end in (each.low, each.high) if end is not None)
    return sorted({floor(query.scale.of(end)) for end in ends})


def _family(query: SpjQuery, x: Attribute) -> Kind:
    kind = query.columns[x].type.kind
    return Kind.INTEGER if kind.numeric or kind is Kind.BOOLEAN else kind


def _alias_of(bounds: _Bounds) -> str:
    """The input that a filter is about."""
    return next(side.alias for bound in bounds for side in bound[:2] if isinstance(side, Attribute))


def _holds(predicate: Closure, bounds: Iterable[Bound[Attribute]]) -> bool:
    return all(predicate.implies(*each) for each in bounds)
