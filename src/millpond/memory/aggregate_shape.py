"""What is kept for a bounded aggregate query: synopses with partial aggregates, and the answer.

Aggregates are pushed below the join where they can be (Arasu, Example 8.7): a bucket of a stream
keeps the sum, or the best value, of a column of its rows, and a count only where something else of
the query asks how many rows there are.  A holistic aggregate has its column among the bucket's
keys, and a count or a flag for each of its values in the answer.  The certificate is counted from
this shape, and the program is made of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

from millpond.memory.aggregate import Asked, Grouped, Sort, as_asked, best_fails
from millpond.memory.arasu import violations
from millpond.memory.certificate import DENSE_SLOTS
from millpond.memory.reachable import reachable
from millpond.memory.shape import Function, Part, Shape, Side, answer_keys, shape_of
from millpond.memory.spj import Attribute, Projected, SpjQuery
from millpond.plan.folds import FOLDS, Fold
from millpond.schema import IntegerType, Kind, Type


@dataclass(frozen=True)
class Kept:
    """A number that is kept of the rows of a bucket, or of a group."""

    noun: str
    fold: Fold | None
    """How a row changes it; None for the state of a user's aggregate."""
    asked: Asked | None = None
    """The aggregate whose argument it is of; None counts rows."""

    @property
    def same(self) -> object:
        """What two have in common that are one."""
        if self.asked is None:
            return self.fold
        call = self.asked.call
        of = call if self.fold is None else call.argument
        return self.fold, of, call.filter


@dataclass(frozen=True)
class Answer:
    """Something kept in the answer, by group or by group and value."""

    keys: tuple[Function, ...]
    rows: int
    kept: tuple[Kept, ...]
    asked: Asked | None = None
    """The holistic aggregate whose values these are."""

    @property
    def counted(self) -> bool:
        """Whether it matters how often a value came."""
        return self.asked is not None and (self.asked.counts or self.asked.twice)


@dataclass(frozen=True)
class AggregateShape:
    """What is kept for a part of an aggregate query."""

    query: SpjQuery
    groups: tuple[Projected, ...]
    asked: tuple[Asked, ...]
    grouped: Grouped

    @cached_property
    def exact(self) -> tuple[Asked, ...]:
        """The aggregates whose columns buckets are told by."""
        return tuple(each for each in self.asked if not _pushed(self.query, each))

    @property
    def pushed(self) -> tuple[Asked, ...]:
        """Those of which a bucket keeps numbers."""
        return tuple(each for each in self.asked if each not in self.exact)

    @property
    def counted(self) -> bool:
        """Whether some aggregate depends on how often a row comes."""
        return any(each.counts for each in self.asked)

    @cached_property
    def join(self) -> Shape | None:
        """The synopses of the inputs, where there are several."""
        if len(self.query.streams) == 1:
            return None
        columns = (*self.groups, *(x for each in self.exact for x in columns_of(each)))
        beneath = frozenset(x for each in self.pushed for x in each.aliases)
        return shape_of(
            replace(self.query, projection=columns, distinct=not self.counted, keyed=beneath)
        )

    def counts(self, alias: str) -> bool:
        """Whether how many rows a bucket of an input has matters to something."""
        return any(
            each.counts and (each in self.exact or each.aliases != {alias}) for each in self.asked
        )

    def held(self, alias: str, part: Part) -> tuple[Kept, ...]:
        """The numbers of columns that a bucket of an input keeps, beside what the join asks of it:
        a best value that is kept for the join already is not kept twice."""
        mine = [each for each in self.pushed if alias in each.aliases]
        kept = [kept for each in mine for kept in kept_of(each)]
        if not self.counted:
            kept = [each for each in kept if each.asked and not serves(part, each.asked)]
        return distinct(kept)

    @cached_property
    def told(self) -> Answer | None:
        """What is kept of each group; None where holistic aggregates say it all."""
        kept = distinct(x for each in self.asked if not each.holistic for x in kept_of(each))
        return None if self.asked and not kept else replace(self.present, kept=kept)

    @property
    def kept_of_groups(self) -> tuple[Kept, ...]:
        """The numbers of each group."""
        return () if self.told is None else self.told.kept

    @cached_property
    def present(self) -> Answer:
        """Which groups there are."""
        return self._answer(self.groups, ())

    @cached_property
    def values(self) -> tuple[Answer, ...]:
        """What is kept of each value of a group, for each holistic aggregate."""
        found = []
        for each in self.asked:
            if each.holistic:
                known = columns_of(each) if self.join is not None else columns_of(each)[:1]
                found.append(replace(self._answer([*self.groups, *known], ()), asked=each))
        return tuple(found)

    def _answer(self, columns: Sequence[Projected], kept: tuple[Kept, ...]) -> Answer:
        keys = answer_keys(replace(self.query, projection=tuple(columns), distinct=True))
        return Answer(keys, reachable(keys, self.query.predicate), kept)


