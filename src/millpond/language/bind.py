"""Resolves the names and types of a SELECT and makes a plan of it.

Every part of the parsed tree is either understood or refused: `_refuse_the_rest` looks at what
sqlglot filled in, so that a clause that is not built can never be passed over.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from millpond.diagnostic import (
    Collector,
    Diagnostic,
    Span,
    UserError,
    did_you_mean,
)
from millpond.language.constants import comparison_of, integer_of, not_built, shown
from millpond.language.spans import Places
from millpond.plan import (
    ColumnRef,
    Comparison,
    Cross,
    Distinct,
    Filter,
    Item,
    Literal,
    Node,
    Operator,
    Project,
    Scan,
)
from millpond.schema import Catalog

_SELECT_TAKES = {"expressions", "from_", "joins", "where", "distinct"}
_NAMES = {
    "group": "GROUP BY",
    "having": "HAVING",
    "order": "ORDER BY",
    "limit": "LIMIT",
    "offset": "OFFSET",
    "with_": "WITH",
    "windows": "WINDOW",
    "qualify": "QUALIFY",
    "laterals": "LATERAL",
    "using": "joins with USING",
    "sample": "TABLESAMPLE",
    "locks": "FOR UPDATE",
    "into": "INTO",
    "pivots": "PIVOT",
    "hint": "hints",
    "db": "names with a dot in FROM",
    "joins": "joins in parentheses",
}
_INSTEAD = {
    "order": "leave it out: an answer is a bag, and what is printed is sorted",
    "limit": "leave it out, or bound a column: `WHERE a <= 10`",
}
_SET_OPERATIONS: dict[type[exp.Expr], str] = {
    exp.Union: "UNION",
    exp.Except: "EXCEPT",
    exp.Intersect: "INTERSECT",
}


def bind_select(tree: exp.Expr, catalog: Catalog, places: Places) -> Node:
    """The plan of a SELECT; raises with everything that is wrong in it."""
    return _Binder(catalog, places).bind(tree)


class _Binder:
    def __init__(self, catalog: Catalog, places: Places) -> None:
        self._catalog = catalog
        self._places = places
        self._errors = Collector()
        self._scans: list[Scan] = []

    def bind(self, tree: exp.Expr) -> Node:
        span = self._places.whole
        if isinstance(tree, exp.Subquery):
            raise not_built("queries in parentheses", span, "leave the parentheses out")
        if not isinstance(tree, exp.Select):
            raise not_built(_SET_OPERATIONS.get(type(tree), "this kind of query"), span)
        self._refuse_the_rest(tree, _SELECT_TAKES)
        if tree.args.get("with_"):  # its names would be called unknown streams
            self._errors.checkpoint()
        conditions = self._from(tree)
        self._errors.checkpoint()
        predicates = [each for condition in conditions for each in self._conjuncts(condition)]
        items = self._items(tree.expressions)
        self._errors.checkpoint()
        plan: Node = self._scans[0]
        if len(self._scans) > 1:
            plan = Cross(tuple(self._scans), span)
        if predicates:
            plan = Filter(plan, tuple(predicates), span)
        plan = Project(plan, tuple(items), span)
        if tree.args.get("distinct"):
            if tree.args["distinct"].args.get("on"):
                raise not_built("DISTINCT ON", span)
            plan = Distinct(plan, span)
        return plan

    # FROM ------------------------------------------------------------------------------------

    def _from(self, tree: exp.Select) -> list[exp.Expr]:
        """Fills `_scans`; the conditions of WHERE and ON."""
        clause = tree.args.get("from_")
        if clause is None:
            raise UserError(
                Diagnostic(
                    "MP001",
                    "the query reads no stream",
                    self._places.whole,
                    helps=("write `SELECT ... FROM stream`",),
                )
            )
        conditions = []
        self._scan(clause.this)
        for join in tree.args.get("joins") or ():
            self._refuse_the_rest(join, {"this", "on", "kind", "side", "method"})
            sort = " ".join(join.args.get(key) or "" for key in ("method", "side", "kind")).strip()
            if sort not in ("", "INNER", "CROSS"):
                self._errors.add(not_built(f"{sort} joins", self._of(join)))
            self._scan(join.this)
            if join.args.get("on") is not None:
                conditions.append(join.args["on"])
        if tree.args.get("where") is not None:
            conditions.append(tree.args["where"].this)
        return conditions

    def _scan(self, table: exp.Expr) -> None:
        span = self._of(table)
        if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
            self._errors.add(not_built("subqueries and functions in FROM", span))
            return
        self._refuse_the_rest(table, {"this", "alias"})
        stream = self._catalog.get(table.name)
        if stream is None:
            self._errors.add(
                UserError(
                    Diagnostic(
                        "MP101",
                        f"unknown stream `{table.name}`",
                        self._places.of(table.this, span),
                        helps=did_you_mean(table.name, self._catalog.names)
                        or ("declare it with CREATE STREAM",),
                    )
                )
            )
            return
        alias = table.args.get("alias")
        if alias is not None and alias.args.get("columns"):
            self._errors.add(not_built("column lists behind an alias", span))
        name = table.alias or stream.name
        if any(name.lower() == each.alias.lower() for each in self._scans):
            self._errors.add(
                UserError(
                    Diagnostic(
                        "MP104",
                        f"`{name}` stands twice in FROM",
                        span,
                        helps=(f"name each use: `{stream.name} AS {stream.name}2`",),
                    )
                )
            )
            return
        self._scans.append(Scan(stream, name, span))

    # WHERE -----------------------------------------------------------------------------------

    def _conjuncts(self, tree: exp.Expr) -> Iterator[Comparison]:
        match tree:
            case exp.Paren():
                yield from self._conjuncts(tree.this)
            case exp.And():
                for each in tree.flatten():
                    yield from self._conjuncts(each)
            case exp.Between() if not tree.args.get("symmetric"):
                span = self._of(tree)
                value = self._operand(tree.this)
                low, high = self._operand(tree.args["low"]), self._operand(tree.args["high"])
                if value is not None and low is not None:
                    yield Comparison(Operator.GE, value, low, span)
                if value is not None and high is not None:
                    yield Comparison(Operator.LE, value, high, span)
            case _:
                compared = comparison_of(tree)
                if compared is None:
                    self._errors.add(
                        not_built(
                            f"the condition {shown(tree)}",
                            self._of(tree),
                            "write a conjunction (AND) of comparisons `<  <=  =  >=  >` of "
                            "columns and integers",
                        )
                    )
                    return
                op, left, right = compared
                bound_left, bound_right = self._operand(left), self._operand(right)
                if bound_left is not None and bound_right is not None:
                    yield Comparison(op, bound_left, bound_right, self._of(tree))

    def _operand(self, tree: exp.Expr) -> ColumnRef | Literal | None:
        """A column or a constant; None, with what is wrong noted, if it is neither."""
        try:
            return self._column_or_constant(tree)
        except UserError as error:
            self._errors.add(error)
            return None

    def _column_or_constant(self, tree: exp.Expr) -> ColumnRef | Literal:
        span = self._of(tree)
        if isinstance(tree, exp.Paren):
            return self._column_or_constant(tree.this)
        if isinstance(tree, exp.Column):
            return self._column(tree, span)
        if isinstance(tree, exp.Null):
            return Literal(None, span)
        value = integer_of(tree)
        if value is not None:
            return Literal(value, span)
        if isinstance(tree, exp.Literal):
            raise UserError(
                Diagnostic(
                    "MP105",
                    f"an integer is needed here, not {shown(tree)}",
                    span,
                    helps=("the columns of this version are integers",),
                )
            )
        raise not_built(f"the expression {shown(tree)}", span, "write a column or an integer")

    def _column(self, tree: exp.Column, span: Span) -> ColumnRef:
        name, table = tree.name, tree.table
        if tree.args.get("db") or not isinstance(tree.this, exp.Identifier):
            raise not_built(f"the reference {shown(tree)}", span)
        scans = self._scans
        if table:
            scans = [each for each in self._scans if each.alias.lower() == table.lower()]
            if not scans:
                raise UserError(
                    Diagnostic(
                        "MP101",
                        f"the query reads no `{table}`",
                        span,
                        helps=did_you_mean(table, [each.alias for each in self._scans]),
                    )
                )
        found = [(each, each.stream.column(name)) for each in scans]
        matches = [(scan, column) for scan, column in found if column is not None]
        if not matches:
            known = [column.name for scan in scans for column in scan.stream.columns]
            where = f"`{table}`" if table else "no stream of the query"
            said = f"{where} has no column `{name}`" if table else f"{where} has a column `{name}`"
            raise UserError(Diagnostic("MP102", said, span, helps=did_you_mean(name, known)))
        if len(matches) > 1:
            choices = " or ".join(f"`{scan.alias}.{column.name}`" for scan, column in matches)
            raise UserError(
                Diagnostic(
                    "MP103", f"column `{name}` is ambiguous", span, helps=(f"write {choices}",)
                )
            )
        scan, column = matches[0]
        return ColumnRef(scan.alias, column.name, column.type, column.nullable, span)

    # SELECT ----------------------------------------------------------------------------------

    def _items(self, trees: list[exp.Expr]) -> list[Item]:
        items: list[tuple[ColumnRef | Literal, str]] = []
        for tree in trees:
            expression, alias = tree, ""
            if isinstance(tree, exp.Alias):
                expression, alias = tree.this, tree.alias
            if isinstance(expression, exp.Star) or (
                isinstance(expression, exp.Column) and isinstance(expression.this, exp.Star)
            ):
                items += self._star(expression)
                continue
            bound = self._operand(expression)
            if bound is None:
                continue
            if not alias:
                alias = bound.name if isinstance(bound, ColumnRef) else f"column{len(items) + 1}"
            items.append((bound, alias))
        return _with_distinct_names(items)

    def _star(self, tree: exp.Expr) -> Iterator[tuple[ColumnRef | Literal, str]]:
        span = self._of(tree)
        star = tree.this if isinstance(tree, exp.Column) else tree
        if any(star.args.values()):
            self._errors.add(not_built("EXCEPT and REPLACE behind *", span))
        table = tree.table if isinstance(tree, exp.Column) else ""
        scans = [each for each in self._scans if not table or each.alias.lower() == table.lower()]
        if not scans:
            self._errors.add(
                UserError(
                    Diagnostic(
                        "MP101",
                        f"the query reads no `{table}`",
                        span,
                        helps=did_you_mean(table, [each.alias for each in self._scans]),
                    )
                )
            )
        for scan in scans:
            for column in scan.stream.columns:
                yield (
                    ColumnRef(scan.alias, column.name, column.type, column.nullable, span),
                    column.name,
                )

    # -----------------------------------------------------------------------------------------

    def _refuse_the_rest(self, tree: exp.Expr, taken: set[str]) -> None:
        for key, value in tree.args.items():
            if key in taken or not value:
                continue
            first = value[0] if isinstance(value, list) else value
            span = self._of(first if isinstance(first, exp.Expr) else tree)
            helps = (_INSTEAD[key],) if key in _INSTEAD else ()
            self._errors.add(not_built(_NAMES.get(key, "a part of this query"), span, *helps))

    def _of(self, tree: exp.Expr) -> Span:
        return self._places.of(tree)


def _with_distinct_names(items: list[tuple[ColumnRef | Literal, str]]) -> list[Item]:
    """A repeated name gets `_2`, `_3`, as the contract of the output says."""
    taken = {name for _, name in items}
    seen: set[str] = set()
    named = []
    for expression, name in items:
        unique, number = name, 2
        while unique in seen or (unique != name and unique in taken):
            unique, number = f"{name}_{number}", number + 1
        seen.add(unique)
        named.append(Item(expression, unique))
    return named
