"""ALTER STREAM ... ADD CHECK: what is known of a column more, from here on.

The CHECK holds beside those of the declaration, as if it had stood there; queries before it do not
rely on it.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from millpond.diagnostic import Diagnostic, Span, UserError, did_you_mean
from millpond.language.checks import CheckReader, no_value_passes, passes_nothing
from millpond.language.spans import Places
from millpond.language.tree import Alteration
from millpond.language.unread import IN_DECLARATIONS, refusals
from millpond.schema import Catalog, Column, Stream


def altered(tree: Alteration, places: Places, catalog: Catalog) -> Stream:
    """The stream or table with one more CHECK."""
    stream = _stream(tree, places, catalog)
    condition, span = tree.args["expression"], places.of(tree.args["expression"])
    column = _column(condition, stream, places)
    check = CheckReader(column.name, column.type, places).read(condition)
    for error in refusals(tree, IN_DECLARATIONS, places):
        raise error
    changed = replace(column, check=column.check.meet(check))
    if no_value_passes(changed):
        raise passes_nothing(changed, span)
    columns = tuple(changed if each is column else each for each in stream.columns)
    return replace(stream, columns=columns)


def _stream(tree: Alteration, places: Places, catalog: Catalog) -> Stream:
    name, span = tree.this.name, places.of(tree.this)
    stream = catalog.get(name)
    if stream is None:
        helps = did_you_mean(name, catalog.names) or ("declare it before: CREATE STREAM",)
        raise UserError(Diagnostic("MP101", f"unknown stream `{name}`", span, helps=helps))
    return stream


def _column(condition: exp.Expr, stream: Stream, places: Places) -> Column:
    """The one column that a condition is about."""
    named = next(condition.find_all(exp.Column), None)
    if named is None:
        raise _about_nothing(stream, places.of(condition))
    column = stream.column(named.name)
    if column is None:
        said = f"`{stream.name}` has no column `{named.name}`"
        helps = did_you_mean(named.name, stream.names)
        raise UserError(Diagnostic("MP102", said, places.of(named), helps=helps))
    return column


def _about_nothing(stream: Stream, span: Span) -> UserError:
    name = stream.columns[0].name
    helps = (f"write `CHECK ({name} BETWEEN low AND high)`",)
    return UserError(Diagnostic("MP106", "a CHECK has to be about a column", span, helps=helps))
