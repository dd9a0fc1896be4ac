"""Nodes of the plan: scan, cross, filter, project, distinct.

Every node's value at an instant is a bag of rows over its `fields`, a function of the current
contents of the streams below it (Golab, Definition 3.1).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from millpond.diagnostic import Span
from millpond.plan.expression import ColumnRef, Comparison, Literal
from millpond.schema import IntegerType, Stream


@dataclass(frozen=True)
class Field:
    """A column of a node's rows; `alias` is None behind a projection."""

    alias: str | None
    name: str
    type: IntegerType | None
    nullable: bool


@dataclass(frozen=True)
class Scan:
    """The bag of rows of a stream that have arrived so far."""

    stream: Stream
    alias: str
    span: Span | None = None

    @property
    def inputs(self) -> tuple[Node, ...]:
        return ()

    @property
    def fields(self) -> tuple[Field, ...]:
        return tuple(
            Field(self.alias, each.name, each.type, each.nullable) for each in self.stream.columns
        )


@dataclass(frozen=True)
class Cross:
    """The product of two or more inputs."""

    inputs: tuple[Node, ...]
    span: Span | None = None

    def __post_init__(self) -> None:
        if len(self.inputs) < 2:
            raise ValueError("a product needs two inputs")
        aliases = [scan.alias.lower() for each in self.inputs for scan in scans(each)]
        if len(set(aliases)) != len(aliases):
            raise ValueError(f"aliases are not distinct: {aliases}")

    @property
    def fields(self) -> tuple[Field, ...]:
        return tuple(field for each in self.inputs for field in each.fields)


@dataclass(frozen=True)
class Filter:
    """The rows for which every predicate is true."""

    input: Node
    predicates: tuple[Comparison, ...]
    span: Span | None = None

    def __post_init__(self) -> None:
        for predicate in self.predicates:
            for side in (predicate.left, predicate.right):
                _resolve(self.input, side)

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @property
    def fields(self) -> tuple[Field, ...]:
        return self.input.fields


@dataclass(frozen=True)
class Item:
    """A column of a projection and the name that it comes out under."""

    expression: ColumnRef | Literal
    name: str


@dataclass(frozen=True)
class Project:
    """Each row reduced to the items, duplicates kept."""

    input: Node
    items: tuple[Item, ...]
    span: Span | None = None

    def __post_init__(self) -> None:
        if not self.items:
            raise ValueError("a projection needs an item")
        names = [each.name for each in self.items]
        if len(set(names)) != len(names):
            raise ValueError(f"output names are not distinct: {names}")
        for item in self.items:
            _resolve(self.input, item.expression)

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @property
    def fields(self) -> tuple[Field, ...]:
        return tuple(
            Field(None, item.name, item.expression.type, item.expression.nullable)
            if isinstance(item.expression, ColumnRef)
            else Field(None, item.name, None, item.expression.value is None)
            for item in self.items
        )


@dataclass(frozen=True)
class Distinct:
    """Each row once."""

    input: Node
    span: Span | None = None

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @property
    def fields(self) -> tuple[Field, ...]:
        return self.input.fields


Node = Scan | Cross | Filter | Project | Distinct


def scans(node: Node) -> Iterator[Scan]:
    """The scans below a node, in the order of FROM."""
    if isinstance(node, Scan):
        yield node
    for each in node.inputs:
        yield from scans(each)


def _resolve(node: Node, expression: ColumnRef | Literal) -> None:
    if isinstance(expression, Literal):
        return
    if not any(
        each.alias == expression.alias and each.name == expression.name for each in node.fields
    ):
        raise ValueError(f"{expression} is no column of the input")
