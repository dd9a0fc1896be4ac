"""Runs tick steps in the interpreter: for a few rows, and for numbers past 64 bits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from millpond.program.delta import Delta, IntArray
from millpond.program.line import Position
from millpond.program.program import Program
from millpond.program.python import python_of
from millpond.program.store import Array, RowStore, State
from millpond.program.tick import Kernel

Step = Callable[..., tuple[int, int, IntArray, int]]
"""The function that `python.py` prints."""


def grow(out: IntArray) -> IntArray:
    """Twice the room for output."""
    larger = np.empty((2 * len(out), out.shape[1]), dtype=out.dtype)
    larger[: len(out)] = out
    return larger


def interpreted(kernel: Kernel, *, trapping: bool) -> Step:
    """The tick step as a plain Python function."""
    scope: dict[str, Any] = {"grow": grow}
    exec(compile(python_of(kernel, trapping=trapping), f"<{kernel.name}>", "exec"), scope)
    step: Step = scope[kernel.name]
    return step


def run_step(
    step: Step,
    program: Program,
    state: State,
    size: int,
    selector: Sequence[int] | IntArray,
    row: Sequence[int] | IntArray,
    at: Sequence[int] | IntArray,
    arrays: Sequence[Any],
    *,
    wide: Callable[[], Step],
) -> Delta:
    """Runs a step over `size` rows.

    At a trap the state is widened and the rest, from the arm that trapped on, runs as `wide()`
    says: over integers of any size.
    """
    width = 2 * len(program.output) + 2
    dtype = object if state.wide or not program.whole else np.int64
    out = np.empty((max(16, size), width), dtype=dtype)
    place, arm, used = 0, 0, 0
    if not state.wide:
        held = arrays_of(state)
        place, arm, out, used = step(
            0, size, 0, selector, row, at, state.filled, out, used, *arrays, *held
        )
        if place < size:
            state.widen()
            out = out.astype(object)
    if place < size:
        place, _, out, used = wide()(
            place, size, arm, _listed(selector), _listed(row), _listed(at),
            state.filled, out, used, *(_listed(each) for each in arrays), *arrays_of(state),
        )  # fmt: skip
    return delta_of(program, out[:used])


def delta_of(program: Program, out: IntArray) -> Delta:
    """The output of a step as changes."""
    count = len(program.output)
    names = tuple(each.name for each in program.output)
    if out.dtype == object:
        weight = _narrowed(out[:, 2 * count])
    else:
        weight = np.ascontiguousarray(out[:, 2 * count])
    return Delta(
        names,
        tuple(_narrowed(out[:, place]) for place in range(count)),
        tuple(
            out[:, count + place].astype(bool) if column.nullable else None
            for place, column in enumerate(program.output)
        ),
        _narrowed(out[:, 2 * count + 1]),
        weight,
    )


def _narrowed(column: IntArray) -> IntArray:
    """A column in 64 bits, or as it is where a number of it needs more."""
    try:
        return np.ascontiguousarray(column, dtype=np.int64)
    except (OverflowError, TypeError):
        return column


def arrays_of(state: State) -> list[Array]:
    """The arrays of a state, in the order in which steps take them."""
    arrays: list[Array] = []
    for store in state.stores:
        if not isinstance(store, RowStore):
            arrays += [*store.values, store.present]
    return arrays


def tables_of(program: Program) -> list[IntArray | list[Position]]:
    """The tables of a program as steps take them."""
    return [
        np.array(each, dtype=np.int64) if all(isinstance(x, int) for x in each) else list(each)
        for each in program.tables
    ]


def _listed(values: Any) -> Any:
    return values.tolist() if isinstance(values, np.ndarray) else values
