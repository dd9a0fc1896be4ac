"""What CREATE STREAM, CREATE TABLE and their kin declare: columns, CHECK, time, and options.

Of the dialects of others, `declare_foreign.py` says what is a stream, and what more there is in
their declarations.  Options of connectors say where rows come from and mean nothing here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeVar

from sqlglot import exp

from millpond.diagnostic import Diagnostic, UserError
from millpond.language.checks import CheckReader, no_value_passes, passes_nothing
from millpond.language.constants import not_built, shown
from millpond.language.dialect import CQL
from millpond.language.findings import Findings
from millpond.language.options import Options
from millpond.language.spans import Places
from millpond.language.times import TimeReader
from millpond.language.tree import Declaration, Option, TimeColumn, Watermark
from millpond.language.type_names import type_of
from millpond.language.unread import IN_DECLARATIONS, refusals
from millpond.schema import INTEGER_TYPES, Column, Form, Stream
from millpond.schema.check import ANY

__all__ = ["declare_stream", "type_of"]

T = TypeVar("T")

_COLUMN_TAKES = {"this", "kind", "constraints"}
_TABLE_CONSTRAINTS = (
    exp.CheckColumnConstraint,
    exp.Constraint,
    exp.ForeignKey,
    exp.PrimaryKey,
    exp.UniqueColumnConstraint,
)


def declare_stream(tree: Declaration, places: Places, form: Form | None = None) -> Stream:
    """The stream or table that a statement declares; raises with everything that is wrong in it.
    `form` is what its words alone do not say."""
    errors = Findings()
    table, form = tree.this, form or Form(str(tree.args["kind"]))
    name_span = places.of(table)
    if table.args.get("db") and places.dialect == CQL:
        errors.add(
            UserError(Diagnostic("MP001", f"{_a(form)}'s name has no schema before it", name_span))
        )
    columns = tuple(_columns(tree, places, errors))
    errors.checkpoint()
    if not columns:
        raise UserError(Diagnostic("MP001", f"{_a(form)} needs a column", name_span))
    options = Options([each for each in _clauses(tree) if isinstance(each, Option)], places)
    for error in options.wrong_keys():
        errors.add(error)
    said = [each for each in _clauses(tree) if isinstance(each, Watermark | TimeColumn)]
    _tried(options.unit_said, errors)
    time = _tried(lambda: TimeReader(columns, form, options, places).read(said), errors)
    errors.checkpoint()
    stream = Stream(table.name, columns, name_span, form, time)
    until = _tried(lambda: options.until(form, stream.time_type, name_span), errors)
    rows = _tried(lambda: options.rows_per_instant(time), errors)
    retroactive = _tried(lambda: options.retroactive(form), errors)
    for error in refusals(tree, IN_DECLARATIONS, places):
        errors.add(error)
    errors.checkpoint()
    return replace(stream, until=until, rows_per_instant=rows, retroactive=retroactive is not False)


def _tried(read: Callable[[], T], errors: Findings) -> T | None:
    """What is read; None, with what is wrong noted, if it cannot be."""
    try:
        return read()
    except UserError as error:
        errors.add(error)
        return None


def _clauses(tree: Declaration) -> Iterator[exp.Expr]:
    """All that stands behind the columns, and among them without being one."""
    for each in (*tree.expressions, *(tree.args.get("clauses") or ())):
        if isinstance(each, Watermark | TimeColumn | Option):
            yield each


def _a(form: Form) -> str:
    return "a stream" if form.is_stream else "a table"


# Columns -----------------------------------------------------------------------------------------


def _columns(tree: Declaration, places: Places, errors: Findings) -> Iterator[Column]:
    seen: set[str] = set()
    for definition in tree.expressions:
        if isinstance(definition, Watermark | TimeColumn):
            continue
        try:
            column = _column(definition, places)
        except UserError as error:
            errors.add(error)
            continue
        if column.name.lower() in seen:
            errors.add(
                UserError(
                    Diagnostic("MP104", f"column `{column.name}` is declared twice", column.span)
                )
            )
            continue
        seen.add(column.name.lower())
        yield column


def _column(definition: exp.Expr, places: Places) -> Column:
    span = places.of(definition)
    if isinstance(definition, _TABLE_CONSTRAINTS):
        raise not_built("constraints of a whole stream", span, "write CHECK behind its column")
    if not isinstance(definition, exp.ColumnDef | exp.Identifier):
        raise not_built(f"this part of a declaration: {shown(definition)}", span)
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
    column_type = type_of(definition.args["kind"], name_span, places)
    reader = CheckReader(definition.name, column_type, places)
    check, nullable = ANY, True
    for constraint in definition.args.get("constraints") or ():
        match getattr(constraint, "kind", constraint):
            case exp.NotNullColumnConstraint() as null:
                nullable = bool(null.args.get("allow_null"))
            case exp.CheckColumnConstraint() as said if not said.args.get("enforced"):
                check = check.meet(reader.read(said.this))
            case other:
                raise not_built(f"the constraint {_said(other)}", places.of(other, name_span))
    column = Column(definition.name, column_type, nullable, check, name_span)
    if no_value_passes(column):
        raise passes_nothing(column, span)
    return column


def _said(constraint: exp.Expr) -> str:
    """A constraint with its words, which have no place of their own."""
    try:
        return f"`{constraint.sql()}`"
    except ValueError:  # sqlglot has no words for our own nodes
        return shown(constraint)
