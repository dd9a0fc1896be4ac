"""`CREATE STREAM`: columns, types, CHECK and NOT NULL."""

from __future__ import annotations

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
from millpond.plan import Operator
from millpond.schema import INTEGER_TYPES, Column, IntegerType, Interval, Stream

_SPELLINGS = {**{name: name for name in INTEGER_TYPES}, "INTEGER": "INT"}
_LATER = {
    "BOOLEAN", "DATE", "DECIMAL", "DOUBLE", "ENUM", "FLOAT", "TEXT", "TIME", "TIMESTAMP",
    "TIMESTAMPTZ", "VARCHAR", "CHAR",
}  # fmt: skip
_COLUMN_TAKES = {"this", "kind", "constraints"}
_TABLE_CONSTRAINTS = (
    exp.CheckColumnConstraint,
    exp.Constraint,
    exp.ForeignKey,
    exp.PrimaryKey,
    exp.UniqueColumnConstraint,
)


def declare_stream(tree: exp.Expr, places: Places) -> Stream:
    """The stream that a `CREATE STREAM` declares; raises with everything that is wrong in it."""
    errors = Collector()
    schema = tree.this
    table = schema.this
    name_span = places.of(table)
    if table.args.get("db"):
        errors.add(
            UserError(Diagnostic("MP001", "a stream's name has no schema before it", name_span))
        )
    columns: list[Column] = []
    for definition in schema.expressions:
        try:
            column = _column(definition, places)
        except UserError as error:
            errors.add(error)
            continue
        if any(column.name.lower() == each.name.lower() for each in columns):
            errors.add(
                UserError(
                    Diagnostic("MP104", f"column `{column.name}` is declared twice", column.span)
                )
            )
            continue
        columns.append(column)
    if not schema.expressions:
        errors.add(UserError(Diagnostic("MP001", "a stream needs a column", name_span)))
    errors.checkpoint()
    return Stream(table.name, tuple(columns), name_span)


def _column(definition: exp.Expr, places: Places) -> Column:
    span = places.of(definition)
    if isinstance(definition, _TABLE_CONSTRAINTS):
        raise not_built("constraints of a whole stream", span, "write CHECK behind its column")
    if not isinstance(definition, exp.ColumnDef | exp.Identifier):
        raise not_built(f"this part of a stream: {shown(definition)}", span)
    if definition.args.get("kind") is None:
        raise UserError(
            Diagnostic(
                "MP001",
                f"column `{definition.name}` has no type",
                span,
                helps=(f"write `{definition.name} INT`, or {', '.join(INTEGER_TYPES)}",),
            )
        )
    name_span = places.of(definition.this)
    if any(value for key, value in definition.args.items() if key not in _COLUMN_TAKES):
        raise not_built(f"this definition of column `{definition.name}`", span)
    column_type = _type(definition.args["kind"], name_span, places)
    check, nullable = Interval(), True
    for constraint in definition.args.get("constraints") or ():
        match constraint.kind:
            case exp.NotNullColumnConstraint() as null:
                nullable = bool(null.args.get("allow_null"))
            case exp.CheckColumnConstraint() as said if not said.args.get("enforced"):
                check = check.meet(_check(said.this, definition.name, places))
            case other:
                raise not_built(f"the constraint {shown(other)}", places.of(other, name_span))
    if check.meet(column_type.range).empty:
        raise UserError(Diagnostic("MP106", f"no {column_type} value passes this CHECK", span))
    return Column(definition.name, column_type, nullable, check, name_span)


def _type(kind: exp.Expr, name: Span, places: Places) -> IntegerType:
    """The type, by the word that the user wrote: what INT8 is depends on whom one asks."""
    token = places.after(name)
    word, span = (kind.sql(), name) if token is None else (token.text, places.between(token, token))
    meant = kind.sql().upper()
    if _SPELLINGS.get(word.upper()) == meant:
        return INTEGER_TYPES[meant]
    if meant.partition("(")[0] in _LATER or word.upper() in _SPELLINGS:
        raise not_built(f"columns of type {meant}", span)
    raise UserError(
        Diagnostic(
            "MP105",
            f"unknown type `{word}`",
            span,
            helps=did_you_mean(word, [*_SPELLINGS, *_LATER]),
        )
    )


def _check(tree: exp.Expr, column: str, places: Places) -> Interval:
    """The interval that a CHECK allows: BETWEEN, comparisons with constants, and AND of those."""
    span = places.of(tree)
    match tree:
        case exp.Paren():
            return _check(tree.this, column, places)
        case exp.And():
            return _check(tree.left, column, places).meet(_check(tree.right, column, places))
        case exp.Between() if not tree.args.get("symmetric"):
            _own_column(tree.this, column, span)
            return Interval(_constant(tree.args["low"], span), _constant(tree.args["high"], span))
    compared = comparison_of(tree)
    if compared is None:
        raise not_built(
            f"the CHECK {shown(tree)}", span, f"write `CHECK ({column} BETWEEN low AND high)`"
        )
    op, left, right = compared
    if isinstance(right, exp.Column):
        op, left, right = op.flipped, right, left
    _own_column(left, column, span)
    limit = _constant(right, span)
    match op:
        case Operator.LT:
            return Interval(None, limit - 1)
        case Operator.LE:
            return Interval(None, limit)
        case Operator.EQ:
            return Interval(limit, limit)
        case Operator.GE:
            return Interval(limit, None)
        case Operator.GT:
            return Interval(limit + 1, None)


def _own_column(tree: exp.Expr, column: str, span: Span) -> None:
    if not isinstance(tree, exp.Column) or tree.name.lower() != column.lower() or tree.table:
        raise UserError(
            Diagnostic(
                "MP106",
                f"the CHECK of column `{column}` has to be about `{column}`",
                span,
                helps=(f"write `CHECK ({column} BETWEEN low AND high)`",),
            )
        )


def _constant(tree: exp.Expr, span: Span) -> int:
    value = integer_of(tree)
    if value is None:
        raise UserError(Diagnostic("MP105", f"an integer is needed here, not {shown(tree)}", span))
    return value
