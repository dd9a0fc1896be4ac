"""The join of a part of a query: reductions of its inputs, and which of their buckets meet.

A join `x - y <= c` between two inputs is asked of what their buckets speak for: of the greatest x
that is consistent with the bucket's functions, and of the least y of the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from millpond.memory import Attribute, Combination, Function, Part, Shape, Side
from millpond.memory.certificate import dense
from millpond.program import (
    Best,
    BestOf,
    Case,
    Constant,
    GreatestOf,
    Held,
    Keep,
    Key,
    KeyOf,
    LeastOf,
    Link,
    OutputColumn,
    Position,
    Reduction,
    SynopsisJoin,
    Whole,
)
from millpond.program.expression import (
    Condition,
    Int,
    Number,
    greatest,
    least,
    plus,
)
from millpond.synopsis.answer import AnswerColumns
from millpond.synopsis.coding import Coding
from millpond.synopsis.guard import guard


class JoinMaker:
    """Makes the operator of one part."""

    def __init__(self, shape: Shape, coding: Coding, columns: AnswerColumns) -> None:
        self._spj = shape.query
        self._shape = shape
        self._coding = coding
        self._columns = columns
        self._places = [alias for alias, _ in shape.query.streams]

    def made(self, output: tuple[OutputColumn, ...]) -> SynopsisJoin:
        if len(self._spj.streams) == 1:
            return self._passing(output)
        inputs = tuple(
            tuple(
                self._reduction(each.alias, each.stream, part, number)
                for number, part in enumerate(each.parts)
            )
            for each in self._shape.streams
        )
        cases = tuple(self._case(each) for each in self._shape.combinations)
        return SynopsisJoin(inputs, cases, output, not self._spj.distinct)

    def _passing(self, output: tuple[OutputColumn, ...]) -> SynopsisJoin:
        """One stream under DISTINCT: rows pass through, and the set of rows given does the rest."""
        alias, stream = self._spj.streams[0]
        assert self._shape.emitted is not None
        part = Part(self._spj.predicate, self._shape.emitted, (), 0)
        reduction = self._reduction(alias, stream.name, part, 0, Keep.NOTHING)
        case = Case((0,), (), self._columns.of_case([part]))
        return SynopsisJoin(((reduction,),), (case,), output, False)

    # Reductions ------------------------------------------------------------------------------

    def _reduction(
        self, alias: str, stream: str, part: Part, number: int, keep: Keep | None = None
    ) -> Reduction:
        if keep is None:
            keep = Keep.EXTREME if part.bests else Keep.FLAG if self._spj.distinct else Keep.COUNT
        return Reduction(
            alias if number == 0 else f"{alias}.{number + 1}",
            stream,
            self._guard(alias, part),
            tuple(self._key(each, part) for each in part.keys),
            keep,
            tuple(
                Best(
                    each.name,
                    self._clamped(each, part),
                    each.side is Side.LOW,
                    self._coding.line(each.terms[0][0]).whole,
                )
                for each in part.bests
            ),
            part.buckets,
            dense(part.keys),
        )

    def _guard(self, alias: str, part: Part) -> tuple[Condition, ...]:
        functions = [*part.keys, *part.bests]
        offset = {
            x
            for each in functions
            for x, by in each.terms
            if by or any(other for _, other in each.terms)
        } | {
            side
            for each in self._shape.combinations
            for x, y, c in each.joins
            if c not in (0, -1)
            for side in (x, y)
        }
        listed = {
            each.terms[0][0]: self._coding.ranked(each, table, each.name).name
            for each in part.keys
            if each.side is Side.EXACT and (table := self._coding.table(each, part)) is not None
        }
        return guard(self._coding, self._spj, part.predicate, alias, offset, listed)

    def _key(self, function: Function, part: Part) -> Key:
        null_of = function.terms[0][0] if function.null_slot else None
        table = self._coding.table(function, part)
        if table is None:
            low, high = self._coding.limits(function)
            value = self._clamped(function, part)
            null = None if null_of is None else self._coding.place(null_of).name
            return Key(function.name, value, low, high, null)
        field = self._coding.ranked(function, table, function.name)
        null = None if null_of is None else field.name
        return Key(function.name, field, 0, len(table) - 1, null)

    def _clamped(self, function: Function, part: Part) -> Number:
        """The function's value on a row, clamped where its values run past what others tell
        apart."""
        line = self._coding.line(function.terms[0][0])
        terms = [plus(self._coding.place(x), line.offset(by)) for x, by in function.terms]
        value = least(terms) if function.side is Side.HIGH else greatest(terms)
        if function.side is Side.EXACT or not isinstance(line, Whole):
            return value
        lows = [part.predicate.interval(x).low for x, _ in function.terms]
        highs = [part.predicate.interval(x).high for x, _ in function.terms]
        low, high = function.clamp.low, function.clamp.high
        if low is not None and _passes(lows, [o for _, o in function.terms], low, below=True):
            value = greatest([value, Int(line.least(low))])
        if high is not None and _passes(highs, [o for _, o in function.terms], high, below=False):
            value = least([value, Int(line.most(high))])
        return value

    # Cases -----------------------------------------------------------------------------------

    def _case(self, combination: Combination) -> Case:
        parts = [
            stream.parts[number]
            for stream, number in zip(self._shape.streams, combination.parts, strict=True)
        ]
        links = []
        for x, y, c in combination.equalities:
            i, j = self._place(x), self._place(y)
            by = self._coding.line(x).offset(c)
            links.append(
                _equal(self._exact(parts[i], i, x), moved(self._exact(parts[j], j, y), by))
            )
        for x, y, c in combination.joins:
            left = self._spoken(combination, parts, x, Side.LOW)
            right = self._spoken(combination, parts, y, Side.HIGH)
            by = self._coding.line(x).bound(c)
            if by == -1:
                links.append(Link("<", left, right))
            else:
                links.append(Link("<=", left, moved(right, by)))
        links = [_numbered(each) for each in links]
        return Case(combination.parts, tuple(dict.fromkeys(links)), self._columns.of_case(parts))

    def _place(self, x: Attribute) -> int:
        return self._places.index(x.alias)

    def _exact(self, part: Part, place: int, x: Attribute) -> KeyOf | Constant:
        """The place of a column that the bucket tells exactly."""
        line = self._coding.line(x)
        interval = part.predicate.interval(x)
        if interval.size == 1 and interval.low is not None and not self._spj.nullable(x):
            return Constant(line.at(interval.low))
        for number, key in enumerate(part.keys):
            if key.side is Side.EXACT:
                offset = part.predicate.offset(x, key.terms[0][0])
                if offset is not None:
                    table = self._coding.table(key, part)
                    return KeyOf(place, number, line.offset(offset), table)
        raise ValueError(f"{x} is not kept")

    def _spoken(
        self, combination: Combination, parts: Sequence[Part], x: Attribute, side: Side
    ) -> Held:
        """What the bucket says of a column: the greatest (LOW) or the least (HIGH) value that is
        consistent with its functions."""
        place = self._place(x)
        part = parts[place]
        own = part.predicate
        try:
            return self._exact(part, place, x)
        except ValueError:
            pass
        canonical = next(
            other
            for other in own.elements
            if other.alias == x.alias and own.offset(other, x) is not None
        )
        shift = own.offset(x, canonical) or 0
        held: list[KeyOf | BestOf | Constant] = []
        several = False
        for function in combination.active[place]:
            offset = dict(function.terms).get(canonical)
            if function.side is side and offset is not None:
                several = several or len(function.terms) > 1
                held.append(self._function(combination, part, place, function, shift - offset))
        interval = own.interval(x)
        limit = interval.high if side is Side.LOW else interval.low
        if several and limit is not None:
            line = self._coding.line(x)
            held.append(Constant(line.most(limit) if side is Side.LOW else line.least(limit)))
        if not held:
            raise ValueError(f"{x} is not kept")
        if len(held) == 1:
            return held[0]
        return LeastOf(tuple(held)) if side is Side.LOW else GreatestOf(tuple(held))

    def _function(
        self, combination: Combination, part: Part, place: int, function: Function, offset: int
    ) -> KeyOf | BestOf:
        best = combination.best[place]
        name = (function.side, function.terms)
        by = self._coding.line(function.terms[0][0]).offset(offset)
        if best is not None and (part.bests[best].side, part.bests[best].terms) == name:
            return BestOf(place, best, by)
        number, key = next(
            (number, each)
            for number, each in enumerate(part.keys)
            if (each.side, each.terms) == name
        )
        return KeyOf(place, number, by, self._coding.table(key, part))


def _equal(left: KeyOf | Constant, right: Held) -> Link:
    """An equality; of two keys with the same table, of their numbers."""
    if (
        isinstance(left, KeyOf)
        and isinstance(right, KeyOf)
        and left.table is not None
        and (left.table, left.offset) == (right.table, right.offset)
    ):
        return Link("==", KeyOf(left.input, left.key), KeyOf(right.input, right.key))
    return Link("==", left, right)


def _numbered(link: Link) -> Link:
    """A link between places that are all known: their numbers in order say as much, and are
    integers."""
    leaves = [*_leaves(link.left), *_leaves(link.right)]
    places: set[Position] = set()
    for each in leaves:
        known = _places(each)
        if known is None or any(isinstance(place, int) for place in known):
            return link
        places |= set(known)
    ordered: list[Any] = list(places)
    numbers = {place: number for number, place in enumerate(sorted(ordered))}
    return Link(link.op, _renumbered(link.left, numbers), _renumbered(link.right, numbers))


def _leaves(held: Held) -> tuple[KeyOf | BestOf | Constant, ...]:
    return held.operands if isinstance(held, LeastOf | GreatestOf) else (held,)


def _places(leaf: KeyOf | BestOf | Constant) -> list[Position] | None:
    """All that a number can be; None where there is no list."""
    match leaf:
        case KeyOf(table=table, offset=offset) if table is not None:
            return [place + offset for place in table]
        case Constant(value) if value is not None:
            return [value]
    return None


def _renumbered(held: Held, numbers: Mapping[Position, int]) -> Held:
    match held:
        case LeastOf(operands):
            return LeastOf(tuple(_renumbered_leaf(each, numbers) for each in operands))
        case GreatestOf(operands):
            return GreatestOf(tuple(_renumbered_leaf(each, numbers) for each in operands))
    return _renumbered_leaf(held, numbers)


def _renumbered_leaf(
    leaf: KeyOf | BestOf | Constant, numbers: Mapping[Position, int]
) -> KeyOf | BestOf | Constant:
    places = [numbers[each] for each in _places(leaf) or ()]
    return (
        replace(leaf, offset=0, table=tuple(places))
        if isinstance(leaf, KeyOf)
        else Constant(places[0])
    )


def moved(held: Held, offset: int) -> Held:
    """A number so much greater."""
    match held:
        case LeastOf(operands):
            return LeastOf(tuple(_moved_leaf(each, offset) for each in operands))
        case GreatestOf(operands):
            return GreatestOf(tuple(_moved_leaf(each, offset) for each in operands))
    return _moved_leaf(held, offset)


def _moved_leaf(held: KeyOf | BestOf | Constant, offset: int) -> KeyOf | BestOf | Constant:
    match held:
        case KeyOf(place, key, present, table):
            return KeyOf(place, key, present + offset, table)
        case BestOf(place, best, present):
            return BestOf(place, best, present + offset)
        case Constant(value):
            return Constant(None if value is None else value + offset)


def _passes(ends: Sequence[int | None], offsets: Sequence[int], limit: int, *, below: bool) -> bool:
    """Whether a term can lie beyond the limit."""
    return any(
        end is None or (end + offset < limit if below else end + offset > limit)
        for end, offset in zip(ends, offsets, strict=True)
    )
