"""A plan as lines of a tree and as plain data; pictures are made from the latter.

A node's label says what it does in one line.  Labels are looked up by type, in a table that names
every node.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from millpond.plan.error import PlanError
from millpond.plan.expression import ColumnRef, Expression
from millpond.plan.lengths import length, time_of, window_text
from millpond.plan.node import (
    Aggregate,
    Alias,
    Assign,
    Changes,
    Cross,
    Difference,
    Distinct,
    Field,
    Filter,
    Intersect,
    Item,
    Join,
    Node,
    Project,
    Results,
    Scan,
    SemiJoin,
    Union,
    Window,
)
from millpond.plan.pattern import monotonic
from millpond.plan.sql_expression import Expressions
from millpond.plan.sql_spelling import Spelling
from millpond.plan.window import Assigned

Describe = Callable[[Node, int], Sequence[str]]
"""Says what a node does in one line or more, each of at most so many characters; those behind the
first stand `HANGING` further in."""
HANGING = 4


def label(node: Node) -> str:
    """One line that says what a node does."""
    found = _LABELS.get(type(node))
    if found is None:
        raise PlanError(f"no label is known for a {type(node).__name__}")
    return found(node)


def column_texts(node: Node) -> tuple[str, ...]:
    """The columns that a node makes, with their types: `a INT`, `b BIGINT NOT NULL`."""
    if not isinstance(node, _MAKES_COLUMNS):
        return ()
    there = len(node.input.fields) if isinstance(node, Assign) else 0
    return tuple(_column(each) for each in node.fields[there:])


def tree_lines(
    node: Node, describe: Describe | None = None, width: int = 100, guide: str = "", stem: str = ""
) -> list[str]:
    """The plan as an indented tree, root first: labels, or what `describe` says in the room left of
    `width`."""
    said = [label(node)] if describe is None else describe(node, width - len(guide))
    below = stem + ("│" if node.inputs else "").ljust(HANGING)
    lines = [guide + said[0], *(below + each for each in said[1:])]
    for place, each in enumerate(node.inputs, 1):
        corner, line = ("└─ ", "   ") if place == len(node.inputs) else ("├─ ", "│  ")
        lines += tree_lines(each, describe, width, stem + corner, stem + line)
    return lines


def plan_dict(node: Node) -> dict[str, Any]:
    """The plan as JSON-ready data."""
    return {
        "node": type(node).__name__.lower(),
        "label": label(node),
        "columns": [
            {"name": each.name, "type": str(each.type), "nullable": each.nullable}
            for each in node.fields
        ],
        "window": _window_dict(node),
        "pattern": "MON" if monotonic(node) else None,
        "at": None if node.span is None else {"line": node.span.line, "column": node.span.column},
        "inputs": [plan_dict(each) for each in node.inputs],
    }


def _window_dict(node: Node) -> dict[str, Any] | None:
    match node:
        case Window(spec=spec):
            return {
                "kind": spec.extent.value,
                "size": spec.size,
                "slide": spec.slide,
                "partition": list(spec.partition),
                "internal": spec.internal,
            }
        case Assign(function=function):
            return {
                "kind": function.assigned.value,
                "size": function.size,
                "slide": function.slide,
                "partition": list(function.partition),
                "close": function.close,
            }
    return None


def _column(field: Field) -> str:
    return f"{_name(field.name)} {field.type}{'' if field.nullable else ' NOT NULL'}"


_SQL = Expressions(Spelling())
"""Expressions and names stand in labels as they would in a query."""
_name = _SQL.spelling.name


def _on(predicates: Sequence[Expression]) -> str:
    return f" ON {_SQL.conjunction(predicates)}" if predicates else ""


def _item(item: Item) -> str:
    text = _SQL.text(item.expression)
    same = isinstance(item.expression, ColumnRef) and item.expression.name == item.name
    return text if same else f"{text} AS {_name(item.name)}"


def _scan(node: Scan) -> str:
    name = _name(node.stream.name)
    same = node.stream.name == node.alias
    return f"Scan {name}" if same else f"Scan {name} AS {_name(node.alias)}"


def _window(node: Window) -> str:
    partition = _SQL.spelling.names(node.spec.partition)
    return f"Window {window_text(node.spec, time_of(node.input), partition)}"


def _assign(node: Assign) -> str:
    function, time = node.function, node.input.stream.time_type
    sizes = [length(function.size, time)]
    if function.assigned is Assigned.HOP:
        sizes.insert(0, length(function.slide, time))
    keys = ", ".join(map(_name, function.partition))
    per = f" PARTITION BY {keys}" if keys else ""
    close = " on close" if function.close else ""
    return f"Assign {function.assigned}({', '.join(sizes)}{per}){close}"


def _aggregate(node: Aggregate) -> str:
    calls = ", ".join(f"{_SQL.aggregate(each).text} AS {_name(each.name)}" for each in node.calls)
    groups = ", ".join(_item(each) for each in node.groups)
    return "Aggregate" + (f" {calls}" if calls else "") + (f" BY {groups}" if groups else "")


_LABELS: dict[type, Callable[[Any], str]] = {
    Scan: _scan,
    Alias: lambda node: f"Alias {_name(node.alias)}",
    Window: _window,
    Assign: _assign,
    Cross: lambda _: "Cross",
    Filter: lambda node: f"Filter {_SQL.conjunction(node.predicates)}",
    Project: lambda node: f"Project {', '.join(_item(each) for each in node.items)}",
    Join: lambda node: f"{node.side} join{_on(node.predicates)}",
    SemiJoin: lambda node: f"{'Anti' if node.anti else 'Semi'}-join{_on(node.predicates)}",
    Union: lambda _: "Union",
    Difference: lambda _: "Difference",
    Intersect: lambda _: "Intersect",
    Distinct: lambda _: "Distinct",
    Aggregate: _aggregate,
    Changes: lambda node: f"{node.change}{'_RESTORE' if node.restore else ''}",
    Results: lambda _: "Results",
}
_MAKES_COLUMNS = (Scan, Assign, Project, Union, Aggregate)
