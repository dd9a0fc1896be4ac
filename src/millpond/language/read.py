"""A file of declarations and queries, read whole: all of its errors come in one go."""

from __future__ import annotations

import sys
from pathlib import Path

from sqlglot import exp

from millpond.diagnostic import Collector, Diagnostic, Source, Span, UserError
from millpond.language.bind import bind_select
from millpond.language.declare import declare_stream
from millpond.language.statements import Statement, statements
from millpond.plan import Query, Script
from millpond.schema import Catalog


def read_file(path: str) -> Script:
    """Reads a file; `-` is standard input."""
    name = "<stdin>" if path == "-" else path
    try:
        raw = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
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
    return read_script(text, name)


def read_script(text: str, name: str = "<text>") -> Script:
    """Reads a text of declarations and queries.

    >>> script = read_script("CREATE STREAM s (a INT); SELECT a FROM s WHERE a > 10")
    >>> script.queries[0].name, script.catalog.names
    ('q1', ('s',))
    """
    source = Source(name, text)
    errors = Collector()
    catalog = Catalog()
    asked: list[tuple[str, exp.Expression, Span]] = []
    declared: list[Statement] = []
    for statement in statements(source, errors):
        tree = statement.tree
        if isinstance(tree, exp.Create) and tree.kind == "STREAM":
            declared.append(statement)
        elif isinstance(tree, exp.Create) and tree.kind == "QUERY":
            asked.append((tree.this.name, tree.expression, statement.span))
        elif isinstance(tree, exp.Query):
            asked.append(("", tree, statement.span))
        else:
            errors.add(_unknown_statement(statement))
    for statement in declared:
        stream = declare_stream(statement, source, errors)
        if stream is not None:
            try:
                catalog.add(stream)
            except UserError as error:
                errors.add(error)
    errors.checkpoint()
    queries = []
    for query_name, tree, span in _named(asked, errors):
        try:
            queries.append(Query(query_name, bind_select(tree, catalog, source, span), span))
        except UserError as error:
            errors.add(error)
    errors.checkpoint()
    return Script(source, catalog, tuple(queries))


def _named(
    asked: list[tuple[str, exp.Expression, Span]], errors: Collector
) -> list[tuple[str, exp.Expression, Span]]:
    """Unnamed queries are q1, q2, ... by their place among the queries."""
    named = [(name or f"q{place}", tree, span) for place, (name, tree, span) in enumerate(asked, 1)]
    seen: set[str] = set()
    for name, _, span in named:
        if name.lower() in seen:
            errors.add(UserError(Diagnostic("MP104", f"two queries are called `{name}`", span)))
        seen.add(name.lower())
    return named


def _unknown_statement(statement: Statement) -> UserError:
    tree = statement.tree
    what = tree.kind if isinstance(tree, exp.Create) else statement.span.text.split(None, 1)[0]
    if isinstance(tree, exp.Create):
        return UserError(
            Diagnostic(
                "MP110",
                f"CREATE {what} is not built yet",
                statement.span,
                helps=("this version reads CREATE STREAM and CREATE QUERY",),
            )
        )
    return UserError(
        Diagnostic(
            "MP002",
            f"`{what}` is no statement of the language",
            statement.span,
            helps=("a file holds CREATE STREAM, CREATE QUERY ... AS SELECT, and SELECT",),
        )
    )
