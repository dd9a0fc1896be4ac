"""GROUP BY and aggregate functions: from the expressions of SELECT and HAVING to an `Aggregate`.

Expressions are bound against FROM first, with every aggregate replaced by a column of its own; what
is left has to be made of group keys, which become columns as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from sqlglot import exp

from millpond.diagnostic import Diagnostic, Span, UserError
from millpond.language.constants import shown
from millpond.language.expressions import ExpressionBinder, NoAggregates
from millpond.language.functions import AggregateFunction, aggregate_of
from millpond.language.scope import Scope, unique
from millpond.plan import (
    Aggregate,
    AggregateCall,
    Call,
    Case,
    Cast,
    ColumnRef,
    Comparison,
    Expression,
    InList,
    Is,
    Item,
    Literal,
    Logical,
    Node,
    Not,
    columns_of,
)
from millpond.schema import HUGEINT

INSIDE = NoAggregates("inside another", "take the inner one in a subquery in FROM")
_COLLECTED = "\0aggregate"
"""The alias of a column that stands for an aggregate until the `Aggregate` node is there; no user
can write it."""


class Grouping:
    """The groups of one SELECT and the aggregates that its expressions ask for."""

    def __init__(self, binder: ExpressionBinder) -> None:
        self._binder = binder
        self._groups: list[Item] = []
        self._calls: list[AggregateCall] = []

    @property
    def used(self) -> bool:
        """Whether an aggregate was asked for."""
        return bool(self._calls)

    def group(self, expression: Expression, name: str) -> None:
        """One more key, unless it is there."""
        if all(each.expression != expression for each in self._groups):
            self._groups.append(Item(expression, unique(name, self._names())))

    def collect(self, call: exp.Anonymous, condition: exp.Expr | None, scope: Scope) -> Expression:
        """An aggregate function, as the column that holds its value."""
        span = self._binder.of(call)
        function = aggregate_of(call, self._binder.catalog)
        assert function is not None
        distinct, argument = self._argument(call, scope, function, span)
        filter_ = None if condition is None else self._binder.condition(condition, scope, INSIDE)
        result = HUGEINT if argument is None else function.result(argument.type)
        if result is None:
            assert argument is not None
            raise UserError(
                Diagnostic(
                    "MP144",
                    f"{function.name} does not take {argument.type}",
                    span,
                    helps=(f"{function.name} takes {function.takes}",),
                )
            )
        for each in self._calls:
            if (each.function, each.argument, each.distinct, each.filter) == (
                function.name,
                argument,
                distinct,
                filter_,
            ):
                return _ref(each)
        made = AggregateCall(
            function.name,
            argument,
            distinct,
            unique(function.name.lower(), self._names()),
            result,
            filter_,
            span,
            function.declared,
        )
        self._calls.append(made)
        return _ref(made)

    def node(self, input_: Node, span: Span) -> Aggregate:
        """The node, once everything was collected."""
        calls = [replace(each, name=self._final(each.name)) for each in self._calls]
        return Aggregate(input_, tuple(self._groups), tuple(calls), span)

    def over(self, expression: Expression, tree: exp.Expr) -> Expression:
        """An expression over the node's columns; raises where a column is no group's."""
        for each in self._groups:
            if each.expression == expression:
                value = each.expression
                return ColumnRef(None, each.name, value.type, value.nullable, expression.span)
        if isinstance(expression, ColumnRef):
            if expression.alias == _COLLECTED:
                return replace(expression, alias=None, name=self._final(expression.name))
            span = expression.span or self._binder.of(tree)
            raise UserError(
                Diagnostic(
                    "MP133",
                    f"`{span.text}` is neither grouped nor aggregated",
                    span,
                    helps=(f"write GROUP BY {span.text}, or take one value: MIN({span.text})",),
                )
            )
        return rebuilt(expression, lambda each: self.over(each, tree))

    def _argument(
        self, call: exp.Anonymous, scope: Scope, function: AggregateFunction, span: Span
    ) -> tuple[bool, Expression | None]:
        arguments, name = list(call.expressions), function.name
        distinct = len(arguments) == 1 and isinstance(arguments[0], exp.Distinct)
        if distinct:
            arguments = list(arguments[0].expressions)
        star = len(arguments) == 1 and isinstance(arguments[0], exp.Star)
        if name == "COUNT" and not distinct and (star or not arguments):
            return False, None
        if len(arguments) != 1 or star:
            given = ", ".join(shown(each) for each in arguments) or "nothing"
            helps = [f"{name} takes one argument: {function.takes}"]
            if star:
                helps.append("COUNT(*) counts rows")
            said = f"{name} does not take {given}"
            raise UserError(Diagnostic("MP144", said, span, helps=tuple(helps)))
        return distinct, self._binder.bind(arguments[0], scope, INSIDE)

    def _names(self) -> list[str]:
        return [each.name for each in self._groups] + [each.name for each in self._calls]

    def _final(self, name: str) -> str:
        """The name of an aggregate's column: a key that came later may have the same."""
        return unique(name, [each.name for each in self._groups])


def _ref(call: AggregateCall) -> ColumnRef:
    return ColumnRef(_COLLECTED, call.name, call.type, call.nullable, call.span)


def aggregated_in(expression: Expression) -> bool:
    """Whether an aggregate that was collected is part of an expression."""
    return any(each.alias == _COLLECTED for each in columns_of(expression))


def rebuilt(expression: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """The same expression with each of its operands changed."""
    match expression:
        case ColumnRef() | Literal():
            return expression
        case Comparison():
            return replace(expression, left=change(expression.left), right=change(expression.right))
        case Logical():
            return replace(expression, operands=_each(expression.operands, change))
        case Not() | Is() | Cast():
            return replace(expression, operand=change(expression.operand))
        case InList():
            return replace(
                expression,
                operand=change(expression.operand),
                items=_each(expression.items, change),
            )
        case Case():
            return replace(
                expression,
                branches=tuple((change(c), change(v)) for c, v in expression.branches),
                otherwise=change(expression.otherwise),
            )
        case Call():
            return replace(expression, arguments=_each(expression.arguments, change))


def _each(
    expressions: Sequence[Expression], change: Callable[[Expression], Expression]
) -> tuple[Expression, ...]:
    return tuple(change(each) for each in expressions)
