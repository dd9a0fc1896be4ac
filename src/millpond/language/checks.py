"""CHECK of a column: BETWEEN, comparisons with constants, lists, and AND of those.

Anything else is refused rather than passed over: verdicts rely on what a CHECK says.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from sqlglot import exp

from millpond.diagnostic import Diagnostic, Span, UserError
from millpond.language.constants import (
    comparison_of,
    constant_of,
    integer_of,
    moment_from,
    not_built,
    shown,
)
from millpond.language.spans import Places
from millpond.plan import Operator
from millpond.plan.moments import DAY
from millpond.schema import Check, Column, EnumType, IntegerType, Kind, Type, Value
from millpond.schema.check import ANY

_EXAMPLES = {
    Kind.VARCHAR: "CHECK ({name} IN ('x', 'y'))",
    Kind.BOOLEAN: "CHECK ({name} IN (TRUE))",
    Kind.DATE: "CHECK ({name} >= DATE '2026-01-31')",
    Kind.TIMESTAMP: "CHECK ({name} >= TIMESTAMP '2026-01-31 12:30:00')",
}


class CheckReader:
    """Reads the CHECKs of one column."""

    def __init__(self, column: str, column_type: Type, places: Places) -> None:
        self._column = column
        self._type = column_type
        self._places = places

    def read(self, tree: exp.Expr) -> Check:
        """What a condition lets through."""
        match tree:
            case exp.Paren():
                return self.read(tree.this)
            case exp.And():
                return self.read(tree.left).meet(self.read(tree.right))
            case exp.Between() if not tree.args.get("symmetric"):
                self._own(tree.this, tree)
                return Check(self._constant(tree.args["low"]), self._constant(tree.args["high"]))
            case exp.In() if tree.expressions:
                self._own(tree.this, tree)
                return Check(among=tuple(self._constant(each) for each in tree.expressions))
        compared = comparison_of(tree)
        if compared is None:
            raise not_built(
                f"the CHECK {shown(tree)}",
                self._places.of(tree),
                f"write `CHECK ({self._column} BETWEEN low AND high)`",
            )
        op, left, right = compared
        if isinstance(right, exp.Column) and not isinstance(left, exp.Column):
            op, left, right = op.flipped, right, left
        self._own(left, tree)
        return self._limit(op, right, tree)

    def _limit(self, op: Operator, right: exp.Expr, whole: exp.Expr) -> Check:
        if isinstance(right, exp.Column):
            raise self._mistyped(right, whole)
        limit = self._constant(right)
        match op:
            case Operator.LT:
                return Check(high=limit, high_open=True)
            case Operator.LE:
                return Check(high=limit)
            case Operator.GE:
                return Check(low=limit)
            case Operator.GT:
                return Check(low=limit, low_open=True)
        return Check(limit, limit)

    def _own(self, tree: exp.Expr, whole: exp.Expr) -> None:
        own = isinstance(tree, exp.Column) and tree.name.lower() == self._column.lower()
        if not own or tree.args.get("table"):
            raise UserError(
                Diagnostic(
                    "MP106",
                    f"the CHECK of column `{self._column}` has to be about `{self._column}`",
                    self._places.of(whole),
                    helps=(f"write `CHECK ({self._column} BETWEEN low AND high)`",),
                )
            )

    # Constants -------------------------------------------------------------------------------

    def _constant(self, tree: exp.Expr) -> Value:
        """A constant as a value of the column."""
        number = integer_of(tree)
        constant = (number, None) if number is not None else constant_of(tree, self._places)
        value = None if constant is None else self._converted(constant[0], constant[1], tree)
        if value is None:
            raise self._mistyped(tree, tree)
        return value

    def _converted(self, value: Value, found: Type | None, tree: exp.Expr) -> Value:
        """None for a value of another kind than the column's."""
        kind = self._type.kind
        said = None if found is None else found.kind
        match value:
            case bool():
                return value if kind is Kind.BOOLEAN else None
            case str() if kind in (Kind.DATE, Kind.TIMESTAMP):
                return moment_from(value, kind.name, self._places.of(tree))[0]
            case str():
                return value if kind is Kind.VARCHAR else None
            case int() if said in (Kind.DATE, Kind.TIMESTAMP):
                if (said, kind) == (Kind.DATE, Kind.TIMESTAMP):
                    return value * DAY
                return value if said is kind else None
            case int() | float() | Decimal() if said is not Kind.INTERVAL:
                return self._number(value)
        return None

    def _number(self, value: int | float | Decimal) -> Value:
        match self._type.kind:
            case Kind.INTEGER:
                return value if isinstance(value, int) else None
            case Kind.DECIMAL:
                return None if isinstance(value, float) else Decimal(value)
            case Kind.DOUBLE:
                return float(value)
        return None

    def _mistyped(self, tree: exp.Expr, whole: exp.Expr) -> UserError:
        example = _EXAMPLES.get(self._type.kind, "CHECK ({name} BETWEEN 0 AND 9)")
        helps = (f"write `{example.format(name=self._column)}`",)
        if self._type.kind is Kind.VARCHAR and isinstance(tree, exp.Literal):
            helps = (f"write `'{tree.this}'`",)
        return UserError(
            Diagnostic(
                "MP105",
                f"a constant of type {named(self._type)} is needed here, not {shown(tree)}",
                self._places.of(whole),
                helps=helps,
            )
        )


def no_value_passes(column: Column) -> bool:
    """Whether a column's CHECK lets nothing through but NULL."""
    check = column.check
    if check is ANY or check.anything:
        return False
    if isinstance(column.type, IntegerType):
        listed = check.listed
        if listed is not None:
            return not any(each in column.type.range for each in listed if isinstance(each, int))
        return column.values.empty
    known: tuple[Value, ...] | None = check.among
    if isinstance(column.type, EnumType):
        known = column.type.values
    elif column.type.kind is Kind.BOOLEAN:
        known = (False, True)
    if known is not None:
        return not any(check.admits(each) for each in known)
    return _crossed(check)


def _crossed(check: Check) -> bool:
    """Whether the ends of a range leave nothing between them."""
    low: Any = check.low
    high: Any = check.high
    if low is None or high is None:
        return False
    if isinstance(low, int) and isinstance(high, int):
        return low + check.low_open > high - check.high_open
    return bool(high < low) or (low == high and (check.low_open or check.high_open))


def passes_nothing(column: Column, span: Span) -> UserError:
    """What is said of a CHECK without a value."""
    return UserError(Diagnostic("MP106", f"no {named(column.type)} value passes this CHECK", span))


def named(column_type: Type) -> str:
    """A type for a message; the values of an ENUM say more than matters."""
    return "ENUM" if isinstance(column_type, EnumType) else str(column_type)
