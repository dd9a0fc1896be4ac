"""A join of synopses as SQL: reductions of a batch, the rows that they make with what is kept.

What a batch adds to the join follows the delta rule: of each input its new buckets, joined with
those of the inputs before it as they are after the batch, and of those behind it as they were.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from millpond.plan.error import PlanError
from millpond.plan.folds import Fold
from millpond.plan.sql_expression import Expressions
from millpond.program.accumulator import Accumulator
from millpond.program.expression import Condition, Field, NotNull, Number
from millpond.program.line import Line, Position, Whole
from millpond.program.near import Near
from millpond.program.operator import (
    BestOf,
    Case,
    Constant,
    GreatestOf,
    Held,
    HeldOf,
    Keep,
    Key,
    KeyOf,
    LeastOf,
    Link,
    Reduction,
    Select,
    SynopsisJoin,
)
from millpond.program.sql_columns import StreamColumns
from millpond.program.sql_layout import (
    Measure,
    Names,
    Statement,
    indented,
    merged,
    replaced,
    select,
    union_all,
    view,
    with_,
)
from millpond.schema import DecimalType, Kind, Type

MERGES = {
    Fold.COUNT: "SUM",
    Fold.SUM: "SUM",
    Fold.SQUARES: "SUM",
    Fold.LEAST: "MIN",
    Fold.GREATEST: "MAX",
}


_BOTH = {"HUGEINT": "DECIMAL(38, 0)", "VARCHAR": "STRING"}


@dataclass(frozen=True)
class Context:
    """What all steps of a query share."""

    query: str
    expressions: Expressions
    streams: Mapping[str, StreamColumns]
    n: str
    """The column of multiplicities."""
    seen: str
    """The column of buckets that hold nothing but that they are there."""
    tables: Names = field(default_factory=Names)
    steps: Names = field(default_factory=Names)
    """Names of steps inside of a statement."""

    def name(self, text: str) -> str:
        return self.expressions.spelling.name(text)

    def table(self, of: str) -> str:
        """A name for a table or a view of the query."""
        return self.name(self.tables.new(f"{self.query}_{of}"))

    def batch(self, stream: str) -> str:
        return self.name(f"{stream}_batch")

    def type(self, type_: Type) -> str:
        """The name of a type, one that both engines know where there is such."""
        name = self.expressions.spelling.type(type_)
        return _BOTH.get(name, name)


class Buckets:
    """The buckets of a reduction: a table of those that are kept, and a view of a batch's."""

    def __init__(self, context: Context, spec: Reduction, alias: str) -> None:
        self._context = context
        self.spec = spec
        self.alias = context.name(alias)
        self.stream = context.streams[spec.stream]
        self.table = context.table(spec.name)
        self.new = context.table(f"{spec.name}_new")
        self.after = context.name(context.steps.new(f"{spec.name}_after"))
        names = Names([context.n, context.seen])
        self.keys = tuple(context.name(names.new(each.name)) for each in spec.keys)
        self.bests = tuple(context.name(names.new(each.name)) for each in spec.bests)
        self.held = tuple(context.name(names.new(each.name)) for each in spec.held)

    @property
    def kept(self) -> bool:
        return self.spec.keep is not Keep.NOTHING

    @cached_property
    def measures(self) -> tuple[Measure, ...]:
        spec = self.spec
        if spec.keep is Keep.COUNT:
            return (Measure(self._context.n, "SUM", "BIGINT"),)
        bests = [
            Measure(name, "MIN" if best.least else "MAX", self._type(best.value))
            for name, best in zip(self.bests, spec.bests, strict=True)
        ]
        held = [
            Measure(name, MERGES[each.fold], self._held_type(each))
            for name, each in zip(self.held, spec.held, strict=True)
        ]
        return (*bests, *held)

    @property
    def buckets(self) -> tuple[str, ...]:
        """The columns that tell rows of the table apart."""
        flag = self.spec.keep is Keep.FLAG or not (self.keys or self.measures)
        return (*self.keys, self._context.seen) if flag else self.keys

    @property
    def counted(self) -> str | None:
        """The column that says how many rows a bucket has; None if none does."""
        if self.spec.keep is Keep.COUNT:
            return self._context.n
        if self.spec.keep is Keep.NOTHING:
            return None
        return next(
            (
                name
                for name, each in zip(self.held, self.spec.held, strict=True)
                if each.counts and each.value is None and not each.guard
            ),
            None,
        )

    # Statements ------------------------------------------------------------------------------

    def created(self) -> Statement:
        """The empty table."""
        columns = [f"{name} BIGINT" for name in self.keys]
        if self._context.seen in self.buckets:
            columns.append(f"{self._context.seen} BOOLEAN")
        columns += [f"{each.name} {each.type}" for each in self.measures]
        said = at_most(self.spec.name, self.spec.buckets, self.spec.certificate)
        return Statement(f"CREATE TABLE {self.table} ({', '.join(columns)})", said)

    def reduced(self) -> Statement:
        """A batch's rows, reduced to buckets."""
        last = merged(self.buckets, self.measures, "kept")
        text = with_([("kept", self.rows())], last)
        return view(self.new, text, f"Δ {self.spec.name}: filters and clamps, then a row a bucket")

    def rows(self) -> str:
        """The rows of a batch that pass the guard, with their bucket and what it holds."""
        columns = [
            as_(self._key(key), name) for key, name in zip(self.spec.keys, self.keys, strict=True)
        ]
        if self._context.seen in self.buckets:
            columns.append(f"TRUE AS {self._context.seen}")
        if self.spec.keep is Keep.COUNT:
            columns.append(f"1 AS {self._context.n}")
        columns += [
            as_(self.stream.kept(best.value), name)
            for best, name in zip(self.spec.bests, self.bests, strict=True)
        ]
        columns += [
            as_(self._number(each), name)
            for each, name in zip(self.spec.held, self.held, strict=True)
        ]
        source = self._context.batch(self.spec.stream)
        return select(columns, source, self.stream.conditions(self.spec.guard))

    def merged(self) -> list[Statement]:
        """The batch's buckets merged into those that are kept."""
        both = union_all([f"SELECT * FROM {self.table}", f"SELECT * FROM {self.new}"])
        text = merged(self.buckets, self.measures, f"(\n{indented(both)}\n) AS parts")
        return replaced(self.table, text, f"{self.spec.name} and Δ {self.spec.name}, merged")

    # Columns ---------------------------------------------------------------------------------

    def _key(self, key: Key) -> str:
        text = self.stream.kept(key.value)
        if key.null_of is None or isinstance(key.value, Field):
            return text
        some = self.stream.condition(NotNull(key.null_of))
        return f"CASE WHEN {some} THEN {text} END"

    def _number(self, held: Accumulator) -> str:
        """What a row is for a number that is kept."""
        guard = [self.stream.condition(each) for each in held.guard]
        return accumulated(held, guard, self.stream.kept, self._wide)

    def _wide(self, text: str, held: Accumulator) -> str:
        assert held.value is not None
        return widened(text, self.stream.type(held.value))

    def _type(self, value: Number) -> str:
        return self._context.type(self.stream.type(value))

    def _held_type(self, held: Accumulator) -> str:
        if held.value is None or held.counts:
            return "BIGINT"
        return number_type(self._context, held.fold, self.stream.type(held.value))


