"""Expressions with other expressions in the place of their columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from millpond.plan.expression import (
    Call,
    Case,
    Cast,
    ColumnRef,
    Comparison,
    Expression,
    InList,
    Is,
    Literal,
    Logical,
    Not,
)

Substitution = Callable[[ColumnRef], Expression]


def with_columns(expression: Expression, of: Substitution) -> Expression:
    """An expression with `of(column)` in the place of every column.

    >>> from millpond.plan import Comparison, Operator, integer
    >>> from millpond.schema import INT
    >>> x = ColumnRef("s", "x", INT, True)
    >>> str(with_columns(Comparison(Operator.LT, x, integer(3)), lambda _: integer(2)))
    '2 < 3'
    """
    into = partial(with_columns, of=of)
    match expression:
        case ColumnRef():
            return of(expression)
        case Literal():
            return expression
        case Comparison(left=left, right=right):
            return replace(expression, left=into(left), right=into(right))
        case Logical(operands=operands):
            return replace(expression, operands=tuple(map(into, operands)))
        case Not(operand=operand) | Is(operand=operand) | Cast(operand=operand):
            return replace(expression, operand=into(operand))
        case InList(operand=operand, items=items):
            return replace(expression, operand=into(operand), items=tuple(map(into, items)))
        case Case(branches=branches, otherwise=otherwise):
            arms = tuple((into(condition), into(value)) for condition, value in branches)
            return replace(expression, branches=arms, otherwise=into(otherwise))
        case Call(arguments=arguments):
            return replace(expression, arguments=tuple(map(into, arguments)))
