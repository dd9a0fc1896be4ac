"""The bulk steps of a program as SQL to read, which DuckDB and Spark run.

The three parts of a synopsis (Toman, Definition 2.3) are three sections.  *empty* makes a table for
each store.  *step* is run once for each batch, whose rows stand in a table for each stream: it
reduces them, says what they change, and merges them in.  *answer* is a query over the stores.  A
batch is one instant, so that its changes are consolidated.

Tables are merged by making them anew: neither engine has to know how to update one in place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from millpond.plan import Query
from millpond.plan.error import PlanError
from millpond.plan.sql_engine import DuckDbExpressions, EngineExpressions, SparkExpressions
from millpond.plan.sql_expression import Behind, Level, Printed
from millpond.plan.sql_spelling import DuckDbSpelling, SparkSpelling
from millpond.program.grouping import GroupedProgram
from millpond.program.operator import Case, Constant
from millpond.program.program import Program
from millpond.program.shown import Showing
from millpond.program.sql_columns import StreamColumns
from millpond.program.sql_grouping import GroupSteps, moved
from millpond.program.sql_join import (
    Buckets,
    Context,
    JoinSteps,
    Row,
    as_,
    at_most,
    plain_columns,
    selected,
)
from millpond.program.sql_layout import (
    Measure,
    Names,
    Statement,
    in_one_line,
    merged,
    select,
    table,
    union_all,
    with_,
)
from millpond.program.sql_places import Places
from millpond.program.translated import Translated


class _DuckDb(DuckDbSpelling):
    def name(self, text: str) -> str:
        return super().name(in_one_line(text))

    def text(self, value: str) -> str:
        return super().text(in_one_line(value))


class _Spark(SparkSpelling):
    def name(self, text: str) -> str:
        return super().name(in_one_line(text))

    def text(self, value: str) -> str:
        return super().text(in_one_line(value))


def _duckdb() -> EngineExpressions:
    made = DuckDbExpressions()
    made.spelling = _DuckDb()
    return made


def _spark() -> EngineExpressions:
    made = SparkExpressions()
    made.spelling = _Spark()
    return made


ENGINES: Mapping[str, Callable[[], EngineExpressions]] = {"duckdb": _duckdb, "spark": _spark}


@dataclass(frozen=True)
class SqlSteps:
    """The steps of a query."""

    query: str
    batches: tuple[str, ...]
    """The tables that a batch stands in."""
    changes: str
    """The table of the changes that the last batch caused."""
    stores: tuple[str, ...]
    """The tables of the stores, as `Program.stores` has them; "" for one that keeps nothing."""
    empty: tuple[Statement, ...]
    step: tuple[Statement, ...]
    answer: Statement | None
    weighted: bool = True
    """Whether the last column of the answer says how often a row is in it."""

    def __str__(self) -> str:
        return "\n\n".join(self._sections()) + "\n"

    def _sections(self) -> Iterator[str]:
        if not self.changes:
            yield f"-- {self.query}: no row ever passes, and the answer is always empty"
            return
        yield f"-- {self.query}: once, before any input (∅)"
        yield from map(str, self.empty)
        listed = ", ".join(self.batches)
        yield f"-- {self.query}: for each batch, whose rows stand in {listed} (Δ)"
        yield from _blocks(self.step)
        yield f"-- {self.query}: the answer (Γ)"
        if self.answer is None:
            yield f"-- Nothing is kept: the answer is the sum of all {self.changes}."
        else:
            yield str(self.answer)


def _blocks(statements: Sequence[Statement]) -> Iterator[str]:
    """Statements that belong together stand together: the first of them has the comment."""
    block: list[str] = []
    for each in statements:
        if each.comment and block:
            yield "\n".join(block)
            block = []
        block.append(str(each))
    if block:
        yield "\n".join(block)


def sql_steps(query: Query, program: Program, engine: str = "duckdb") -> SqlSteps:
    """The steps of a program in the words of an engine.

    Raises `PlanError` where there are none.
    """
    if not program.runs:
        return SqlSteps(query.name, (), "", ("",) * len(program.stores), (), (), None)
    expressions = ENGINES[engine]()
    if isinstance(program, GroupedProgram):
        return _GroupedMaker(query, program, expressions).steps()
    return _Maker(query, program, expressions).steps()


class _Maker:
    """The steps of a query without aggregates."""

    def __init__(self, query: Query, program: Program, expressions: EngineExpressions) -> None:
        self._query = query
        self._program = program
        self._context = _context(query, program, expressions)
        context = self._context
        self._columns = tuple(map(context.name, program.names))
        self._types = tuple(context.type(each.type) for each in query.fields)
        self._joins = [JoinSteps(context, each) for each in program.joins]
        self._once = program.emitted is not None or program.row_set is not None
        if not self._once and any(not each.counts for each in program.joins):
            raise PlanError("duplicates are removed without a set of rows already given")
        self._given = context.table("given") if self._once else ""
        self._changes = context.table("changes")

    def steps(self) -> SqlSteps:
        return SqlSteps(
            self._query.name,
            tuple(self._context.batch(each.name) for each in self._program.inputs),
            self._changes,
            self._stores(),
            tuple(self._empty()),
            tuple(self._step()),
            self._answer(),
            weighted=not self._once,
        )

    def _stores(self) -> tuple[str, ...]:
        joined = [
            each.table if each.kept else ""
            for join in self._joins
            for parts in join.inputs
            for each in parts
        ]
        return (*joined, self._given) if self._once else tuple(joined)

    def _empty(self) -> Iterator[Statement]:
        for join in self._joins:
            yield from (each.created() for each in join.stores)
        if self._once:
            columns = zip(self._columns, self._types, strict=True)
            listed = ", ".join(" ".join(each) for each in columns)
            text = f"CREATE TABLE {self._given} ({listed})"
            yield Statement(text, at_most("the rows given so far", *self._given_size()))

    def _given_size(self) -> tuple[int, int]:
        given = self._program.emitted or self._program.row_set
        assert given is not None
        return given.buckets, given.certificate

    def _step(self) -> Iterator[Statement]:
        for join in self._joins:
            yield from (each.reduced() for each in join.stores)
        yield from table(self._changes, self._changed(), self._said())
        for join in self._joins:
            for each in join.stores:
                yield from each.merged()
        if self._once:
            text = select(self._columns, self._changes)
            yield Statement(f"INSERT INTO {self._given}\n{text}", "rows are given once")

    def _said(self) -> str:
        if not any(join.stores for join in self._joins):
            return "the rows that the batch adds"
        said = "what the batch adds: Δ of each input, joined with those before it as they are\n"
        said += "after the batch, and with those behind it as they were"
        return f"{said}; of that, what was not given yet" if self._once else said

    def _changed(self) -> str:
        steps = [step for join in self._joins for step in join.after]
        steps.append(("made", union_all(list(self._made()))))
        if not self._once:
            return with_(steps, self._added("made"))
        listed = ", ".join(self._columns)
        fresh = f"SELECT {listed} FROM made\nEXCEPT\nSELECT {listed} FROM {self._given}"
        steps.append(("fresh", fresh))
        return with_(steps, select([*self._columns, f"1 AS {self._context.n}"], "fresh"))

    def _added(self, source: str) -> str:
        n = Measure(self._context.n, "SUM", "BIGINT")
        return merged(self._columns, [n], source)

    def _made(self) -> Iterator[str]:
        """The rows that a batch adds."""
        for each in self._program.selects:
            if self._program.shown is None:
                columns = self._typed(plain_columns(self._context, each))
            else:
                number = each.columns[0]
                showing = self._program.shown.parts[getattr(number, "value", 0)]
                stream = self._context.streams[each.stream]
                columns = self._typed([stream.text(of) for of in showing.columns])
            yield selected(self._context, each, self._named(columns, "1"))
        for join in self._joins:
            yield from join.deltas(self._row)

    def _row(self, case: Case, row: Row) -> Sequence[str]:
        """The columns of a row that buckets make, as one list, and the conditions on it."""
        if self._program.shown is None:
            columns = [row.number(each) for each in case.columns]
            tests: list[str] = []
        else:
            first, *slots = case.columns
            assert isinstance(first, Constant)
            assert isinstance(first.value, int)
            showing = self._program.shown.parts[first.value]
            texts = [row.number(each) for each in slots]
            columns, tests = self._shown(showing, texts)
        return [", ".join(self._named(self._typed(columns), row.weight)), *tests]

    def _shown(self, showing: Showing, texts: Sequence[str]) -> tuple[list[str], list[str]]:
        print_ = self._context.expressions
        places = Places(print_)
        behind: Behind = {
            (each.alias, each.name): printed(places.shown(slot, text, each.type))
            for each, slot, text in zip(showing.fields, showing.slots, texts, strict=False)
        }
        columns = [print_.text(each, behind) for each in showing.columns]
        tests = []
        for each in showing.tests:
            said = print_.printed(each.expression, behind)
            tests.append(
                said.within(Level.NOT) if each.wanted else f"NOT {said.within(Level.ATOM)}"
            )
        return columns, tests

    def _typed(self, columns: Sequence[str]) -> list[str]:
        """NULL of no type is no column of a table."""
        return [
            f"CAST(NULL AS {type_})" if text == "NULL" else text
            for text, type_ in zip(columns, self._types, strict=True)
        ]

    def _named(self, columns: Sequence[str], weight: str) -> list[str]:
        named = [
            text if text == name else f"{text} AS {name}"
            for text, name in zip(columns, self._columns, strict=True)
        ]
        return named if self._once else [*named, f"{weight} AS {self._context.n}"]

    def _answer(self) -> Statement | None:
        if self._once:
            return Statement(select(self._columns, self._given))
        if self._program.selects or not self._joins:
            return None
        made = [text for join in self._joins for text in join.answers(self._row)]
        return Statement(with_([("made", union_all(made))], self._added("made")))


class _GroupedMaker:
    """The steps of an aggregate query."""

    def __init__(
        self, query: Query, program: GroupedProgram, expressions: EngineExpressions
    ) -> None:
        if any(program.computed):
            raise PlanError("a column is computed from several inputs")
        self._query = query
        self._program = program
        self._context = _context(query, program, expressions)
        context = self._context
        self._joins = [[JoinSteps(context, each) for each in part.joins] for part in program.parts]
        columns = tuple(map(context.name, program.names))
        self._types = tuple(context.type(each.type) for each in query.fields)
        self._grouping = GroupSteps(context, program.grouping, columns)
        self._changes = context.table("changes")

    def steps(self) -> SqlSteps:
        context = self._context
        return SqlSteps(
            self._query.name,
            tuple(context.batch(each.name) for each in self._program.inputs),
            self._changes,
            (
                *(
                    each.table if each.kept else ""
                    for joins in self._joins
                    for join in joins
                    for parts in join.inputs
                    for each in parts
                ),
                *self._grouping.stores,
            ),
            tuple(self._empty()),
            tuple(self._step()),
            Statement(self._grouping.answer()),
        )

    @property
    def _stores(self) -> list[Buckets]:
        return [each for joins in self._joins for join in joins for each in join.stores]

    def _empty(self) -> Iterator[Statement]:
        yield from (each.created() for each in self._stores)
        yield from self._grouping.created()
        yield self._grouping.stored_answer(self._types)

    def _step(self) -> Iterator[Statement]:
        yield from (each.reduced() for each in self._stores)
        made = list(self._made())
        if made:
            after = [step for joins in self._joins for join in joins for step in join.after]
            text = with_(after, union_all(made))
            yield from table(self._grouping.rows, text, "what the batch adds to the groups")
        for each in self._stores:
            yield from each.merged()
        yield from self._grouping.merged()
        yield from self._grouping.changed(self._changes)

    def _made(self) -> Iterator[str]:
        """What comes for the groups."""
        for number, joins in enumerate(self._joins):
            for join in joins:
                yield from join.deltas(partial(self._row, number))

    def _row(self, part: int, case: Case, row: Row) -> Sequence[str]:
        texts = [*map(row.number, case.columns), *map(row.given, case.given)]
        names = [each.name for each in self._program.parts[part].output]
        found = dict(zip(names, texts, strict=True))
        if self._program.translations:
            columns = self._program.translations[part]
            found = {each.name: _translated(found, each) for each in columns}
        named = [
            as_("CAST(NULL AS BIGINT)" if found[name] == "NULL" else found[name], said)
            for name, said in self._grouping.columns.items()
        ]
        return [", ".join([*named, f"{row.weight} AS {self._context.n}"])]


def _translated(columns: Mapping[str, str], each: Translated) -> str:
    """A column of a part in the terms of all parts."""
    if each.column is None:
        return str(each.first)
    text = columns[each.column]
    if each.table is None:
        return moved(text, each.first)
    arms = " ".join(f"WHEN {each.first + at} THEN {to}" for at, to in enumerate(each.table))
    return f"CASE {text} {arms} END"


def _context(query: Query, program: Program, expressions: EngineExpressions) -> Context:
    taken = [*program.names, *(name for each in program.inputs for name in each.columns)]
    names = Names(taken)
    n, seen = names.new("n"), names.new("seen")
    declared = {each.name: each for each in query.streams}
    streams = {
        each.name: StreamColumns(each, declared[each.name], expressions) for each in program.inputs
    }
    tables = Names(f"{each}_batch" for each in declared)
    return Context(query.name, expressions, streams, n, seen, tables)


def printed(text: str) -> Printed:
    """A text in an expression: bracketed unless nothing can come apart."""
    whole = re.fullmatch(r"[\w.\"`]+|CASE .* END|[A-Z]+\([^()]*\)", text) is not None
    return Printed(text if whole else f"({text})", Level.ATOM)
