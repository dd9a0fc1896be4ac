"""Which numbers stand for the values of a query's columns.

Columns that are compared with one another, and those that a part of the synopsis orders, lie on one
line (`program/line.py`).  A column of integers that all of its line's columns count like is read as
it is; all else is prepared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from math import gcd

from millpond.memory import Attribute, Function, Part, Shape, Side, SpjQuery
from millpond.memory.condition import Condition
from millpond.memory.lto import Closure
from millpond.order import Values
from millpond.plan import Expression
from millpond.program import (
    Among,
    Doubles,
    Line,
    Numbers,
    Placed,
    Position,
    Ranked,
    Read,
    Rounding,
    Texts,
    Whole,
)
from millpond.program.expression import Field
from millpond.schema import IntegerType, Interval, Kind, Stream
from millpond.synopsis.excused import excused
from millpond.synopsis.inputs import Inputs

_RAW = (Kind.INTEGER, Kind.DATE, Kind.TIMESTAMP, Kind.INTERVAL, Kind.BOOLEAN)


class Coding:
    """The lines of a query's columns, and the prepared columns that its operators read."""

    def __init__(self, shape: Shape, inputs: Inputs) -> None:
        self._spj = shape.query
        self._shape = shape
        self._inputs = inputs
        self._part = inputs.part()
        self._streams = dict(shape.query.streams)

    @property
    def inputs(self) -> Inputs:
        return self._inputs

    def stream(self, alias: str) -> Stream:
        return self._streams[alias]

    def line(self, x: Attribute) -> Line:
        """The line that a column lies on."""
        return self._lines[x]

    @cached_property
    def _lines(self) -> Mapping[Attribute, Line]:
        found: dict[Attribute, Line] = {}
        for together in components(self._shape):
            line = _line(self._spj, together, self._distances(together))
            found.update(dict.fromkeys(together, line))
        return found

    def _distances(self, together: Sequence[Attribute]) -> bool:
        """Whether some of the columns are compared at a distance: because a condition says so, or
        because one whole number that is less than another is at least one less."""
        spj, cell = self._spj, self._spj.scale.cell
        if any(each.offset for each in spj.pairs if set(each.columns) & set(together)):
            return True
        if any(
            x in together and abs(c) >= cell
            for each in self._shape.combinations
            for x, _, c in (*each.joins, *each.equalities)
        ):
            return True
        return any(
            x != y
            and (c := spj.predicate.bound(x, y)) is not None
            and abs(c) >= cell
            and not spj.predicate.redundant(x, y)
            for x in together
            for y in together
        )

    # Columns ---------------------------------------------------------------------------------

    def read(self, x: Attribute) -> Read:
        if x.derived is None:
            return Read(x.column)
        return self.computed(x.alias, x.derived, x)

    def computed(self, alias: str, expression: Expression, of: Condition | Attribute) -> Read:
        """What an expression over one input says, which a condition or a column asks for."""
        asks = excused(self._spj, alias, self.stream(alias), of)
        return Read(str(expression), True, alias, expression, self._part, asks)

    def place(self, x: Attribute) -> Field:
        """The column of the places of an attribute."""
        line, column = self.line(x), self._spj.columns[x]
        raw = x.derived is None and column.type.kind is Kind.INTEGER
        if raw and isinstance(line, Whole) and line.plain:
            return Field(
                self._inputs.plain(self.stream(x.alias), x.column, nullable=column.nullable)
            )
        name = self._inputs.prepared(
            self.stream(x.alias),
            x.column,
            Placed(self.read(x), line, column.type.kind in _RAW),
            nullable=self.misses(x),
        )
        return Field(name)

    def misses(self, x: Attribute) -> bool:
        """Whether a row may have no place there: NULL, or a DOUBLE between whole places."""
        column, line = self._spj.columns[x], self.line(x)
        return column.nullable or (isinstance(line, Whole) and column.type.kind is Kind.DOUBLE)

    def among(self, x: Attribute, spans: Sequence[Interval], *, null: bool) -> Field:
        """Whether the value lies in one of some spans of the scale."""
        line = self.line(x)
        ends = tuple(
            (
                None if each.low is None else line.least(each.low),
                None if each.high is None else line.most(each.high),
            )
            for each in spans
        )
        how = Among(self.read(x), line, ends, null)
        return Field(
            self._inputs.prepared(
                self.stream(x.alias), f"{x.column} among its values", how, nullable=False
            )
        )

    # Keys ------------------------------------------------------------------------------------

    def table(self, function: Function, part: Part) -> tuple[Position, ...] | None:
        """What the numbers of a key's values stand for; None where the value is its number."""
        first = function.terms[0][0]
        line, predicate = self.line(first), part.predicate
        if function.side is Side.EXACT:
            if without_gaps(predicate, first, line):
                return None
            return tuple(map(line.at, known_points(predicate, first)))
        steps = [predicate.values(x).step for x, _ in function.terms]
        if isinstance(line, Whole) and set(steps) == {line.step}:
            return None
        if any(predicate.dense(x) for x, _ in function.terms):
            return _by_gaps(function, line)
        return _by_steps(function, line, steps)

    def limits(self, function: Function) -> tuple[int, int]:
        """The least and the greatest value of a key that is its number."""
        line = self.line(function.terms[0][0])
        low, high = function.clamp.low, function.clamp.high
        if low is None or high is None or not isinstance(line, Whole):
            raise ValueError(f"{function} is no key")
        return line.least(low), line.most(high)

    def ranked(self, function: Function, table: tuple[Position, ...], name: str) -> Field:
        """The column of the numbers of a key's values."""
        first = function.terms[0][0]
        line = self.line(first)
        rounding = {
            Side.EXACT: Rounding.EXACT,
            Side.LOW: Rounding.UP,
            Side.HIGH: Rounding.DOWN,
        }[function.side]
        how = Ranked(
            tuple((self.read(x), line.offset(offset)) for x, offset in function.terms),
            line,
            rounding,
            table,
        )
        nullable = any(self.misses(x) for x, _ in function.terms)
        return Field(self._inputs.prepared(self.stream(first.alias), name, how, nullable=nullable))


