"""The columns that come out of a program's operators, and what is shown of them.

Where all columns of the answer are integers, or NULL, they come out as they are.  Else an attribute
that is shown comes out as its place, or as its number among the finitely many values it can have,
behind the number of the part; rows that are only passed on come out as the number of the row.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property

from millpond.memory import Attribute, Part, Shape, Side, SpjQuery
from millpond.memory.answer_set import AnswerSet, computed
from millpond.memory.certificate import dense
from millpond.memory.spj import Projected
from millpond.plan import ColumnRef, Expression, Literal
from millpond.plan.node import Field as PlanField
from millpond.program import (
    Constant,
    EmittedSet,
    Held,
    Key,
    KeyOf,
    Listed,
    OnLine,
    OutputColumn,
    Position,
    RowSet,
    Showing,
    Test,
    Whole,
    fields_of,
)
from millpond.program.expression import Field
from millpond.program.line import typed
from millpond.schema import Kind, Value
from millpond.synopsis.coding import Coding, known_points, without_gaps


class AnswerColumns:
    """The columns of the rows of one part; `number` tells it from the others, and without one they
    are the columns of the answer as they are."""

    def __init__(self, shape: Shape, coding: Coding, number: int | None) -> None:
        self._spj = shape.query
        self._shape = shape
        self._coding = coding
        self._number = number
        self._known: dict[Attribute, dict[int, int] | None] = {}

    @cached_property
    def slots(self) -> tuple[Attribute, ...]:
        """The attributes that come out, where columns are not what is shown."""
        shown = [x for each in self._spj.projection for x in each.attributes]
        linked = [x for each in self._spj.links for x in each.columns]
        return tuple(dict.fromkeys((*shown, *linked)))

    # What comes out ---------------------------------------------------------------------------

    def of_case(self, parts: Sequence[Part]) -> tuple[Held, ...]:
        """The columns, as the buckets of a part of each input say them."""
        if self._number is not None:
            slots = (self._slot(parts, each) for each in self.slots)
            return (Constant(self._number), *slots)
        return tuple(self._plain(parts, each.value) for each in self._spj.projection)

    def _plain(self, parts: Sequence[Part], value: Attribute | Value) -> Held:
        """An integer as it is."""
        if not isinstance(value, Attribute):
            assert value is None or isinstance(value, int)
            return Constant(value)
        if value in self._spj.void:
            return Constant(None)
        found = self._kept(parts, value)
        if isinstance(found, int):
            return Constant(found // self._spj.scale.unit)
        place, number, offset = found
        line = self._coding.line(value)
        key = parts[place].keys[number]
        table = self._coding.table(key, parts[place])
        if table is None and isinstance(line, Whole) and line.plain:
            return KeyOf(place, number, line.offset(offset))
        unit = self._spj.scale.unit
        said = tuple((each + offset) // unit for each in self._numbers(parts[place], number))
        return KeyOf(place, number, 0, (*said, 0) if key.null_slot else said)

    def _slot(self, parts: Sequence[Part], x: Attribute) -> Held:
        """The place of an attribute, or its number among its values."""
        if x in self._spj.void:
            return Constant(None)
        line, numbers = self._coding.line(x), self._numbered(x)
        found = self._kept(parts, x)
        if isinstance(found, int):
            return Constant(_whole(line.at(found)) if numbers is None else numbers[found])
        place, number, offset = found
        key, part = parts[place].keys[number], parts[place]
        if numbers is None and self._coding.table(key, part) is None:
            return KeyOf(place, number, line.offset(offset))
        values = [each + offset for each in self._numbers(part, number)]
        # What only this part takes for possible is in no row of the answer.
        said = [
            _whole(line.at(each)) if numbers is None else numbers.get(each, 0) for each in values
        ]
        if said == list(range(len(said))) and self._coding.table(key, part) is not None:
            return KeyOf(place, number)
        return KeyOf(place, number, 0, (*said, 0) if key.null_slot else tuple(said))

    def _kept(self, parts: Sequence[Part], x: Attribute) -> int | tuple[int, int, int]:
        """The one value of an attribute on the scale; or the input and the key that tell it, and
        how much greater it is than the key."""
        place = [alias for alias, _ in self._spj.streams].index(x.alias)
        predicate = parts[place].predicate
        interval = predicate.interval(x)
        if interval.size == 1 and interval.low is not None and not self._spj.nullable(x):
            return interval.low
        for number, key in enumerate(parts[place].keys):
            if key.side is Side.EXACT:
                offset = predicate.offset(x, key.terms[0][0])
                if offset is not None:
                    return place, number, offset
        raise ValueError(f"{x} is not kept")

    def _numbers(self, part: Part, key: int) -> list[int]:
        """The values of a key on the scale, in order."""
        x = part.keys[key].terms[0][0]
        return known_points(part.predicate, x)

    def _numbered(self, x: Attribute) -> dict[int, int] | None:
        """The number of each value of an attribute, where places do not say them."""
        if x not in self._known:
            values = self._values(x)
            self._known[x] = (
                None if values is None else {each: at for at, each in enumerate(values)}
            )
        return self._known[x]

    def _values(self, x: Attribute) -> list[int] | None:
        """The values of an attribute on the scale, where places do not say them."""
        predicate, line = self._spj.predicate, self._coding.line(x)
        if without_gaps(predicate, x, line):
            return None
        return known_points(predicate, x)

    # What is shown ----------------------------------------------------------------------------

    def passed_on(self, stream: int) -> Showing:
        """Rows that are passed on, each by its number."""
        alias, declared = self._spj.streams[0]
        columns = tuple(map(self._of_row, self._spj.projection))
        said = tuple(map(str, columns))
        return Showing((), stream, said, (), tuple(fields_of(alias, declared)), columns)

    def _of_row(self, each: Projected) -> Expression:
        if isinstance(each.value, Attribute) and each.as_it_is:
            return each.value.derived or self._ref(each.value)
        return _expression(each)

    def showing(self) -> Showing:
        """What is made of the attributes that come out."""
        columns = tuple(
            self._ref(each.value)
            if isinstance(each.value, Attribute) and each.as_it_is
            else _expression(each)
            for each in self._spj.projection
        )
        tests = tuple(
            Test(str(each.expression), not each.negated, each.expression)
            for each in self._spj.links
        )
        fields = tuple(
            PlanField(x.alias, x.column, self._spj.columns[x].type, True) for x in self.slots
        )
        slots = tuple(map(self._decoder, self.slots))
        return Showing(slots, None, tuple(map(str, columns)), tests, fields, columns)

    def _ref(self, x: Attribute) -> Expression:
        column = self._spj.columns[x]
        return ColumnRef(x.alias, x.column, column.type, column.nullable)

    def _decoder(self, x: Attribute) -> OnLine | Listed:
        if x in self._spj.void:
            return Listed(())
        type_, scale = self._spj.columns[x].type, self._spj.scale
        line, known = self._coding.line(x), self._values(x)
        if known is None:
            assert isinstance(line, Whole)
            return OnLine(line, type_)
        if type_.kind is Kind.VARCHAR:
            return Listed(tuple(scale.texts[each // scale.unit] for each in known))
        return Listed(tuple(typed(Fraction(each, scale.unit), type_) for each in known))

    # Rows already given -----------------------------------------------------------------------

    def given(self, output: tuple[OutputColumn, ...]) -> EmittedSet:
        """The set of the rows that this part alone has given."""
        assert self._shape.emitted is not None
        keys = []
        for function in self._shape.emitted:
            x = function.terms[0][0]
            if self._number is None:
                name = next(e.name for e in self._spj.projection if e.value == x)
            else:
                name = output[1 + self.slots.index(x)].name
            known = None if self._number is None else self._values(x)
            low, high = (0, len(known) - 1) if known is not None else self._ends(x)
            null = name if function.null_slot else None
            keys.append(Key(name, Field(name), low, high, null))
        return EmittedSet(tuple(keys), output, self._shape.emitted_rows, dense(self._shape.emitted))

    def _ends(self, x: Attribute) -> tuple[int, int]:
        interval, line = self._spj.predicate.interval(x), self._coding.line(x)
        assert interval.low is not None
        assert interval.high is not None
        if self._number is None:
            unit = self._spj.scale.unit
            return -(-interval.low // unit), interval.high // unit
        low, high = line.least(interval.low), line.most(interval.high)
        assert isinstance(low, int)
        assert isinstance(high, int)
        return low, high


def _whole(place: Position) -> int:
    """A place on a line of integers."""
    assert isinstance(place, int)
    return place


def _expression(each: Projected) -> Expression:
    """What a column of the answer is computed by."""
    if each.expression is not None:
        return each.expression
    assert not isinstance(each.value, Attribute)
    return Literal(each.value)


def plain(shape: Shape, *, alone: bool) -> bool:
    """Whether the rows of a part come out as they are: integers, and where its own set of rows
    given is to tell them by their place, without gaps."""
    query = shape.query
    return not computed(query) and all(
        _integer(query, each, whole=alone and query.distinct) for each in query.projection
    )


def _integer(query: SpjQuery, each: Projected, *, whole: bool) -> bool:
    value = each.value
    if not isinstance(value, Attribute):
        return value is None or (isinstance(value, int) and not isinstance(value, bool))
    if not each.as_it_is or value.derived is not None:
        return False
    if value in query.void:
        return True
    if query.columns[value].type.kind is not Kind.INTEGER:
        return False
    return not whole or len(query.predicate.values(value).spans) == 1


def shared_set(shared: AnswerSet, output: tuple[OutputColumn, ...]) -> EmittedSet | RowSet:
    """The set of rows given of several parts, or of rows that are computed."""
    if shared.keys is None:
        return RowSet(shared.width, shared.rows)
    keys = tuple(
        Key(each.name, Field(each.name), each.low, each.high, each.name if each.null else None)
        for each in shared.keys
    )
    return EmittedSet(keys, output, shared.rows, shared.dense)
