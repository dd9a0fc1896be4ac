"""Where the parts of a statement stand in its text.

The parser notes the places of names, constants, functions and all that has brackets or a word of
its own.  The span of anything else is the hull of those inside it, brackets closed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from copy import copy

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from millpond.diagnostic import Source, Span

OPENERS = (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE)
CLOSERS = (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE)


def hull(tree: exp.Expr) -> tuple[int, int] | None:
    """The first and the last character of what is inside a tree; None if no place is known."""
    starts, ends = [], []
    for node in tree.walk():
        if "start" in node.meta:
            starts.append(int(node.meta["start"]))
            ends.append(int(node.meta["end"]))
    return (min(starts), max(ends)) if starts else None


class Places:
    """The tokens of one statement, the spans of what is parsed from them, and the dialect that
    they are written in."""

    def __init__(self, source: Source, tokens: Sequence[Token], dialect: str = "cql") -> None:
        self.dialect = dialect
        self._source = source
        self._tokens = tokens
        self._starts = [each.start for each in tokens]
        self.whole = self.between(tokens[0], tokens[-1])

    def of_statement(self, statement: Places) -> Places:
        """One statement among all tokens of its file, so that what other statements say has a
        place, too: a view that it reads."""
        found = copy(self)
        found.whole = statement.whole
        return found

    def between(self, first: Token, last: Token) -> Span:
        """From the one token to the other, both included."""
        return Span(self._source, first.start, last.end + 1)

    def characters(self, start: int, end: int) -> Span:
        """From one character to another, both included."""
        return Span(self._source, start, end + 1)

    def of(self, tree: exp.Expr, default: Span | None = None) -> Span:
        """The span of `tree`; `default` where nothing in it has a place."""
        found = hull(tree)
        if found is None:
            return default or self.whole
        first = bisect_left(self._starts, found[0])
        last = bisect_left(self._starts, found[1] + 1) - 1
        return self.closed(first, last)

    def head(self, tree: exp.Expr) -> Span:
        """The first word of `tree`: the name of a function, a keyword."""
        found = hull(tree)
        if found is None:
            return self.whole
        token = self._tokens[bisect_left(self._starts, found[0])]
        return self.between(token, token)

    def place(self, token: Token) -> int:
        """Which token of the statement this is."""
        return bisect_left(self._starts, token.start)

    def closed(self, first: int, last: int) -> Span:
        """From the one token to the other, by place, widened until brackets are in pairs."""
        missing = opened = 0
        for token in self._tokens[first : last + 1]:
            if token.token_type in OPENERS:
                opened += 1
            elif token.token_type in CLOSERS:
                missing, opened = (missing, opened - 1) if opened else (missing + 1, 0)
        while opened and last + 1 < len(self._tokens):
            last += 1
            opened += self._depth(last)
        while missing and first > 0:
            first -= 1
            missing -= self._depth(first)
        return self.between(self._tokens[first], self._tokens[last])

    def _depth(self, place: int) -> int:
        """1 for a bracket that opens, -1 for one that closes."""
        kind = self._tokens[place].token_type
        return (kind in OPENERS) - (kind in CLOSERS)
