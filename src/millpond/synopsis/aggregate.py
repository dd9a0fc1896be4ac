"""The program of a bounded aggregate query (Arasu, section 8.2).

Each part of the query gives contributions: its join, as that of any query, with the numbers that
its buckets keep of the columns that are aggregated.  The grouping adds them up.  A single stream
keeps no buckets: each of its rows is a contribution.
"""

from __future__ import annotations

from collections.abc import Sequence

from millpond.memory import Verdict
from millpond.memory.aggregate_shape import AggregateShape
from millpond.plan import Query
from millpond.program import (
    Constant,
    OutputColumn,
    Program,
)
from millpond.program.grouping import (
    Finish,
    GroupColumn,
    GroupedProgram,
    Grouping,
    Groups,
)
from millpond.program.translated import Translated
from millpond.synopsis.contributing import Contributing
from millpond.synopsis.groups import OnePart, said_of
from millpond.synopsis.inputs import Inputs
from millpond.synopsis.shared import SeveralParts


def aggregate_program(query: Query, verdict: Verdict) -> GroupedProgram:
    """The program that runs a bounded aggregate query inside its certificate."""
    return _Maker(query, verdict.groupings).program()


class _Maker:
    """Makes the program of some parts, which share their groups."""

    def __init__(self, query: Query, shapes: Sequence[AggregateShape]) -> None:
        self._query = query
        self._shapes = shapes
        self._shape = shapes[0]
        self._inputs = Inputs()
        for stream in query.streams:
            self._inputs.stream(stream)

    def program(self) -> GroupedProgram:
        if not self._shape.query.satisfiable:
            return self._of_nothing()
        parts = [Contributing(each, self._inputs) for each in self._shapes]
        joins = [each.join() for each in parts]
        translations: tuple[tuple[Translated, ...], ...] = ()
        if len(parts) == 1:
            grouping = OnePart(self._shape, parts[0]).made()
        else:
            several = SeveralParts(self._shapes, parts)
            grouping, translations = several.made(), tuple(several.translations())
        inputs = self._inputs.streams(self._query.streams)
        name = self._query.name
        return GroupedProgram(
            name,
            inputs,
            tuple(joins),
            self._output,
            parts=tuple(Program(name, inputs, (each,), each.output) for each in joins),
            grouping=grouping,
            computed=tuple(each.computed() for each in parts),
            translations=translations,
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
