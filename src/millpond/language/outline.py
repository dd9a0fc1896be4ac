"""Where the parts of a query stand in its text, for those who edit it.

Words are those of the dialect's tokenizer, so that comments, quotes and brackets are what they are;
what stands between words is left to the user.  A part of one word is told by its token, and clauses
belong to the SELECT whose bracket they stand in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from millpond.language.dialect import CQL, dialect_named
from millpond.language.spans import CLOSERS, OPENERS
from millpond.language.tree import STREAM_OPERATORS

_T = TokenType
_SET_OPERATORS = (_T.UNION, _T.EXCEPT, _T.INTERSECT)
_NAMES = (_T.VAR, _T.IDENTIFIER)
_BEHIND_WHERE = (_T.GROUP_BY, _T.HAVING, _T.ORDER_BY, _T.LIMIT, _T.QUALIFY)
_MARKS = (_T.ALL, _T.DISTINCT)
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class Part:
    """The characters from `start` up to `end`, and how many words they are."""

    start: int
    end: int
    words: int = 0


@dataclass(frozen=True)
class Select:
    """A SELECT: where its parts stand."""

    start: int
    end: int
    head: int
    """Behind the word SELECT."""
    distinct: bool
    items: tuple[Part, ...]
    """Its columns; none where something stands around them."""
    rows: int
    """Behind the last word of FROM and WHERE."""
    where: int | None
    """Where the condition of WHERE begins."""
    alternatives: bool
    """Whether an OR of WHERE has to be put in parentheses before more is asked for."""
    inputs: int
    """How many inputs FROM has."""
    qualifies: bool
    """Whether it writes columns with the names of their inputs."""
    by_place: bool
    """Whether GROUP BY counts columns."""

    def holds(self, place: int) -> bool:
        return self.start <= place < self.end


@dataclass
class _Open:
    """A SELECT whose end is not reached."""

    depth: int
    answers: bool
    words: list[tuple[Token, int]] = field(default_factory=list)
    """Its own words, those of SELECTs inside left out, and how many brackets each is in."""


class Outline:
    """The SELECTs of one query, and what holds them together.

    >>> found = Outline("SELECT a FROM s UNION ALL SELECT d FROM t WHERE d > 1")
    >>> [found.text[each.start : each.rows] for each in found.answers]
    ['SELECT a FROM s', 'SELECT d FROM t WHERE d > 1']
    """

    def __init__(self, text: str, dialect: str = CQL, file: str | None = None) -> None:
        self.text = text
        self._dialect = dialect
        self._file = text if file is None else file
        self._tokens = _tokens(text, dialect)
        self._read()

    selects: tuple[Select, ...]
    """In the order in which they end."""
    answers: tuple[Select, ...]
    """Those whose rows are the answer's."""
    unites: Part | None
    """The ALL that keeps the duplicates of a union."""

    def select_at(self, place: int) -> Select | None:
        """The innermost SELECT around a place."""
        around = [each for each in self.selects if each.holds(place)]
        return min(around, key=lambda each: each.end - each.start, default=None)

    def alias_behind(self, end: int, name: str) -> str:
        """What the input whose stream's name ends here is called; `name` is what it is bound as."""
        behind = [each for each in self._tokens if each.start >= end]
        depth, named = 0, False
        for token in behind:
            depth += (token.token_type in OPENERS) - (token.token_type in CLOSERS)
            if depth or token.token_type in CLOSERS:
                continue
            if token.token_type is _T.ALIAS:
                named = True
                continue
            word = token.text.lower()
            if token.token_type in _NAMES and (
                named or name.lower() == word or name.lower().startswith(f"{word}_")
            ):
                return token.text
            break
        return next((x.text for x in reversed(self._tokens) if x.end + 1 == end), name)

    def spelled(self, name: str) -> str:
        """A name as the text has it, quoted where it has to be."""
        for token in (*self._tokens, *self._declared):
            same = token.text.lower() == name.lower()
            if same and token.token_type is _T.IDENTIFIER:
                return f"{self._quote}{name}{self._quote}"
            if same and token.token_type is _T.VAR:
                return token.text
        return name if _PLAIN.fullmatch(name) else f"{self._quote}{name}{self._quote}"

    @cached_property
    def _declared(self) -> tuple[Token, ...]:
        return _tokens(self._file, self._dialect)

    @cached_property
    def _quote(self) -> str:
        return str(dialect_named(self._dialect).IDENTIFIER_START)

    # Reading ---------------------------------------------------------------------------------

    def _read(self) -> None:
        selects: list[tuple[Select, bool]] = []
        unions: list[tuple[int, int]] = []
        opened: list[_Open] = []
        named: list[int] = []
        depth, with_seen = 0, False

        def close(until: int) -> None:
            while opened and opened[-1].depth >= until:
                one = opened.pop()
                selects.append((_select(one), one.answers))

        for place, token in enumerate(self._tokens):
            kind = token.token_type
            if kind in CLOSERS:
                close(depth)
                depth -= 1
                named = [each for each in named if each <= depth]
            elif kind in OPENERS:
                depth += 1
                if with_seen and not opened and self._names_a_query(place):
                    named.append(depth)
            elif kind is _T.WITH and not opened:
                with_seen = True
            elif kind in _SET_OPERATORS:
                close(depth)
                if not opened and not named:
                    unions.append((depth, place))
            elif kind is _T.SELECT:
                close(depth)
                opened.append(_Open(depth, not opened and not named))
            if opened:
                opened[-1].words.append((token, depth - opened[-1].depth))
        close(0)
        self.selects = tuple(each for each, _ in selects)
        self.answers = tuple(each for each, answers in selects if answers)
        self.unites = self._all_of(unions)

    def _names_a_query(self, place: int) -> bool:
        """Whether a bracket holds what WITH gives a name."""
        before = self._tokens[max(0, place - 3) : place]
        words = [each.text.upper() for each in before]
        return words[-1:] == ["AS"] or (words[-1:] == ["MATERIALIZED"] and "AS" in words)

    def _all_of(self, unions: Sequence[tuple[int, int]]) -> Part | None:
        """The ALL of the union that is done last."""
        if not unions:
            return None
        least = min(depth for depth, _ in unions)
        place = [place for depth, place in unions if depth == least][-1] + 1
        token = self._tokens[place] if place < len(self._tokens) else None
        if self._tokens[place - 1].token_type is not _T.UNION or token is None:
            return None
        return Part(token.start, token.end + 1, 1) if token.token_type is _T.ALL else None


