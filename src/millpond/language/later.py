"""Parts of the language that no parser takes yet, known by their words.

They are refused by name, rather than as text that cannot be read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot.tokenizer_core import Token, TokenType

from millpond.diagnostic import NotBuiltError
from millpond.language.constants import not_built
from millpond.language.spans import Places

STREAMS_OF_CHANGES = frozenset(
    name + ending
    for name in ("ISTREAM", "DSTREAM", "RSTREAM", "WSTREAM")
    for ending in ("", "_RESTORE")
)
"""What makes a stream of a query's changes, before a list of columns or a query in parentheses."""


@dataclass(frozen=True)
class _Phrase:
    """Words that follow one another, each one of several; and what they begin."""

    words: tuple[frozenset[str], ...]
    what: str


def _phrase(what: str, *words: str) -> _Phrase:
    return _Phrase(tuple(frozenset(each.split("|")) for each in words), what)


_IN_DECLARATIONS = (
    _phrase("watermarks", "WATERMARK", "FOR"),
    _phrase("time columns", "TIMESTAMP", "BY"),
    _phrase("properties of a stream", "WITH", "("),
)
_IN_QUERIES = (
    _phrase("windows and lists in brackets", "["),
    _phrase("when to emit", "EMIT", "CHANGES|FINAL|ON"),
    _phrase("windows by TUMBLE, HOP and SESSION", "TUMBLE|HOP|SESSION", "(", "TABLE"),
)
_ENDS_A_COLUMN = (TokenType.COMMA, TokenType.FROM, TokenType.DOT, TokenType.ALIAS)


def later(places: Places, tokens: Sequence[Token], *, query: bool) -> Iterator[NotBuiltError]:
    """What of a statement is known by its words and not built."""
    words = [_word(each) for each in tokens]
    for start in range(len(tokens)):
        for phrase in _IN_QUERIES if query else _IN_DECLARATIONS:
            found = words[start : start + len(phrase.words)]
            if len(found) == len(phrase.words) and all(
                word in choices for word, choices in zip(found, phrase.words, strict=True)
            ):
                span = places.closed(start, start + len(found) - 1)
                yield not_built(f"{phrase.what}: `{span.text}`", span)
        if query and _streams_changes(tokens, words, start):
            yield not_built(words[start], places.between(tokens[start], tokens[start]))


def _streams_changes(tokens: Sequence[Token], words: Sequence[str], place: int) -> bool:
    """Whether this is the ISTREAM of `SELECT ISTREAM a`, and no column of that name."""
    return (
        words[place] in STREAMS_OF_CHANGES
        and place > 0
        and words[place - 1] in ("SELECT", "DISTINCT")
        and place + 1 < len(tokens)
        and tokens[place + 1].token_type not in _ENDS_A_COLUMN
    )


def _word(token: Token) -> str:
    """A keyword, a name or a sign; a quoted name or a text is none of them."""
    quoted = token.token_type in (TokenType.IDENTIFIER, TokenType.STRING)
    return "" if quoted else token.text.upper()
