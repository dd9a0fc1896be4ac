"""Groups as SQL: what contributions add to them, and what is said of them (Arasu, section 8.2).

What rows of the join give to their groups stands in a table of its own, since it has to be read
after the synopses have been merged.  Of groups the answer is stored: what a batch changes is the
answer after it less the answer before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from millpond.plan.error import PlanError
from millpond.plan.folds import Fold, denominator
from millpond.plan.sql_expression import Behind, Level, Printed
from millpond.program.accumulator import Accumulator
from millpond.program.expression import (
    Compare,
    Condition,
    Field,
    Int,
    IsNull,
    NotNull,
    Number,
    fields,
)
from millpond.program.grouping import Finish, Grouping, Slot, Tally
from millpond.program.line import Whole
from millpond.program.measured import OnAnyLine
from millpond.program.operator import Constant, Keep, Key, KeyOf
from millpond.program.sql_join import MERGES, Context, as_, at_most, number_type, widened
from millpond.program.sql_layout import (
    Measure,
    Names,
    Statement,
    indented,
    merged,
    replaced,
    select,
    table,
    union_all,
    view,
    with_,
)
from millpond.program.sql_places import Places, Values, decimal
from millpond.schema import DOUBLE, Kind, Type

_OPS = {"==": "=", "!=": "<>"}


class GroupSteps:
    """The steps of a grouping."""

    def __init__(self, context: Context, grouping: Grouping, answer: Sequence[str]) -> None:
        if grouping.states or any(each.declared for each in grouping.finishes):
            raise PlanError("an aggregate is the user's own")
        self._context = context
        self._grouping = grouping
        self._answer = answer
        self._places = Places(context.expressions)
        self._columns = self._contributed()
        self.rows = context.table("rows")
        self.groups = context.table("groups")
        self._groups_new = context.table("groups_new")
        names = Names([context.n, context.seen])
        self._keys = [self._key(each, names) for each in grouping.groups.keys]
        self._held = [context.name(names.new(each.name)) for each in grouping.groups.held]
        self.tallies = [_Tally(context, each, self) for each in grouping.tallies]
        self.told = context.table("answer")
        self._now = context.table("answer_now")

    @property
    def width(self) -> int:
        """How many coordinates a group has."""
        return len(self._grouping.groups.keys)

    # Contributions ---------------------------------------------------------------------------

    def column(self, name: str) -> str:
        """A column of contributions by the name that the program gives it."""
        return self._columns[name]

    @property
    def columns(self) -> dict[str, str]:
        """The columns of contributions that are looked at."""
        return self._columns

    def _contributed(self) -> dict[str, str]:
        """The columns of contributions, called as what they are of."""
        grouping, context = self._grouping, self._context
        names, found = Names([context.n]), dict[str, str]()
        wanted: list[tuple[Number | None, str]] = [
            (key.value, key.name) for key in grouping.groups.keys
        ]
        last = [each.keys[-1] for each in grouping.tallies if each.keys]
        wanted += [(each.value, each.name) for each in last]
        wanted += [(each.value, each.name) for each in grouping.groups.held]
        for value, said in wanted:
            if isinstance(value, Field) and value.name not in found:
                found[value.name] = context.name(names.new(last_word(said)))
        guards: list[Sequence[Condition]] = [each.guard for each in grouping.groups.held]
        guards += [each.guard for each in grouping.tallies]
        for name in (x for guard in guards for condition in guard for x in fields(condition)):
            if name not in found:
                found[name] = context.name(names.new(name))
        return found

    def number(self, number: Number) -> str:
        match number:
            case Field(name):
                return self.column(name)
            case Int(value):
                return str(value)
        raise TypeError(f"{number} is no column of a contribution")

    def condition(self, condition: Condition) -> str:
        match condition:
            case NotNull(name):
                return f"{self.column(name)} IS NOT NULL"
            case IsNull(name):
                return f"{self.column(name)} IS NULL"
            case Compare(op, left, right):
                return f"{self.number(left)} {_OPS.get(op, op)} {self.number(right)}"

    def key(self, key: Key, name: str) -> str:
        return as_(self.number(key.value), name)

    # Stores ----------------------------------------------------------------------------------

    @property
    def stores(self) -> tuple[str, ...]:
        return (self.groups, *(each.table for each in self.tallies))

    @property
    def measures(self) -> list[Measure]:
        return [
            Measure(name, MERGES[each.fold], self._type(number))
            for number, (name, each) in enumerate(
                zip(self._held, self._grouping.groups.held, strict=True)
            )
        ]

    @property
    def _buckets(self) -> list[str]:
        return self._keys if self.measures else [*self._keys, self._context.seen]

    def created(self) -> Iterator[Statement]:
        columns = [f"{name} BIGINT" for name in self._keys]
        columns += [f"{each.name} {each.type}" for each in self.measures]
        if not self.measures:
            columns.append(f"{self._context.seen} BOOLEAN")
        spec = self._grouping.groups
        said = at_most("the groups", spec.buckets, spec.certificate)
        yield Statement(f"CREATE TABLE {self.groups} ({', '.join(columns)})", said)
        for each in self.tallies:
            yield each.created()

    def stored_answer(self, types: Sequence[str]) -> Statement:
        """The answer before any input."""
        columns = [" ".join(each) for each in zip(self._answer, types, strict=True)]
        columns.append(f"{self._context.n} BIGINT")
        text = f"CREATE TABLE {self.told} ({', '.join(columns)})"
        return Statement(text, "the answer, to tell what changes in it")

    def merged(self) -> Iterator[Statement]:
        """Groups and values after the batch."""
        yield view(self._groups_new, self._reduced(), "Δ of the groups")
        both = union_all([f"SELECT * FROM {self.groups}", f"SELECT * FROM {self._groups_new}"])
        text = merged(self._buckets, self.measures, f"(\n{indented(both)}\n) AS parts")
        yield from replaced(self.groups, text, "the groups and their Δ, merged")
        for each in self.tallies:
            yield from each.merged()

    def _reduced(self) -> str:
        """What a batch's contributions come to in each group; the one group of everything is there
        though nothing came for it."""
        spec = self._grouping.groups
        keys = [self.key(*each) for each in zip(spec.keys, self._keys, strict=True)]
        if not self.measures:
            flag = f"TRUE AS {self._context.seen}"
            if self._grouping.everything:
                return f"SELECT {flag}"
            return select([*keys, flag], self.rows, distinct=True)
        columns = []
        for number, (each, measure) in enumerate(zip(spec.held, self.measures, strict=True)):
            text = f"{measure.merge}({self._number(number, each)})"
            text = f"COALESCE({text}, 0)" if each.counts else text
            columns.append(f"{text} AS {measure.name}")
        grouped = [self.number(each.value) for each in spec.keys]
        text = select([*keys, *columns], self.rows, (), grouped)
        if grouped or self._grouping.everything:
            return text
        return f"{text}\nHAVING COUNT(*) > 0"

    def _number(self, number: int, held: Accumulator) -> str:
        """What a contribution is for a number of its group."""
        n = self._context.n
        asked = " AND ".join(map(self.condition, held.guard))
        if held.value is None or (held.fold is Fold.COUNT and not held.folded):
            return f"CASE WHEN {asked} THEN {n} ELSE 0 END" if asked else n
        value = self._value(number, held)
        if held.fold is Fold.SQUARES and not held.folded:
            wide = widened(value, self._type_of(number))
            value = f"{wide} * {wide}"
        text = value if held.folded or not held.fold.adds else f"{value} * {n}"
        if not asked or asked == f"{text} IS NOT NULL":
            return text
        return f"CASE WHEN {asked} THEN {text}{' ELSE 0' if held.counts else ''} END"

    def _value(self, number: int, held: Accumulator) -> str:
        assert held.value is not None
        if isinstance(held.value, Int) and held.fold.adds:
            return constant(held.value.value, self._type_of(number))
        return self.number(held.value)

    def _type_of(self, number: int) -> Type:
        """The type of the values that a number is of."""
        for finish in self._grouping.finishes:
            if any(place == number for _, place in finish.folds):
                return finish.type
        return DOUBLE

    def _type(self, number: int) -> str:
        held = self._grouping.groups.held[number]
        if held.value is None or held.counts:
            return "BIGINT"
        finish = next(
            each for each in self._grouping.finishes if any(x == number for _, x in each.folds)
        )
        if not held.fold.adds and finish.shown is not None and not _as_it_is(finish):
            return "BIGINT"
        return number_type(self._context, held.fold, finish.type)

    # What is said ----------------------------------------------------------------------------

    def changed(self, changes: str) -> Iterator[Statement]:
        """The answer after the batch, less the one before."""
        listed, n = ", ".join(self._answer), self._context.n
        yield from table(self._now, self.answer(), "the answer after the batch")
        both = union_all(
            [f"SELECT {listed}, {n} FROM {self._now}", f"SELECT {listed}, -{n} FROM {self.told}"]
        )
        text = select(
            [listed, f"SUM({n}) AS {n}"], f"(\n{indented(both)}\n) AS both_answers", (), [listed]
        )
        yield from table(changes, f"{text}\nHAVING SUM({n}) <> 0", "what changes in the answer")
        yield Statement(f"DROP TABLE {self.told}", "which is the stored one from here on")
        yield Statement(f"ALTER TABLE {self._now} RENAME TO {self.told}")

    def answer(self) -> str:
        """The answer that the groups say, each row with how often it is in it."""
        said, context = self._grouping.said, self._context
        names = Names([context.n])
        inner = [context.name(names.new(each.name)) for each in said.fields]
        step = self._groups_said(inner)
        behind: Behind = {
            (each.alias, each.name): Printed(name, Level.ATOM)
            for each, name in zip(said.fields, inner, strict=True)
        }
        columns = [
            as_(context.expressions.text(each, behind), name)
            for each, name in zip(said.columns, self._answer, strict=True)
        ]
        having = [
            context.expressions.printed(each, behind).within(Level.NOT) for each in said.having
        ]
        steps, source = [("grouped", step)], "grouped"
        if having or columns != list(self._answer):
            steps.append(("said", select(columns, "grouped", having)))
            source = "said"
        weight = f"1 AS {context.n}" if said.distinct else f"COUNT(*) AS {context.n}"
        return with_(steps, select([*self._answer, weight], source, (), self._answer))

    def _groups_said(self, names: Sequence[str]) -> str:
        """Each group with its columns and its aggregates."""
        grouping = self._grouping
        columns, count = [], len(grouping.columns)
        for column, name, field in zip(grouping.columns, names, grouping.said.fields, strict=False):
            columns.append(as_(self._group_column(column.of, column.shown, field.type), name))
        for finish, name, field in zip(
            grouping.finishes, names[count:], grouping.said.fields[count:], strict=True
        ):
            columns.append(as_(self._finish(finish, field.type), name))
        lines = [f"{self.groups} AS g"]
        for number, tally in enumerate(self.tallies):
            finish = next(each for each in grouping.finishes if each.tally == number)
            same = [
                f"g.{mine} IS NOT DISTINCT FROM v{number}.{other}"
                for mine, other in zip(self._keys, tally.groups, strict=True)
            ]
            found = tally.said(finish)
            lines.append(f"LEFT JOIN (\n{indented(found)}\n) AS v{number}")
            lines.append(f"  ON {' AND '.join(same) or 'TRUE'}")
        return select(columns, "\n".join(lines))

    def _group_column(self, of: KeyOf | Constant, slot: Slot | None, type_: Type) -> str:
        if isinstance(of, Constant):
            text = "NULL" if of.value is None else str(of.value)
            found = self._places.shown(slot, text, type_)
        else:
            key = self._grouping.groups.keys[of.key]
            text = moved(f"g.{self._keys[of.key]}", of.offset)
            found = self._places.shown(slot, text, type_, numbers_of(key, of.offset))
        return f"CAST(NULL AS {self._context.type(type_)})" if found == "NULL" else found

    def _finish(self, finish: Finish, type_: Type) -> str:
        """An aggregate of a group."""
        if finish.tally is not None:
            text = f"v{finish.tally}.made"
            return f"COALESCE({text}, 0)" if finish.function == "COUNT" else text
        folds = {fold: f"g.{self._held[number]}" for fold, number in finish.folds}
        if not folds or not finish.used:
            none = f"CAST(NULL AS {self._context.type(type_)})"
            return "0" if finish.function == "COUNT" and finish.used else none
        made = made_of(finish.function, folds, finish.type, self._places, finish)
        return made if finish.type.kind is not Kind.DECIMAL else self._rounded(finish, made, type_)

    def _rounded(self, finish: Finish, made: str, type_: Type) -> str:
        summed = finish.function == "SUM"
        return f"CAST({made} AS {self._context.type(type_)})" if summed else made

    def _key(self, key: Key, names: Names) -> str:
        return self._context.name(names.new(last_word(key.name)))


class _Tally:
    """The values of a column in each group."""

    def __init__(self, context: Context, spec: Tally, steps: GroupSteps) -> None:
        self._context = context
        self._spec = spec
        self._steps = steps
        self._places = Places(context.expressions)
        names = Names([context.n, context.seen, "made", "total", "upto", "value"])
        self._keys = [context.name(names.new(last_word(each.name))) for each in spec.keys]
        self.table = context.table("values")
        self._new = context.table("values_new")

    @property
    def groups(self) -> list[str]:
        """The keys of the group."""
        return self._keys[: self._steps.width]

    @property
    def _counted(self) -> bool:
        return self._spec.keep is Keep.COUNT

    @property
    def _measures(self) -> list[Measure]:
        return [Measure(self._context.n, "SUM", "BIGINT")] if self._counted else []

    @property
    def _buckets(self) -> list[str]:
        return self._keys if self._counted else [*self._keys, self._context.seen]

    def created(self) -> Statement:
        columns = [f"{name} BIGINT" for name in self._keys]
        flag = f"{self._context.seen} BOOLEAN"
        columns.append(f"{self._context.n} BIGINT" if self._counted else flag)
        said = at_most(self._spec.name, self._spec.buckets, self._spec.certificate)
        return Statement(f"CREATE TABLE {self.table} ({', '.join(columns)})", said)

    def merged(self) -> Iterator[Statement]:
        keys = [self._steps.key(*each) for each in zip(self._spec.keys, self._keys, strict=True)]
        n, seen = self._context.n, self._context.seen
        columns = [*keys, n if self._counted else f"TRUE AS {seen}"]
        rows = select(columns, self._steps.rows, list(map(self._steps.condition, self._spec.guard)))
        last = merged(self._buckets, self._measures, "kept")
        yield view(self._new, with_([("kept", rows)], last), f"Δ of the {self._spec.name}")
        both = union_all([f"SELECT * FROM {self.table}", f"SELECT * FROM {self._new}"])
        text = merged(self._buckets, self._measures, f"(\n{indented(both)}\n) AS parts")
        yield from replaced(self.table, text, f"the {self._spec.name}, merged")

    def said(self, finish: Finish) -> str:
        """An aggregate of the values of each group."""
        if finish.function == "MEDIAN":
            return self._median()
        value, n = self._value(), self._context.n
        folds = {
            Fold.COUNT: f"SUM({n})" if self._counted else "COUNT(*)",
            Fold.SUM: f"SUM({value} * {n})" if self._counted else f"SUM({value})",
        }
        wide = widened(value, self._spec.type)
        square = f"{wide} * {wide}"
        folds[Fold.SQUARES] = f"SUM({square} * {n})" if self._counted else f"SUM({square})"
        made = made_of(finish.function, folds, self._spec.type, self._places, finish)
        return select([*self.groups, f"{made} AS made"], self.table, (), self.groups)

    def _median(self) -> str:
        """The mean of the values that half of all lie at or below, and half at or above."""
        n = self._context.n
        by = f"PARTITION BY {', '.join(self.groups)}" if self.groups else ""
        ordered = " ".join(filter(None, [by, "ORDER BY value"]))
        counted = n if self._counted else f"1 AS {n}"
        values = select([*self.groups, f"{self._value()} AS value", counted], self.table)
        ranked = select(
            [
                *self.groups,
                "value",
                n,
                f"SUM({n}) OVER ({ordered} ROWS UNBOUNDED PRECEDING) AS upto",
                f"SUM({n}) OVER ({by}) AS total",
            ],
            f"(\n{indented(values)}\n) AS listed",
        )
        middle = ["2 * upto >= total", f"2 * (upto - {n}) <= total"]
        columns = [*self.groups, "AVG(CAST(value AS DOUBLE)) AS made"]
        return select(columns, f"(\n{indented(ranked)}\n) AS ranked", middle, self.groups)

    def _value(self) -> str:
        of = self._spec.value
        if isinstance(of, Constant):
            text = "NULL" if of.value is None else str(of.value)
            return self._places.shown(self._spec.shown, text, self._spec.type)
        key = self._spec.keys[of.key]
        text = moved(self._keys[of.key], of.offset)
        numbers = numbers_of(key, of.offset)
        return self._places.shown(self._spec.shown, text, self._spec.type, numbers)


def made_of(
    function: str, folds: dict[Fold, str], type_: Type, places: Places, finish: Finish
) -> str:
    """A function of the values of a group, from the numbers that are kept of them."""
    match function:
        case "COUNT":
            return folds[Fold.COUNT]
        case "SUM":
            return folds[Fold.SUM]
        case "AVG":
            total, count = folds[Fold.SUM], folds[Fold.COUNT]
            return f"CAST({total} AS DOUBLE) / NULLIF({count}, 0)"
        case "MIN" | "MAX" | "BOOL_AND" | "BOOL_OR":
            (best,) = folds.values()
            return best if _as_it_is(finish) else places.shown(finish.shown, best, type_)
    return _spread(function, folds, type_)


def _spread(function: str, folds: dict[Fold, str], type_: Type) -> str:
    wide = "DECIMAL(38, 0)" if type_.kind is Kind.INTEGER else "DOUBLE"
    total, squares, count = (
        f"CAST({folds[each]} AS {wide})" for each in (Fold.SUM, Fold.SQUARES, Fold.COUNT)
    )
    above = f"CAST({count} * {squares} - {total} * {total} AS DOUBLE)"
    n = f"CAST({folds[Fold.COUNT]} AS DOUBLE)"
    divisor = f"({n} * ({n} - 1))" if function.endswith("_SAMP") else f"({n} * {n})"
    made = f"GREATEST({above}, 0e0) / NULLIF{divisor[:-1]}, 0)"
    return f"SQRT({made})" if function.startswith("STDDEV") else made


def _as_it_is(finish: Finish) -> bool:
    """Whether a best value is the value itself."""
    slot = finish.shown
    if isinstance(slot, OnAnyLine):
        return not isinstance(slot.line, Whole)
    return slot is None or isinstance(slot, Values)


def constant(number: int, type_: Type) -> str:
    """A constant that programs count over the denominator of its type."""
    value = Fraction(number, denominator(type_))
    return f"CAST({float(value)!r} AS DOUBLE)" if type_.kind is Kind.DOUBLE else decimal(value)


def numbers_of(key: Key, offset: int) -> range:
    """The numbers that a coordinate can be."""
    return range(key.low + offset, key.high + offset + 1)


def moved(text: str, offset: int) -> str:
    return text if not offset else f"{text} {'+' if offset > 0 else '-'} {abs(offset)}"


def last_word(name: str) -> str:
    """The column of `alias.column`; other names as they are."""
    head, dot, tail = name.rpartition(".")
    return tail if dot and head.isidentifier() and tail.isidentifier() else name
