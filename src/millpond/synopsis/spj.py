"""The program of a bounded query without aggregates (Arasu, sections 7.1 and 7.2).

The shapes of its parts say what is kept; here they become guards, keys, best values and the links
between buckets.  The parts are operators side by side, whose rows add up: OR, `<>` and UNION fall
into several.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from millpond.memory import Attribute, Shape, SpjQuery, Verdict
from millpond.memory.answer_set import answer_set
from millpond.plan import Query
from millpond.program import (
    Constant,
    Operator,
    OutputColumn,
    Program,
    Select,
    Showing,
    Shown,
    SynopsisJoin,
)
from millpond.program.expression import Field, Int, Number
from millpond.synopsis.answer import AnswerColumns, plain, shared_set
from millpond.synopsis.coding import Coding
from millpond.synopsis.guard import guard
from millpond.synopsis.inputs import Inputs
from millpond.synopsis.join import JoinMaker


def program_of(query: Query, verdict: Verdict) -> Program:
    """The program that runs a bounded query inside its certificate."""
    if not verdict.shapes:
        raise ValueError(f"{query.name} has no synopsis")
    shapes = [each for each in verdict.shapes if each.query.satisfiable]
    if not shapes:
        return Program(query.name, (), (), _plain_output(verdict.shapes))
    return _Maker(query, shapes).program()


class _Maker:
    def __init__(self, query: Query, shapes: Sequence[Shape]) -> None:
        self._query = query
        self._shapes = shapes
        self._inputs = Inputs()
        self._shared = answer_set(shapes)
        self._plain = all(plain(each, alone=self._shared is None) for each in shapes)

    def program(self) -> Program:
        for shape in self._shapes:
            for _, stream in shape.query.streams:
                self._inputs.stream(stream)
        parts = []
        for number, shape in enumerate(self._shapes):
            coding = Coding(shape, self._inputs)
            columns = AnswerColumns(shape, coding, None if self._plain else number)
            parts.append((shape, coding, columns))
        output = self._output([columns for _, _, columns in parts])
        operators: list[Operator] = [self._operator(*each, output) for each in parts]
        if self._shared is not None:
            operators.append(shared_set(self._shared, output))
        elif self._shapes[0].emitted is not None:
            operators.append(parts[0][2].given(output))
        streams = [stream for each in self._shapes for _, stream in each.query.streams]
        return Program(
            self._query.name,
            self._inputs.streams(streams),
            tuple(operators),
            output,
            None if self._plain else self._shown([columns for _, _, columns in parts]),
        )

    def _output(self, parts: Sequence[AnswerColumns]) -> tuple[OutputColumn, ...]:
        if self._plain:
            return _plain_output(self._shapes)
        width = max(
            1 if _passes(shape.query) else len(each.slots)
            for shape, each in zip(self._shapes, parts, strict=True)
        )
        slots = (OutputColumn(f"@{place}", True) for place in range(width))
        return (OutputColumn("@part"), *slots)

    def _operator(
        self,
        shape: Shape,
        coding: Coding,
        columns: AnswerColumns,
        output: tuple[OutputColumn, ...],
    ) -> Operator:
        if not _passes(shape.query):
            found = JoinMaker(shape, coding, columns).made(output)
            return _widened(found, len(output))
        return self._select(shape.query, coding, output)

    def _select(self, spj: SpjQuery, coding: Coding, output: tuple[OutputColumn, ...]) -> Select:
        alias, stream = spj.streams[0]
        tests = guard(coding, spj, spj.predicate, alias, set())
        columns: list[Number | None]
        nulls: list[str | None]
        if self._plain:
            columns, nulls = _passed(spj, coding)
        else:
            number = next(n for n, each in enumerate(self._shapes) if each.query is spj)
            columns = [Int(number), Field(self._inputs.row(stream))]
            columns += [None] * (len(output) - 2)
            nulls = [None] * len(output)
        return Select(stream.name, tests, tuple(columns), tuple(nulls), output)

    def _shown(self, parts: Sequence[AnswerColumns]) -> Shown:
        showing: list[Showing] = []
        for shape, columns in zip(self._shapes, parts, strict=True):
            if _passes(shape.query):
                _, stream = shape.query.streams[0]
                showing.append(columns.passed_on(self._inputs.stream(stream)))
            else:
                showing.append(columns.showing())
        return Shown(tuple(each.name for each in self._query.fields), tuple(showing))


def _passes(spj: SpjQuery) -> bool:
    """Whether rows are only passed on: one stream, duplicates kept."""
    return len(spj.streams) == 1 and not spj.distinct


def _passed(spj: SpjQuery, coding: Coding) -> tuple[list[Number | None], list[str | None]]:
    columns: list[Number | None] = []
    nulls: list[str | None] = []
    for each in spj.projection:
        value = each.value
        if isinstance(value, Attribute) and value not in spj.void:
            nullable = spj.nullable(value)
            stream = coding.stream(value.alias)
            declared = spj.columns[value].nullable
            name = coding.inputs.plain(stream, value.column, nullable=declared)
            columns.append(Field(name))
            nulls.append(name if nullable else None)
        else:
            columns.append(Int(value) if isinstance(value, int) else None)
            nulls.append(None)
    return columns, nulls


def _plain_output(shapes: Sequence[Shape]) -> tuple[OutputColumn, ...]:
    """The columns of the answer, integers as they are."""
    columns = zip(*(each.query.projection for each in shapes), strict=True)
    return tuple(
        OutputColumn(
            column[0].name,
            any(
                _nullable(shape.query, each.value)
                for shape, each in zip(shapes, column, strict=True)
            ),
        )
        for column in columns
    )


def _nullable(spj: SpjQuery, value: object) -> bool:
    if isinstance(value, Attribute):
        return value in spj.void or spj.nullable(value)
    return value is None


def _widened(join: SynopsisJoin, width: int) -> SynopsisJoin:
    """The same, its rows as wide as those of the other parts."""
    cases = tuple(
        replace(each, columns=(*each.columns, *[Constant(None)] * (width - len(each.columns))))
        for each in join.cases
    )
    return replace(join, cases=cases)
