"""Pieces that declarations and queries are both made of: constants, comparisons, and what is said
of what is not built."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal, InvalidOperation

from sqlglot import exp

from millpond.diagnostic import Diagnostic, NotBuiltError, Span, UserError
from millpond.language.lengths import is_bare, microseconds
from millpond.language.spans import Places, hull
from millpond.language.tree import Length
from millpond.plan import Operator
from millpond.plan.moments import date_from, timestamp_from
from millpond.schema import (
    BOOLEAN,
    DATE,
    DOUBLE,
    HUGEINT,
    INTEGER_TYPES,
    INTERVAL,
    NULL,
    TIMESTAMP,
    VARCHAR,
    Kind,
    Type,
    Value,
    decimal,
)

_OPERATORS: dict[type[exp.Expr], Operator] = {
    exp.LT: Operator.LT,
    exp.LTE: Operator.LE,
    exp.EQ: Operator.EQ,
    exp.GTE: Operator.GE,
    exp.GT: Operator.GT,
}
TIMESTAMP_TYPES = (
    exp.DType.TIMESTAMP,
    exp.DType.TIMESTAMPTZ,
    exp.DType.TIMESTAMPLTZ,
    exp.DType.TIMESTAMPNTZ,
    exp.DType.DATETIME,
)
"""The types that are TIMESTAMP to millpond: all are kept in UTC."""


def constant_of(tree: exp.Expr, places: Places) -> tuple[Value, Type] | None:
    """The value of a constant and its type; None for anything else."""
    match tree:
        case exp.Paren():
            return constant_of(tree.this, places)
        case exp.Neg():
            return _negated(constant_of(tree.this, places))
        case exp.Literal() if tree.is_string:
            return str(tree.this), VARCHAR
        case exp.Literal():
            return _number(str(tree.this), places.of(tree))
        case exp.Boolean():
            return bool(tree.this), BOOLEAN
        case exp.Null():
            return None, NULL
        case exp.Add() | exp.Sub() | exp.Mul():
            number = integer_of(tree)
            return None if number is None else _integer(number)
        case Length() if not is_bare(tree):
            return microseconds(tree, places), INTERVAL
        case exp.Cast() if isinstance(tree.this, exp.Literal) and tree.this.is_string:
            return _moment(tree, places)
    return None


def _negated(constant: tuple[Value, Type] | None) -> tuple[Value, Type] | None:
    if constant is None:
        return None
    value, found = constant
    if found is INTERVAL or isinstance(value, float | Decimal):
        assert isinstance(value, int | float | Decimal)
        return -value, found
    return _integer(-value) if found.kind is Kind.INTEGER and isinstance(value, int) else None


def _number(text: str, span: Span) -> tuple[Value, Type] | None:
    try:
        if text.isdecimal():
            return _integer(int(text))
        if "e" in text.lower():
            return _double(text, span)
        number = Decimal(text)
    except (InvalidOperation, ValueError):
        return None
    digits, exponent = number.as_tuple()[1:]
    scale = -int(exponent)
    return number, decimal(max(len(digits), scale), scale)


def _integer(value: int) -> tuple[int, Type]:
    """An integer constant has the smallest type from INT on."""
    fitting = (INTEGER_TYPES[name] for name in ("INT", "BIGINT"))
    return value, next((each for each in fitting if value in each.range), HUGEINT)


def _double(text: str, span: Span) -> tuple[float, Type]:
    value = float(text)
    if math.isinf(value):
        raise UserError(Diagnostic("MP105", f"`{text}` is too large for a DOUBLE", span))
    return value, DOUBLE


_MOMENTS: dict[str, tuple[Callable[[str], int], Type, str]] = {
    "DATE": (date_from, DATE, "DATE '2026-01-31'"),
    "TIMESTAMP": (timestamp_from, TIMESTAMP, "TIMESTAMP '2026-01-31 12:30:00', in UTC"),
}


def _moment(tree: exp.Cast, places: Places) -> tuple[Value, Type] | None:
    """`DATE '2026-01-31'`; sqlglot makes a cast of it."""
    kind = tree.args["to"].this
    name = "TIMESTAMP" if kind in TIMESTAMP_TYPES else "DATE" if kind is exp.DType.DATE else ""
    if not name:
        return None
    return moment_from(str(tree.this.this), name, places.of(tree))


def moment_from(text: str, name: str, span: Span) -> tuple[int, Type]:
    """The DATE or the TIMESTAMP that a text says."""
    read, found, example = _MOMENTS[name]
    try:
        return read(text), found
    except ValueError:
        raise UserError(
            Diagnostic("MP105", f"`{text}` is no {name}", span, helps=(f"write {example}",))
        ) from None


def integer_of(tree: exp.Expr) -> int | None:
    """The integer that a constant expression is, arithmetic included; None if it is none."""
    match tree:
        case exp.Paren():
            return integer_of(tree.this)
        case exp.Neg():
            inner = integer_of(tree.this)
            return None if inner is None else -inner
        case exp.Literal() if not tree.is_string:
            return int(tree.this) if str(tree.this).isdecimal() else None
        case exp.Add() | exp.Sub() | exp.Mul():
            left, right = integer_of(tree.left), integer_of(tree.right)
            if left is None or right is None:
                return None
            if isinstance(tree, exp.Add):
                return left + right
            return left - right if isinstance(tree, exp.Sub) else left * right
    return None


def comparison_of(
    tree: exp.Expr,
) -> tuple[Operator, exp.Expr, exp.Expr] | None:
    """The operator and the sides of a comparison; None if it is none."""
    op = _OPERATORS.get(type(tree))
    return None if op is None or not isinstance(tree, exp.Binary) else (op, tree.left, tree.right)


def not_built(what: str, span: Span | None, *helps: str) -> NotBuiltError:
    """What is legal and not built yet, said in one way."""
    return NotBuiltError(Diagnostic("MP110", f"not built yet: {what}", span, helps=helps))


def shown(tree: exp.Expr) -> str:
    """An expression as the user wrote it, for a message."""
    place, source = hull(tree), tree.root().meta.get("text")
    if place is not None and isinstance(source, str):
        text = " ".join(source[place[0] : place[1] + 1].split())
    else:
        try:
            text = tree.sql()
        except ValueError:  # sqlglot has no words for our own nodes
            return "this"
    return f"`{text}`" if len(text) <= 60 else f"`{text[:57]}...`"
