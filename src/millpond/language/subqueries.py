"""Conditions of WHERE that ask a subquery: [NOT] EXISTS and [NOT] IN."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp


@dataclass(frozen=True)
class Condition:
    """`EXISTS (query)`, or `operand IN (query)`; with `anti` that there be none."""

    tree: exp.Expr
    query: exp.Expr
    anti: bool
    operand: exp.Expr | None = None


def as_condition(tree: exp.Expr, *, anti: bool = False) -> Condition | None:
    """The condition that a tree is, if it asks a subquery."""
    match tree:
        case exp.Paren():
            return as_condition(tree.this, anti=anti)
        case exp.Not():
            return as_condition(tree.this, anti=not anti)
        case exp.Exists():
            return Condition(tree, tree.this, anti)
        case exp.Anonymous() if _asks(tree):
            return Condition(tree, tree.expressions[0], anti)
        case exp.In() if tree.args.get("query") is not None:
            return Condition(tree, tree.args["query"], anti, tree.this)
    return None


def _asks(tree: exp.Anonymous) -> bool:
    """EXISTS of a query in parentheses of its own: sqlglot takes it for the call of a function."""
    named = str(tree.name).upper() == "EXISTS" and len(tree.expressions) == 1
    return named and isinstance(tree.expressions[0], exp.Query)
