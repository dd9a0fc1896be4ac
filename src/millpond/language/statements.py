"""Cuts a text into statements before any is parsed, so that one error does not hide the next."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokenizer_core import Token, TokenType

from millpond.diagnostic import (
    Collector,
    Diagnostic,
    Source,
    Span,
    UserError,
)
from millpond.language.constants import not_built
from millpond.language.dialect import QUERY_STARTS, Millpond, UnparsedError
from millpond.language.later import STREAMS_OF_CHANGES, later
from millpond.language.spans import Places

_DECLARATIONS = ("CREATE STREAM",)
_QUERIES = ("CREATE QUERY", "CREATE MATERIALIZED VIEW")
_LATER = ("CREATE TABLE", "CREATE STATIC TABLE", "CREATE FINITE STREAM")
_KEYWORDS = (
    "AND", "AS", "BETWEEN", "CHECK", "CREATE", "DISTINCT", "FROM", "JOIN", "NOT", "ON", "QUERY",
    "SELECT", "STREAM", "WHERE",
)  # fmt: skip
_WANTS_MORE = {
    TokenType.SELECT, TokenType.FROM, TokenType.WHERE, TokenType.ON, TokenType.AND, TokenType.OR,
    TokenType.L_PAREN, TokenType.COMMA,
}  # fmt: skip
_STANDS_BEHIND = {
    TokenType.FROM, TokenType.WHERE, TokenType.AND, TokenType.OR, TokenType.R_PAREN,
    TokenType.COMMA, TokenType.LT, TokenType.LTE, TokenType.EQ, TokenType.NEQ, TokenType.GTE,
    TokenType.GT,
}  # fmt: skip


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


def statements(source: Source) -> Iterator[Statement | Unread]:
    """The statements of a text, one by one, each read or not."""
    try:
        tokens = Millpond().tokenize(source.text)
    except TokenError:
        yield Unread(_unclosed(source), declares=True)
        return
    for each in _cut(tokens):
        places = Places(source, each)
        kind = _kind(each)
        query = kind in _QUERIES or each[0].token_type in QUERY_STARTS
        try:
            tree = _parsed(source, each, places, kind, query=query)
        except UserError as error:
            words = {token.text.upper() for token in each[:4]}
            yield Unread(error, declares=not query and bool(words & {"STREAM", "TABLE"}))
        else:
            yield Statement(tree, places, declares=not query)


def _parsed(
    source: Source, tokens: Sequence[Token], places: Places, kind: str, *, query: bool
) -> exp.Expr:
    if not query and kind not in _DECLARATIONS:
        raise _no_statement(kind, tokens, places)
    found = Collector()
    for each in later(places, tokens, query=query):
        found.add(each)
    found.checkpoint()
    _refuse_gaps(tokens, places)
    try:
        (tree,) = Millpond().parser().parse(list(tokens), source.text)
    except UnparsedError as error:
        raise _syntax_error(tokens, places, error) from None
    except ParseError:
        raise _unreadable("the statement cannot be read", places.whole) from None
    except RecursionError:
        raise _unreadable("the statement is nested too deeply", places.whole) from None
    if not isinstance(tree, exp.Create | exp.Query):
        raise _unreadable("the statement is no query", places.whole)
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


def _kind(tokens: Sequence[Token]) -> str:
    """The words that say what a statement does: `CREATE` and what it creates, or the first."""
    words = [each.text.upper() for each in tokens[:3]]
    if words[0] != "CREATE":
        return words[0]
    for known in (*_DECLARATIONS, *_QUERIES, *_LATER):
        if known.split() == words[: len(known.split())]:
            return known
    return " ".join(words[: 3 if words[1:2] == ["OR"] else 2])


def _no_statement(kind: str, tokens: Sequence[Token], places: Places) -> UserError:
    if kind in _LATER:
        return not_built(kind, places.whole, "this version reads CREATE STREAM and CREATE QUERY")
    if kind in STREAMS_OF_CHANGES:
        return not_built(kind, places.whole)
    if kind == "CREATE":
        return _unreadable("`CREATE` alone says nothing", places.whole)
    said = " ".join(each.text for each in tokens[: len(kind.split())])
    return UserError(
        Diagnostic(
            "MP002",
            f"`{said}` is no statement of the language",
            places.whole,
            helps=_keyword_meant(tokens[:1], ("CREATE", "SELECT"))
            or ("a file holds CREATE STREAM, CREATE QUERY ... AS SELECT, and SELECT",),
        )
    )


# What cannot be read ----------------------------------------------------------------------------


def _refuse_gaps(tokens: Sequence[Token], places: Places) -> None:
    """Something has to stand between `WHERE` and `AND`; sqlglot passes over some such gaps."""
    for token, after in zip(tokens, [*tokens[1:], None], strict=True):
        if token.token_type not in _WANTS_MORE:
            continue
        if after is None:
            raise _unreadable(
                f"the statement ends too early, after `{token.text}`", places.between(token, token)
            )
        call = token.token_type is TokenType.L_PAREN and after.token_type is TokenType.R_PAREN
        if after.token_type in _STANDS_BEHIND and not call:
            raise _unreadable(
                f"something is missing between `{token.text}` and `{after.text}`",
                places.between(token, after),
            )


def _syntax_error(tokens: Sequence[Token], places: Places, error: UnparsedError) -> UserError:
    """What is wrong at the token that the parser stopped at."""
    token = tokens[-1] if error.token is None else error.token
    hints: tuple[str, ...] = ()
    if error.token is None:
        message = (
            f"the statement ends too early, after `{token.text}`"
            if error.expected is None
            else f"expected {error.expected} after `{token.text}`"
        )
    else:
        message = (
            f"`{token.text}` is not expected here"
            if error.expected in (None, "`)`")  # that a list may end is no help in the middle
            else f"expected {error.expected} before `{token.text}`"
        )
        place = next(i for i, each in enumerate(tokens) if each.start == token.start)
        hints = _keyword_meant(tokens[max(0, place - 1) : place + 1])
        if token.token_type in (TokenType.SELECT, TokenType.CREATE):
            hints = ("end the statement before it with `;`",)
    return _unreadable(message, places.between(token, token), *hints)


def _keyword_meant(tokens: Sequence[Token], keywords: Sequence[str] = _KEYWORDS) -> tuple[str, ...]:
    """A keyword that one of these words may be a slip of."""
    for token in tokens:
        word = token.text.upper()
        near = difflib.get_close_matches(word, keywords, n=1, cutoff=0.75)
        if near and word not in keywords:
            return (f"did you mean `{near[0]}`?",)
    return ()


_QUOTED = re.compile(
    r"""--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|"(?:[^"]|"")*"|(?P<open>/\*|['"])""", re.DOTALL
)


def _unclosed(source: Source) -> UserError:
    """The quote or the comment that is not closed: nothing else keeps a text from being cut."""
    for each in _QUOTED.finditer(source.text):
        if each["open"]:
            what = "comment" if each["open"] == "/*" else "quote"
            return _unreadable(f"this {what} is not closed", Span(source, *each.span("open")))
    return _unreadable("the text cannot be cut into words", Span(source, 0, 0))


def _unreadable(message: str, span: Span, *helps: str) -> UserError:
    shown = helps or ("`millpond check --explain MP001` shows an example",)
    return UserError(Diagnostic("MP001", f"syntax error: {message}", span, helps=shown))
