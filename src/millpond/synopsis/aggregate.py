"""The program of a bounded aggregate query (Arasu, section 8.2).

Each part of the query gives contributions: its join, as that of any query, with the numbers that
its buckets keep of the columns that are aggregated.  The grouping adds them up.  A single stream
keeps no buckets: each of its rows is a contribution.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from millpond.memory import Attribute, Combination, Function, Part, Shape, Verdict
from millpond.memory.aggregate import Asked, Sort
from millpond.memory.aggregate_shape import AggregateShape, Answer, Kept, kept_of, serves
from millpond.memory.certificate import dense
from millpond.memory.shape import StreamShape, answer_keys
from millpond.memory.spj import Projected
from millpond.plan import Cast, ColumnRef, Expression, Query
from millpond.plan.evaluate import compiled
from millpond.plan.folds import FOLDS, Fold, denominator
from millpond.program import (
    BestOf,
    Case,
    Constant,
    Held,
    Keep,
    Key,
    KeyOf,
    Listed,
    OnLine,
    OutputColumn,
    Program,
    Read,
    Reduction,
    SynopsisJoin,
    Truth,
    Whole,
)
from millpond.program.accumulator import Accumulator
from millpond.program.expression import Compare, Field, Int, NotNull
from millpond.program.grouping import (
    Finish,
    GroupColumn,
    GroupedProgram,
    Grouping,
    Groups,
    Said,
    Slot,
    States,
    Tally,
)
from millpond.program.line import typed
from millpond.program.measured import Known, Measured, Ordered, integer_of
from millpond.program.operator import HeldOf
from millpond.program.prepared import fields_of
from millpond.schema import Kind, Type, UserAggregate, Value
from millpond.synopsis.answer import AnswerColumns
from millpond.synopsis.coding import Coding
from millpond.synopsis.inputs import Inputs
from millpond.synopsis.join import JoinMaker


def aggregate_program(query: Query, verdict: Verdict) -> GroupedProgram:
    """The program that runs a bounded aggregate query inside its certificate."""
    (shape,) = verdict.groupings
    return _Maker(query, shape).program()


class _Maker:
    """Makes the program of one part."""

    def __init__(self, query: Query, shape: AggregateShape) -> None:
        self._query = query
        self._shape = shape
        self._inputs = Inputs()
        for stream in query.streams:
            self._inputs.stream(stream)

    def program(self) -> GroupedProgram:
        if not self._shape.query.satisfiable:
            return self._of_nothing()
        part = _Contributing(self._shape, self._inputs)
        join = part.join()
        inputs = self._inputs.streams(self._query.streams)
        source = Program(self._query.name, inputs, (join,), join.output)
        grouping = _Grouped(self._shape, part).made()
        return GroupedProgram(
            self._query.name, inputs, (join,), self._output, parts=(source,), grouping=grouping
        )

    def _of_nothing(self) -> GroupedProgram:
        """Nothing ever passes: there is no group, or the one of everything stays empty."""
        shape = self._shape
        calls = shape.grouped.above.calls
        grouping = Grouping(
            Groups((), (), 0, True, False),
            (),
            tuple(GroupColumn(Constant(None)) for _ in shape.groups),
            tuple(Finish(each.function, each.type) for each in calls),
            said_of(shape),
        )
        inputs = self._inputs.streams(self._query.streams)
        return GroupedProgram(
            self._query.name, inputs, (), self._output, parts=(), grouping=grouping
        )

    @property
    def _output(self) -> tuple[OutputColumn, ...]:
        return tuple(OutputColumn(each.name, each.nullable) for each in self._query.fields)


# What a part gives ------------------------------------------------------------------------------


class _Contributing:
    """The join of a part, and the columns of its contributions: attributes first, by the numbers
    that stand for their values, and then the numbers that are kept."""

    def __init__(self, shape: AggregateShape, inputs: Inputs) -> None:
        self.shape = shape
        self.joined = _joined(shape)
        self.coding = Coding(self.joined, inputs)
        self.columns = _Columns(self.joined, self.coding)
        self._inputs = inputs

    def name(self, x: Attribute) -> str:
        """The column of an attribute."""
        return f"@{self.columns.slots.index(x)}"

    @cached_property
    def kept(self) -> tuple[Kept, ...]:
        """The numbers that contributions have, in order."""
        found: dict[object, Kept] = {}
        for each in self.shape.asked:
            listed: Sequence[Kept] = ()
            if each in self.shape.pushed and not _of_one_value(each):
                listed = kept_of(each)
            elif each.holistic and each.condition is not None and self.shape.join is None:
                listed = [passes(each)]
            for kept in listed:
                if kept.asked is not None:
                    found.setdefault(kept.same, kept)
        return tuple(found.values())

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
        return Accumulator(kept.noun, fold, value, tuple(guard))

    def _measured(
        self, argument: Projected, fold: Fold, declared: UserAggregate | None
    ) -> tuple[Field, bool]:
        """The column of what an aggregate is of, and whether it may be NULL."""
        (alias,) = {each.alias for each in argument.attributes}
        stream = self.coding.stream(alias)
        type_ = type_of(self.shape, argument)
        x = argument.value
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
        how: Measured | Ordered | Known = Measured(read, type_)
        if fold is Fold.COUNT:
            how = Known(read)
        elif not fold.adds and type_.kind is Kind.DOUBLE:
            how = Ordered(read)
        return Field(self._inputs.prepared(stream, read.text, how, nullable=True)), True

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


class _Columns(AnswerColumns):
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

    def __init__(self, part: _Contributing) -> None:
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
        kept = shape.held(alias, part)
        if not kept:
            return found
        held = self._held(kept)
        if shape.counted and shape.counts(alias):
            held = (*held, Accumulator("count", Fold.COUNT, None))
        # A best value that is asked for itself is kept as it is, and not clamped.
        bests = tuple(
            replace(best, value=self._coding.place(function.terms[0][0]))
            if any(
                serves(part, each) and each.column == function.terms[0][0] for each in shape.pushed
            )
            else best
            for best, function in zip(found.bests, part.bests, strict=True)
        )
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


# Groups -----------------------------------------------------------------------------------------


class _Grouped:
    """What is kept of each group, and said of it."""

    def __init__(self, shape: AggregateShape, part: _Contributing) -> None:
        self._shape = shape
        self._part = part
        self._coding = part.coding
        self._columns = part.columns
        self._groups = self._keys(shape.groups)

    def made(self) -> Grouping:
        every = () if self._shape.told is None else self._shape.told.kept
        kept = [each for each in every if each.fold is not None]
        states = [each for each in every if each.fold is None]
        told = self._shape.present
        groups = Groups(
            self._groups,
            tuple(self._accumulator(each) for each in kept),
            told.rows,
            dense(told.keys),
            not every and self._shape.told is not None,
        )
        tallies = tuple(map(self._tally, self._shape.values))
        return Grouping(
            groups,
            tallies,
            tuple(self._column(each) for each in self._shape.groups),
            self._finishes(kept, states),
            said_of(self._shape),
            tuple(self._state(each) for each in states),
        )

    # Keys

    def _keys(self, columns: Sequence[Projected]) -> tuple[Key, ...]:
        query = replace(self._shape.query, projection=tuple(columns), distinct=True)
        return tuple(
            self._columns.key(function.terms[0][0], self._part.name(function.terms[0][0]), function)
            for function in answer_keys(query)
        )

    def _found(self, x: Attribute, keys: Sequence[Key]) -> tuple[KeyOf | Constant, Slot | None]:
        """Where the value of an attribute is, among keys of a store, and what its number says."""
        spj = self._part.joined.query
        if x in spj.void:
            return Constant(None), None
        predicate = spj.predicate
        interval = predicate.interval(x)
        if interval.size == 1 and interval.low is not None and not spj.nullable(x):
            return Constant(0), Listed((self._columns.value(x, interval.low),))
        for number, key in enumerate(keys):
            assert isinstance(key.value, Field)
            other = next(y for y in self._columns.slots if self._part.name(y) == key.value.name)
            offset = predicate.offset(x, other)
            if x == other:
                return KeyOf(0, number), self._columns.decoder(x)
            if offset is not None and not (spj.nullable(x) or spj.nullable(other)):
                return self._beside(x, other, number, offset)
        raise ValueError(f"{x} is not kept")

    def _beside(
        self, x: Attribute, other: Attribute, number: int, offset: int
    ) -> tuple[KeyOf, Slot]:
        """The value of an attribute that differs from another by a constant."""
        known = self._columns.known(other)
        if known is not None:
            return KeyOf(0, number), Listed(
                tuple(self._columns.value(x, each + offset) for each in known)
            )
        line = self._coding.line(x)
        assert isinstance(line, Whole)
        type_ = self._part.joined.query.columns[x].type
        return KeyOf(0, number, line.offset(offset)), OnLine(line, type_)

    def _column(self, each: Projected) -> GroupColumn:
        if not isinstance(each.value, Attribute):
            return GroupColumn(Constant(0), Listed((each.value,)))
        of, slot = self._found(each.value, self._groups)
        if not each.as_it_is and slot is not None and each.expression is not None:
            slot = self._computed(each.value, each.expression, of, slot, self._groups)
        return GroupColumn(of, _plain(slot))

    def _computed(
        self,
        x: Attribute,
        expression: Expression,
        of: KeyOf | Constant,
        slot: Slot,
        keys: Sequence[Key],
    ) -> Slot:
        """What an expression makes of each value of a column."""
        stream = self._coding.stream(x.alias)
        evaluate = compiled(expression, fields_of(x.alias, stream))
        place = stream.names.index(x.column)
        if isinstance(of, Constant):
            numbers = range(1)
        else:
            key = keys[of.key]
            numbers = range(key.low + of.offset, key.high + of.offset + 1)
        row: list[Value] = [None] * len(stream.columns)
        values = {}
        for number in numbers:
            row[place] = slot.value(number)
            values[number] = evaluate(tuple(row))
        first = numbers[0] if numbers else 0
        return _Shifted(first, tuple(values.values()))

    # Numbers

    def _accumulator(self, kept: Kept) -> Accumulator:
        """A number of a group, that contributions change."""
        assert kept.fold is not None
        asked = kept.asked
        if asked is None:
            return Accumulator(kept.noun, kept.fold, None)
        if _of_one_value(asked):
            value, guard = constant(self._shape, asked)
            return Accumulator(kept.noun, kept.fold, value, tuple(guard))
        column = self._part.given(kept)
        if column is not None:
            guarded = (NotNull(column),)
            return Accumulator(kept.noun, kept.fold, Field(column), guarded, folded=True)
        name = self._part.name(_attribute(asked))
        passing = (NotNull(name), *self._passing(asked))
        return Accumulator(kept.noun, kept.fold, Field(name), passing)

    def _tally(self, answer: Answer) -> Tally:
        asked = answer.asked
        assert asked is not None
        assert asked.argument is not None
        value: KeyOf | Constant
        shown: Slot | None
        guard: tuple[NotNull | Compare, ...]
        keys = self._keys((*self._shape.groups, asked.argument))
        if asked.constant:
            known = asked.argument.value
            assert not isinstance(known, Attribute)
            value, shown, guard = Constant(0), Listed((known,)), _NEVER if known is None else ()
        else:
            x = _attribute(asked)
            value, shown = self._found(x, keys)
            if not asked.argument.as_it_is and shown is not None:
                assert asked.argument.expression is not None
                shown = self._computed(x, asked.argument.expression, value, shown, keys)
            guard = (NotNull(self._part.name(x)),)
        guard = (*guard, *self._passing(asked))
        keys = tuple(
            replace(key, null_of=None) if place >= len(self._groups) else key
            for place, key in enumerate(keys)
        )
        return Tally(
            answer_noun(asked),
            keys,
            Keep.COUNT if answer.counted else Keep.FLAG,
            guard,
            value,
            type_of(self._shape, asked.argument),
            _plain(shown),
            answer.rows,
            dense(answer.keys),
        )

    def _passing(self, asked: Asked) -> tuple[NotNull | Compare, ...]:
        """What FILTER asks of a contribution."""
        if asked.condition is None:
            return ()
        column = self._part.given(passes(asked))
        if column is not None:
            return (NotNull(column),)
        x = asked.condition.value
        assert isinstance(x, Attribute)
        slot, name = self._columns.decoder(x), self._part.name(x)
        true = next(number for number in range(2) if slot.value(number) is True)
        return NotNull(name), Compare("==", Field(name), Int(true))

    # What is said

    def _state(self, kept: Kept) -> States:
        """The states of a user's aggregate."""
        asked = kept.asked
        assert asked is not None
        declared = asked.call.declared
        assert declared is not None
        column = self._part.given(kept)
        taken: Slot
        guard: tuple[NotNull | Compare, ...] = ()
        if column is None:
            x = _attribute(asked)
            column, taken = self._part.name(x), self._columns.decoder(x)
            guard = self._passing(asked)
        elif declared.takes.kind is Kind.DOUBLE:
            taken = Ordered(Read(""))
        else:
            taken = Measured(Read(""), declared.takes)
        return States(
            self._groups,
            kept.noun,
            declared.units or 1,
            column,
            (NotNull(column), *guard),
            taken,
            self._shape.present.rows,
            declared,
            asked.span,
        )

    def _finishes(self, kept: Sequence[Kept], states: Sequence[Kept]) -> tuple[Finish, ...]:
        by_name = {each.call.name: each for each in self._shape.asked}
        places = {each.same: number for number, each in enumerate(kept)}
        users = {each.same: number for number, each in enumerate(states)}
        tallies = [each.asked for each in self._shape.values]
        found = []
        for call in self._shape.grouped.above.calls:
            asked = by_name.get(call.name)
            if asked is None:
                found.append(Finish(call.function, call.type, used=False))
                continue
            argument = asked.argument
            type_ = call.type if argument is None else type_of(self._shape, argument)
            if asked.holistic:
                tally = tallies.index(asked)
                finish = Finish(call.function, type_, tally=tally, declared=call.declared)
                found.append(replace(finish, span=call.span))
                continue
            if asked.sort is Sort.DECLARED:
                state = users[kept_of(asked)[0].same]
                found.append(Finish(call.function, type_, state=state, span=call.span))
                continue
            folds = tuple(
                (each.fold, places[each.same]) for each in kept_of(asked) if each.fold is not None
            )
            found.append(Finish(call.function, type_, folds, shown=self._best(asked, type_)))
        return tuple(found)

    def _best(self, asked: Asked, type_: Type) -> Slot | None:
        """What the integers of a best value stand for."""
        if FOLDS[asked.call.function][0].adds:
            return None
        if asked.constant:
            assert asked.argument is not None
            assert not isinstance(asked.argument.value, Attribute)
            return Listed((asked.argument.value,))
        if asked in self._shape.exact:
            return _plain(self._columns.decoder(_attribute(asked)))
        if type_.kind is Kind.INTEGER:
            return None
        read = Read("")
        return Ordered(read) if type_.kind is Kind.DOUBLE else Measured(read, type_)


