"""What is said of a text that cannot be read: where, what was expected, which word was meant."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

from sqlglot.tokenizer_core import Token, TokenType

from millpond.diagnostic import Diagnostic, Source, Span, UserError
from millpond.language.grammar import UnparsedError
from millpond.language.spans import CLOSERS, OPENERS, Places

_KEYWORDS = (
    "AND", "AS", "BETWEEN", "CASE", "CHECK", "CREATE", "DISTINCT", "EMIT", "EXCEPT", "EXISTS",
    "FINITE", "FROM", "GROUP", "HAVING", "INTERNAL", "INTERSECT", "JOIN", "LEFT", "NOT", "ON",
    "PARTITION", "QUERY", "RANGE", "RIGHT", "ROWS", "SELECT", "SLIDE", "STATIC", "STREAM", "TABLE",
    "THEN", "TIMESTAMP", "UNBOUNDED", "UNION", "VIEW", "WATERMARK", "WHEN", "WHERE", "WINDOW",
    "WITH",
)  # fmt: skip
_T = TokenType
_WANTS_MORE = {
    _T.SELECT, _T.FROM, _T.WHERE, _T.ON, _T.AND, _T.OR, _T.NOT, _T.L_PAREN, _T.COMMA,
    _T.HAVING, _T.GROUP_BY, _T.ORDER_BY, _T.PARTITION_BY, _T.JOIN, _T.UNION, _T.EXCEPT,
    _T.INTERSECT, _T.WHEN, _T.THEN, _T.ELSE, _T.BETWEEN, _T.IN, _T.LIKE, _T.LT, _T.LTE, _T.EQ,
    _T.NEQ, _T.GTE, _T.GT, _T.PLUS, _T.SLASH, _T.DPIPE,
}  # fmt: skip
"""Behind these something has to stand."""
_STANDS_BEHIND = {
    _T.FROM, _T.WHERE, _T.AND, _T.OR, _T.R_PAREN, _T.R_BRACKET, _T.COMMA, _T.LT, _T.LTE, _T.EQ,
    _T.NEQ, _T.GTE, _T.GT, _T.GROUP_BY, _T.ORDER_BY, _T.HAVING, _T.UNION, _T.INTERSECT,
    _T.JOIN, _T.ON, _T.BETWEEN, _T.IN, _T.THEN, _T.ELSE, _T.WHEN,
}  # fmt: skip
"""Before these something has to stand."""
_OPENS_WITH = {
    "FILTER": _T.WHERE,
    "OVER": _T.ORDER_BY,
    "GROUP": _T.ORDER_BY,
    "MATCH_RECOGNIZE": _T.ORDER_BY,
}
"""What may stand first in the parentheses behind a word."""
_CALLED = (_T.L_PAREN, _T.R_PAREN)


def refuse_gaps(tokens: Sequence[Token], places: Places) -> None:
    """Something has to stand between `WHERE` and `AND`; sqlglot passes over some such gaps."""
    before: Token | None = None
    for token, after in zip(tokens, [*tokens[1:], None], strict=True):
        if token.token_type in _WANTS_MORE:
            _refuse_gap(before, token, after, places)
        before = token


def _refuse_gap(before: Token | None, token: Token, after: Token | None, places: Places) -> None:
    if after is None:
        raise _too_early(token, places)
    if after.token_type not in _STANDS_BEHIND or _belongs(before, token, after):
        return
    raise unreadable(
        f"something is missing between `{token.text}` and `{after.text}`",
        places.between(token, after),
    )


def _belongs(before: Token | None, token: Token, after: Token) -> bool:
    """Two such tokens that do follow one another: `f()`, `FILTER (WHERE`, `NOT IN`."""
    pair = token.token_type, after.token_type
    if pair == _CALLED:
        return before is not None and before.token_type not in _WANTS_MORE
    if token.token_type is _T.L_PAREN and before is not None:
        return after.token_type is _OPENS_WITH.get(before.text.upper())
    if token.token_type is _T.NOT:
        return after.token_type in (_T.IN, _T.BETWEEN)
    return False


def refuse_open_brackets(tokens: Sequence[Token], places: Places) -> None:
    """Brackets come in pairs; sqlglot closes some of them by itself."""
    opened: list[TokenType] = []
    for token in tokens:
        if token.token_type in OPENERS:
            opened.append(token.token_type)
        elif token.token_type in CLOSERS and (
            not opened or OPENERS.index(opened.pop()) != CLOSERS.index(token.token_type)
        ):
            raise unreadable(f"`{token.text}` is not expected here", places.between(token, token))
    if opened:
        closer = ")]}"[OPENERS.index(opened[-1])]
        last = tokens[-1]
        raise unreadable(f"expected `{closer}` after `{last.text}`", places.between(last, last))


def syntax_error(tokens: Sequence[Token], places: Places, error: UnparsedError) -> UserError:
    """What is wrong at the token that the parser stopped at."""
    if error.token is None or error.last is None:
        return _at_the_end(tokens[-1], places, error)
    token, expected = error.token, error.expected
    span, place = places.between(token, error.last), places.place(token)
    if token.token_type is _T.L_BRACKET and error.last is token:
        span = places.closed(place, place)
    # That a list may end is no help in the middle of it.
    if expected is None or (expected == "`)`" and token.token_type is not _T.R_BRACKET):
        message = f"`{span.text}` is not expected here"
    else:
        message = f"expected {expected} before `{span.text}`"
    hints = keyword_meant(tokens[max(0, place - 1) : place + 1]) or error.helps
    if token.token_type in (_T.SELECT, _T.CREATE):
        hints = ("end the statement before it with `;`",)
    return unreadable(message, span, *hints)


def _at_the_end(last: Token, places: Places, error: UnparsedError) -> UserError:
    if error.expected is None:
        return _too_early(last, places)
    message = f"expected {error.expected} after `{last.text}`"
    return unreadable(message, places.between(last, last), *error.helps)


def _too_early(token: Token, places: Places) -> UserError:
    """Of `GROUP BY`, which is one token, the last word is what nothing stands behind."""
    word = token.text.split()[-1]
    span = places.characters(token.end - len(word) + 1, token.end)
    if span.text.upper() != word.upper():
        word, span = token.text, places.between(token, token)
    return unreadable(f"the statement ends too early, after `{word}`", span)


def keyword_meant(tokens: Sequence[Token], keywords: Sequence[str] = _KEYWORDS) -> tuple[str, ...]:
    """A keyword that one of these words may be a slip of."""
    for token in tokens:
        word = token.text.upper()
        near = difflib.get_close_matches(word, keywords, n=1, cutoff=0.75)
        if near and word not in keywords:
            return (f"did you mean `{near[0]}`?",)
    return ()


_QUOTED = re.compile(
    r"""--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|(?P<open>/\*|['"`])""", re.DOTALL
)


def unclosed(source: Source) -> UserError:
    """The quote or the comment that is not closed: nothing else keeps a text from being cut."""
    for each in _QUOTED.finditer(source.text):
        if each["open"]:
            what = "comment" if each["open"] == "/*" else "quote"
            return unreadable(f"this {what} is not closed", Span(source, *each.span("open")))
    return unreadable("the text cannot be cut into words", Span(source, 0, len(source.text)))


def unreadable(message: str, span: Span, *helps: str) -> UserError:
    """What cannot be read, and where."""
    said = helps or ("`millpond check --explain MP001` shows an example",)
    return UserError(Diagnostic("MP001", f"syntax error: {message}", span, helps=said))
