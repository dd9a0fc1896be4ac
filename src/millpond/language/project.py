"""SELECT's items, GROUP BY, HAVING and DISTINCT: from rows to what a query gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sqlglot import exp

from millpond.diagnostic import Diagnostic, Span, UserError, did_you_mean
from millpond.language.aggregates import Grouping, aggregated_in
from millpond.language.changes import changed_by, nested_wstream, windowed
from millpond.language.constants import integer_of, not_built, shown
from millpond.language.context import Bind, Context
from millpond.language.expressions import NoAggregates
from millpond.language.items import Chosen, is_star, name_of, refuse_parts_of, with_distinct_names
from millpond.language.scope import Scope
from millpond.language.select import SELECT_TAKES, RowBinder, Rows
from millpond.language.tree import ChangesClause
from millpond.plan import (
    WINDOW_COLUMNS,
    Assign,
    Changes,
    ColumnRef,
    Distinct,
    Expression,
    Extent,
    Filter,
    Logical,
    Node,
    Project,
    Results,
    Window,
    columns_of,
    nodes,
)


class Projector:
    """Binds a SELECT."""

    def __init__(self, context: Context, subquery: Bind) -> None:
        self._context = context
        self._rows = RowBinder(context, subquery)

    def select(self, tree: exp.Select) -> Node:
        """The plan of a SELECT."""
        nested = nested_wstream(tree, self._context)
        if nested is not None:
            below, above, clause = nested
            node = windowed(self._context, self.select(below), clause, "results")
            scope = Scope()
            scope.add("results", node)
            return self._projected(above, Rows(scope, node), self._context.errors.number)
        if not tree.expressions:
            said, helps = "SELECT names no column", ("write SELECT DISTINCT a FROM s",)
            raise UserError(Diagnostic("MP001", said, self._context.of(tree), helps=helps))
        before = self._context.errors.number
        self._context.refuse_the_rest(tree, SELECT_TAKES)
        return self._projected(tree, self._rows.from_where(tree, Scope()), before)

    def _projected(self, tree: exp.Select, found: Rows, before: int) -> Node:
        """What is taken of the rows; `before` is how much was wrong before they were bound."""
        span = self._context.of(tree)
        errors = self._context.errors
        grouping = Grouping(self._context.expressions)
        items = self._items(tree.expressions, found.scope, grouping)
        grouped = tree.args.get("group")
        having = tree.args.get("having")
        condition: Expression | None = None
        if grouped is not None:
            self._group(grouped, items, found.scope, grouping)
        if having is not None:
            try:
                condition = self._context.expressions.condition(having.this, found.scope, grouping)
            except UserError as error:
                errors.add(error)
        errors.checkpoint_since(before)
        if having is not None and condition is not None and not (grouped or grouping.used):
            self._refuse_ungrouped(having, condition, items)
        node = found.node
        aggregated = grouping.used or grouped is not None or having is not None
        if aggregated:
            self._group_by_window(node, grouping)
            items = self._items_over(grouping, items, tree)
            flat = () if condition is None else _flat(condition)
            flat = tuple(self._over(grouping, each, tree) for each in flat)
            errors.checkpoint_since(before)
            node = grouping.node(node, span)
            node = Filter(node, flat, span) if flat else node
        plan: Node = Project(node, tuple(with_distinct_names(items)), span)
        plan = Distinct(plan, span) if tree.args.get("distinct") else plan
        return self._finished(tree, plan, aggregated, span)

    def _refuse_ungrouped(
        self, having: exp.Having, condition: Expression, items: Sequence[Chosen]
    ) -> None:
        """HAVING over the one group of all rows has no column to ask of."""
        if any(columns_of(each) for each in (condition, *(item[0] for item in items))):
            raise UserError(
                Diagnostic(
                    "MP133",
                    "HAVING asks groups, and there are none",
                    self._context.of(having),
                    helps=("write WHERE to ask rows, or GROUP BY to make groups",),
                )
            )

    def _items_over(
        self, grouping: Grouping, items: Sequence[Chosen], tree: exp.Select
    ) -> list[Chosen]:
        """The items over groups; of `*`, what is no group's is said at once."""
        found, starred = [], dict[int, list[str]]()
        for each, name, where in items:
            if not is_star(where):
                found.append((self._over(grouping, each, tree), name, where))
                continue
            try:
                found.append((grouping.over(each, tree), name, where))
            except UserError:
                starred.setdefault(id(where), []).append(f"`{name}`")
        for _, _, where in items:
            names = starred.pop(id(where), [])
            if names:
                said = f"of {shown(where)}, {', '.join(names)} are neither grouped nor aggregated"
                helps = ("name the columns, and take one value of these: MIN(...)",)
                self._context.errors.add(
                    UserError(Diagnostic("MP133", said, self._context.of(where), helps=helps))
                )
        return found

    def _over(self, grouping: Grouping, each: Expression, tree: exp.Select) -> Expression:
        try:
            return grouping.over(each, tree)
        except UserError as error:
            self._context.errors.add(error)
            return each

    def _finished(self, tree: exp.Select, plan: Node, aggregated: bool, span: Span) -> Node:
        """Internal windows, and what SELECT says of changes."""
        clause = tree.args.get("pond_changes")
        wstream = isinstance(clause, ChangesClause) and str(clause.this) == "WSTREAM"
        windows = list(_windows(plan))
        if aggregated and not wstream and any(each.spec.internal for each in windows):
            for each in windows:
                if not each.spec.internal and each.spec.extent is not Extent.UNBOUNDED:
                    raise UserError(
                        Diagnostic(
                            "MP136",
                            "an aggregate needs all of its windows INTERNAL, or none",
                            each.span,
                            helps=("add INTERNAL to this window",),
                        )
                    )
            plan = Results(plan, span)
        if clause is None:
            return plan
        assert isinstance(clause, ChangesClause)
        return changed_by(self._context, plan, clause)

    # Items -----------------------------------------------------------------------------------

    def _items(self, trees: Sequence[exp.Expr], scope: Scope, grouping: Grouping) -> list[Chosen]:
        items: list[Chosen] = []
        for tree in trees:
            expression, alias = tree, ""
            if isinstance(tree, exp.Alias):
                expression, alias = tree.this, tree.alias
            try:
                if is_star(expression):
                    self._refuse_name(tree)
                    items += self._star(expression, scope)
                    continue
                bound = self._context.expressions.bind(expression, scope, grouping)
            except UserError as error:
                self._context.errors.add(error)
                continue
            name = alias or name_of(expression, bound) or f"column{len(items) + 1}"
            items.append((bound, name, tree))
        return items

    def _refuse_name(self, item: exp.Expr) -> None:
        if isinstance(item, exp.Alias):
            span = self._context.of(item)
            helps = ("name the columns one by one",)
            raise UserError(Diagnostic("MP001", "`*` is several columns", span, helps=helps))

    def _star(self, tree: exp.Expr, scope: Scope) -> Iterator[Chosen]:
        span = self._context.of(tree)
        refuse_parts_of(tree, span)
        table = tree.table if isinstance(tree, exp.Column) else ""
        scope.refuse_left_out(table, span)
        known = scope.starred(table)
        if not known:
            raise UserError(
                Diagnostic(
                    "MP101",
                    f"the query reads no `{table}`",
                    span,
                    helps=did_you_mean(table, scope.qualifiers),
                )
            )
        for each in known:
            merged = scope.merged.get(each.field.name.lower())
            expression = each.ref if merged is None or table else merged
            yield replace(expression, span=span), each.field.name, tree

    # Groups ----------------------------------------------------------------------------------

    def _group(
        self,
        clause: exp.Group,
        items: Sequence[Chosen],
        scope: Scope,
        grouping: Grouping,
    ) -> None:
        for key, value in clause.args.items():
            if key != "expressions" and value:
                what = f"GROUP BY {key.upper().replace('_', ' ')}"
                self._context.errors.add(not_built(what, self._context.of(clause), _GROUPINGS))
        for each in clause.expressions:
            try:
                expression = self._key(each, items, scope)
            except UserError as error:
                self._context.errors.add(error)
                continue
            name = name_of(each, expression) or self._named_like(expression, items)
            grouping.group(expression, name)

    def _key(
        self,
        tree: exp.Expr,
        items: Sequence[Chosen],
        scope: Scope,
    ) -> Expression:
        """A key: an expression, the place of an item, or the name of one."""
        place = integer_of(tree)
        span = self._context.of(tree)
        if isinstance(tree, exp.Rollup | exp.Cube | exp.GroupingSets):
            raise not_built(f"GROUP BY {shown(tree)}", span, _GROUPINGS)
        if place is not None:
            if not 1 <= place <= len(items):
                helps = (f"SELECT has {len(items)}, counted from 1",)
                raise UserError(
                    Diagnostic("MP133", f"SELECT has no item {place}", span, helps=helps)
                )
            return self._no_aggregate(items[place - 1], span)
        if isinstance(tree, exp.Column) and not tree.table:
            named = [each for each in items if each[1].lower() == tree.name.lower()]
            known = {each.field.name.lower() for each in scope.columns}
            if named and tree.name.lower() not in known:
                return self._no_aggregate(named[0], span)
        return self._context.expressions.bind(tree, scope, _IN_GROUP_BY)

    def _no_aggregate(self, item: Chosen, span: Span) -> Expression:
        if aggregated_in(item[0]):
            raise UserError(
                Diagnostic("MP132", f"`{item[1]}` is an aggregate, and no group", span, helps=())
            )
        return item[0]

    def _named_like(self, expression: Expression, items: Sequence[Chosen]) -> str:
        return next((name for each, name, _ in items if each == expression), "key")

    def _group_by_window(self, node: Node, grouping: Grouping) -> None:
        """Rows of TUMBLE, HOP and SESSION are grouped by their window, said or not."""
        for each in nodes(node):
            if not isinstance(each, Assign):
                continue
            for known in each.fields:
                visible = any(
                    other.alias == known.alias and other.name == known.name for other in node.fields
                )
                if known.name in WINDOW_COLUMNS and visible:
                    ref = ColumnRef(known.alias, known.name, known.type, known.nullable)
                    grouping.group(ref, known.name)


_IN_GROUP_BY = NoAggregates("in GROUP BY", "group by a subquery's column: FROM (SELECT SUM(a) ...)")
_GROUPINGS = "write a query for each grouping, and UNION ALL them"


def _windows(plan: Node) -> Iterator[Window]:
    """The windows that rows come out of; those below results are a query's of its own."""
    if isinstance(plan, Window):
        yield plan
    elif not isinstance(plan, Results | Changes):
        for each in plan.inputs:
            yield from _windows(each)


def _flat(condition: Expression) -> tuple[Expression, ...]:
    if isinstance(condition, Logical) and condition.op == "AND":
        return condition.operands
    return (condition,)
