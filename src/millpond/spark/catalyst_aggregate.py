"""GROUP BY of a Catalyst plan: groups, and the aggregate functions that its columns ask for."""

from __future__ import annotations

from collections.abc import Sequence

from millpond.plan import AGGREGATES, AggregateCall, ColumnRef, Expression, Item, Literal
from millpond.schema import HUGEINT
from millpond.spark.catalyst import Expr, Session
from millpond.spark.catalyst_expression import (
    Columns,
    Expressions,
    Missing,
    OutsideError,
    snake,
)

_FUNCTIONS = {
    "Count": "COUNT",
    "Sum": "SUM",
    "Average": "AVG",
    "Min": "MIN",
    "Max": "MAX",
    "StddevSamp": "STDDEV_SAMP",
    "StddevPop": "STDDEV_POP",
    "VarianceSamp": "VAR_SAMP",
    "VariancePop": "VAR_POP",
}


class Grouping(Expressions):
    """Translates the columns of an aggregate; collects its groups and calls."""

    def __init__(
        self, columns: Columns, session: Session, groups: Sequence[Expr], items: Sequence[Expr]
    ) -> None:
        super().__init__({}, session)
        self._below = Expressions(columns, session)
        self.groups: list[Item] = []
        self.calls: list[AggregateCall] = []
        for each in groups:
            self._group(each, items)

    def _group(self, expr: Expr, items: Sequence[Expr]) -> None:
        found = self._below.of(expr)
        if any(each.expression == found for each in self.groups):
            return
        same = (each.name for each in items if _stripped(each) == _stripped(expr))
        name = expr.name if expr.kind == "AttributeReference" else next(same, "group")
        self.groups.append(Item(found, self._unique(name)))

    def shown(self, expr: Expr) -> Expression | Missing:
        """What a column of the answer shows."""
        try:
            return self.of(expr)
        except OutsideError as error:
            return Missing(error.what, error.span)

    def of(self, expr: Expr) -> Expression:
        if expr.kind == "AggregateExpression":
            return self._collected(expr)
        grouped = self._grouped(expr)
        return super().of(expr) if grouped is None else grouped

    def _grouped(self, expr: Expr) -> Expression | None:
        try:
            found = self._below.of(expr)
        except OutsideError:
            return None
        for each in self.groups:
            if each.expression == found:
                type_, nullable = found.type, found.nullable
                return ColumnRef(None, each.name, type_, nullable, expr.span)
        return None

    def _collected(self, expr: Expr) -> Expression:
        function, *condition = expr.children
        name = _FUNCTIONS.get(function.kind)
        if name is None:
            raise OutsideError(
                f"the aggregate `{snake(function.kind)}` is not known here", expr.span
            )
        if len(function.children) != 1:
            raise OutsideError(f"{name} of several columns is not known here", expr.span)
        distinct = bool(expr.fields["isDistinct"])
        argument: Expression | None = self._below.of(function.children[0])
        if name == "COUNT" and isinstance(argument, Literal) and argument.value is not None:
            argument, distinct = None, False
        type_ = HUGEINT if argument is None else AGGREGATES[name].result(argument.type)
        if type_ is None:
            raise OutsideError(f"{name} of {argument} is not known here", expr.span)
        filter_ = self._below.of(condition[0]) if condition else None
        made = AggregateCall(
            name, argument, distinct, self._unique(name.lower()), type_, filter_, expr.span
        )
        self.calls.append(made)
        return ColumnRef(None, made.name, type_, made.nullable, expr.span)

    def _unique(self, name: str) -> str:
        taken = {each.name for each in self.groups} | {each.name for each in self.calls}
        found, count = name, 1
        while found in taken:
            count += 1
            found = f"{name}_{count}"
        return found


def _stripped(expr: Expr) -> Expr:
    """An expression without the name that it is given."""
    return expr.children[0] if expr.kind == "Alias" else expr
