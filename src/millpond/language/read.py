"""A file of declarations and queries, read whole: all of its errors come in one go."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from sqlglot import exp

from millpond.diagnostic import Collector, Diagnostic, Source, UserError
from millpond.language.bind import bind_select
from millpond.language.declare import declare_stream
from millpond.language.declare_aggregate import declare_aggregate
from millpond.language.dialect import CQL
from millpond.language.statements import Statement, Unread, statements
from millpond.language.tree import AggregateDeclaration, Declaration
from millpond.plan import Query, Script
from millpond.schema import Catalog, Form, Stream


def read_file(path: str, dialect: str = CQL, *, stored: bool = False) -> Script:
    """Reads a file; `-` is standard input."""
    name = "<stdin>" if path == "-" else path
    try:
        raw = _standard_input() if path == "-" else Path(path).read_bytes()
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(
            Diagnostic(
                "MP004",
                "the file is not UTF-8 text",
                file=name,
                line=raw[: error.start].count(b"\n") + 1,
                helps=("save it as UTF-8",),
            )
        ) from None
    except OSError as error:
        raise UserError(
            Diagnostic(
                "MP004",
                f"cannot read the file: {error.strerror or error}",
                file=name,
                helps=("give the path of a .sql file, or - for standard input",),
            )
        ) from None
    return read_script(text, name, dialect, stored=stored)


def _standard_input() -> bytes:
    if sys.stdin is None:  # closed before we began
        raise OSError("standard input is closed")
    return sys.stdin.buffer.read()


def read_script(
    text: str, name: str = "<text>", dialect: str = CQL, *, stored: bool = False
) -> Script:
    """Reads a text of declarations and queries; `dialect` is one of `dialect.DIALECTS`.  With
    `stored`, everything is a bag of rows without time, whatever it was declared as.

    >>> script = read_script("CREATE STREAM s (a INT); SELECT a FROM s WHERE a > 10")
    >>> script.queries[0].name, script.catalog.names
    ('q1', ('s',))
    """
    source = Source(name, text)
    errors = Collector()
    catalog = Catalog()
    asked: list[Statement] = []
    all_declared = True
    for each in statements(source, dialect):
        try:
            if isinstance(each, Unread):
                raise each.error
            if isinstance(each.tree, Declaration):
                declared = declare_stream(each.tree, each.places)
                catalog.add(_as_rows(declared) if stored else declared)
            elif isinstance(each.tree, AggregateDeclaration):
                catalog.add_aggregate(declare_aggregate(each.tree, each.places))
            else:
                asked.append(each)
        except UserError as error:
            errors.add(error)
            all_declared = all_declared and not each.declares
    if not all_declared:  # queries would be blamed for streams that are missing
        errors.checkpoint()
    queries = []
    for query_name, statement in _named(asked, errors):
        try:
            queries.append(_query(query_name, statement, catalog))
        except UserError as error:
            errors.add(error)
    errors.checkpoint()
    return Script(source, catalog, tuple(queries))


def _as_rows(declared: Stream) -> Stream:
    return replace(
        declared,
        form=Form.STREAM,
        time=None,
        until=None,
        rows_per_instant=None,
        retroactive=True,
    )


def _query(name: str, statement: Statement, catalog: Catalog) -> Query:
    tree, places = statement.tree, statement.places
    select = tree.expression if isinstance(tree, exp.Create) else tree
    try:
        return Query(name, bind_select(select, catalog, places), places.whole)
    except RecursionError:
        raise UserError(
            Diagnostic("MP001", "the query is nested too deeply", places.whole)
        ) from None


def _named(asked: list[Statement], errors: Collector) -> Iterator[tuple[str, Statement]]:
    """Unnamed queries are q1, q2, ... by their place among the queries."""
    seen: set[str] = set()
    for place, statement in enumerate(asked, 1):
        tree = statement.tree
        name = tree.this.name if isinstance(tree, exp.Create) else f"q{place}"
        if name.lower() in seen:
            errors.add(
                UserError(
                    Diagnostic("MP104", f"two queries are called `{name}`", statement.places.whole)
                )
            )
        seen.add(name.lower())
        yield name, statement
