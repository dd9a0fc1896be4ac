"""Where the parts of a statement stand in its text.

sqlglot keeps the places of names and constants only.  The span of anything else is the hull of
those inside it, brackets closed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from millpond.diagnostic import Source, Span

_CLOSERS = {"(": ")", "[": "]", "{": "}"}


class Places:
    """The tokens of one statement, and the spans of what is parsed from them."""

    def __init__(self, source: Source, tokens: Sequence[Token]) -> None:
        self._source = source
        self._tokens = tokens
        self._starts = [each.start for each in tokens]
        self.whole = self.between(tokens[0], tokens[-1])

    def between(self, first: Token, last: Token) -> Span:
        """From the one token to the other, both included."""
        return Span(self._source, first.start, last.end + 1)

    def of(self, tree: exp.Expr, default: Span | None = None) -> Span:
        """The span of `tree`; `default` where it has no name or constant of its own."""
        starts, ends = [], []
        for node in tree.walk():
            if "start" in node.meta:
                starts.append(node.meta["start"])
                ends.append(node.meta["end"])
        if not starts:
            return default or self.whole
        first = bisect_left(self._starts, min(starts))
        last = bisect_left(self._starts, max(ends) + 1) - 1
        return self.closed(first, last)

    def after(self, span: Span) -> Token | None:
        """The token behind a span."""
        place = bisect_left(self._starts, span.end)
        return self._tokens[place] if place < len(self._tokens) else None

    def closed(self, first: int, last: int) -> Span:
        """From the one token to the other, by place, widened until brackets are in pairs."""
        missing = opened = 0
        for token in self._tokens[first : last + 1]:
            if token.text in _CLOSERS:
                opened += 1
            elif token.text in _CLOSERS.values():
                missing, opened = (missing, opened - 1) if opened else (missing + 1, 0)
        while opened and last + 1 < len(self._tokens):
            last += 1
            text = self._tokens[last].text
            opened += (text in _CLOSERS) - (text in _CLOSERS.values())
        while missing and first > 0:
            first -= 1
            text = self._tokens[first].text
            missing += (text in _CLOSERS.values()) - (text in _CLOSERS)
        return self.between(self._tokens[first], self._tokens[last])
