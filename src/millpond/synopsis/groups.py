"""What is kept of each group of an aggregate query, and how aggregates are made of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from millpond.memory import Attribute
from millpond.memory.aggregate import Asked, Sort
from millpond.memory.aggregate_shape import AggregateShape, Answer, Kept, kept_of
from millpond.memory.certificate import dense
from millpond.memory.shape import answer_keys
from millpond.memory.spj import Projected
from millpond.plan import ColumnRef, Expression
from millpond.plan.evaluate import compiled
from millpond.plan.folds import FOLDS, Fold
from millpond.program import (
    Constant,
    Keep,
    Key,
    KeyOf,
    Listed,
    OnLine,
    Read,
    Whole,
)
from millpond.program.accumulator import Accumulator
from millpond.program.expression import Compare, Field, Int, NotNull
from millpond.program.grouping import (
    Finish,
    GroupColumn,
    Grouping,
    Groups,
    Said,
    Slot,
    States,
    Tally,
)
from millpond.program.measured import Known, Measured, OnAnyLine, Ordered, Text
from millpond.program.prepared import Truth, fields_of
from millpond.schema import Kind, Type, Value
from millpond.synopsis.contributing import (
    NEVER,
    Contributing,
    attribute_of,
    constant,
    passes,
    type_of,
)


@dataclass(frozen=True)
class Computed:
    """What is computed from the value of a column."""

    inner: Slot
    text: str
    of: Callable[[Value], Value] = field(compare=False, repr=False)

    def value(self, number: int) -> Value:
        return self.of(self.inner.value(number))


class OnePart:
    """What is kept of each group, and said of it."""

    def __init__(self, shape: AggregateShape, part: Contributing) -> None:
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
            slot = self._computed(each.value, each.expression, slot)
        return GroupColumn(of, plain_slot(slot))

    def _computed(self, x: Attribute, expression: Expression, slot: Slot) -> Slot:
        """What an expression makes of each value of a column."""
        stream = self._coding.stream(x.alias)
        of = compiled(expression, fields_of(x.alias, stream))
        place = stream.names.index(x.column)

        def evaluate(value: Value) -> Value:
            row: list[Value] = [None] * len(stream.columns)
            row[place] = value
            return of(tuple(row))

        return Computed(slot, str(expression), evaluate)

    # Numbers

    def _accumulator(self, kept: Kept) -> Accumulator:
        """A number of a group, that contributions change."""
        assert kept.fold is not None
        asked = kept.asked
        if asked is None:
            return Accumulator(kept.noun, kept.fold, None)
        column = self._part.given(kept)
        if column is not None:
            guarded = (NotNull(column),)
            text = not kept.fold.adds and self._part.is_text(asked)
            return Accumulator(kept.noun, kept.fold, Field(column), guarded, text=text, folded=True)
        passing = self._passing(asked)
        if asked.argument is None or asked.constant:
            value: Int | None = None
            guard: list[NotNull | Compare] = []
            if asked.argument is not None:
                value, guard = constant(self._shape, asked)
            return Accumulator(kept.noun, kept.fold, value, (*guard, *passing))
        name = self._value(asked, kept.fold)
        return Accumulator(kept.noun, kept.fold, Field(name), (NotNull(name), *passing))

    def _value(self, asked: Asked, fold: Fold) -> str:
        """The column of what an aggregate is of, where contributions have the values themselves."""
        assert asked.argument is not None
        if bare(asked) and not fold.adds:
            return self._part.name(attribute_of(asked))
        type_ = self._part.expression_of(asked.argument).type
        if fold is Fold.COUNT:
            return self._part.value_of(asked.argument, Known(Read("")))
        ordered = not fold.adds and type_.kind is Kind.DOUBLE
        how = Ordered(Read("")) if ordered else Measured(Read(""), type_)
        return self._part.value_of(asked.argument, how)

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
            value, shown, guard = Constant(0), Listed((known,)), NEVER if known is None else ()
        else:
            x = attribute_of(asked)
            value, shown = self._found(x, keys)
            if not asked.argument.as_it_is and shown is not None:
                assert asked.argument.expression is not None
                shown = self._computed(x, asked.argument.expression, shown)
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
            plain_slot(shown),
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
        name = self._part.value_of(asked.condition, Truth(Read(""), True))
        return (Compare("==", Field(name), Int(1)),)

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
            x = attribute_of(asked)
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
            shown = self._best(asked, type_)
            found.append(Finish(call.function, type_, folds, shown=shown, span=call.span))
        return tuple(found)

    def _best(self, asked: Asked, type_: Type) -> Slot | None:
        """What the integers of a best value stand for."""
        if FOLDS[asked.call.function][0].adds:
            return None
        if asked.constant:
            assert asked.argument is not None
            assert not isinstance(asked.argument.value, Attribute)
            return Listed((asked.argument.value,))
        if asked in self._shape.exact and bare(asked):
            return plain_slot(self._columns.decoder(attribute_of(asked)))
        line = None if asked.argument is None else self._part.line_of(asked.argument)
        if line is not None:
            return OnAnyLine(line, type_)
        if type_.kind is Kind.INTEGER:
            return None
        if type_.kind is Kind.VARCHAR:
            return Text()
        read = Read("")
        return Ordered(read) if type_.kind is Kind.DOUBLE else Measured(read, type_)


def bare(asked: Asked) -> bool:
    """Whether an aggregate is of a column as it is."""
    argument = asked.argument
    return argument is not None and argument.as_it_is and isinstance(argument.value, Attribute)


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


def plain_slot(slot: Slot | None) -> Slot | None:
    """None where the integers are the values."""
    if isinstance(slot, OnLine) and slot.line.plain and slot.type.kind is Kind.INTEGER:
        return None
    return slot


def answer_noun(asked: Asked) -> str:
    return f"values of {asked.call}"