@lru_cache(maxsize=4096)
def words(text: str, dialect: str = CQL) -> int:
    """How many words a text has, as the dialect cuts it.

    >>> words("AND s.b BETWEEN 0 AND 999")
    8
    """
    return len(_tokens(text, dialect))


def _tokens(text: str, dialect: str) -> tuple[Token, ...]:
    try:
        return tuple(dialect_named(dialect).tokenize(text))
    except TokenError:
        return ()


def _select(one: _Open) -> Select:
    own = [(token, depth) for token, depth in one.words]
    tokens = [token for token, _ in own]
    outer = [place for place, (_, depth) in enumerate(own) if depth == 0]
    at = {_kind(tokens, place): place for place in reversed(outer)}
    last = len(tokens)
    behind = min((at[kind] for kind in (*_BEHIND_WHERE, "EMIT") if kind in at), default=last)
    source = min(at.get(_T.FROM, behind), behind)
    where = at.get(_T.WHERE)
    begin = 1 + (len(tokens) > 1 and tokens[1].token_type in _MARKS)
    groups = _between(own, at.get(_T.GROUP_BY), at.get(_T.HAVING, last))
    return Select(
        tokens[0].start,
        tokens[-1].end + 1,
        tokens[0].end + 1,
        _removes_duplicates(tokens),
        tuple(_items(own, begin, source)),
        tokens[behind - 1].end + 1,
        None if where is None else tokens[where + 1].start,
        where is not None and _has_or(own[where:behind]),
        1 + _joined(own[source : where or behind]),
        any(_qualified(tokens, place) for place in range(1, len(tokens) - 1)),
        any(token.token_type is _T.NUMBER and depth == 0 for token, depth in groups),
    )


def _removes_duplicates(tokens: Sequence[Token]) -> bool:
    """Whether DISTINCT stands before the columns, or between ISTREAM and them."""
    place = 1
    if tokens[place].text.upper().partition("_")[0] in STREAM_OPERATORS:
        place += 1 + (tokens[place + 1].token_type is _T.L_PAREN)
    return _T.DISTINCT in (tokens[1].token_type, tokens[place].token_type)


def _kind(tokens: Sequence[Token], place: int) -> TokenType | str:
    token = tokens[place]
    follows = tokens[place + 1].text.upper() if place + 1 < len(tokens) else ""
    if token.text.upper() == "EMIT" and follows in ("CHANGES", "FINAL", "ON"):
        return "EMIT"
    return token.token_type


def _between(
    own: Sequence[tuple[Token, int]], first: int | None, last: int
) -> Sequence[tuple[Token, int]]:
    return () if first is None else own[first:last]


def _items(own: Sequence[tuple[Token, int]], begin: int, end: int) -> Iterator[Part]:
    if begin < end and own[begin][0].text.upper().partition("_")[0] in STREAM_OPERATORS:
        return
    start = begin
    for place in range(begin, end + 1):
        if place == end or (own[place][0].token_type is _T.COMMA and own[place][1] == 0):
            if start < place:
                yield Part(own[start][0].start, own[place - 1][0].end + 1, place - start)
            start = place + 1


def _has_or(condition: Sequence[tuple[Token, int]]) -> bool:
    """Whether OR stands outside of brackets and of CASE."""
    inside = 0
    for token, depth in condition:
        inside += (token.token_type is _T.CASE) - (token.token_type is _T.END)
        if token.token_type is _T.OR and depth == 0 and not inside:
            return True
    return False


def _joined(source: Sequence[tuple[Token, int]]) -> int:
    """How many inputs stand behind the first."""
    return sum(
        (token.token_type is _T.JOIN) or (token.token_type is _T.COMMA and depth == 0)
        for token, depth in source
    )


def _qualified(tokens: Sequence[Token], place: int) -> bool:
    return (
        tokens[place].token_type is _T.DOT
        and tokens[place - 1].end + 1 == tokens[place].start
        and tokens[place - 1].token_type not in (_T.NUMBER, *CLOSERS)
    )
