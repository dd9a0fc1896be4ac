"""A plan as lines of a tree and as plain data; pictures are made from the latter."""

from __future__ import annotations

from typing import Any

from millpond.plan.node import Cross, Distinct, Filter, Node, Project, Scan


def label(node: Node) -> str:
    """One line that says what a node does."""
    match node:
        case Scan():
            name = node.stream.name
            return f"Scan {name}" if name == node.alias else f"Scan {name} AS {node.alias}"
        case Cross():
            return "Cross"
        case Filter():
            return "Filter " + " AND ".join(str(each) for each in node.predicates)
        case Project():
            shown = (
                str(each.expression)
                if str(each.expression).rpartition(".")[2] == each.name
                else f"{each.expression} AS {each.name}"
                for each in node.items
            )
            return "Project " + ", ".join(shown)
        case Distinct():
            return "Distinct"


def tree_lines(node: Node, *, prefix: str = "", child: str = "") -> list[str]:
    """The plan as an indented tree, root first."""
    lines = [prefix + label(node)]
    for place, each in enumerate(node.inputs):
        last = place == len(node.inputs) - 1
        lines += tree_lines(
            each,
            prefix=child + ("└─ " if last else "├─ "),
            child=child + ("   " if last else "│  "),
        )
    return lines


def plan_dict(node: Node) -> dict[str, Any]:
    """The plan as JSON-ready data."""
    return {
        "node": type(node).__name__.lower(),
        "label": label(node),
        "columns": [each.name for each in node.fields],
        "inputs": [plan_dict(each) for each in node.inputs],
    }
