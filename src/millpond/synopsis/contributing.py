"""What a part of an aggregate query gives: the join of the part, with numbers of its buckets.

Contributions have the attributes that are grouped by and counted one by one, by the numbers that
stand for their values, and then the numbers that buckets keep of the columns that are aggregated.
A single stream keeps no buckets: each of its rows is a contribution.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property

from millpond.memory import Attribute, Combination, Function, Part, Shape
from millpond.memory.aggregate import Asked
from millpond.memory.aggregate_shape import AggregateShape, Kept, kept_of, serves
from millpond.memory.shape import StreamShape, answer_keys
from millpond.memory.spj import Projected
from millpond.plan import Cast, ColumnRef, Expression
from millpond.plan.evaluate import compiled
from millpond.plan.folds import FOLDS, Fold, denominator
from millpond.plan.node import Field as PlanField
from millpond.program import (
    BestOf,
    Case,
    Held,
    Keep,
    Key,
    Line,
    Listed,
    OnLine,
    OutputColumn,
    Placed,
    Read,
    Reduction,
    SynopsisJoin,
    Texts,
    Truth,
)
from millpond.program.accumulator import Accumulator
from millpond.program.computed import Computed
from millpond.program.expression import Compare, Field, Int, NotNull
from millpond.program.line import typed
from millpond.program.measured import Known, Measured, Ordered, integer_of
from millpond.program.operator import HeldOf
from millpond.schema import Kind, Type, UserAggregate, Value
from millpond.synopsis.answer import AnswerColumns
from millpond.synopsis.coding import Coding
from millpond.synopsis.inputs import Inputs
from millpond.synopsis.join import JoinMaker


class Contributing:
    """The join of a part, and the columns of its contributions: attributes first, by the numbers
    that stand for their values, and then the numbers that are kept."""

    def __init__(self, shape: AggregateShape, inputs: Inputs) -> None:
        self.shape = shape
        self.joined = _joined(shape)
        self.coding = Coding(self.joined, inputs)
        self.columns = CodedColumns(self.joined, self.coding)
        self._inputs = inputs
        self._computed: dict[tuple[str, type], Computed] = {}

    def name(self, x: Attribute) -> str:
        """The column of an attribute."""
        return f"@{self.columns.slots.index(x)}"

    @cached_property
    def kept(self) -> tuple[Kept, ...]:
        """The numbers that contributions have, in order."""
        found: dict[object, Kept] = {}
        for each in self.shape.asked:
            listed: Sequence[Kept] = ()
            if each in self.shape.pushed and not of_one_value(each):
                listed = kept_of(each)
            elif each.holistic and each.condition is not None and self.shape.join is None:
                listed = [passes(each)]
            for kept in listed:
                if kept.asked is not None:
                    found.setdefault(kept.same, kept)
        return tuple(found.values())

    @property
    def given_names(self) -> list[str]:
        """The columns of the numbers."""
        return [f"@given{number}" for number in range(len(self.kept))]

    def given(self, kept: Kept) -> str | None:
        """The column of a number; None if it is of columns that come out as they are."""
        for number, each in enumerate(self.kept):
            if each.same == kept.same:
                return f"@given{number}"
        return None

    def join(self) -> SynopsisJoin:
        output = (
            *(OutputColumn(self.name(x), True) for x in self.columns.slots),
            *(OutputColumn(f"@given{number}", True) for number in range(len(self.kept))),
        )
        return _JoinMaker(self).made(output)

    def is_text(self, asked: Asked) -> bool:
        """Whether the best value of an aggregate is no integer."""
        argument = asked.argument
        if argument is None:
            return False
        line = self.line_of(argument)
        if line is not None:
            return not line.whole
        return type_of(self.shape, argument).kind is Kind.VARCHAR

    # Columns that are computed

    def computed(self) -> tuple[Computed, ...]:
        """The columns that are computed of others, conditions of several inputs among them."""
        links = tuple(
            self._of_slots(f"@link{number}", each.expression, Truth(Read(""), not each.negated))
            for number, each in enumerate(self.joined.query.links)
        )
        return (*(replace(each, required=True) for each in links), *self._computed.values())

    def value_of(self, projected: Projected, how: Measured | Ordered | Known | Truth) -> str:
        """The column of what is computed from the columns of contributions."""
        expression = self.expression_of(projected)
        key = str(expression), type(how)
        if key not in self._computed:
            name = f"@computed{len(self._computed)}"
            self._computed[key] = self._of_slots(name, expression, how)
        return self._computed[key].name

    def expression_of(self, projected: Projected) -> Expression:
        """What is computed, over the columns of contributions."""
        x = projected.value
        if isinstance(x, Attribute) and projected.as_it_is:
            column = self.joined.query.columns[x]
            return ColumnRef(x.alias, x.column, column.type, column.nullable)
        assert projected.expression is not None
        return projected.expression

    def _of_slots(
        self, name: str, expression: Expression, how: Measured | Ordered | Known | Truth
    ) -> Computed:
        slots = self.columns.slots
        query = self.joined.query
        fields = [PlanField(x.alias, x.column, query.columns[x].type, True) for x in slots]
        return Computed(
            name,
            tuple(map(self.name, slots)),
            tuple(map(self.columns.decoder, slots)),
            str(expression),
            how,
            of=compiled(expression, fields),
        )

    # Numbers of rows

    def accumulator(self, kept: Kept) -> Accumulator:
        """A number that rows of an input change; a user's aggregate takes values as they are."""
        asked, fold = kept.asked, kept.fold or Fold.LEAST
        if asked is None:
            return Accumulator(kept.noun, fold, None)
        guard: list[NotNull | Compare] = []
        value: Field | Int | None = None
        alias = min(asked.aliases)
        if asked.argument is not None and asked.argument.attributes:
            value, nullable = self._measured(asked.argument, fold, asked.call.declared)
            guard += [NotNull(value.name)] if nullable else []
        elif asked.argument is not None:
            value, guard = constant(self.shape, asked)
        if asked.condition is not None:
            read = self._read(asked.condition)
            stream = self.coding.stream(alias)
            name = self._inputs.prepared(stream, read.text, Truth(read, True), nullable=False)
            guard.append(Compare("==", Field(name), Int(1)))
        text = not fold.adds and self.is_text(asked)
        return Accumulator(kept.noun, fold, value, tuple(guard), text)

    def _measured(
        self, argument: Projected, fold: Fold, declared: UserAggregate | None
    ) -> tuple[Field, bool]:
        """The column of what an aggregate is of, and whether it may be NULL."""
        (alias,) = {each.alias for each in argument.attributes}
        stream = self.coding.stream(alias)
        type_ = type_of(self.shape, argument)
        x = argument.value
        if not fold.adds and declared is None and self.line_of(argument) is not None:
            assert isinstance(x, Attribute)
            return self.coding.place(x), self.coding.misses(x)
        if isinstance(x, Attribute) and argument.as_it_is and x.derived is None:
            column = stream.column(x.column)
            assert column is not None
            taken = declared is None or type_ == declared.takes
            if type_.kind is Kind.INTEGER and taken:
                name = self._inputs.plain(stream, x.column, nullable=column.nullable)
                return Field(name), column.nullable
        read = self._read(argument)
        if declared is not None:
            read, type_ = self._taken(read, argument, declared.takes), declared.takes
        how: Measured | Ordered | Known | Placed = Measured(read, type_)
        if fold is Fold.COUNT:
            how = Known(read)
        elif not fold.adds and type_.kind is Kind.DOUBLE:
            how = Ordered(read)
        elif type_.kind is Kind.VARCHAR:
            how = Placed(read, Texts(1, ()))
        return Field(self._inputs.prepared(stream, read.text, how, nullable=True)), True

    def line_of(self, argument: Projected) -> Line | None:
        """The line by whose places a best value is kept, where the join keeps it already."""
        x = argument.value
        kept = (
            function.terms == ((x, 0),)
            for stream in self.joined.streams
            for part in stream.parts
            for function in part.bests
        )
        bare = argument.as_it_is and isinstance(x, Attribute)
        return self.coding.line(x) if bare and any(kept) else None  # type: ignore[arg-type]

    def _taken(self, read: Read, argument: Projected, takes: Type) -> Read:
        """A value as the type that a user's aggregate takes."""
        if type_of(self.shape, argument) == takes:
            return read
        assert argument.expression is not None
        (alias,) = {each.alias for each in argument.attributes}
        cast = Cast(argument.expression, takes, argument.expression.span)
        return Read(str(cast), True, alias, cast)

    def _read(self, projected: Projected) -> Read:
        x = projected.value
        if isinstance(x, Attribute) and projected.as_it_is:
            return self.coding.read(x)
        assert projected.expression is not None
        (alias,) = {each.alias for each in projected.attributes}
        return Read(str(projected.expression), True, alias, projected.expression)


