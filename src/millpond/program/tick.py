"""Tick steps: a small imperative language of registers, guarded updates and loops over buckets.

It is what the tick lowering of a program is written in before it is printed: as Python for Numba
and for the interpreter (`python.py`).  Every number is a 64-bit integer; arrays belong to the
state or to the input.
"""

from __future__ import annotations

from dataclasses import dataclass

from millpond.program.expression import Condition, Number


@dataclass(frozen=True)
class Set:
    """A register takes a value."""

    name: str
    value: Number


@dataclass(frozen=True)
class Put:
    """An element of an array takes a value."""

    array: str
    index: Number
    value: Number


@dataclass(frozen=True)
class When:
    """The body runs if every condition holds, looked at from left to right."""

    conditions: tuple[Condition, ...]
    body: tuple[Step, ...]


@dataclass(frozen=True)
class AnyOf:
    """The body runs if some condition holds."""

    conditions: tuple[Condition, ...]
    body: tuple[Step, ...]


@dataclass(frozen=True)
class Range:
    """The body runs with the register at each integer from `low` to `high`, both included."""

    name: str
    low: Number
    high: Number
    body: tuple[Step, ...]


@dataclass(frozen=True)
class Held:
    """The body runs with the register at each place of a keyed array that holds something."""

    name: str
    array: str
    body: tuple[Step, ...]


@dataclass(frozen=True)
class Digit:
    """`target` takes one coordinate of the bucket at `place`."""

    target: str
    place: Number
    stride: int
    size: int
    low: int


@dataclass(frozen=True)
class Times:
    """`target` is multiplied; a product past 64 bits traps."""

    target: str
    factor: Number


@dataclass(frozen=True)
class Scale:
    """`target` is multiplied by a number of either sign; a product past 64 bits traps."""

    target: str
    factor: Number


@dataclass(frozen=True)
class Grow:
    """A number of either sign is added to `target`; a sum past 64 bits traps."""

    target: str
    amount: Number


@dataclass(frozen=True)
class AddTo:
    """An element of an array grows; a sum past 64 bits traps."""

    array: str
    index: Number
    amount: Number


@dataclass(frozen=True)
class Emit:
    """A row comes out: its columns, where they are NULL, its multiplicity."""

    columns: tuple[Number, ...]
    nulls: tuple[Condition | bool, ...]
    weight: Number


Step = Set | Put | When | AnyOf | Range | Held | Digit | Times | Scale | Grow | AddTo | Emit


@dataclass(frozen=True)
class Arm:
    """What is done with a row of one input of the program."""

    selector: int
    """The stream of the row (or the number of the reduction, for rows already reduced)."""
    body: tuple[Step, ...]


@dataclass(frozen=True)
class Kernel:
    """A tick step for many rows: a loop over them, with an arm for each input."""

    name: str
    arrays: tuple[str, ...]
    """The arrays that it takes, in order, after the fixed arguments."""
    arms: tuple[Arm, ...]
    columns: int
