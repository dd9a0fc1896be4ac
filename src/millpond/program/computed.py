"""Columns of contributions that are computed from others: what takes the values of several inputs.

The inputs of a join are told apart by those values, so that there are finitely many to compute.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from millpond.plan.functions import EvaluationError
from millpond.program.delta import Delta, IntArray
from millpond.program.grouping import Slot
from millpond.program.measured import Known, Measured, Ordered
from millpond.program.number_arrays import narrow
from millpond.program.prepared import Truth
from millpond.schema import Row, Value


@dataclass(frozen=True)
class Computed:
    """A column made of the values that the numbers of other columns stand for."""

    name: str
    columns: tuple[str, ...]
    slots: tuple[Slot, ...]
    text: str
    how: Measured | Ordered | Known | Truth
    required: bool = False
    """Whether contributions count only where it is 1: a condition of the query."""
    of: Callable[[Row], Value] = field(compare=False, repr=False, kw_only=True)


class Computer:
    """Computes columns, each value once."""

    def __init__(self, columns: Sequence[Computed]) -> None:
        self._columns = columns
        self._known: list[dict[tuple[int | None, ...], Any]] = [{} for _ in columns]

    def extended(self, delta: Delta) -> tuple[Delta, tuple[int, EvaluationError] | None]:
        """Contributions with the columns; up to the instant at which one has no value."""
        failed: tuple[int, EvaluationError] | None = None
        for each, known in zip(self._columns, self._known, strict=True):
            values: list[Any] = []
            rows = zip(*(_listed(delta, name) for name in each.columns), strict=True)
            try:
                for numbers in rows:
                    if numbers not in known:
                        known[numbers] = _made(each, numbers)
                    values.append(known[numbers])
            except EvaluationError as error:
                failed = int(delta.at[len(values)]), error
                before = delta.at < failed[0]
                delta = _rows(delta, before)
                values = values[: len(delta)]
            if each.required:
                there = np.array([value == 1 for value in values], dtype=bool)
                delta = _rows(delta, there)
            else:
                delta = _with(delta, each.name, values)
        return delta, failed


def _listed(delta: Delta, name: str) -> list[Any]:
    place = delta.names.index(name)
    values: list[Any] = delta.values[place].tolist()
    null = delta.nulls[place]
    if null is None:
        return values
    return [None if gone else each for each, gone in zip(values, null.tolist(), strict=True)]


def _made(each: Computed, numbers: tuple[int | None, ...]) -> Any:
    row = (
        None if number is None else slot.value(number)
        for slot, number in zip(each.slots, numbers, strict=True)
    )
    (found,) = each.how.of([[each.of(tuple(row))]])
    return found


def _with(delta: Delta, name: str, values: Sequence[Any]) -> Delta:
    numbers: IntArray = np.empty(len(values), dtype=object)
    numbers[:] = [0 if each is None else each for each in values]
    null = np.array([each is None for each in values], dtype=bool)
    return Delta(
        (*delta.names, name),
        (*delta.values, narrow(numbers)),
        (*delta.nulls, null),
        delta.at,
        delta.weight,
    )


def _rows(delta: Delta, there: IntArray) -> Delta:
    return Delta(
        delta.names,
        tuple(each[there] for each in delta.values),
        tuple(None if each is None else each[there] for each in delta.nulls),
        delta.at[there],
        delta.weight[there],
    )
