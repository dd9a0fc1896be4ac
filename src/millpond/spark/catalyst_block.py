"""Rows of a product of inputs under conditions: what a pipeline of filters and joins comes to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from millpond.plan import Alias, ColumnRef, Cross, Expression, Filter, Node, Scan
from millpond.spark.catalyst_expression import Missing


@dataclass(frozen=True)
class Block:
    """Rows of a product of inputs that pass the predicates, and what each column shows."""

    inputs: tuple[Node, ...]
    columns: Mapping[int, Expression | Missing]
    names: Mapping[int, str]
    """What columns are called, in the order in which they come out."""
    predicates: tuple[Expression, ...] = ()


def is_open(block: Block) -> bool:
    """Whether more inputs and conditions can stand beside its own."""
    return all(isinstance(each, Scan | Alias) for each in block.inputs)


def rows_of(block: Block) -> Node:
    node = block.inputs[0] if len(block.inputs) == 1 else Cross(block.inputs)
    return Filter(node, block.predicates) if block.predicates else node


def block_of(node: Node, ids: Sequence[int], names: Sequence[str]) -> Block:
    """A node as a block, its columns by their numbers."""
    columns: dict[int, Expression | Missing] = {
        id_: ColumnRef(None, field.name, field.type, field.nullable)
        for id_, field in zip(ids, node.fields, strict=True)
    }
    return Block((node,), columns, dict(zip(ids, names, strict=True)))


def unique(name: str, taken: Iterable[str]) -> str:
    """The name, or the first `name_2`, `name_3`, ... that is free."""
    found, count = name, 1
    while found.lower() in taken:
        count += 1
        found = f"{name}_{count}"
    return found


_PATH = re.compile(r"\w+\[(?:.*[/\\])?([^/\\\]]+)[/\\]?\]")


def said_source(source: str) -> str:
    """A name for a source: the folder that is read, or the format.

    >>> said_source("FileSource[/data/orders]"), said_source("rate")
    ('orders', 'rate')
    """
    found = _PATH.fullmatch(source)
    name = re.sub(r"\W+", "_", found[1] if found else source).strip("_")
    return name or "stream"
