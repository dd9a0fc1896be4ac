"""The program of a bounded select-project-join query (Arasu, sections 7.1 and 7.2).

The shape says what is kept; here it becomes guards, keys, best values and the links between
buckets.  A join `x - y <= c` between two inputs is asked of what their buckets speak for: of the
greatest x that is consistent with the bucket's functions, and of the least y of the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from millpond.memory import (
    Attribute,
    Combination,
    Function,
    Part,
    Shape,
    Side,
    SpjQuery,
    Verdict,
)
from millpond.memory.certificate import dense
from millpond.order import DifferenceBounds
from millpond.plan import Query
from millpond.program import (
    Best,
    BestOf,
    Case,
    Constant,
    EmittedSet,
    GreatestOf,
    Held,
    InputStream,
    Keep,
    Key,
    KeyOf,
    LeastOf,
    Link,
    Operator,
    OutputColumn,
    Program,
    Reduction,
    Select,
    SynopsisJoin,
)
from millpond.program.expression import (
    Compare,
    Condition,
    Field,
    Int,
    NotNull,
    Number,
    greatest,
    least,
    plus,
)
from millpond.schema import Value


def program_of(query: Query, verdict: Verdict) -> Program:
    """The program that runs a bounded query inside its certificate."""
    shape = verdict.shape
    if shape is None:
        raise ValueError(f"{query.name} has no synopsis")
    spj = shape.query  # the query that was decided is the one that runs
    output = _output(spj)
    if not spj.satisfiable:
        return Program(query.name, (), (), output)
    operators: list[Operator] = []
    if len(spj.streams) == 1 and not spj.distinct:
        operators.append(_select(spj, output))
    else:
        operators.append(_Join(spj, shape).build(output))
    if shape.emitted is not None:
        operators.append(_emitted(spj, shape, output))
    return Program(query.name, _inputs(spj, operators[0]), tuple(operators), output)


def _output(spj: SpjQuery) -> tuple[OutputColumn, ...]:
    return tuple(
        OutputColumn(
            each.name,
            spj.nullable(each.value) if isinstance(each.value, Attribute) else each.value is None,
        )
        for each in spj.projection
    )


def _inputs(spj: SpjQuery, reader: Operator) -> tuple[InputStream, ...]:
    """The streams and the columns of them that the program looks at."""
    reads: dict[str, dict[str, None]] = {stream.name: {} for _, stream in spj.streams}
    if isinstance(reader, Select):
        reads[reader.stream].update(dict.fromkeys(reader.reads))
    elif isinstance(reader, SynopsisJoin):
        for parts in reader.inputs:
            for each in parts:
                reads[each.stream].update(dict.fromkeys(each.reads))
    streams = {stream.name: stream for _, stream in spj.streams}
    return tuple(
        InputStream(
            name,
            tuple(columns),
            tuple(
                found.nullable for c in columns if (found := streams[name].column(c)) is not None
            ),
        )
        for name, columns in reads.items()
    )


def _select(spj: SpjQuery, output: tuple[OutputColumn, ...]) -> Select:
    alias, stream = spj.streams[0]
    columns: list[Number | None] = []
    nulls: list[str | None] = []
    for each in spj.projection:
        if isinstance(each.value, Attribute):
            columns.append(Field(each.value.column))
            nulls.append(each.value.column if spj.nullable(each.value) else None)
        else:
            constant = _whole(each.value)
            columns.append(None if constant is None else Int(constant))
            nulls.append(None)
    guard = _guard(spj, spj.predicate, alias, set())
    return Select(stream.name, guard, tuple(columns), tuple(nulls), output)


def _emitted(spj: SpjQuery, shape: Shape, output: tuple[OutputColumn, ...]) -> EmittedSet:
    assert shape.emitted is not None
    names = {each.value: each.name for each in reversed(spj.projection)}
    keys = []
    for function in shape.emitted:
        name = names[function.terms[0][0]]
        keys.append(_key(function, Field(name), name, null_of=name))
    return EmittedSet(tuple(keys), output, shape.emitted_rows, dense(shape.emitted))


def _key(function: Function, value: Number, name: str, null_of: str | None) -> Key:
    low, high = function.clamp.low, function.clamp.high
    if low is None or high is None:
        raise ValueError(f"{function} is no key")
    return Key(name, value, low, high, null_of if function.null_slot else None)


def _whole(value: Value) -> int | None:
    """A constant of a plain query."""
    if value is not None and not isinstance(value, int):
        raise ValueError(f"{value!r} is no integer")
    return value


# Guards -----------------------------------------------------------------------------------------


def _guard(
    spj: SpjQuery, predicate: DifferenceBounds[Attribute], alias: str, offset: set[Attribute]
) -> tuple[Condition, ...]:
    """The filters that P+ has on one input: what no row that matters fails.

    Columns in `offset` take part in arithmetic; what their types imply keeps that inside 64 bits.
    """
    mine = spj.of(alias)
    own = predicate.restrict(mine)
    conditions: list[Condition] = [
        NotNull(each.column) for each in mine if each in spj.compared and spj.columns[each].nullable
    ]
    pairs = list(_pairs(own, mine))
    offset = offset | {each for x, y, c in pairs if c not in (0, -1) for each in (x, y)}
    typed = spj.with_types(predicate)
    for each in mine:
        interval = (typed if each in offset else own).interval(each)
        possible = spj.columns[each].values
        field = Field(each.column)
        if interval.size == 1 and interval.low is not None and interval != possible:
            conditions.append(Compare("==", field, Int(interval.low)))
            continue
        low, high = interval.low, interval.high
        if low is not None and (possible.low is None or low > possible.low):
            conditions.append(Compare(">=", field, Int(low)))
        if high is not None and (possible.high is None or high < possible.high):
            conditions.append(Compare("<=", field, Int(high)))
    conditions += [_difference(x, y, c, own) for x, y, c in pairs]
    return tuple(conditions)


def _pairs(
    own: DifferenceBounds[Attribute], mine: Sequence[Attribute]
) -> Iterator[tuple[Attribute, Attribute, int]]:
    """The comparisons between columns of an input that do not follow from others."""
    canonical = {
        each: next(other for other in mine if own.offset(other, each) is not None) for each in mine
    }
    for x in mine:
        if canonical[x] != x and own.interval(x).size != 1:
            yield x, canonical[x], own.offset(x, canonical[x]) or 0
    for x in mine:
        for y in mine:
            c = own.bound(x, y)
            if (
                x != y
                and canonical[x] == x
                and canonical[y] == y
                and c is not None
                and own.offset(x, y) is None
                and not own.redundant(x, y)
            ):
                yield x, y, c


def _difference(x: Attribute, y: Attribute, c: int, own: DifferenceBounds[Attribute]) -> Condition:
    left, right = Field(x.column), Field(y.column)
    if own.offset(x, y) is not None:
        return Compare("==", left, plus(right, c))
    if c == -1:
        return Compare("<", left, right)
    return Compare("<=", left, plus(right, c))


# The join ---------------------------------------------------------------------------------------


class _Join:
    def __init__(self, spj: SpjQuery, shape: Shape) -> None:
        self._spj = spj
        self._shape = shape

    def build(self, output: tuple[OutputColumn, ...]) -> SynopsisJoin:
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
        """One stream under DISTINCT: rows pass through, and the emitted set does the rest."""
        alias, stream = self._spj.streams[0]
        assert self._shape.emitted is not None
        part = Part(self._spj.predicate, self._shape.emitted, (), 0)
        reduction = self._reduction(alias, stream.name, part, 0, Keep.NOTHING)
        columns = tuple(
            self._exact(part, 0, each.value)
            if isinstance(each.value, Attribute)
            else Constant(_whole(each.value))
            for each in self._spj.projection
        )
        return SynopsisJoin(((reduction,),), (Case((0,), (), columns),), output, False)

    def _reduction(
        self, alias: str, stream: str, part: Part, number: int, keep: Keep | None = None
    ) -> Reduction:
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
        if keep is None:
            keep = Keep.EXTREME if part.bests else Keep.FLAG if self._spj.distinct else Keep.COUNT
        return Reduction(
            alias if number == 0 else f"{alias}.{number + 1}",
            stream,
            _guard(self._spj, part.predicate, alias, offset),
            tuple(
                _key(each, _clamped(each, part), each.name, null_of=each.terms[0][0].column)
                for each in part.keys
            ),
            keep,
            tuple(
                Best(each.name, _clamped(each, part), each.side is Side.LOW) for each in part.bests
            ),
            part.buckets,
            dense(part.keys),
        )

    def _case(self, combination: Combination) -> Case:
        parts = [
            stream.parts[number]
            for stream, number in zip(self._shape.streams, combination.parts, strict=True)
        ]
        links = []
        for x, y, c in combination.equalities:
            i, j = self._place(x), self._place(y)
            links.append(
                Link("==", self._exact(parts[i], i, x), _moved(self._exact(parts[j], j, y), c))
            )
        for x, y, c in combination.joins:
            left = self._spoken(combination, parts, x, Side.LOW)
            right = self._spoken(combination, parts, y, Side.HIGH)
            if c == -1:
                links.append(Link("<", left, right))
            else:
                links.append(Link("<=", left, _moved(right, c)))
        columns = tuple(
            self._exact(parts[self._place(each.value)], self._place(each.value), each.value)
            if isinstance(each.value, Attribute)
            else Constant(_whole(each.value))
            for each in self._spj.projection
        )
        return Case(combination.parts, tuple(dict.fromkeys(links)), columns)

    def _place(self, x: Attribute) -> int:
        return [alias for alias, _ in self._spj.streams].index(x.alias)

    def _exact(self, part: Part, place: int, x: Attribute) -> KeyOf | Constant:
        """A column that the bucket tells exactly."""
        interval = part.predicate.interval(x)
        if interval.size == 1 and not self._spj.nullable(x):
            return Constant(interval.low)
        for number, key in enumerate(part.keys):
            if key.side is Side.EXACT:
                offset = part.predicate.offset(x, key.terms[0][0])
                if offset is not None:
                    return KeyOf(place, number, offset)
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
            held.append(Constant(limit))
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
        if best is not None and (part.bests[best].side, part.bests[best].terms) == name:
            return BestOf(place, best, offset)
        number = next(
            number for number, each in enumerate(part.keys) if (each.side, each.terms) == name
        )
        return KeyOf(place, number, offset)


def _moved(held: Held, offset: int) -> Held:
    match held:
        case KeyOf(place, key, present):
            return KeyOf(place, key, present + offset)
        case BestOf(place, best, present):
            return BestOf(place, best, present + offset)
        case Constant(value):
            return Constant(None if value is None else value + offset)
        case LeastOf(operands):
            return LeastOf(tuple(_moved_leaf(each, offset) for each in operands))
        case GreatestOf(operands):
            return GreatestOf(tuple(_moved_leaf(each, offset) for each in operands))


def _moved_leaf(held: KeyOf | BestOf | Constant, offset: int) -> KeyOf | BestOf | Constant:
    moved = _moved(held, offset)
    assert isinstance(moved, KeyOf | BestOf | Constant)
    return moved


def _clamped(function: Function, part: Part) -> Number:
    """The function's value on a row, clamped where its values run past what others tell apart."""
    terms = [plus(Field(x.column), offset) for x, offset in function.terms]
    value = least(terms) if function.side is Side.HIGH else greatest(terms)
    if function.side is Side.EXACT:
        return value
    lows = [part.predicate.interval(x).low for x, _ in function.terms]
    highs = [part.predicate.interval(x).high for x, _ in function.terms]
    low, high = function.clamp.low, function.clamp.high
    if low is not None and _passes(lows, [o for _, o in function.terms], low, below=True):
        value = greatest([value, Int(low)])
    if high is not None and _passes(highs, [o for _, o in function.terms], high, below=False):
        value = least([value, Int(high)])
    return value


def _passes(ends: Sequence[int | None], offsets: Sequence[int], limit: int, *, below: bool) -> bool:
    """Whether a term can lie beyond the limit."""
    return any(
        end is None or (end + offset < limit if below else end + offset > limit)
        for end, offset in zip(ends, offsets, strict=True)
    )
