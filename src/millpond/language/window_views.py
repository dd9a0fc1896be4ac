"""TUMBLE, HOP and SESSION over a view: the view, over the windows of the stream that it reads.

A row's windows depend on its timestamp alone, so that conditions and columns of a view may come
after them.  The view has to be a SELECT of rows of one stream, and its time column the stream's.
"""

from __future__ import annotations

from sqlglot import exp

from millpond.diagnostic import Diagnostic, NotBuiltError, UserError
from millpond.language.constants import not_built
from millpond.language.items import is_star
from millpond.language.spans import Places
from millpond.language.tree import WindowTable
from millpond.language.unread import unread
from millpond.plan import SCALARS, WINDOW_COLUMNS

_READ = "expressions from_ where"


def windowed_view(view: exp.Expr, window: WindowTable, places: Places) -> exp.Select:
    """The SELECT of the view, reading the windows of its stream."""
    table = _only_table(view)
    if not isinstance(view, exp.Select) or table is None:
        raise _no_rows_of_a_stream(window, places)
    column = window.args.get("column")
    inner = WindowTable(
        this=exp.Table(this=table.this.copy()),
        kind=window.args["kind"],
        column=None if column is None else _below(view, column, places),
        lengths=[each.copy() for each in window.args.get("lengths") or ()],
        partition=[_below(view, each, places) for each in window.args.get("partition") or ()],
    )
    inner.meta.update(window.meta)
    source = exp.Table(this=inner, alias=table.args.get("alias"))
    items = [each.copy() for each in view.expressions]
    if not any(is_star(each) for each in items):
        items += [exp.column(name) for name in WINDOW_COLUMNS]
    made = exp.Select(expressions=items, from_=exp.From(this=source))
    made.set("where", view.args["where"].copy() if view.args.get("where") else None)
    return made


def _only_table(view: exp.Expr) -> exp.Table | None:
    """What a SELECT without more than FROM and WHERE reads, if that is one stream or view."""
    if not isinstance(view, exp.Select) or unread(view, _READ):
        return None
    clause = view.args.get("from_")
    table = clause.this if clause is not None else None
    if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
        return None
    if unread(table, "this alias pond_stream pond_watermark"):
        return None
    calls = (exp.Anonymous, exp.Filter, exp.Window)
    aggregates = any(isinstance(each, calls) for item in view.expressions for each in item.walk())
    return None if aggregates and not _scalars_only(view) else table


def _scalars_only(view: exp.Select) -> bool:
    """Whether none of the functions of a view can be an aggregate."""
    calls = [each for item in view.expressions for each in item.find_all(exp.Anonymous)]
    return all(str(each.name).upper() in SCALARS for each in calls)


def _below(view: exp.Select, column: exp.Expr, places: Places) -> exp.Expr:
    """The column of the stream that a column of the view is."""
    for item in view.expressions:
        if is_star(item):
            return _placed(exp.column(column.name), column)
        if item.alias_or_name.lower() != column.name.lower():
            continue
        value = item.this if isinstance(item, exp.Alias) else item
        if isinstance(value, exp.Column):
            return _placed(exp.column(value.name), column)
        raise not_built(
            f"windows by `{column.name}`, which the view computes",
            places.of(column),
            "window the time column of the stream",
        )
    said = f"the view has no column `{column.name}`"
    raise UserError(Diagnostic("MP102", said, places.of(column)))


def _placed(made: exp.Column, like: exp.Expr) -> exp.Column:
    for each in like.walk():
        if "start" in each.meta:
            made.this.meta.update(each.meta)
    return made


def _no_rows_of_a_stream(window: WindowTable, places: Places) -> NotBuiltError:
    kind = window.args["kind"]
    return not_built(
        f"{kind} of a view that does more than select rows of one stream",
        places.of(window.this),
        f"window the stream: FROM {kind}(TABLE s, ...), and do the rest above it",
    )