def said_of(shape: AggregateShape) -> Said:
    """What the query says of its groups."""
    above = shape.grouped.above
    names = [each.name for each in above.fields]
    direct = tuple(
        names.index(each.name) if isinstance(each, ColumnRef) else None for each in above.columns
    )
    return Said(
        tuple(map(str, (*above.having, *above.columns))),
        above.distinct,
        direct,
        above.fields,
        above.having,
        above.columns,
    )


@dataclass(frozen=True)
class _Shifted:
    """A column of numbers of values in a list that starts at some number."""

    first: int
    values: tuple[Value, ...]

    def value(self, number: int) -> Value:
        return self.values[number - self.first]


def _plain(slot: Slot | None) -> Slot | None:
    """None where the integers are the values."""
    if isinstance(slot, OnLine) and slot.line.plain and slot.type.kind is Kind.INTEGER:
        return None
    return slot


_NEVER = (Compare("==", Int(0), Int(1)),)
"""What no row passes."""


def _of_one_value(asked: Asked) -> bool:
    """Whether it is of one value, the same in all rows, so that their number says all."""
    return asked.constant and asked.condition is None


def constant(shape: AggregateShape, asked: Asked) -> tuple[Int, list[NotNull | Compare]]:
    """What an aggregate of one value is of; a best value by its place in a list of one."""
    assert asked.argument is not None
    value = asked.argument.value
    if value is None or isinstance(value, Attribute):
        return Int(0), list(_NEVER)
    if isinstance(value, str) or not FOLDS[asked.call.function][0].adds:
        return Int(0), []
    return Int(integer_of(value, denominator(type_of(shape, asked.argument)))), []


def passes(asked: Asked) -> Kept:
    """Whether a row has a value for an aggregate, and passes its FILTER: counted, 1 or none."""
    return Kept(f"rows for {asked.call}", Fold.COUNT, asked)


def _attribute(asked: Asked) -> Attribute:
    """The column that tells the values that an aggregate is of."""
    assert asked.argument is not None
    assert isinstance(asked.argument.value, Attribute)
    return asked.argument.value


def answer_noun(asked: Asked) -> str:
    return f"values of {asked.call}"


def type_of(shape: AggregateShape, argument: Projected) -> Type:
    """The type of what an aggregate is of."""
    if argument.expression is not None:
        return argument.expression.type
    assert isinstance(argument.value, Attribute)
    return shape.query.columns[argument.value].type
