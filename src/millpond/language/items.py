"""The items of a SELECT: which are stars, and what each is called."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from millpond.diagnostic import Span
from millpond.language.constants import not_built
from millpond.plan import ColumnRef, Expression, Item

Chosen = tuple[Expression, str, exp.Expr]
"""An item: its expression, its name, and where it was written."""


def is_star(tree: exp.Expr) -> bool:
    """`*`, or `s.*`."""
    return isinstance(tree, exp.Star) or (
        isinstance(tree, exp.Column) and isinstance(tree.this, exp.Star)
    )


def refuse_parts_of(star: exp.Expr, span: Span) -> None:
    """`* EXCEPT (a)` and its kin leave columns out, or give others for them."""
    said = star.this if isinstance(star, exp.Column) else star
    if any(said.args.values()):
        raise not_built("EXCEPT and REPLACE behind *", span, "name the columns")


def name_of(tree: exp.Expr, bound: Expression) -> str:
    """What an item is called: by its column as declared, or by its function in lower case."""
    match tree:
        case exp.Paren():
            return name_of(tree.this, bound)
        case exp.Column():
            return bound.name if isinstance(bound, ColumnRef) else tree.name
        case exp.Anonymous():
            return str(tree.name).lower()
        case exp.Filter():
            return name_of(tree.this, bound)
        case exp.Cast() | exp.Extract() | exp.Trim() | exp.Substring():
            return tree.key.lower()
        case exp.StrPosition():
            return "position"
    return ""


def with_distinct_names(
    items: Sequence[Chosen],
) -> list[Item]:
    """A repeated name gets `_2`, `_3`, as the contract of the output says."""
    taken = {name for _, name, _ in items}
    seen: set[str] = set()
    named = []
    for expression, name, _ in items:
        found, number = name, 2
        while found in seen or (found != name and found in taken):
            found, number = f"{name}_{number}", number + 1
        seen.add(found)
        named.append(Item(expression, found))
    return named
