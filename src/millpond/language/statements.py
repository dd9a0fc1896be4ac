"""Cuts a text into statements before any is parsed, so that one error does not hide the next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokenizer_core import Token, TokenType

from millpond.diagnostic import Diagnostic, Source, UserError
from millpond.language.constants import not_built
from millpond.language.dialect import CQL, dialect_named
from millpond.language.grammar import UnbuiltError, UnparsedError
from millpond.language.grammar_changes import QUERY_STARTS
from millpond.language.grammar_declarations import ASKED, DECLARED
from millpond.language.spans import Places
from millpond.language.syntax import (
    keyword_meant,
    refuse_gaps,
    refuse_open_brackets,
    syntax_error,
    unclosed,
    unreadable,
)
from millpond.language.tree import STREAM_OPERATORS, AggregateDeclaration, ChangesOf, Declaration

_CHANGES = tuple(name + ending for name in STREAM_OPERATORS for ending in ("", "_RESTORE"))
_FOREIGN_ONLY = ("SOURCE", "VIEW")
"""What CREATE makes in the dialects of others alone."""
_FOREIGN_WORDS = ("OR", "REPLACE", "TEMPORARY", "TEMP")
"""What may stand between CREATE and what it makes there."""


@dataclass(frozen=True)
class Statement:
    """A parsed statement and where it stands."""

    tree: exp.Expr
    places: Places
    declares: bool


@dataclass(frozen=True)
class Unread:
    """A statement that is not read, and why; `declares` if queries may miss what it makes."""

    error: UserError
    declares: bool


def statements(source: Source, dialect: str = CQL) -> Iterator[Statement | Unread]:
    """The statements of a text, one by one, each read or not."""
    try:
        tokens = dialect_named(dialect).tokenize(source.text)
    except TokenError:
        yield Unread(unclosed(source), declares=True)
        return
    for each in _cut(tokens):
        places = Places(source, each, dialect.lower())
        kind = _kind(each, places.dialect)
        query = _asks(kind, each)
        try:
            tree = _parsed(source, each, places, kind, query=query)
        except UserError as error:
            words = {token.text.upper() for token in each[:4]}
            declares = not query and bool(words & {"STREAM", "TABLE", "SOURCE", "AGGREGATE"})
            yield Unread(error, declares=declares)
        else:
            tree.meta["text"] = source.text
            yield Statement(tree, places, declares=not query)


def _parsed(
    source: Source, tokens: Sequence[Token], places: Places, kind: str, *, query: bool
) -> exp.Expr:
    if not query and kind.removeprefix("CREATE ") not in DECLARED:
        raise _no_statement(kind, tokens, places)
    refuse_gaps(tokens, places)
    dialect = dialect_named(places.dialect)
    try:
        (tree,) = dialect.parser().parse(list(tokens), source.text)
    except UnparsedError as error:
        raise syntax_error(tokens, places, error) from None
    except UnbuiltError as error:
        span = places.closed(places.place(error.first), places.place(error.last))
        raise not_built(f"{error.what}: `{span.text}`", span, *error.helps) from None
    except ParseError:
        raise unreadable("the statement cannot be read", places.whole) from None
    except RecursionError:
        raise unreadable("the statement is nested too deeply", places.whole) from None
    refuse_open_brackets(tokens, places)
    known = exp.Create | exp.Query | ChangesOf | Declaration | AggregateDeclaration
    if not isinstance(tree, known):
        raise unreadable("the statement is no query", places.whole)
    return tree


def _cut(tokens: Sequence[Token]) -> Iterator[list[Token]]:
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


def _kind(tokens: Sequence[Token], dialect: str) -> str:
    """The words that say what a statement does: `CREATE` and what it creates, or the first."""
    words = [each.text.upper() for each in tokens[:6]]
    if words[0] != "CREATE":
        return words[0]
    rest = words[1:]
    while dialect != CQL and rest and rest[0] in _FOREIGN_WORDS:
        rest = rest[1:]
    for kind, known in {**DECLARED, **ASKED}.items():
        foreign = kind in _FOREIGN_ONLY and dialect == CQL
        if rest[: len(known)] == list(known) and not foreign:
            return f"CREATE {kind}"
    return " ".join(words[: 3 if words[1:2] == ["OR"] else 2])


def _asks(kind: str, tokens: Sequence[Token]) -> bool:
    """Whether a statement is a query, or names one."""
    if kind.removeprefix("CREATE ") in ASKED or tokens[0].token_type in QUERY_STARTS:
        return True
    follows = TokenType.L_PAREN, TokenType.DASH
    return kind in _CHANGES and len(tokens) > 1 and tokens[1].token_type in follows


def _no_statement(kind: str, tokens: Sequence[Token], places: Places) -> UserError:
    if kind == "CREATE":
        return unreadable("`CREATE` alone says nothing", places.whole)
    said = " ".join(each.text for each in tokens[: len(kind.split())])
    return UserError(
        Diagnostic(
            "MP002",
            f"`{said}` is no statement of the language",
            places.whole,
            helps=keyword_meant(tokens[:1], ("CREATE", "SELECT"))
            or ("a file holds CREATE STREAM, CREATE TABLE, CREATE QUERY ... AS, and SELECT",),
        )
    )
