"""What is shown of the rows that come out of a program's steps: values of the user's types.

Steps give integers: the place of a value, its number in a list, or which row of the input it was.
Here values are made of them, conditions across streams that order says nothing of are looked at,
and columns that are computed are computed.  Where rows differ that are shown alike, duplicates are
removed here, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from millpond.plan import Expression
from millpond.plan.evaluate import all_compiled
from millpond.plan.functions import EvaluationError
from millpond.plan.node import Field
from millpond.program.delta import Delta, IntArray
from millpond.program.line import Whole
from millpond.program.store import RowStore, State
from millpond.schema import Row, Type, Value


@dataclass(frozen=True)
class OnLine:
    """A column of places on a line of whole numbers."""

    line: Whole
    type: Type

    def value(self, number: int) -> Value:
        return self.line.back(number, self.type)


@dataclass(frozen=True)
class Listed:
    """A column of numbers of values in a list."""

    values: tuple[Value, ...]

    def value(self, number: int) -> Value:
        return self.values[number]


@dataclass(frozen=True)
class Test:
    """A condition that has to have this truth value."""

    text: str
    wanted: bool
    expression: Expression = field(compare=False, repr=False)


@dataclass(frozen=True)
class Showing:
    """How the rows of one part of the program are shown.

    Their columns are `slots`, named by `fields`; or, with `stream`, the first column says which row
    of that input it is, and `fields` are its columns.
    """

    slots: tuple[OnLine | Listed, ...]
    stream: int | None
    said: tuple[str, ...]
    tests: tuple[Test, ...] = ()
    fields: tuple[Field, ...] = field(default=(), compare=False, repr=False)
    columns: tuple[Expression, ...] = field(default=(), compare=False, repr=False)

    @cached_property
    def shows(self) -> Callable[[Row], Row | None]:
        """The row that is shown of one; None if a condition does not hold."""
        columns = all_compiled(self.columns, self.fields)
        found = all_compiled([each.expression for each in self.tests], self.fields)
        tests = [(of, each.wanted) for of, each in zip(found, self.tests, strict=True)]

        def shown(row: Row) -> Row | None:
            for of, wanted in tests:
                if of(row) is not wanted:
                    return None
            return tuple(of(row) for of in columns)

        return shown

    def row(self, numbers: Sequence[int | None], rows: Sequence[Sequence[Row]]) -> Row:
        """The values of a row that came out, the number of its part left out."""
        if self.stream is not None:
            place = numbers[0]
            assert place is not None
            return rows[self.stream][place]
        return tuple(
            None if number is None else slot.value(number)
            for slot, number in zip(self.slots, numbers, strict=False)
        )


@dataclass(frozen=True)
class Shown:
    """How the rows of a program are shown; the first column that comes out says of which part."""

    names: tuple[str, ...]
    parts: tuple[Showing, ...]

    def changes(
        self, delta: Delta, rows: Sequence[Sequence[Row]], given: RowStore | None, state: State
    ) -> Delta:
        """The changes of the answer; `given` is where each row is let through once.

        Raises `NoValueError` where an expression has no value, with the changes of the instants
        before that.
        """
        found: dict[tuple[int, Row], int] = {}
        known: dict[tuple[int | None, ...], Row | None] = {}
        instant: list[tuple[Row, int]] = []
        at = 0
        try:
            for numbers, n, when in _by_instant(delta):
                if instant and when != at:
                    _add(found, at, instant)
                    instant = []
                at = when
                if numbers in known:
                    row = known[numbers]
                else:
                    part = self.parts[numbers[0] or 0]
                    row = part.shows(part.row(numbers[1:], rows))
                    if part.stream is None:
                        known[numbers] = row
                if row is None:
                    continue
                if given is None:
                    instant.append((row, n))
                elif row not in given.given:
                    given.given[row] = None
                    state.filled[-1] += 1
                    instant.append((row, 1))
        except EvaluationError as error:
            raise NoValueError(self._delta(found), at, error) from None
        _add(found, at, instant)
        return self._delta(found)

    def of_given(self, given: RowStore) -> Delta:
        """The rows that were let through: the answer, where there are such."""
        return self._delta({(0, row): 1 for row in given.given})

    def _delta(self, found: dict[tuple[int, Row], int]) -> Delta:
        columns = list(zip(*(row for _, row in found), strict=True)) or [()] * len(self.names)
        weights = list(found.values())
        small = all(abs(each) < 1 << 62 for each in weights)
        return Delta(
            self.names,
            tuple(objects(each) for each in columns),
            tuple(None for _ in self.names),
            np.array([at for at, _ in found], dtype=np.int64),
            np.array(weights, dtype=np.int64) if small else objects(weights),
        )


class NoValueError(Exception):
    """An expression has no value for a row of an instant; `before` is what changed before it."""

    def __init__(self, before: Delta, at: int, error: EvaluationError) -> None:
        super().__init__(str(error))
        self.before = before
        self.at = at
        self.error = error


def _by_instant(delta: Delta) -> Iterator[tuple[tuple[int | None, ...], int, int]]:
    ordered = delta.in_order()
    return ordered.rows()


def _add(found: dict[tuple[int, Row], int], at: int, instant: Sequence[tuple[Row, int]]) -> None:
    for row, n in instant:
        found[at, row] = found.get((at, row), 0) + n


def objects(values: Sequence[Any]) -> IntArray:
    """An array of Python objects, whatever they are."""
    made = np.empty(len(values), dtype=object)
    made[:] = values
    return made
