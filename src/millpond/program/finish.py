"""What is said of groups: aggregates made of their numbers, HAVING, and the columns of the answer.

`Sayer` makes the rows of some groups at once, as arrays; each is what `plan/folds.py` makes of one
group, with arithmetic of 64 bits only where that rounds alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from millpond.plan.evaluate import all_compiled, holds
from millpond.plan.folds import Fold, finished
from millpond.program.delta import IntArray
from millpond.program.grouping import Finish, GroupColumn, Grouping, Slot
from millpond.program.number_arrays import reach
from millpond.program.operator import Constant, KeyOf
from millpond.program.store import strides
from millpond.schema import Kind, Row, Value

_EXACT = float(1 << 53)
"""Integers up to this are DOUBLEs as they are."""


@dataclass(frozen=True)
class Numbers:
    """A number of each of some groups, and where there is none (None: everywhere there is)."""

    values: IntArray
    missing: IntArray | None = None

    def take(self, places: IntArray) -> Numbers:
        missing = None if self.missing is None else self.missing[places]
        return Numbers(self.values[places], missing)

    def listed(self) -> list[Any]:
        """As Python's values."""
        values: list[Any] = self.values.tolist()
        if self.missing is None:
            return values
        return [None if gone else x for x, gone in zip(values, self.missing, strict=True)]


Folds = Mapping[Fold, Numbers]
Made = Folds | Numbers
"""What an aggregate is finished from: numbers of the group, or, of a median, what it is."""


@dataclass(frozen=True)
class Rows:
    """Rows of the answer, one for each group that HAVING lets through (`shown`)."""

    columns: tuple[Numbers, ...]
    shown: IntArray


class Sayer:
    """Makes rows of groups."""

    def __init__(self, grouping: Grouping) -> None:
        self._grouping = grouping
        said = grouping.said
        self._having = holds(said.having, said.fields) if said.having else None
        self._columns: list[Callable[[Row], Value]] | None = None
        if None in said.direct:
            self._columns = all_compiled(said.columns, said.fields)

    def rows(self, places: IntArray, made: Sequence[Made | None]) -> Rows:
        """The rows of the groups at some places, of which the aggregates are made of this."""
        columns = [*self._group_columns(places)]
        for finish, each in zip(self._grouping.finishes, made, strict=True):
            columns.append(
                _nothing(len(places)) if each is None else finished_all(finish, each, len(places))
            )
        shown = np.ones(len(places), dtype=bool)
        if self._having is None and self._columns is None:
            return Rows(self._direct(columns), shown)
        values = [each.listed() for each in columns]
        rows: list[Row] = list(zip(*values, strict=True)) if values else [()] * len(places)
        if self._having is not None:
            shown = np.fromiter(map(self._having, rows), dtype=bool, count=len(rows))
        if self._columns is None:
            return Rows(self._direct(columns), shown)
        kept = [row if there else None for row, there in zip(rows, shown.tolist(), strict=True)]
        made_of = [
            [None if row is None else of(row) for row in kept] for of in self._columns
        ]  # fmt: skip
        return Rows(tuple(of_values(each) for each in made_of), shown)

    def _direct(self, columns: Sequence[Numbers]) -> tuple[Numbers, ...]:
        return tuple(columns[each] for each in self._grouping.said.direct if each is not None)

    def _group_columns(self, places: IntArray) -> list[Numbers]:
        keys = self._grouping.groups.keys
        found = []
        for column in self._grouping.columns:
            if not isinstance(column.of, KeyOf):
                found.append(of_values([_constant(column)] * len(places)))
                continue
            key, stride = keys[column.of.key], strides(keys)[column.of.key]
            digits = places // stride % key.size
            missing = None if key.null_of is None else digits == key.size - 1
            numbers = digits + (key.low + column.of.offset)
            found.append(_decoded(Numbers(numbers, missing), column.shown))
        return found


def finished_all(finish: Finish, made: Made, size: int) -> Numbers:
    """An aggregate of several groups; of nothing where nothing is kept of it."""
    if isinstance(made, Numbers):
        return made
    function = finish.function
    if not made:
        return of_values([finished(function, {}, finish.type)] * size)
    first = made[finish.folds[0][0]] if finish.folds else next(iter(made.values()))
    match function:
        case "COUNT":
            return Numbers(made[Fold.COUNT].values)
        case "MIN" | "MAX" | "BOOL_AND" | "BOOL_OR":
            return _decoded(first, finish.shown)
        case "SUM" if finish.type.kind is Kind.INTEGER:
            return made[Fold.SUM]
    if finish.type.kind is Kind.INTEGER:
        fast = _average(made) if function == "AVG" else _spread(function, made)
        if fast is not None:
            return fast
    folds = list(made)
    lists = [made[each].listed() for each in folds]
    return of_values(
        [
            finished(function, dict(zip(folds, row, strict=True)), finish.type)
            for row in zip(*lists, strict=True)
        ]
    )


def _average(made: Folds) -> Numbers | None:
    """Quotients of numbers that are DOUBLEs as they are; None if some are not."""
    total, count = made.get(Fold.SUM), made.get(Fold.COUNT)
    if total is None or count is None:
        return None
    if reach(total.values) > _EXACT or reach(count.values) > _EXACT:
        return None
    none = count.values == 0
    return Numbers(total.values / np.where(none, 1, count.values), none)


def _spread(function: str, made: Folds) -> Numbers | None:
    """Variances and deviations, likewise."""
    total, squares, count = (
        made.get(each) for each in (Fold.SUM, Fold.SQUARES, Fold.COUNT)
    )  # fmt: skip
    if total is None or squares is None or count is None:
        return None
    if object in (total.values.dtype, squares.values.dtype, count.values.dtype):
        return None
    many = reach(count.values)
    if max(many * reach(squares.values), many * many, reach(total.values) ** 2) > _EXACT:
        return None
    above = count.values * squares.values - total.values * total.values
    divisor = count.values - 1 if function.endswith("_SAMP") else count.values
    none = divisor <= 0
    found = above / np.where(none, 1, count.values * divisor)
    return Numbers(np.sqrt(found) if function.startswith("STDDEV") else found, none)


def _decoded(numbers: Numbers, slot: Slot | None) -> Numbers:
    if slot is None:
        return numbers
    known: dict[int, Value] = {}
    found = []
    for each in numbers.listed():
        if each is not None and each not in known:
            known[each] = slot.value(each)
        found.append(None if each is None else known[each])
    return of_values(found)


def _constant(column: GroupColumn) -> Value:
    """A column that has one value alone."""
    assert isinstance(column.of, Constant)
    value = column.of.value
    assert value is None or isinstance(value, int)
    return value if value is None or column.shown is None else column.shown.value(value)


def _nothing(size: int) -> Numbers:
    return Numbers(np.zeros(size, dtype=np.int64), np.ones(size, dtype=bool))


def of_values(values: Sequence[Value]) -> Numbers:
    """Values of one type as an array: of numbers where 64 bits or a DOUBLE do."""
    missing = np.fromiter((each is None for each in values), dtype=bool, count=len(values))
    there = [each for each in values if each is not None]
    kinds = {type(each) for each in there}
    if kinds <= {int}:
        kind: Any = np.int64 if all(-(1 << 63) <= x < 1 << 63 for x in there) else object  # type: ignore[operator]
    else:
        kind = np.float64 if kinds == {float} else object
    array: IntArray = np.empty(len(values), dtype=kind)
    array[:] = [0 if each is None else each for each in values]
    return Numbers(array, missing if bool(missing.any()) else None)