def _joined(shape: AggregateShape) -> Shape:
    """The shape of the join, projected on what contributions have to tell apart."""
    if shape.join is not None:
        return shape.join
    holistic = [each.argument for each in shape.asked if each.holistic and each.argument]
    query = replace(shape.query, projection=(*shape.groups, *holistic), distinct=True)
    keys = answer_keys(query)
    alias, stream = query.streams[0]
    part = Part(query.predicate, keys, (), 0)
    return Shape(query, (StreamShape(alias, stream.name, (part,)),), (), keys, 0)


class CodedColumns(AnswerColumns):
    """The attributes alone, all of them coded."""

    def __init__(self, shape: Shape, coding: Coding) -> None:
        super().__init__(shape, coding, 0)

    def of_case(self, parts: Sequence[Part]) -> tuple[Held, ...]:
        return super().of_case(parts)[1:]

    def known(self, x: Attribute) -> list[int] | None:
        """The values of an attribute on the scale, where places do not say them."""
        return self._values(x)

    def decoder(self, x: Attribute) -> OnLine | Listed:
        """What the numbers of an attribute stand for."""
        return self._decoder(x)

    def value(self, x: Attribute, number: int) -> Value:
        """The value of an attribute that a number of the scale stands for."""
        type_, scale = self._spj.columns[x].type, self._spj.scale
        if type_.kind is Kind.VARCHAR:
            return scale.texts[number // scale.unit]
        return typed(Fraction(number, scale.unit), type_)

    def key(self, x: Attribute, name: str, function: Function) -> Key:
        """The key of a store for an attribute that stands in a column."""
        known = self._values(x)
        low, high = (0, len(known) - 1) if known is not None else self._ends(x)
        return Key(str(x), Field(name), low, high, name if function.null_slot else None)


class _JoinMaker(JoinMaker):
    """Makes a join whose buckets keep numbers, and give them."""

    def __init__(self, part: Contributing) -> None:
        super().__init__(part.joined, part.coding, part.columns)
        self._part = part

    def made(self, output: tuple[OutputColumn, ...]) -> SynopsisJoin:
        if len(self._spj.streams) > 1:
            return super().made(output)
        ((alias, _),) = self._spj.streams
        (stream,) = self._shape.streams
        (part,) = stream.parts
        reduction = self._reduction(alias, stream.stream, part, 0, Keep.NOTHING)
        reduction = replace(reduction, held=self._held(self._part.kept), bests=())
        given = tuple(HeldOf(0, number) for number in range(len(self._part.kept)))
        case = Case((0,), (), self._columns.of_case([part]), given)
        return SynopsisJoin(((reduction,),), (case,), output, True)

    def _held(self, kept: Sequence[Kept]) -> tuple[Accumulator, ...]:
        return tuple(self._part.accumulator(each) for each in kept)

    def _reduction(
        self, alias: str, stream: str, part: Part, number: int, keep: Keep | None = None
    ) -> Reduction:
        found = super()._reduction(alias, stream, part, number, keep)
        shape = self._part.shape
        if keep is Keep.NOTHING:
            return found
        # A best value that is asked for itself is kept as it is, and not clamped.
        asked = {each.column for each in shape.pushed if serves(part, each)}
        bests = tuple(
            replace(best, value=self._coding.place(function.terms[0][0]))
            if function.terms[0][0] in asked and len(function.terms) == 1
            else best
            for best, function in zip(found.bests, part.bests, strict=True)
        )
        kept = shape.held(alias, part)
        if not kept:
            return replace(found, bests=bests)
        held = self._held(kept)
        if shape.counted and shape.counts(alias):
            held = (*held, Accumulator("count", Fold.COUNT, None))
        return replace(found, keep=Keep.AGGREGATE, held=held, bests=bests)

    def _case(self, combination: Combination) -> Case:
        found = super()._case(combination)
        return replace(found, given=tuple(self._given(combination)))

    def _given(self, combination: Combination) -> Iterator[HeldOf | BestOf]:
        """Where each number of a contribution is kept."""
        aliases = [alias for alias, _ in self._spj.streams]
        for each in self._part.kept:
            assert each.asked is not None
            place = aliases.index(min(each.asked.aliases))
            part = self._shape.streams[place].parts[combination.parts[place]]
            held = [x.same for x in self._part.shape.held(aliases[place], part)]
            if each.same in held:
                yield HeldOf(place, held.index(each.same))
                continue
            best = next(
                number
                for number, function in enumerate(part.bests)
                if function.terms == ((each.asked.column, 0),)
            )
            yield BestOf(place, best)


NEVER = (Compare("==", Int(0), Int(1)),)
"""What no row passes."""


def of_one_value(asked: Asked) -> bool:
    """Whether it is of one value, the same in all rows, so that their number says all."""
    return asked.constant and asked.condition is None


def constant(shape: AggregateShape, asked: Asked) -> tuple[Int, list[NotNull | Compare]]:
    """What an aggregate of one value is of; a best value by its place in a list of one."""
    assert asked.argument is not None
    value = asked.argument.value
    if value is None or isinstance(value, Attribute):
        return Int(0), list(NEVER)
    if isinstance(value, str) or not FOLDS[asked.call.function][0].adds:
        return Int(0), []
    return Int(integer_of(value, denominator(type_of(shape, asked.argument)))), []


def passes(asked: Asked) -> Kept:
    """Whether a row has a value for an aggregate, and passes its FILTER: counted, 1 or none."""
    return Kept(f"rows for {asked.call}", Fold.COUNT, asked)


def attribute_of(asked: Asked) -> Attribute:
    """The column that tells the values that an aggregate is of."""
    assert asked.argument is not None
    assert isinstance(asked.argument.value, Attribute)
    return asked.argument.value


def type_of(shape: AggregateShape, argument: Projected) -> Type:
    """The type of what an aggregate is of."""
    if argument.expression is not None:
        return argument.expression.type
    assert isinstance(argument.value, Attribute)
    return shape.query.columns[argument.value].type
