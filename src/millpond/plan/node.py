"""Nodes of the plan: a weighted relational algebra over streams, windows and tables.

Every node's value at an instant is a bag of rows over its `fields`, a function of the current
contents of the streams and tables below it (Golab, Definition 3.1).  `Changes` and `Results` are
stream-valued: at each instant they give rows for that instant, which a `Window` above them makes a
bag of again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any

from millpond.diagnostic import Span
from millpond.plan.expression import Expression, columns_of
from millpond.plan.window import WindowFunction, WindowSpec
from millpond.schema import BOOLEAN, NULL, Kind, Stream, Type, UserAggregate

_NO_SPAN: Any = field(default=None, compare=False)


@dataclass(frozen=True)
class Field:
    """A column of a node's rows; `alias` is None behind a projection."""

    alias: str | None
    name: str
    type: Type
    nullable: bool


class _Unary:
    """What nodes with one input share."""

    input: Node

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        return self.input.fields


class _Binary:
    """What nodes with a left and a right input share."""

    left: Node
    right: Node

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.left, self.right

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        return self.left.fields


@dataclass(frozen=True)
class Scan:
    """The rows of a stream that have arrived so far, or what a table holds now."""

    stream: Stream
    alias: str
    span: Span | None = _NO_SPAN

    @property
    def inputs(self) -> tuple[Node, ...]:
        return ()

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        return tuple(
            Field(self.alias, each.name, each.type, each.nullable) for each in self.stream.columns
        )


@dataclass(frozen=True)
class Alias(_Unary):
    """The rows of a subquery under a name of their own."""

    input: Node
    alias: str
    span: Span | None = _NO_SPAN

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        return tuple(
            Field(self.alias, each.name, each.type, each.nullable) for each in self.input.fields
        )


@dataclass(frozen=True)
class Window(_Unary):
    """Of a stream, the rows that are in the window now."""

    input: Node
    spec: WindowSpec
    span: Span | None = _NO_SPAN

    def __post_init__(self) -> None:
        if not stream_valued(self.input):
            raise ValueError("a window needs a stream")
        for name in self.spec.partition:
            if all(each.name != name for each in self.input.fields):
                raise ValueError(f"{name} is no column of the window's stream")


@dataclass(frozen=True)
class Assign(_Unary):
    """TUMBLE, HOP or SESSION: rows with the windows that they are in."""

    input: Scan
    function: WindowFunction
    span: Span | None = _NO_SPAN

    def __post_init__(self) -> None:
        if self.input.stream.time is None:
            raise ValueError("windows are assigned by a time column")

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        time = self.input.stream.time_type
        assert time is not None
        ends = (Field(self.input.alias, name, time, False) for name in WINDOW_COLUMNS)
        return (*self.input.fields, *ends)


WINDOW_COLUMNS = ("window_start", "window_end")


@dataclass(frozen=True)
class Cross:
    """The product of two or more inputs."""

    inputs: tuple[Node, ...]
    span: Span | None = _NO_SPAN

    def __post_init__(self) -> None:
        if len(self.inputs) < 2:
            raise ValueError("a product needs two inputs")
        _apart(self.inputs)

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        return tuple(field for each in self.inputs for field in each.fields)


@dataclass(frozen=True)
class Filter(_Unary):
    """The rows for which every predicate is true."""

    input: Node
    predicates: tuple[Expression, ...]
    span: Span | None = _NO_SPAN

    def __post_init__(self) -> None:
        _conditions(self.predicates, self.input.fields)


@dataclass(frozen=True)
class Item:
    """A column of a projection and the name that it comes out under."""

    expression: Expression
    name: str


@dataclass(frozen=True)
class Project(_Unary):
    """Each row reduced to the items, duplicates kept."""

    input: Node
    items: tuple[Item, ...]
    span: Span | None = _NO_SPAN

    def __post_init__(self) -> None:
        if not self.items:
            raise ValueError("a projection needs an item")
        _distinct_names(self.items)
        known = self.input.fields
        for item in self.items:
            _resolve(item.expression, known)

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        return tuple(
            Field(None, item.name, item.expression.type, item.expression.nullable)
            for item in self.items
        )