def whole_shape(grouped: Grouped) -> AggregateShape | None:
    """The shape in which all aggregates share the synopses; None where they cannot."""
    counted = any(each.counts for each in grouped.asked)
    if counted and len(grouped.query.streams) > 1 and violations(grouped.query):
        return None
    return AggregateShape(grouped.query, grouped.groups, grouped.asked, grouped)


def runs(grouped: Grouped) -> AggregateShape | None:
    """The shape that a program is made of, if there is one."""
    query = grouped.query
    shape = AggregateShape(query, grouped.groups, grouped.asked, grouped)
    if not query.satisfiable:
        return shape
    if whole_shape(grouped) is None or any(each.derived for x in query.links for each in x.columns):
        return None
    computed = any(each.made_of for each in grouped.groups)
    return None if computed or not all(_steps(shape, each) for each in grouped.asked) else shape


def run_together(shapes: Sequence[AggregateShape]) -> tuple[AggregateShape, ...]:
    """The parts of a query that can change the same groups; none where they cannot."""
    some = tuple(each for each in shapes if each.query.satisfiable)
    if len(some) < 2:
        return some or tuple(shapes[:1])
    # Over one stream, what is forced in one part may be kept as the others keep it.
    plain = tuple(replace(each, asked=tuple(map(as_asked, each.asked))) for each in some)
    free = all(each.join is None for each in some)
    for found in (some, plain) if free else (some,):
        if all(_shares(each, found[0]) for each in found) and _fit(found):
            return found
    return ()


def _shares(shape: AggregateShape, first: AggregateShape) -> bool:
    """Whether a part keeps of its groups what the first one does, under keys of its own."""

    def kept(of: AggregateShape) -> object:
        tallies = [each.asked and each.asked.call for each in of.values]
        return [(each.same, each.noun) for each in of.kept_of_groups], tallies

    if kept(shape) != kept(first) or not all(each.as_it_is for each in shape.groups):
        return False
    counted = {any(each.counted for each in of.values) for of in (shape, first)}
    if len(counted) > 1 and any(of.join and not of.counted for of in (shape, first)):
        return False  # the tallies of one part ask how often rows come, and the other cannot say
    void = shape.query.void
    if any(x in void for each in shape.values if each.asked for x in each.asked.attributes):
        return False  # nothing ever comes for it
    exact = () if shape.join is None else shape.exact
    return all(each.holistic and each.condition is None for each in exact)


def _fit(shapes: Sequence[AggregateShape]) -> bool:
    """Whether all groups and their values have places, whichever part they come from."""
    columns = [each.groups for each in shapes]
    slots = prod(
        sum(_values(x, shape) for x, shape in zip(column, shapes, strict=True)) + 1
        for column in zip(*columns, strict=True)
    )
    most = max(
        (
            sum(prod(key.size for key in x.keys) for x in tallies)
            for tallies in zip(*(each.values for each in shapes), strict=True)
        ),
        default=1,
    )
    return slots <= DENSE_SLOTS and slots * most <= DENSE_SLOTS


