"""Pieces that declarations and queries are both made of: integers and comparisons."""

from __future__ import annotations

from sqlglot import exp

from millpond.diagnostic import Diagnostic, NotBuiltError, Span
from millpond.plan import Operator

_OPERATORS: dict[type[exp.Expr], Operator] = {
    exp.LT: Operator.LT,
    exp.LTE: Operator.LE,
    exp.EQ: Operator.EQ,
    exp.GTE: Operator.GE,
    exp.GT: Operator.GT,
}


def integer_of(tree: exp.Expr) -> int | None:
    """The integer that a constant expression is; None if it is none."""
    match tree:
        case exp.Paren():
            return integer_of(tree.this)
        case exp.Neg():
            inner = integer_of(tree.this)
            return None if inner is None else -inner
        case exp.Literal() if not tree.is_string:
            try:
                return int(tree.this)
            except ValueError:
                return None
        case exp.Add() | exp.Sub() | exp.Mul():
            left, right = integer_of(tree.left), integer_of(tree.right)
            if left is None or right is None:
                return None
            if isinstance(tree, exp.Add):
                return left + right
            return left - right if isinstance(tree, exp.Sub) else left * right
    return None


def comparison_of(
    tree: exp.Expr,
) -> tuple[Operator, exp.Expr, exp.Expr] | None:
    """The operator and the sides of a comparison; None if it is none."""
    op = _OPERATORS.get(type(tree))
    return None if op is None or not isinstance(tree, exp.Binary) else (op, tree.left, tree.right)


def not_built(what: str, span: Span | None, *helps: str) -> NotBuiltError:
    """What is legal and not built yet, said in one way."""
    return NotBuiltError(Diagnostic("MP110", f"not built yet: {what}", span, helps=helps))


def shown(tree: exp.Expr) -> str:
    """An expression as SQL, for a message."""
    text = tree.sql()
    return f"`{text}`" if len(text) <= 60 else f"`{text[:57]}...`"
