"""FROM and WHERE of a SELECT, to the rows that its items are taken of.

[NOT] EXISTS and [NOT] IN become semi-joins above the plain conditions.  In the subquery, conditions
that speak of the query around it are set apart: they are the semi-join's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from sqlglot import exp

from millpond.diagnostic import Diagnostic, UserError
from millpond.language.context import Bind, Context, with_named
from millpond.language.expressions import IN_ROWS, NoAggregates
from millpond.language.functions import aggregate_of
from millpond.language.inputs import InputBinder
from millpond.language.items import is_star, refuse_parts_of
from millpond.language.scope import Scope, unique
from millpond.language.subqueries import Condition, as_condition
from millpond.language.unread import unread
from millpond.plan import (
    Alias,
    ColumnRef,
    Expression,
    Is,
    Node,
    Not,
    Operator,
    SemiJoin,
    columns_of,
    stream_valued,
)
from millpond.schema import Catalog

IN_WHERE = NoAggregates("in WHERE", IN_ROWS)
SELECT_TAKES = {
    "expressions", "from_", "joins", "where", "distinct", "group", "having", "with_",
    "pond_changes", "pond_emit",
}  # fmt: skip


@dataclass
class Rows:
    """The rows of a SELECT before they are projected."""

    scope: Scope
    node: Node
    correlated: list[Expression] = field(default_factory=list)
    """Conditions that speak of the query around it as well."""


class RowBinder:
    """Binds FROM and WHERE."""

    def __init__(self, context: Context, subquery: Bind) -> None:
        self._context = context
        self._subquery = subquery

    def from_where(self, tree: exp.Select, scope: Scope) -> Rows:
        """FROM and WHERE; of a subquery, conditions on the query around it are set apart."""
        clause = tree.args.get("from_")
        if clause is None:
            raise UserError(
                Diagnostic(
                    "MP001",
                    "the query reads no stream",
                    self._context.of(tree),
                    helps=("write `SELECT ... FROM stream`",),
                )
            )
        scope.items = frozenset(each.alias.lower() for each in tree.expressions if each.alias)
        before = self._context.errors.number
        inputs = InputBinder(self._context, scope, self._subquery)
        group = inputs.bind(clause, tree.args.get("joins") or ())
        if not group.inputs:
            self._context.errors.checkpoint_since(before)
        conditions = list(group.conditions)
        semis: list[Condition] = []
        where = tree.args.get("where")
        for each in () if where is None else conjuncts(where.this):
            try:
                semi = as_condition(each)
                if semi is not None:
                    semis.append(semi)
                elif isinstance(each, exp.Between):
                    conditions += self._context.expressions.between(each, scope, IN_WHERE)
                else:
                    conditions.append(self._context.expressions.condition(each, scope, IN_WHERE))
            except UserError as error:
                self._context.errors.add(error)
        local = [each for each in conditions if _local(each, scope)]
        group.conditions = local
        whole = self._context.errors.number == before
        found = Rows(scope, group.node(self._context.of(tree)) if whole else group.inputs[0])
        found.correlated = [each for each in conditions if not _local(each, scope)]
        for semi in semis:
            try:
                self._semi(found, semi, whole)
            except UserError as error:
                self._context.errors.add(error)
        return found

    def _semi(self, outer: Rows, condition: Condition, whole: bool) -> None:
        """[NOT] EXISTS and [NOT] IN as a semi-join; `x NOT IN (..)` asks that no `x = y` be true
        or unknown."""
        span = self._context.of(condition.tree)
        inner, predicates, item = self._inner(condition, outer.scope)
        if condition.operand is not None:
            left = self._context.expressions.bind(condition.operand, outer.scope, IN_WHERE)
            equal: Expression = self._context.expressions.compare(Operator.EQ, left, item, span)
            if condition.anti and equal.nullable:
                equal = Not(Is(equal, False, span), span)
            predicates = [equal, *predicates]
        if whole:
            outer.node = SemiJoin(outer.node, inner, tuple(predicates), condition.anti, span)

    def _inner(
        self, condition: Condition, outer: Scope
    ) -> tuple[Node, list[Expression], Expression]:
        """The rows of a subquery in a condition, the conditions on both, and its first column."""
        tree = _unwrapped(condition.query)
        if isinstance(tree, exp.Select) and _plain(tree, self._context.catalog):
            before = self._context.errors.number
            scope = Scope(outer=outer)
            self._context.refuse_the_rest(tree, SELECT_TAKES)
            with with_named(self._context, tree, self._subquery):
                found = self.from_where(tree, scope)
            items = self._items(tree, scope)
            self._context.errors.checkpoint_since(before)
            self._one_column(condition, len(items), tree)
            return found.node, found.correlated, items[0]
        plan = self._subquery(tree)
        if stream_valued(plan):
            raise UserError(
                Diagnostic(
                    "MP137",
                    "a stream of changes cannot be asked for its rows",
                    self._context.of(tree),
                    helps=("leave the stream operator out",),
                )
            )
        self._one_column(condition, len(plan.fields), tree)
        alias = unique("subquery", outer.taken())
        node = Alias(plan, alias, self._context.of(tree))
        first = node.fields[0]
        return node, [], ColumnRef(alias, first.name, first.type, first.nullable)

    def _items(self, tree: exp.Select, scope: Scope) -> list[Expression]:
        """What the subquery selects: IN compares with it, and EXISTS does not look at it."""
        found: list[Expression] = []
        for each in tree.expressions:
            item = each.this if isinstance(each, exp.Alias) else each
            if is_star(item):
                refuse_parts_of(item, self._context.of(item))
                table = item.table if isinstance(item, exp.Column) else ""
                found += [known.ref for known in scope.starred(table)]
                continue
            try:
                found.append(self._context.expressions.bind(item, scope))
            except UserError as error:
                self._context.errors.add(error)
        return found

    def _one_column(self, condition: Condition, columns: int, tree: exp.Expr) -> None:
        if condition.operand is not None and columns != 1:
            raise UserError(
                Diagnostic(
                    "MP138",
                    f"IN compares with one column, and this subquery has {columns} columns",
                    self._context.of(tree),
                    helps=("select the one column to compare with",),
                )
            )


def _unwrapped(tree: exp.Expr) -> exp.Expr:
    """A query without parentheses around it that say no more."""
    while isinstance(tree, exp.Subquery) and not unread(tree, "this"):
        tree = tree.this
    return tree


def conjuncts(tree: exp.Expr) -> Iterator[exp.Expr]:
    """The conditions that AND joins."""
    match tree:
        case exp.Paren():
            yield from conjuncts(tree.this)
        case exp.And():
            for each in tree.flatten():
                yield from conjuncts(each)
        case _:
            yield tree


def _local(condition: Expression, scope: Scope) -> bool:
    return all(scope.holds(each) for each in columns_of(condition))


def _plain(tree: exp.Select, catalog: Catalog) -> bool:
    """Whether a subquery's rows are those of its FROM and WHERE."""
    clause = tree.args.get("pond_changes")
    if clause is not None and str(clause.this) != "RSTREAM":
        return False
    if tree.args.get("group") or tree.args.get("having"):
        return False
    return not any(
        aggregate_of(each, catalog) is not None for item in tree.expressions for each in item.walk()
    )
