"""Resolves the names and types of a query and makes a plan of it.

Every part of the parsed tree is either understood or refused: `Context.refuse_the_rest` looks at
what sqlglot filled in, so that a clause that is not built can never be passed over, and what all
others leave is found by `unread.py`.  A SELECT is bound in `select.py` and `project.py`; here is
what holds SELECTs together.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from millpond.diagnostic import Diagnostic, Span, UserError
from millpond.language.changes import changed, word_of
from millpond.language.constants import not_built
from millpond.language.context import Context, Named, with_named
from millpond.language.dialect import CQL
from millpond.language.project import Projector
from millpond.language.settle import settled, without_common_time
from millpond.language.spans import Places
from millpond.language.tree import ChangesOf, EmitClause, WindowTable
from millpond.language.unread import IN_QUERIES, refusals
from millpond.plan import (
    ColumnRef,
    Difference,
    Distinct,
    Intersect,
    Item,
    Node,
    Project,
    Union,
    stream_valued,
)
from millpond.plan.functions import common_type
from millpond.schema import NULL, Catalog, Kind, Type


def bind_select(
    tree: exp.Expr,
    catalog: Catalog,
    places: Places,
    *,
    settle: bool = True,
    named: dict[str, Named] | None = None,
    used: set[int] | None = None,
) -> Node:
    """The plan of a query; raises with everything that is wrong in it.  `named` are the queries
    that it can read by name; those that it does read are added to `used`.  Without `settle` what
    holds of a whole plan is not asked for."""
    plan = _bound(tree, catalog, places, named, used)
    if places.dialect != CQL and without_common_time(plan):
        # Other engines go by time only where a window does.
        plan = _bound(tree, catalog.untimed(), places, named, used)
    if settle:
        settled(plan, places.whole)
    return plan


def _bound(
    tree: exp.Expr,
    catalog: Catalog,
    places: Places,
    named: dict[str, Named] | None,
    used: set[int] | None,
) -> Node:
    context = Context(catalog, places, named=dict(named or {}))
    context.used = set() if used is None else used
    return _Binder(context).bind(tree)


def closes(tree: exp.Expr, dialect: str) -> bool:
    """Whether the windows of a query are said when they close: that of RisingWave and Materialize
    are not, unless they say so."""
    said = [str(each.this) for each in tree.find_all(EmitClause)]
    return "CHANGES" not in said and (dialect not in _EAGER or bool(said))


_EAGER = ("materialize", "risingwave")


class _Binder:
    def __init__(self, context: Context) -> None:
        self._context = context

    def bind(self, tree: exp.Expr) -> Node:
        self._context.close = self._closes(tree)
        plan = None
        try:
            plan = self.query(tree)
        except UserError as error:
            self._context.errors.add(error)
        self._refuse_unread(tree, bound=plan is not None)
        self._context.errors.checkpoint()
        assert plan is not None
        return plan

    def _refuse_unread(self, tree: exp.Expr, *, bound: bool) -> None:
        """Notes what nothing has read, but for what is inside a part that is refused already."""
        blamed = [each.span for each in self._context.errors.diagnostics if each.span is not None]
        bound = bound and not blamed
        for error in refusals(tree, IN_QUERIES, self._context.places, bound=bound):
            span = error.diagnostics[0].span
            if span is not None and not any(span.meets(each) for each in blamed):
                self._context.errors.add(error)

    def _closes(self, tree: exp.Expr) -> bool:
        """Whether windows are said when they close, which is how TUMBLE, HOP and SESSION do."""
        clauses = [each.args["pond_emit"] for each in tree.walk() if each.args.get("pond_emit")]
        assigned = any(isinstance(each, WindowTable) for each in tree.walk())
        for each in clauses:
            assert isinstance(each, EmitClause)
            if str(each.this) != "CHANGES" and not assigned:
                self._context.errors.add(
                    UserError(
                        Diagnostic(
                            "MP143",
                            "nothing closes here: the query has no window of TUMBLE, HOP or "
                            "SESSION",
                            self._context.of(each),
                            helps=("leave EMIT out, or read FROM TUMBLE(TABLE s, ...)",),
                        )
                    )
                )
        return closes(tree, self._context.places.dialect)

    # Queries ---------------------------------------------------------------------------------

    def query(self, tree: exp.Expr) -> Node:
        """A SELECT, a set operation, a stream of changes, or one of these in parentheses."""
        with with_named(self._context, tree, self.query):
            match tree:
                case exp.Select():
                    return Projector(self._context, self.query).select(tree)
                case exp.Subquery():
                    self._context.refuse_the_rest(tree, {"this", "with_", "pond_emit", "alias"})
                    return self.query(tree.this)
                case ChangesOf():
                    return self._changes_of(tree)
                case exp.Union() | exp.Except() | exp.Intersect():
                    return self._set_operation(tree)
        raise not_built("this kind of query", self._context.of(tree))

    def _changes_of(self, tree: ChangesOf) -> Node:
        plan = self.query(tree.this)
        kind, restore = str(tree.args["kind"]), bool(tree.args.get("restore"))
        return changed(self._context, plan, kind, restore, None, word_of(tree, self._context))

    def _set_operation(self, tree: exp.SetOperation) -> Node:
        self._context.refuse_the_rest(
            tree, {"this", "expression", "distinct", "with_", "pond_emit"}
        )
        span = self._context.of(tree)
        sides = [self._side(each, tree) for each in (tree.left, tree.right)]
        self._context.errors.checkpoint()
        left, right = self._alike(
            [each for each in sides if each is not None], self._context.of(tree.right)
        )
        distinct = tree.args.get("distinct") is not False
        if isinstance(tree, exp.Union):
            parts = left.inputs if isinstance(left, Union) and not distinct else (left,)
            union = Union((*parts, right), span)
            return Distinct(union, span) if distinct else union
        if distinct:
            left, right = Distinct(left, span), Distinct(right, span)
        if isinstance(tree, exp.Except):
            return Difference(left, right, span)
        return Intersect(left, right, span)

    def _side(self, tree: exp.Expr, whole: exp.SetOperation) -> Node | None:
        """One side; None, with what is wrong noted, if it cannot be."""
        try:
            plan = self.query(tree)
        except UserError as error:
            self._context.errors.add(error)
            return None
        if stream_valued(plan):
            raise UserError(
                Diagnostic(
                    "MP137",
                    "a stream of changes is no side of a set operation",
                    self._context.of(tree),
                    helps=(f"put it around the whole: ISTREAM(... {whole.key.upper()} ...)",),
                )
            )
        return plan

    def _alike(self, sides: Sequence[Node], span: Span) -> tuple[Node, Node]:
        """Both sides with columns of the same types."""
        left, right = sides
        if len(left.fields) != len(right.fields):
            raise UserError(
                Diagnostic(
                    "MP138",
                    f"one side has {counted(left)}, and this one {counted(right)}",
                    span,
                    helps=("both sides need the same columns, by place",),
                )
            )
        meant = []
        for one, other in zip(left.fields, right.fields, strict=True):
            found = common_type([one.type, other.type])
            if found is None:
                raise UserError(
                    Diagnostic(
                        "MP138",
                        f"column `{one.name}` is {one.type} on one side, and {other.type} on this "
                        "one",
                        span,
                        helps=("write CAST(... AS ...) on one side",),
                    )
                )
            meant.append(found)
        return self._as(left, meant), self._as(right, meant)

    def _as(self, node: Node, types: Sequence[Type]) -> Node:
        """The rows with columns of these types."""
        refs = [ColumnRef(e.alias, e.name, e.type, e.nullable) for e in node.fields]
        cast = [
            each if _serves(each.type, meant) else self._context.expressions.cast(each, meant)
            for each, meant in zip(refs, types, strict=True)
        ]
        if cast == refs:
            return node
        names = [each.name for each in node.fields]
        return Project(node, tuple(map(Item, cast, names)), node.span)


def counted(node: Node) -> str:
    """How many columns there are."""
    number = len(node.fields)
    return "1 column" if number == 1 else f"{number} columns"


def _serves(given: Type, meant: Type) -> bool:
    """Whether values of one type are values of the other as they are."""
    return (
        given is NULL
        or given == meant
        or (given.kind is meant.kind and given.kind in (Kind.INTEGER, Kind.VARCHAR))
    )
