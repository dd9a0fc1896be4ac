"""The conditions of joins: ON, USING and NATURAL.

ON sees the inputs that its JOIN puts together, and none that a comma sets beside them: the comma
binds looser.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from millpond.diagnostic import Diagnostic, Span, UserError
from millpond.language.constants import not_built
from millpond.language.context import Context
from millpond.language.expressions import IN_ROWS, NoAggregates
from millpond.language.scope import Scope
from millpond.plan import Call, ColumnRef, Expression, Operator, columns_of

IN_ON = NoAggregates("in ON", IN_ROWS)


class JoinConditions:
    """Binds the conditions of the joins of one FROM; USING merges columns of its scope."""

    def __init__(self, context: Context, scope: Scope) -> None:
        self._context = context
        self._scope = scope

    def refuse_form(self, join: exp.Join, span: Span) -> None:
        """Joins that nobody knows, and those whose condition is missing or has no place."""
        kind, method = (join.kind or "").upper(), (join.args.get("method") or "").upper()
        if method not in ("", "NATURAL"):
            raise not_built(f"{method} joins", span, "write JOIN with ON")
        if kind not in ("", "INNER", "CROSS", "OUTER", "SEMI", "ANTI"):
            raise not_built(f"{kind} joins", span)
        side = (join.side or "").upper()
        if kind in ("SEMI", "ANTI") and side not in ("", "LEFT"):
            raise not_built(f"{side} {kind} joins", span, "put the other input first")
        if kind == "OUTER" and not side:
            message = "an OUTER JOIN says of which side all rows are kept"
            helps = ("write LEFT JOIN, RIGHT JOIN or FULL JOIN",)
            raise UserError(Diagnostic("MP001", message, span, helps=helps))
        said = join.args.get("on") or join.args.get("using")
        name = " ".join(each for each in (side, kind, "JOIN") if each)
        if kind == "CROSS" or method:
            if said:
                where = self._context.places.of(said[0] if isinstance(said, list) else said)
                message = f"a {method or 'CROSS'} JOIN has no condition"
                raise UserError(Diagnostic("MP001", message, where, helps=("write JOIN ... ON",)))
        elif not said:
            helps = ("write ON, or USING (column)",)
            if not join.side and kind in ("", "INNER"):
                helps = ("write ON, USING (column), or CROSS JOIN",)
            raise UserError(
                Diagnostic("MP001", f"a {name} needs a condition: ON", span, helps=helps)
            )

    def conditions(self, join: exp.Join, start: int, known: int, side: str) -> list[Expression]:
        """ON, USING or NATURAL; the columns from `start` to `known` are those of the left side."""
        if join.args.get("on") is not None:
            found = list(self.conjuncts(join.args["on"], self._scope.part(start)))
            kind = (join.kind or "").upper()
            if side or kind in ("SEMI", "ANTI"):
                self._refuse_outer_columns(found, join)
            return found
        names = [
            (each.name, self._context.places.of(each)) for each in join.args.get("using") or ()
        ]
        if (join.args.get("method") or "").upper() == "NATURAL":
            span = self._context.places.of(join)
            names = [(name, span) for name in self._common(start, known)]
            if not names:
                message = "a NATURAL JOIN of inputs that have no column in common"
                helps = ("write JOIN ... ON, or CROSS JOIN",)
                raise UserError(Diagnostic("MP102", message, span, helps=helps))
        return [self._using(name, start, known, side, span) for name, span in names]

    def _refuse_outer_columns(self, conditions: Sequence[Expression], join: exp.Join) -> None:
        """Only a condition of WHERE can be taken out of a subquery into the query around it."""
        for each in conditions:
            for ref in columns_of(each):
                if not self._scope.holds(ref):
                    raise not_built(
                        "ON with a column of the query around it",
                        ref.span or self._context.places.of(join),
                        "ask it in WHERE",
                    )

    def conjuncts(self, tree: exp.Expr, scope: Scope) -> Iterator[Expression]:
        """The conditions that AND joins."""
        match tree:
            case exp.Paren():
                yield from self.conjuncts(tree.this, scope)
            case exp.And():
                for each in tree.flatten():
                    yield from self.conjuncts(each, scope)
            case exp.Between():
                yield from self._context.expressions.between(tree, scope, IN_ON)
            case _:
                yield self._context.expressions.condition(tree, scope, IN_ON)

    def _common(self, start: int, known: int) -> list[str]:
        left = {each.field.name.lower() for each in self._scope.columns[start:known]}
        return [
            each.field.name
            for each in self._scope.columns[known:]
            if each.field.name.lower() in left
        ]

    def _using(self, name: str, start: int, known: int, side: str, span: Span) -> Expression:
        """`left.name = right.name`; unqualified, the name means the one of them that has rows."""
        left = self._of_side(self._scope.part(start, known), name, span)
        right = self._of_side(Scope(self._scope.columns[known:]), name, span)
        assert isinstance(right, ColumnRef)
        self._scope.hidden.add((right.alias, right.name))
        means = right if side == "RIGHT" else left
        if side == "FULL":
            means = Call("COALESCE", (left, right), left.type, True, span)
        self._scope.merged[name.lower()] = means
        return self._context.expressions.compare(Operator.EQ, left, right, span)

    def _of_side(self, side: Scope, name: str, span: Span) -> Expression:
        only = side.qualifiers[0] if len(side.qualifiers) == 1 else ""
        return side.find(only, name, span)