class Side(StrEnum):
    """Whose rows an outer join keeps when nothing matches."""

    LEFT = "LEFT"
    RIGHT = "RIGHT"
    FULL = "FULL"


@dataclass(frozen=True)
class Join:
    """An outer join."""

    left: Node
    right: Node
    side: Side
    predicates: tuple[Expression, ...]
    span: Span | None = _NO_SPAN

    def __post_init__(self) -> None:
        _apart(self.inputs)
        _conditions(self.predicates, (*self.left.fields, *self.right.fields))

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.left, self.right

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        left = _nullable(self.left.fields) if self.side is not Side.LEFT else self.left.fields
        right = _nullable(self.right.fields) if self.side is not Side.RIGHT else self.right.fields
        return (*left, *right)


@dataclass(frozen=True)
class SemiJoin(_Binary):
    """The rows of the left for which some row of the right meets every predicate; with `anti`,
    those for which none does.  `x NOT IN (...)` is anti with the predicate `(x = y) IS NOT FALSE`.
    """

    left: Node
    right: Node
    predicates: tuple[Expression, ...]
    anti: bool
    span: Span | None = _NO_SPAN

    def __post_init__(self) -> None:
        _apart(self.inputs)
        _conditions(self.predicates, (*self.left.fields, *self.right.fields))


@dataclass(frozen=True)
class Union:
    """The bags of two or more inputs added up; names are those of the first."""

    inputs: tuple[Node, ...]
    span: Span | None = _NO_SPAN

    def __post_init__(self) -> None:
        if len(self.inputs) < 2:
            raise ValueError("a union needs two inputs")
        _alike(self.inputs)

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        return tuple(
            Field(
                None,
                column[0].name,
                column[0].type,
                any(each.nullable for each in column),
            )
            for column in zip(*(each.fields for each in self.inputs), strict=True)
        )


@dataclass(frozen=True)
class Difference(_Binary):
    """EXCEPT ALL: each row as often as the left has it more than the right."""

    left: Node
    right: Node
    span: Span | None = _NO_SPAN

    def __post_init__(self) -> None:
        _alike(self.inputs)


@dataclass(frozen=True)
class Intersect(_Binary):
    """INTERSECT ALL: each row as often as both have it."""

    left: Node
    right: Node
    span: Span | None = _NO_SPAN

    def __post_init__(self) -> None:
        _alike(self.inputs)


@dataclass(frozen=True)
class Distinct(_Unary):
    """Each row once."""

    input: Node
    span: Span | None = _NO_SPAN


@dataclass(frozen=True)
class AggregateCall:
    """An aggregate function of `functions.py`, or one that the file declares, over the rows of a
    group; COUNT(*) has no argument."""

    function: str
    argument: Expression | None
    distinct: bool
    name: str
    type: Type
    filter: Expression | None = None
    span: Span | None = _NO_SPAN
    declared: UserAggregate | None = None

    @property
    def nullable(self) -> bool:
        return self.function != "COUNT"

    def __str__(self) -> str:
        inner = "*" if self.argument is None else str(self.argument)
        said = f"{self.function}({'DISTINCT ' if self.distinct else ''}{inner})"
        return said if self.filter is None else f"{said} FILTER (WHERE {self.filter})"


@dataclass(frozen=True)
class Aggregate(_Unary):
    """One row for each group; without groups one row always, also over nothing."""

    input: Node
    groups: tuple[Item, ...]
    calls: tuple[AggregateCall, ...]
    span: Span | None = _NO_SPAN

    def __post_init__(self) -> None:
        _distinct_names((*self.groups, *self.calls))
        for item in self.groups:
            _resolve(item.expression, self.input.fields)
        for call in self.calls:
            for each in (call.argument, call.filter):
                if each is not None:
                    _resolve(each, self.input.fields)

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        return (
            *(
                Field(None, each.name, each.expression.type, each.expression.nullable)
                for each in self.groups
            ),
            *(Field(None, each.name, each.type, each.nullable) for each in self.calls),
        )