def accumulated(
    held: Accumulator,
    guard: Sequence[str],
    value: Callable[[Number], str],
    wide: Callable[[str, Accumulator], str],
) -> str:
    """What one row is for a number: nothing where it is not looked at."""
    asked = " AND ".join(guard)
    if held.value is None or held.counts:
        return f"CASE WHEN {asked} THEN 1 ELSE 0 END" if asked else "1"
    text = value(held.value)
    if held.fold is Fold.SQUARES:
        text = f"{wide(text, held)} * {wide(text, held)}"
    # What is NULL takes no part in a SUM, a MIN or a MAX anyway.
    if not asked or asked == f"{text} IS NOT NULL":
        return text
    return f"CASE WHEN {asked} THEN {text} END"


def widened(text: str, type_: Type) -> str:
    """A number with room for its square."""
    if type_.kind is Kind.INTEGER:
        return f"CAST({text} AS DECIMAL(19, 0))"
    return f"CAST({text} AS DOUBLE)"


def number_type(context: Context, fold: Fold, type_: Type) -> str:
    """The type of a number that is kept of values of a type."""
    if not fold.adds:
        return context.type(type_)
    if fold is Fold.SQUARES:
        return "DECIMAL(38, 0)" if type_.kind is Kind.INTEGER else "DOUBLE"
    if isinstance(type_, DecimalType):
        return f"DECIMAL(38, {type_.scale})"
    return "DOUBLE" if type_.kind is Kind.DOUBLE else "BIGINT"


