"""Which arguments of the parser's nodes anything here reads; what has another is refused.

sqlglot keeps what it knows of every dialect as arguments of its nodes: the join mark `(+)` of a
column, the NOT of a LIKE, the columns that `*` leaves out.  One that nothing reads would be passed
over in silence, and the query would mean something else.  So a statement is walked once more when
it was bound, and a node that is not in the table, or has an argument that is not in its row, is
refused.  That an argument is read at all is said here; that it has no place in one of several uses
of its node, the handler of that use says.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from millpond.diagnostic import NotBuiltError, Span
from millpond.language.constants import not_built
from millpond.language.spans import Places
from millpond.language.tree import (
    Alteration,
    ChangesClause,
    ChangesOf,
    Computed,
    Declaration,
    EmitClause,
    Length,
    Option,
    StreamMark,
    TimeColumn,
    Watermark,
    WindowClause,
    WindowTable,
)

Takes = dict[type[exp.Expr], str]
"""By node, the names of its arguments that are read."""

_TWO = "this expression"
_BOTH: Takes = {
    exp.Add: _TWO,
    exp.And: _TWO,
    exp.Between: "this low high symmetric",
    exp.Boolean: "this",
    exp.Cast: "this to",
    exp.Column: "this table db",
    exp.DataType: "this expressions kind",
    exp.DataTypeParam: "this",
    exp.EQ: _TWO,
    exp.GT: _TWO,
    exp.GTE: _TWO,
    exp.Identifier: "this quoted",
    exp.In: "this expressions query",
    exp.LT: _TWO,
    exp.LTE: _TWO,
    exp.Literal: "this is_string",
    exp.Mul: _TWO,
    exp.Neg: "this",
    exp.Null: "",
    exp.Paren: "this",
    exp.Sub: _TWO,
    exp.Var: "this",
    Length: "this unit",
}
IN_QUERIES: Takes = {
    **_BOTH,
    exp.Alias: "this alias",
    exp.Anonymous: "this expressions pond_window",
    # How a name of WITH is carried out is not asked for: each use is a query of its own.
    exp.CTE: "this alias materialized",
    exp.Case: "this ifs default",
    exp.Create: "this kind expression pond_columns",
    # What `/` and `||` mean is ours to say: `typed` and `safe` are how another engine has them.
    exp.DPipe: "this expression safe",
    exp.Div: "this expression typed safe",
    exp.Distinct: "expressions on",
    exp.Escape: _TWO,
    exp.Except: "this expression distinct with_ pond_emit",
    exp.Exists: "this",
    exp.Extract: _TWO,
    exp.Filter: _TWO,
    exp.From: "this",
    exp.Group: "expressions",
    exp.Having: "this",
    exp.ILike: "this expression negate",
    exp.If: "this true false",
    # GLOBAL IN says where another engine's nodes work.
    exp.In: "this expressions query is_global",
    exp.Intersect: "this expression distinct with_ pond_emit",
    exp.Is: "this expression negate",
    exp.Join: "this on using kind side method pond_comma",
    exp.Like: "this expression negate",
    exp.Mod: _TWO,
    exp.NEQ: _TWO,
    exp.Not: "this",
    exp.NullSafeEQ: _TWO,
    exp.NullSafeNEQ: _TWO,
    exp.Or: _TWO,
    exp.Select: "expressions from_ joins where distinct group having with_ pond_changes pond_emit",
    exp.Star: "",
    exp.StrPosition: "this substr",
    exp.Subquery: "this alias joins with_ pond_window pond_emit",
    exp.Substring: "this start length",
    exp.Table: "this alias joins pond_window pond_stream pond_watermark",
    exp.TableAlias: "this columns",
    exp.Trim: "this expression position",
    exp.Union: "this expression distinct with_ pond_emit",
    exp.Where: "this",
    exp.With: "expressions recursive",
    ChangesClause: "this restore window",
    ChangesOf: "this kind restore alias with_ pond_window pond_emit",
    EmitClause: "this",
    StreamMark: "",
    Watermark: _TWO,
    WindowClause: "extent size slide partition internal",
    WindowTable: "this kind column lengths partition",
}
"""What the binder reads of a query."""
IN_DECLARATIONS: Takes = {
    **_BOTH,
    exp.CheckColumnConstraint: "this enforced",
    exp.ColumnConstraint: "this kind",
    exp.ColumnDef: "this kind constraints",
    exp.NotNullColumnConstraint: "allow_null",
    exp.PrimaryKey: "expressions",
    exp.PrimaryKeyColumnConstraint: "",
    exp.Table: "this db catalog",
    Alteration: "this kind expression",
    Computed: "this",
    Declaration: "this kind expressions clauses",
    Option: _TWO,
    TimeColumn: "this",
    Watermark: _TWO,
}
"""What is read of a declaration."""
_CALLED: dict[str, tuple[str, ...]] = {
    "join_mark": ("the join mark (+)", "write LEFT JOIN ... ON, or RIGHT JOIN"),
    "except_": ("EXCEPT behind *", "name the columns"),
    "replace": ("REPLACE behind *", "name the columns"),
    "rename": ("RENAME behind *", "name the columns"),
    "search": ("SEARCH of a recursive WITH",),
}
_OTHER = ("a part of this statement",)


def refusals(
    tree: exp.Expr, takes: Takes, places: Places, *, bound: bool = True
) -> Iterator[NotBuiltError]:
    """What a statement says that nothing reads; of one that could not be bound, arguments alone:
    a node may just not have been reached."""
    left: list[tuple[exp.Expr, exp.Expr]] = [(tree, tree)]
    while left:  # a long conjunction is deeper than Python's stack
        node, around = left.pop()
        known = takes.get(type(node))
        if known is None:
            if bound:
                yield _refusal(_OTHER, places.of(node, places.of(around)))
            continue
        passed = unread(node, known)
        for key in passed:
            yield _refusal(_CALLED.get(key, _OTHER), places.of(node, places.of(around)))
        for key in node.args.keys() - set(passed):
            value = node.args[key]
            inner = value if isinstance(value, list) else [value]
            left += [(each, _placed(node, around)) for each in inner if isinstance(each, exp.Expr)]


def _placed(node: exp.Expr, around: exp.Expr) -> exp.Expr:
    """The node that tells where those inside it are: an alias alone has no place."""
    return around if isinstance(node, exp.TableAlias) else node


def unread(node: exp.Expr, known: str) -> list[str]:
    """The arguments of a node that say something, and are not among those that are read."""
    read = known.split()
    return [key for key, value in node.args.items() if key not in read and _says(value)]


def _says(value: object) -> bool:
    return value is not None and value is not False and value != []


def _refusal(called: tuple[str, ...], span: Span) -> NotBuiltError:
    what, *helps = called
    return not_built(what, span, *helps)
