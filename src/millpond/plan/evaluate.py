"""Expressions as functions of a row: the places of columns are looked up once, the rest is calls.

Logic is three-valued as in SQL.  Evaluation goes from left to right and stops where the result is
known (AND at FALSE, OR and IN at TRUE, CASE at the branch taken, COALESCE at the first value), so
that which expression fails for a row does not depend on how it is run.  Numbers of different kinds
compare by their exact values; a decimal constant beside a DOUBLE is the DOUBLE nearest to it, so
that `x = 0.1` is what it seems to be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from millpond.diagnostic import Diagnostic, InputError, Span
from millpond.plan.expression import (
    COMPARISONS,
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
    Operator,
)
from millpond.plan.functions import SCALARS, EvaluationError, converter
from millpond.plan.node import Field
from millpond.plan.user_code import UserCodeError
from millpond.schema import DOUBLE, TIMESTAMP, Kind, Row, Type, Value

Evaluator = Callable[[Row], Value]


def compiled(expression: Expression, fields: Sequence[Field]) -> Evaluator:
    """The function that gives an expression's value for a row of these fields; what has no value
    is an EvaluationError."""
    return all_compiled([expression], fields)[0]


def all_compiled(expressions: Iterable[Expression], fields: Sequence[Field]) -> list[Evaluator]:
    """The same for several expressions over the same fields."""
    compiler = _Compiler(fields)
    return [compiler.of(each) for each in expressions]


def holds(predicates: Sequence[Expression], fields: Sequence[Field]) -> Callable[[Row], bool]:
    """Whether all predicates are true of a row of these fields; unknown is not true."""
    tests = all_compiled(predicates, fields)
    if len(tests) == 1:
        (only,) = tests
        return lambda row: only(row) is True
    both = _stopping(tests, at=False)
    return lambda row: both(row) is True


def no_value(error: EvaluationError) -> InputError:
    """The error of a row for which an expression has no value, as it is reported."""
    if isinstance(error, UserCodeError):
        return InputError(Diagnostic("MP315", str(error), error.span, error.notes, error.helps))
    return InputError(
        Diagnostic(
            "MP309",
            f"an expression has no value for a row: {error}",
            error.span,
            helps=("leave such rows out with WHERE or CASE, or CAST to a wider type first",),
        )
    )


class _Compiler:
    """Compiles the expressions over rows of some fields."""

    def __init__(self, fields: Sequence[Field]) -> None:
        self._places = {(each.alias, each.name): place for place, each in enumerate(fields)}
        self._dispatch: Mapping[type, Callable[..., Evaluator]] = {
            ColumnRef: self._column,
            Literal: self._literal,
            Comparison: self._comparison,
            Logical: self._logical,
            Not: self._not,
            Is: self._is,
            InList: self._in,
            Case: self._case,
            Cast: self._cast,
            Call: self._call,
        }

    def of(self, expression: Expression) -> Evaluator:
        compile = self._dispatch.get(type(expression))
        if compile is None:
            raise TypeError(f"{type(expression).__name__} is no expression")
        return compile(expression)

    def _as(self, expression: Expression, target: Type) -> Evaluator:
        """An expression as a type that it converts to by itself."""
        inner = self.of(expression)
        if expression.type == target or expression.type.kind is Kind.NULL:
            return inner
        change = converter(expression.type, target)
        return _placed(lambda row: change(inner(row)), expression.span)

    def _column(self, ref: ColumnRef) -> Evaluator:
        place = self._places.get((ref.alias, ref.name))
        if place is None:
            raise ValueError(f"{ref} is no column of the input")
        return lambda row: row[place]

    def _literal(self, literal: Literal) -> Evaluator:
        value = literal.value
        return lambda row: value

    def _comparison(self, comparison: Comparison) -> Evaluator:
        left, right = self._compared((comparison.left, comparison.right))
        compare = COMPARISONS[comparison.op]
        null_safe = comparison.op is Operator.SAME

        def value(row: Row) -> Value:
            one, other = left(row), right(row)
            if one is None or other is None:
                return one is other if null_safe else None
            return compare(one, other)

        return value

    def _compared(self, parts: Sequence[Expression]) -> list[Evaluator]:
        """Values that Python compares as SQL does."""
        kinds = {each.type.kind for each in parts}
        return [self._as(each, _comparable(each, kinds)) for each in parts]

    def _logical(self, logical: Logical) -> Evaluator:
        return _stopping([self.of(each) for each in logical.operands], at=logical.op == "OR")

    def _not(self, negation: Not) -> Evaluator:
        operand = self.of(negation.operand)

        def value(row: Row) -> Value:
            found = operand(row)
            return None if found is None else not found

        return value

    def _is(self, test: Is) -> Evaluator:
        operand, wanted = self.of(test.operand), test.value
        return lambda row: operand(row) is wanted

    def _in(self, test: InList) -> Evaluator:
        operand, *items = self._compared(test.inputs)
        if all(isinstance(each, Literal) for each in test.items):
            return _among(operand, [each(()) for each in items])

        def value(row: Row) -> Value:
            sought = operand(row)
            unknown = False
            for each in items:
                found = each(row)
                if sought is None or found is None:
                    unknown = True
                elif sought == found:
                    return True
            return None if unknown else False

        return value

    def _case(self, case: Case) -> Evaluator:
        branches = [
            (self.of(condition), self._as(value, case.type)) for condition, value in case.branches
        ]
        otherwise = self._as(case.otherwise, case.type)

        def value(row: Row) -> Value:
            for condition, taken in branches:
                if condition(row) is True:
                    return taken(row)
            return otherwise(row)

        return value

    def _cast(self, cast: Cast) -> Evaluator:
        operand = self.of(cast.operand)
        change = converter(cast.operand.type, cast.type)
        return _placed(lambda row: change(operand(row)), cast.span)

    def _call(self, call: Call) -> Evaluator:
        function = SCALARS[call.function]
        over = function.over([each.type for each in call.arguments])
        parts = [self.of(each) for each in call.arguments]
        if function.lazy:
            return _placed(lambda row: over(*(partial(each, row) for each in parts)), call.span)
        return _placed(lambda row: over(*(each(row) for each in parts)), call.span)


def _comparable(part: Expression, kinds: set[Kind]) -> Type:
    """The type in which a value compares with values of these kinds."""
    if part.type.kind is Kind.DATE and Kind.TIMESTAMP in kinds:
        return TIMESTAMP
    if part.type.kind is Kind.DECIMAL and Kind.DOUBLE in kinds and isinstance(part, Literal):
        return DOUBLE
    return part.type


def _stopping(parts: Sequence[Evaluator], *, at: bool) -> Evaluator:
    """OR, which stops at TRUE, or AND, which stops at FALSE."""

    def value(row: Row) -> Value:
        unknown = False
        for each in parts:
            found = each(row)
            if found is at:
                return at
            unknown = unknown or found is None
        return None if unknown else not at

    return value


def _among(operand: Evaluator, items: Sequence[Value]) -> Evaluator:
    """IN over constants."""
    there = {each for each in items if each is not None}
    otherwise = None if None in items else False

    def value(row: Row) -> Value:
        sought = operand(row)
        if sought is None:
            return None
        return True if sought in there else otherwise

    return value


def _placed(inner: Evaluator, span: Span | None) -> Evaluator:
    """Says where in the text an error came from, the innermost place first."""

    def value(row: Row) -> Value:
        try:
            return inner(row)
        except EvaluationError as error:
            error.span = error.span or span
            raise

    return value