class Change(StrEnum):
    """What a relation-to-stream operator says at an instant (Golab, 2.1.3)."""

    ISTREAM = "ISTREAM"
    """What the answer has more than at the instant before."""
    DSTREAM = "DSTREAM"
    """What it has less."""
    RSTREAM = "RSTREAM"
    """All of it."""


@dataclass(frozen=True)
class Changes(_Unary):
    """A stream of the changes of its input; with `restore`, short-lived results that come and go
    between two refreshes of a sliding query are in it too (Golab, 3.3.4)."""

    input: Node
    change: Change
    restore: bool = False
    span: Span | None = _NO_SPAN

    def __post_init__(self) -> None:
        if stream_valued(self.input):
            raise ValueError(f"{self.change} needs a relation")


@dataclass(frozen=True)
class Results(_Unary):
    """The stream of every result that its input ever gives, each when it is given: what internal
    windows add up to, and what WSTREAM puts a window on (Golab, 3.3.2 and 3.3.3).

    A result is given when the last of the rows that it is made of comes in, or when an answer has
    it more than before.
    """

    input: Node
    span: Span | None = _NO_SPAN


Node = (
    Scan
    | Alias
    | Window
    | Assign
    | Cross
    | Filter
    | Project
    | Join
    | SemiJoin
    | Union
    | Difference
    | Intersect
    | Distinct
    | Aggregate
    | Changes
    | Results
)


def stream_valued(node: Node) -> bool:
    """Whether a node gives rows at instants, rather than having a value at each."""
    match node:
        case Scan():
            return node.stream.is_stream
        case Alias():
            return stream_valued(node.input)
        case Changes() | Results():
            return True
    return False


def nodes(node: Node) -> Iterator[Node]:
    """A node and all below it, each before its inputs, from left to right."""
    yield node
    for each in node.inputs:
        yield from nodes(each)


def scans(node: Node) -> Iterator[Scan]:
    """The scans below a node, in the order of FROM."""
    return (each for each in nodes(node) if isinstance(each, Scan))


def aliases(node: Node) -> Iterator[str]:
    """The names that rows of a node are known by."""
    yield from dict.fromkeys(each.alias for each in node.fields if each.alias is not None)


def _apart(inputs: Iterable[Node]) -> None:
    found = [alias.lower() for each in inputs for alias in aliases(each)]
    if len(set(found)) != len(found):
        raise ValueError(f"aliases are not distinct: {found}")


def _alike(inputs: Iterable[Node]) -> None:
    widths = {len(each.fields) for each in inputs}
    if len(widths) != 1:
        raise ValueError(f"inputs of {sorted(widths)} columns")
    for column in zip(*(each.fields for each in inputs), strict=True):
        kinds = {each.type.kind for each in column} - {Kind.NULL}
        if len(kinds) > 1:
            raise ValueError(f"column {column[0].name} is of kinds {sorted(kinds)}")


def _distinct_names(items: Iterable[Item | AggregateCall]) -> None:
    names = [each.name for each in items]
    if len(set(names)) != len(names):
        raise ValueError(f"output names are not distinct: {names}")


def _conditions(predicates: Iterable[Expression], fields: tuple[Field, ...]) -> None:
    for each in predicates:
        if each.type not in (BOOLEAN, NULL):
            raise ValueError(f"{each} is no condition")
        _resolve(each, fields)


def _resolve(expression: Expression, fields: tuple[Field, ...]) -> None:
    there = {(each.alias, each.name) for each in fields}
    for each in columns_of(expression):
        if (each.alias, each.name) not in there:
            raise ValueError(f"{each} is no column of the input")


def _nullable(fields: tuple[Field, ...]) -> tuple[Field, ...]:
    return tuple(Field(each.alias, each.name, each.type, True) for each in fields)
