"""Rows of groups as changes of the answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from millpond.program.delta import Delta, IntArray
from millpond.program.finish import Numbers, Rows, of_values
from millpond.program.program import Program
from millpond.schema import Row

Shown = Counter[Row]
"""How many groups say a row."""


def delta_of(program: Program, columns: Sequence[Numbers], at: IntArray, weight: IntArray) -> Delta:
    """Changes with these columns."""
    return Delta(
        tuple(each.name for each in program.output),
        tuple(each.values for each in columns),
        tuple(each.missing for each in columns),
        at,
        weight,
    )


def shown_rows(rows: Rows) -> Shown:
    """The rows that are shown, each with the number of groups that say it."""
    listed = list(zip(*(each.listed() for each in rows.columns), strict=True))
    return Counter(row for row, there in zip(listed, rows.shown.tolist(), strict=True) if there)


def once_each(delta: Delta, shown: Shown) -> Delta:
    """Changes of the rows that some group says, of changes of how many groups say them; `shown` is
    brought up to date."""
    found: dict[tuple[int, Row], int] = {}
    ordered = sorted(delta.rows(), key=lambda each: each[2])
    for row, n, at in ordered:
        before, after = shown[row], shown[row] + n
        shown[row] = after
        found[at, row] = found.get((at, row), 0) + (after > 0) - (before > 0)
    rows = [(at, row, n) for (at, row), n in found.items() if n]
    columns = list(zip(*(row for _, row, _ in rows), strict=True)) or [()] * len(delta.names)
    made = [of_values(each) for each in columns]
    return Delta(
        delta.names,
        tuple(each.values for each in made),
        tuple(each.missing for each in made),
        np.array([at for at, _, _ in rows], dtype=np.int64),
        np.array([n for _, _, n in rows], dtype=np.int64),
    )