class JoinSteps:
    """The steps of a join of synopses."""

    def __init__(self, context: Context, join: SynopsisJoin) -> None:
        self._context = context
        self.join = join
        self.inputs = tuple(
            tuple(Buckets(context, each, parts[0].name) for each in parts) for parts in join.inputs
        )

    @property
    def stores(self) -> list[Buckets]:
        return [each for parts in self.inputs for each in parts if each.kept]

    @property
    def after(self) -> list[tuple[str, str]]:
        """The inputs that others behind them are joined with, as they are after the batch."""
        return [
            (
                each.after,
                union_all([f"SELECT * FROM {each.table}", f"SELECT * FROM {each.new}"]),
            )
            for parts in self.inputs[:-1]
            for each in parts
        ]

    def deltas(self, columns: Callable[[Case, Row], Sequence[str]]) -> Iterator[str]:
        """The rows that a batch adds, a SELECT for each input of each case."""
        for case in self.join.cases:
            buckets = self._buckets(case)
            if len(buckets) == 1 and not buckets[0].kept:
                yield self._made(case, [f"(\n{indented(buckets[0].rows())}\n)"], columns)
                continue
            for arriving in range(len(buckets)):
                sources = [
                    each.new if at == arriving else each.after if at < arriving else each.table
                    for at, each in enumerate(buckets)
                ]
                yield self._made(case, sources, columns)

    def answers(self, columns: Callable[[Case, Row], Sequence[str]]) -> Iterator[str]:
        """The rows that all buckets make."""
        for case in self.join.cases:
            yield self._made(case, [each.table for each in self._buckets(case)], columns)

    def _buckets(self, case: Case) -> list[Buckets]:
        return [self.inputs[i][part] for i, part in enumerate(case.reductions)]

    def _made(
        self,
        case: Case,
        sources: Sequence[str],
        columns: Callable[[Case, Row], Sequence[str]],
    ) -> str:
        row = Row(self._context, self.join, self._buckets(case))
        listed = ", ".join(
            as_source(each, of.alias) for each, of in zip(sources, row.buckets, strict=True)
        )
        made, *tests = columns(case, row)
        where = [*map(row.link, case.links), *tests]
        return select([made], listed, where)


