"""`CREATE STREAM`: columns, types, CHECK and NOT NULL."""

from __future__ import annotations

from sqlglot import exp

from millpond.diagnostic import (
    Collector,
    Diagnostic,
    NotBuiltError,
    Source,
    Span,
    UserError,
    did_you_mean,
)
from millpond.language.constants import comparison_of, integer_of, not_built
from millpond.language.spans import span_of
from millpond.language.statements import Statement
from millpond.plan import Operator
from millpond.schema import INTEGER_TYPES, Column, IntegerType, Interval, Stream

_SPELLINGS = {
    "TINYINT": "TINYINT",
    "SMALLINT": "SMALLINT",
    "INT": "INT",
    "BIGINT": "BIGINT",
}
_LATER = {
    "BOOLEAN", "DATE", "DECIMAL", "DOUBLE", "ENUM", "FLOAT", "TEXT", "TIME", "TIMESTAMP",
    "TIMESTAMPTZ", "VARCHAR", "CHAR",
}  # fmt: skip


def declare_stream(statement: Statement, source: Source, errors: Collector) -> Stream | None:
    """The stream that a `CREATE STREAM` declares, or None with what is wrong in `errors`."""
    schema = statement.tree.this
    table = schema.this
    name_span = span_of(table, source, statement.span)
    if table.args.get("db"):
        errors.add(
            UserError(Diagnostic("MP001", "a stream's name has no schema before it", name_span))
        )
        return None
    columns: list[Column] = []
    for definition in schema.expressions:
        try:
            column = _column(definition, source, statement.span)
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
    return Stream(table.name, tuple(columns), name_span)


def _column(definition: exp.Expression, source: Source, default: Span) -> Column:
    span = span_of(definition, source, default)
    if not isinstance(definition, exp.ColumnDef):
        raise not_built("time columns, watermarks and constraints over several columns", span)
    name_span = span_of(definition.this, source, span)
    kind = definition.args.get("kind")
    if kind is None:
        raise UserError(
            Diagnostic(
                "MP001",
                f"column `{definition.name}` has no type",
                name_span,
                helps=(f"write `{definition.name} INT`, or {', '.join(INTEGER_TYPES)}",),
            )
        )
    column_type = _type(kind, name_span)
    check, nullable = Interval(), True
    for constraint in definition.args.get("constraints") or ():
        match constraint.kind:
            case exp.NotNullColumnConstraint() as null:
                nullable = bool(null.args.get("allow_null"))
            case exp.CheckColumnConstraint() as said:
                check = check.meet(_check(said.this, definition.name, source, span))
            case other:
                raise not_built(f"the constraint `{other.sql()}`", name_span)
    if check.meet(column_type.range).empty:
        raise UserError(
            Diagnostic("MP106", f"no {column_type} value passes this CHECK", span)
        )
    return Column(definition.name, column_type, nullable, check, name_span)


def _type(kind: exp.Expression, span: Span) -> IntegerType:
    spelled = kind.sql().upper().partition("(")[0]
    if spelled in _SPELLINGS:
        return INTEGER_TYPES[_SPELLINGS[spelled]]
    if spelled in _LATER or not kind.args.get("this"):
        raise not_built(f"columns of type {spelled}", span)
    raise UserError(
        Diagnostic(
            "MP105",
            f"unknown type `{spelled}`",
            span,
            helps=did_you_mean(spelled, [*_SPELLINGS, *_LATER]),
        )
    )


def _check(tree: exp.Expression, column: str, source: Source, default: Span) -> Interval:
    """The interval that a CHECK allows: BETWEEN, comparisons with constants, and AND of those."""
    span = span_of(tree, source, default)
    match tree:
        case exp.Paren():
            return _check(tree.this, column, source, span)
        case exp.And():
            return _check(tree.left, column, source, span).meet(
                _check(tree.right, column, source, span)
            )
        case exp.Between():
            _own_column(tree.this, column, span)
            return Interval(_constant(tree.args["low"], span), _constant(tree.args["high"], span))
    compared = comparison_of(tree)
    if compared is None:
        raise NotBuiltError(
            Diagnostic(
                "MP110",
                f"this CHECK is not built yet: `{tree.sql()}`",
                span,
                helps=(f"write `CHECK ({column} BETWEEN low AND high)`",),
            )
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


def _own_column(tree: exp.Expression, column: str, span: Span) -> None:
    if not isinstance(tree, exp.Column) or tree.name.lower() != column.lower() or tree.table:
        raise UserError(
            Diagnostic(
                "MP106",
                f"the CHECK of column `{column}` has to be about `{column}`",
                span,
                helps=(f"write `CHECK ({column} BETWEEN low AND high)`",),
            )
        )


def _constant(tree: exp.Expression, span: Span) -> int:
    value = integer_of(tree)
    if value is None:
        raise UserError(
            Diagnostic("MP105", f"an integer is needed here, not `{tree.sql()}`", span)
        )
    return value
