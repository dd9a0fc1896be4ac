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
from millpond.language.foreign import Passed, Role, passed, role, ungrouped
from millpond.language.grammar import UnbuiltError, UnparsedError
from millpond.language.grammar_changes import QUERY_STARTS
from millpond.language.grammar_declarations import ASKED, DECLARED
from millpond.language.grammar_foreign import PREFIXES
from millpond.language.spans import Places
from millpond.language.syntax import (
    keyword_meant,
    refuse_gaps,
    refuse_open_brackets,
    syntax_error,
    unclosed,
    unreadable,
)
from millpond.language.tree import (
    STREAM_OPERATORS,
    AggregateDeclaration,
    Alteration,
    ChangesOf,
    Declaration,
)

_CHANGES = tuple(name + ending for name in STREAM_OPERATORS for ending in ("", "_RESTORE"))
_FOREIGN_ONLY = ("SOURCE", "VIEW")
"""What CREATE makes in the dialects of others alone."""


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


def statements(source: Source, dialect: str = CQL) -> Iterator[Statement | Passed | Unread]:
    """The statements of a text, one by one, each read, passed over, or not read."""
    try:
        tokens = dialect_named(dialect).tokenize(source.text)
    except TokenError:
        yield Unread(unclosed(source), declares=True)
        return
    file = Places(source, tokens, dialect.lower()) if tokens else None
    for cut in _cut(tokens):
        each = ungrouped(cut, dialect.lower())
        if not each:
            continue
        places = Places(source, each, dialect.lower())
        kind = _kind(each, places.dialect)
        use = None if places.dialect == CQL else role(each)
        if use is Role.PASSES:
            yield passed(each, places)
            continue
        query = _asks(kind, each) if use is None else use is Role.ASKS
        declared = kind == "ALTER" or (
            kind.removeprefix("CREATE ") in DECLARED if use is None else use is Role.DECLARES
        )
        try:
            tree = _parsed(source, each, places, kind, query=query, declared=declared)
        except UserError as error:
            words = {token.text.upper() for token in each[:4]}
            declares = not query and bool(words & {"STREAM", "TABLE", "SOURCE", "AGGREGATE"})
            names = use is Role.ASKS and words & {"VIEW", "TABLE"}
            yield Unread(error, declares=declares or bool(names))
        else:
            tree.meta["text"] = source.text
            assert file is not None
            yield Statement(tree, file.of_statement(places), declares=not query)


def _parsed(
    source: Source,
    tokens: Sequence[Token],
    places: Places,
    kind: str,
    *,
    query: bool,
    declared: bool,
) -> exp.Expr:
    if not (query or declared):
        raise _no_statement(kind, tokens, places)
    if query or places.dialect == CQL:  # elsewhere types have angle brackets
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
    known = exp.Create | exp.Query | ChangesOf | Declaration | AggregateDeclaration | Alteration
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
    while dialect != CQL and rest and rest[0] in PREFIXES:
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
