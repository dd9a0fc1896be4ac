"""Cuts a text into statements before any is parsed, so that one error does not hide the next."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokens import Token, TokenType

from millpond.diagnostic import Collector, Diagnostic, Source, Span, UserError
from millpond.language.dialect import Millpond


@dataclass(frozen=True)
class Statement:
    """A parsed statement and where it stands."""

    tree: exp.Expression
    span: Span


def statements(source: Source, errors: Collector) -> Iterator[Statement]:
    """The statements of a text; what does not parse goes to `errors`."""
    for tokens in _cut(source, errors):
        span = Span(source, tokens[0].start, tokens[-1].end + 1)
        try:
            trees = Millpond().parser().parse(list(tokens), source.text)
        except ParseError as error:
            errors.add(_syntax_error(source, tokens, error))
            continue
        for tree in trees:
            if tree is not None:
                yield Statement(tree, span)


def _cut(source: Source, errors: Collector) -> Iterator[list[Token]]:
    try:
        tokens = Millpond().tokenize(source.text)
    except TokenError as error:
        errors.add(
            UserError(
                Diagnostic(
                    "MP001",
                    f"cannot be read as SQL: {_first_line(error)}",
                    Span(source, 0, 0),
                    helps=("look for a quote or a comment that is not closed",),
                )
            )
        )
        return
    statement: list[Token] = []
    for token in tokens:
        if token.token_type is TokenType.SEMICOLON:
            if statement:
                yield statement
            statement = []
        else:
            statement.append(token)
    if statement:
        yield statement


def _syntax_error(source: Source, tokens: list[Token], error: ParseError) -> UserError:
    detail = error.errors[0] if error.errors else {}
    where = _span_of(source, tokens, detail.get("line"), detail.get("col"))
    message = str(detail.get("description") or _first_line(error)).rstrip(".")
    seen = f" near `{where.text}`" if where.text else ""
    return UserError(
        Diagnostic(
            "MP001",
            f"syntax error{seen}: {message[:1].lower()}{message[1:]}",
            where,
            helps=("statements end with `;`", "`millpond check --explain MP001` shows an example"),
        )
    )


def _span_of(source: Source, tokens: list[Token], line: int | None, col: int | None) -> Span:
    """The token that the parser stopped at: it reports the line and the column of its end."""
    for token in tokens:
        if token.line == line and token.col == col:
            return Span(source, token.start, token.end + 1)
    return Span(source, tokens[-1].start, tokens[-1].end + 1)


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0].rstrip(".")