def without_gaps(predicate: Closure, x: Attribute, line: Line) -> bool:
    """Whether the values of a column are all places of its line from the first to the last."""
    values = predicate.values(x)
    if not isinstance(line, Whole) or values.step != line.step or len(values.spans) != 1:
        return False
    equal = [y for y in predicate.elements if predicate.offset(x, y) is not None]
    sizes = [predicate.values(y).size for y in equal]
    return values.size == min((each for each in sizes if each is not None), default=None)


def known_points(predicate: Closure, x: Attribute) -> list[int]:
    """The finitely many values of a column, or of one that it is as far from in every row."""
    found: tuple[Values, int] | None = None
    for other in (x, *predicate.elements):
        shift = predicate.offset(x, other)
        values = predicate.values(other)
        if shift is None or values.size is None:
            continue
        if found is None or values.size < (found[0].size or 0):
            found = values, shift
    if found is None:
        raise ValueError(f"{x} takes values without end")
    values, shift = found
    return [each + shift for each in points(values.spans, values.step)]


def points(spans: Sequence[Interval], step: int) -> Iterator[int]:
    """The multiples of a step in some bounded spans."""
    for each in spans:
        assert each.low is not None
        assert each.high is not None
        first = each.low + -each.low % step if each.low != each.high else each.low
        yield from range(first, each.high + 1, step)


def _by_steps(function: Function, line: Line, steps: Sequence[int]) -> tuple[Position, ...]:
    """The values of a function of columns of different steps, and the end where it is clamped."""
    low, high = function.clamp.low, function.clamp.high
    assert low is not None
    assert high is not None
    found = {
        number
        for (_, offset), step in zip(function.terms, steps, strict=True)
        for number in range(low + (offset - low) % step, high + 1, step)
    }
    places = {line.at(number) for number in found | {low, high}}
    return tuple(sorted(places))


def _by_gaps(function: Function, line: Line) -> tuple[Position, ...]:
    """The values that others tell it from, and the end where it is worst: of all that lies past
    the last of those, that end says as much as the value."""
    found = {
        line.at(number + shift)
        for values, shift in function.gaps
        for number in points(values.spans, values.step)
    }
    above = function.side is Side.LOW
    end = function.clamp.high if above else function.clamp.low
    assert end is not None
    worst = line.at(end)
    ordered: list[Position] = sorted(found - {worst})
    return (*ordered, worst) if above else (worst, *ordered)


# Lines ------------------------------------------------------------------------------------------


def components(shape: Shape) -> list[list[Attribute]]:
    """The columns that are compared with one another, or ordered by a part of the synopsis."""
    spj = shape.query
    chosen = {x: x for x in spj.relevant}

    def root(x: Attribute) -> Attribute:
        while chosen[x] != x:
            x = chosen[x]
        return x

    pairs = [each.columns for each in spj.pairs if not spj.void & set(each.columns)]
    for stream in shape.streams:
        for part in stream.parts:
            pairs += _ordered(part.predicate)
    for x, y in pairs:
        chosen[root(x)] = root(y)
    found: dict[Attribute, list[Attribute]] = {}
    for x in spj.relevant:
        found.setdefault(root(x), []).append(x)
    return list(found.values())


def _ordered(predicate: Closure) -> list[tuple[Attribute, ...]]:
    """Pairs of columns that are closer than their own limits say."""
    found: list[tuple[Attribute, ...]] = []
    for x in predicate.elements:
        for y in predicate.elements:
            bound = predicate.bound(x, y)
            if x == y or bound is None:
                continue
            high, low = predicate.interval(x).high, predicate.interval(y).low
            if high is None or low is None or bound < high - low:
                found.append((x, y))
    return found


def _line(spj: SpjQuery, together: Sequence[Attribute], distances: bool) -> Line:
    scale, predicate = spj.scale, spj.predicate
    kinds = {spj.columns[x].type.kind for x in together}
    if kinds == {Kind.VARCHAR}:
        return Texts(scale.unit, scale.texts)
    if Kind.VARCHAR in kinds:
        raise ValueError(f"{together[0]} lies on a line with texts and numbers")
    if any(predicate.dense(x) for x in together):
        if not distances and all(_exact_double(spj, x) for x in together):
            return Doubles(scale.unit, scale.cell)
        return Numbers(scale.unit, scale.cell)
    step = gcd(*(_step(spj, x) for x in together))
    exact = Fraction(scale.unit, step)
    return Whole(exact.numerator, exact.denominator, step)


def _step(spj: SpjQuery, x: Attribute) -> int:
    return spj.predicate.values(x).step or spj.scale.unit


def _exact_double(spj: SpjQuery, x: Attribute) -> bool:
    type_ = spj.columns[x].type
    if isinstance(type_, IntegerType):
        return type_.bits is not None and type_.bits <= 32
    return type_.kind in (Kind.DOUBLE, Kind.BOOLEAN)