def _values(column: Projected, shape: AggregateShape) -> int:
    """How many values a column of the groups can have; of integers, from the least to the
    greatest."""
    if not isinstance(column.value, Attribute):
        return 1 if column.value is not None else DENSE_SLOTS
    if column.value in shape.query.void:
        return DENSE_SLOTS
    return shape.query.predicate.interval(column.value).size or DENSE_SLOTS


def _steps(shape: AggregateShape, asked: Asked) -> bool:
    """Whether there are steps for an aggregate."""
    if asked.twice and len(shape.query.streams) > 1:
        return False
    argument = asked.argument
    if asked.sort is Sort.DECLARED and not _takes(shape, asked):
        return False
    if asked.constant and asked.condition is None:
        return True
    if asked.holistic or asked.sort is Sort.DECLARED:
        if asked in shape.exact:
            return argument is not None and isinstance(argument.value, Attribute)
        return len(asked.aliases) < 2
    if asked in shape.exact:
        bare = argument is not None and argument.as_it_is and bool(argument.attributes)
        return bare or not _text(asked)
    return len(asked.aliases) < 2


def _text(asked: Asked) -> bool:
    """Whether it is the best of texts, which have no numbers."""
    of = None if asked.argument is None else asked.argument.expression
    return asked.sort is Sort.BEST and of is not None and of.type.kind is Kind.VARCHAR


def _takes(shape: AggregateShape, asked: Asked) -> bool:
    """Whether values come to a user's aggregate as what it takes."""
    argument, declared = asked.argument, asked.call.declared
    if argument is None or argument.expression is None or declared is None or asked.constant:
        return False
    if declared.takes.kind is Kind.VARCHAR and not asked.holistic and shape.join is None:
        return False
    given, takes = argument.expression.type, declared.takes
    return given == takes or _widens(given, takes) or (shape.join is None and not asked.holistic)


def _widens(given: Type, takes: Type) -> bool:
    if not isinstance(given, IntegerType) or not isinstance(takes, IntegerType):
        return False
    return takes.bits is None or (given.bits is not None and given.bits <= takes.bits)


def columns_of(asked: Asked) -> list[Projected]:
    """What an aggregate is computed from."""
    return [each for each in (asked.argument, asked.condition) if each is not None]


def distinct(kept: Iterable[Kept]) -> tuple[Kept, ...]:
    """Each number once, whatever it is kept for."""
    found: dict[object, Kept] = {}
    for each in kept:
        found.setdefault(each.same, each)
    return tuple(found.values())


def serves(part: Part, asked: Asked) -> bool:
    """Whether the best value of a column is kept for the join already."""
    side = Side.LOW if asked.call.function in ("MIN", "BOOL_AND") else Side.HIGH
    return any(each.side is side and each.terms == ((asked.column, 0),) for each in part.bests)


def kept_of(asked: Asked) -> tuple[Kept, ...]:
    """The numbers that an aggregate is made of."""
    if asked.sort is Sort.DECLARED:
        return (Kept(f"state of {asked.call}", None, asked),)
    if asked.of_rows:
        return (Kept(str(Fold.COUNT), Fold.COUNT),)
    return tuple(
        Kept(f"{fold} of {name_of(asked)}", fold, asked) for fold in FOLDS[asked.call.function]
    )


def name_of(asked: Asked) -> str:
    """What an aggregate is of, as a certificate has it."""
    if asked.column is not None:
        return asked.column.column
    call = asked.call
    name = "rows" if call.argument is None else str(call.argument)
    return name if call.filter is None else f"{name} where {call.filter}"


def _pushed(query: SpjQuery, asked: Asked) -> bool:
    """Whether a value in each bucket of its stream serves, and the column needs not be a key."""
    if asked.holistic:
        return False
    if asked.sort is Sort.DECLARED:
        # Of a join its values have to be known one by one (Theorem 8.4).
        return len(query.streams) == 1
    if asked.sort is Sort.BEST:
        free = len(query.streams) == 1 or asked.column in query.void  # it is always NULL there
        return len(asked.aliases) < 2 and (free or not best_fails(query, asked, bounded_too=True))
    summed = asked.argument is not None and asked.argument.sum is not None
    return len(asked.aliases) < 2 or (summed and asked.condition is None)
