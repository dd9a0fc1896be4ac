"""Catalyst's expressions as ours, where both mean the same; all else is `OutsideError`, by name.

Casts that leave every value as it is are left out: Spark adds them to make types equal, and order
is decided over numbers of any type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from millpond.diagnostic import Span
from millpond.plan import (
    SCALARS,
    Call,
    Case,
    Comparison,
    Expression,
    InList,
    Is,
    Literal,
    Logical,
    Not,
    Operator,
)
from millpond.plan.functions import EvaluationError, comparable, convert
from millpond.schema import NULL, Kind, Type
from millpond.spark.catalyst import Expr, Session
from millpond.spark.catalyst_types import literal_of, said_of, type_of, widens


class OutsideError(Exception):
    """A part of a plan that has no meaning here, or none that is known."""

    def __init__(self, what: str, span: Span | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.span = span


@dataclass(frozen=True)
class Missing:
    """A column that is not known here, and why; it matters only if it is asked for."""

    what: str
    span: Span | None


Columns = Mapping[int, Expression | Missing]
"""What each column shows, by the number that Catalyst gave it."""


class Expressions:
    """Translates expressions over some columns."""

    def __init__(self, columns: Columns, session: Session) -> None:
        self._columns = columns
        self._session = session

    def of(self, expr: Expr) -> Expression:
        found = _TRANSLATIONS.get(expr.kind)
        if found is not None:
            return replace(found(self, expr), span=expr.span)
        if "replacement" in expr.fields and len(expr.children) == 1:
            return self.of(expr.children[0])
        raise OutsideError(f"{_named(expr)} is not known here", expr.span)

    def conjuncts(self, expr: Expr) -> list[Expression]:
        """The conditions that an AND is made of."""
        if expr.kind == "And":
            return [x for each in expr.children for x in self.conjuncts(each)]
        if expr.kind == "Literal" and expr.fields.get("value") == "true":
            return []
        found = self.of(expr)
        both = isinstance(found, Logical) and found.op == "AND"
        return list(found.inputs) if both else [found]

    def _all(self, expr: Expr) -> list[Expression]:
        return [self.of(each) for each in expr.children]

    def column(self, expr: Expr) -> Expression:
        found = self._columns.get(expr.id)
        if found is None:
            found = Missing(f"where `{expr.name}` comes from is not known here", None)
        if isinstance(found, Missing):
            raise OutsideError(found.what, expr.span or found.span)
        return found

    def literal(self, expr: Expr) -> Expression:
        said = expr.fields["dataType"]
        found = literal_of(expr.fields.get("value"), said, self._session.zone)
        if found is None:
            raise OutsideError(f"a constant of type {said_of(said)} is not known here", expr.span)
        return found

    def cast(self, expr: Expr) -> Expression:
        (below,) = self._all(expr)
        target = type_of(expr.fields["dataType"])
        if target is not None and widens(below.type, target):
            return below
        if target is not None and isinstance(below, Literal) and _exact(below, target):
            return Literal(convert(below.value, below.type, target), target)
        said = said_of(expr.fields["dataType"])
        raise OutsideError(
            f"what CAST of {below.type} to {said} gives is not known here", expr.span
        )

    def comparison(self, op: Operator) -> Callable[[Expr], Expression]:
        def compared(expr: Expr) -> Expression:
            left, right = self._all(expr)
            if not comparable(left.type, right.type):
                raise OutsideError(f"{left.type} and {right.type} do not compare here", expr.span)
            return Comparison(op, left, right)

        return compared

    def between(self, expr: Expr) -> Expression:
        value, low, high = (self.of(expr.one(each)) for each in ("input", "lower", "upper"))
        parts = (Comparison(Operator.GE, value, low), Comparison(Operator.LE, value, high))
        return Logical("AND", tuple(replace(each, span=expr.span) for each in parts))

    def start(self, expr: Expr) -> Expression:
        """The start of a window, which stands for the window; no other structure is known."""
        if expr.fields.get("name") != "start":
            raise OutsideError("a field of a structure is not known here", expr.span)
        return self.of(expr.children[0])

    def logical(self, op: str) -> Callable[[Expr], Expression]:
        def joined(expr: Expr) -> Expression:
            operands: list[Expression] = []
            for each in self._all(expr):
                same = isinstance(each, Logical) and each.op == op
                operands += each.operands if same and isinstance(each, Logical) else [each]
            return Logical(op, tuple(operands))

        return joined

    def in_list(self, expr: Expr) -> Expression:
        value, *items = self._all(expr)
        if not all(comparable(value.type, each.type) for each in items):
            raise OutsideError("IN compares values of several kinds here", expr.span)
        return InList(value, tuple(items))

    def case(self, expr: Expr) -> Expression:
        parts = self._all(expr)
        otherwise = parts.pop() if len(parts) % 2 else Literal(None)
        branches = tuple(zip(parts[::2], parts[1::2], strict=True))
        return self._case(branches, otherwise, expr)

    def if_(self, expr: Expr) -> Expression:
        condition, then, otherwise = self._all(expr)
        return self._case(((condition, then),), otherwise, expr)

    def _case(
        self, branches: tuple[tuple[Expression, Expression], ...], otherwise: Expression, expr: Expr
    ) -> Expression:
        types = {each.type for _, each in branches} | {otherwise.type}
        types.discard(NULL)
        if len(types) != 1:
            raise OutsideError("CASE gives values of several types here", expr.span)
        return Case(branches, otherwise, types.pop())

    def arithmetic(self, name: str) -> Callable[[Expr], Expression]:
        def computed(expr: Expr) -> Expression:
            arguments = self._all(expr)
            if any(each.type.kind is not Kind.INTEGER for each in arguments):
                types = " and ".join(str(each.type) for each in arguments)
                raise OutsideError(f"what {name} of {types} gives is not known here", expr.span)
            if expr.fields.get("failOnError") is not True:
                why = f"{name} may wrap around, as where spark.sql.ansi.enabled is false"
                raise OutsideError(why, expr.span)
            return _call(name, arguments, expr)

        return computed

    def remainder(self, expr: Expr) -> Expression:
        """`%` of whole numbers, with the sign of the first, as here; none wraps around."""
        arguments = self._all(expr)
        if any(each.type.kind is not Kind.INTEGER for each in arguments):
            types = " and ".join(str(each.type) for each in arguments)
            raise OutsideError(f"what % of {types} gives is not known here", expr.span)
        return _call("%", arguments, expr)

    def function(self, name: str) -> Callable[[Expr], Expression]:
        return lambda expr: _call(name, self._all(expr), expr)

    def like(self, expr: Expr) -> Expression:
        text, pattern = self._all(expr)
        if not isinstance(pattern, Literal) or "\\" in str(pattern.value):
            raise OutsideError("LIKE with a pattern that is computed or escaped", expr.span)
        return _call("LIKE", [text, pattern], expr)


def _call(name: str, arguments: Sequence[Expression], expr: Expr) -> Expression:
    result = SCALARS[name].result([each.type for each in arguments])
    if result is None:
        types = ", ".join(str(each.type) for each in arguments)
        raise OutsideError(f"{name} of {types} is not known here", expr.span)
    return Call(name, tuple(arguments), result)


def _exact(literal: Literal, target: Type) -> bool:
    """Whether a constant keeps its value in another type."""
    try:
        return convert(literal.value, literal.type, target) == literal.value
    except (EvaluationError, ValueError):
        return False


def _named(expr: Expr) -> str:
    """An expression as the user knows it."""
    name = expr.fields.get("name")
    if expr.kind in USER_CODE:
        return f"user code, `{name}`," if name else f"user code, {expr.kind},"
    return f"`{snake(expr.kind)}`"


def snake(name: str) -> str:
    """
    >>> snake("CollectList"), snake("HyperLogLogPlusPlus")
    ('collect_list', 'approx_count_distinct')
    """
    if name in _KNOWN_AS:
        return _KNOWN_AS[name]
    return "".join(f"_{c.lower()}" if c.isupper() and i else c.lower() for i, c in enumerate(name))


_KNOWN_AS = {
    "HyperLogLogPlusPlus": "approx_count_distinct",
    "CreateNamedStruct": "struct",
    "CreateArray": "array",
}
"""Functions that Catalyst calls by other names than their users."""

USER_CODE = frozenset(
    {
        *("ApplyFunctionExpression", "CallMethodViaReflection", "Invoke", "StaticInvoke"),
        *("HiveGenericUDF", "HiveGenericUDTF", "HiveSimpleUDF", "HiveUDAFFunction"),
        *("PythonUDAF", "PythonUDF", "PythonUDTF", "ScalaAggregator", "ScalaUDAF", "ScalaUDF"),
    }
)
"""Expressions that run what somebody wrote."""

_Translation = Callable[[Expressions, Expr], Expression]

_TRANSLATIONS: dict[str, _Translation] = {
    "AttributeReference": Expressions.column,
    "Literal": Expressions.literal,
    "Cast": Expressions.cast,
    "Alias": lambda to, each: to.of(each.children[0]),
    "KnownNullable": lambda to, each: to.of(each.children[0]),
    "KnownNotNull": lambda to, each: to.of(each.children[0]),
    "Between": Expressions.between,
    "GetStructField": Expressions.start,
    "And": lambda to, each: to.logical("AND")(each),
    "Or": lambda to, each: to.logical("OR")(each),
    "Not": lambda to, each: Not(to.of(each.children[0])),
    "IsNull": lambda to, each: Is(to.of(each.children[0]), None),
    "IsNotNull": lambda to, each: Not(Is(to.of(each.children[0]), None)),
    "In": Expressions.in_list,
    "CaseWhen": Expressions.case,
    "If": Expressions.if_,
    "Remainder": Expressions.remainder,
    "Like": Expressions.like,
}

_COMPARISONS = {
    "LessThan": Operator.LT,
    "LessThanOrEqual": Operator.LE,
    "EqualTo": Operator.EQ,
    "EqualNullSafe": Operator.SAME,
    "GreaterThan": Operator.GT,
    "GreaterThanOrEqual": Operator.GE,
}

_ARITHMETIC = {"Add": "+", "Subtract": "-", "Multiply": "*", "UnaryMinus": "-"}

_FUNCTIONS = {
    "Upper": "UPPER",
    "Lower": "LOWER",
    "Length": "LENGTH",
    "Coalesce": "COALESCE",
    "StartsWith": "STARTS_WITH",
    "EndsWith": "ENDS_WITH",
    "Contains": "CONTAINS",
}


def _compared(op: Operator) -> _Translation:
    return lambda to, each: to.comparison(op)(each)


def _computed(name: str) -> _Translation:
    return lambda to, each: to.arithmetic(name)(each)


def _called(name: str) -> _Translation:
    return lambda to, each: to.function(name)(each)


_TRANSLATIONS |= {kind: _compared(op) for kind, op in _COMPARISONS.items()}
_TRANSLATIONS |= {kind: _computed(name) for kind, name in _ARITHMETIC.items()}
_TRANSLATIONS |= {kind: _called(name) for kind, name in _FUNCTIONS.items()}