class Row:
    """What a row of buckets, one of each input, says."""

    def __init__(self, context: Context, join: SynopsisJoin, buckets: Sequence[Buckets]) -> None:
        self._context = context
        self._join = join
        self.buckets = buckets

    @property
    def weight(self) -> str:
        """How many rows it stands for."""
        counts = self._counts
        if not self._join.counts or len(counts) < len(self.buckets):
            return "1"
        return " * ".join(counts.values())

    @property
    def _counts(self) -> dict[int, str]:
        return {
            place: f"{each.alias}.{each.counted}"
            for place, each in enumerate(self.buckets)
            if each.counted is not None
        }

    def link(self, link: Link) -> str:
        """A condition between buckets."""
        line = self._line(link)
        op = "=" if link.op == "==" else link.op
        return f"{self._on(link.left, line)} {op} {self._on(link.right, line)}"

    def number(self, held: Held) -> str:
        """A number that comes out."""
        return self._on(held, Whole())

    def given(self, given: HeldOf | BestOf) -> str:
        """A number that a group takes."""
        if isinstance(given, BestOf):
            return self.number(given)
        of = self.buckets[given.input]
        text = f"{of.alias}.{of.held[given.held]}"
        accumulator = of.spec.held[given.held]
        if not of.kept:
            if accumulator.counts and accumulator.guard:
                return f"NULLIF({text}, 0)"
            return text
        if not accumulator.fold.adds or not self._join.counts:
            return text
        others = [n for place, n in self._counts.items() if place != given.input]
        type_ = None if accumulator.value is None else of.stream.type(accumulator.value)
        if others and isinstance(type_, DecimalType) and accumulator.fold is Fold.SUM:
            text = f"CAST({text} AS DECIMAL(27, {type_.scale}))"
            others = [f"CAST({each} AS DECIMAL(11, 0))" for each in others]
        return " * ".join([text, *others])

    def _on(self, held: Held, line: Line) -> str:
        match held:
            case KeyOf(place, key, offset, None):
                of = self.buckets[place]
                return self._moved(f"{of.alias}.{of.keys[key]}", offset, line)
            case KeyOf(place, key, offset, table):
                assert table is not None
                of = self.buckets[place]
                arms = " ".join(
                    f"WHEN {number} THEN {self._place(_by(each, offset), line)}"
                    for number, each in enumerate(table)
                )
                return f"CASE {of.alias}.{of.keys[key]} {arms} END"
            case BestOf(place, best, offset):
                of = self.buckets[place]
                return self._moved(f"{of.alias}.{of.bests[best]}", offset, line)
            case Constant(value):
                return "NULL" if value is None else self._place(value, line)
            case LeastOf(operands) | GreatestOf(operands):
                word = "LEAST" if isinstance(held, LeastOf) else "GREATEST"
                return f"{word}({', '.join(self._on(each, line) for each in operands)})"
        raise TypeError(f"{held} is no number that a bucket speaks for")

    def _place(self, place: Position, line: Line) -> str:
        if isinstance(line, Whole):
            if isinstance(place, Near):
                raise PlanError("a place that no integer says is not built in SQL")
            return str(place)
        return self.buckets[0].stream.places.value(place, line)

    def _moved(self, text: str, offset: int, line: Line) -> str:
        if not offset:
            return text
        if not isinstance(line, Whole):
            raise PlanError("distances between values that no integers count are not built")
        return f"CAST({text} AS BIGINT) {'+' if offset > 0 else '-'} {abs(offset)}"

    def _line(self, link: Link) -> Line:
        """The line that both sides of a condition lie on.

        Only best values are kept as they are; places and numbers are compared as integers.
        """
        leaves = [
            each
            for side in (link.left, link.right)
            for each in (side.operands if isinstance(side, LeastOf | GreatestOf) else (side,))
        ]
        for best in (each for each in leaves if isinstance(each, BestOf)):
            of = self.buckets[best.input]
            return of.stream.line(of.spec.bests[best.best].value)
        for each in leaves:
            if isinstance(each, KeyOf) and any(isinstance(x, Near) for x in each.table or ()):
                of = self.buckets[each.input]
                return of.stream.line(of.spec.keys[each.key].value)
        return Whole()


def selected(context: Context, select_: Select, columns: Sequence[str]) -> str:
    """The rows of a stream that are passed on."""
    stream = context.streams[select_.stream]
    guard: Sequence[Condition] = select_.guard
    return select(columns, context.batch(select_.stream), stream.conditions(guard))


def plain_columns(context: Context, select_: Select) -> list[str]:
    """The columns of a row that is passed on, integers as they are."""
    stream = context.streams[select_.stream]
    return ["NULL" if each is None else stream.number(each) for each in select_.columns]


def as_(text: str, name: str) -> str:
    return text if text == name else f"{text} AS {name}"


def as_source(source: str, alias: str) -> str:
    return source if source == alias else f"{source} AS {alias}"


def _by(place: Position, offset: int) -> Position:
    return place + offset if offset else place


def at_most(name: str, rows: int, units: int) -> str:
    """How large a table can grow."""
    counted = [f"{n} {word}{'' if n == 1 else 's'}" for n, word in ((rows, "row"), (units, "unit"))]
    return f"{name}: at most {', '.join(counted)}"
