"""What statements of other engines are for: to declare, to ask, or to say something that no answer
depends on.

The last are passed over, each with a note that says so; which they are is a list, so that nothing
else ever is.  Settings are among them: one that lets state expire makes the engine's answers
differ from the query's, and its note says that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from itertools import pairwise

from sqlglot.tokenizer_core import Token, TokenType

from millpond.diagnostic import Diagnostic, Severity
from millpond.language.grammar_changes import QUERY_STARTS
from millpond.language.grammar_foreign import PREFIXES
from millpond.language.spans import Places


class Role(Enum):
    """What a statement is for."""

    DECLARES = auto()
    ASKS = auto()
    PASSES = auto()
    UNKNOWN = auto()


_STORED = ("TABLE", "LIVE", "STREAMING")
_PASSED = (
    "SET", "RESET", "USE", "SHOW", "DESCRIBE", "DESC", "EXPLAIN", "ADD", "LOAD", "FLUSH", "GRANT",
    "REVOKE", "ANALYZE", "REFRESH", "COMMENT", "CACHE", "UNCACHE",
)  # fmt: skip
"""Statements about how queries run, who may ask them, and what there is."""
_PASSED_OBJECTS = (
    "CLUSTER", "CONNECTION", "SECRET", "DATABASE", "SCHEMA", "CATALOG", "ROLE", "USER", "FUNCTION",
    "INDEX", "DEFAULT", "UNIQUE", "PUBLICATION", "SUBSCRIPTION", "TYPE",
)  # fmt: skip
"""What CREATE makes that no answer depends on; a function that a query calls is missed there."""
_FORGETS = ("state.ttl", "statettl", "idle.state.retention", "idlestateretention", "state_ttl")
"""Parts of settings that let state expire."""
_GROUPS = (
    ("EXECUTE", "STATEMENT", "SET", "BEGIN"),
    ("EXECUTE", "STATEMENT", "SET"),
    ("BEGIN", "STATEMENT", "SET"),
    ("STATEMENT", "SET", "BEGIN"),
    ("EXECUTE",),
    ("END",),
)
"""Words of Flink around statements that run as one job."""


@dataclass(frozen=True)
class Passed:
    """A statement that is passed over: what is noted of it, and the view that it keeps."""

    note: Diagnostic
    keeps: str | None = None
    drops: str | None = None
    targets: str | None = None
    """A table without columns of its own: its rows are those that later statements insert."""


def ungrouped(tokens: Sequence[Token], dialect: str) -> Sequence[Token]:
    """A statement without the words that make several one job."""
    if dialect != "flink":
        return tokens
    words = tuple(each.text.upper() for each in tokens[:4])
    for group in _GROUPS:
        if words[: len(group)] == group and _opens(words, group):
            return tokens[len(group) :]
    return tokens


def _opens(words: Sequence[str], group: Sequence[str]) -> bool:
    """EXECUTE alone stands before INSERT only, and END alone."""
    behind = words[len(group) : len(group) + 1]
    return len(group) > 1 or behind == (("INSERT",) if group == ("EXECUTE",) else ())


def role(tokens: Sequence[Token]) -> Role:
    """What a statement of another dialect is for."""
    words = [each.text.upper() for each in tokens[:8]]
    if tokens[0].token_type in QUERY_STARTS:
        return Role.ASKS
    if words[0] == "INSERT":
        return Role.PASSES if _inserts_rows(tokens) else Role.ASKS
    if words[0] == "COPY" or words[0] == "SUBSCRIBE":
        pairs = pairwise(tokens[:6])
        query = any(
            one.token_type is TokenType.L_PAREN and other.token_type in QUERY_STARTS
            for one, other in pairs
        )
        return Role.ASKS if query else Role.PASSES if "SUBSCRIBE" in words else Role.UNKNOWN
    if words[0] in _PASSED or words[0] == "DROP" or words[:2] == ["ALTER", "SYSTEM"]:
        return Role.PASSES
    return _made(tokens, words[1:]) if words[0] == "CREATE" else Role.UNKNOWN


def _made(tokens: Sequence[Token], words: Sequence[str]) -> Role:
    """What CREATE makes."""
    rest = list(words)
    while rest and rest[0] in PREFIXES:
        rest = rest[1:]
    asks = _depth_zero(tokens, TokenType.ALIAS)
    match rest[:1]:
        case ["QUERY" | "MATERIALIZED" | "FLOW"]:
            return Role.ASKS
        case ["VIEW"]:
            return Role.ASKS if asks else Role.DECLARES
        case ["SINK"]:
            return Role.ASKS if asks else Role.PASSES
        case [word] if word in _STORED:
            if asks:
                return Role.ASKS
            bare = word != "TABLE" and not _depth_zero(tokens, TokenType.L_PAREN)
            return Role.PASSES if bare else Role.DECLARES
        case ["STREAM" | "FINITE" | "STATIC" | "SOURCE" | "AGGREGATE"]:
            return Role.DECLARES
        case [word] if word in _PASSED_OBJECTS:
            return Role.PASSES
    return Role.UNKNOWN


def _depth_zero(tokens: Sequence[Token], kind: TokenType) -> bool:
    """Whether a token of that kind stands outside of all parentheses; AS only before a query or
    INSERT."""
    depth = 0
    for token, after in zip(tokens, [*tokens[1:], None], strict=True):
        if depth == 0 and token.token_type is kind:
            if kind is not TokenType.ALIAS:
                return True
            if after is not None and after.token_type in (*QUERY_STARTS, TokenType.INSERT):
                return True
        depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
    return False


def _inserts_rows(tokens: Sequence[Token]) -> bool:
    starts = (TokenType.SELECT, TokenType.WITH, TokenType.VALUES)
    first = next((each.token_type for each in tokens if each.token_type in starts), None)
    return first is TokenType.VALUES


def passed(tokens: Sequence[Token], places: Places) -> Passed:
    """What is noted of a statement that is passed over."""
    words = [each.text.upper() for each in tokens]
    text = " ".join(each.text for each in tokens).lower()
    if words[0] == "SET" and any(each in text for each in _FORGETS):
        said = "state that expires makes answers wrong that need it: verdicts are of the queries"
        helps = ("a query with a bound needs no such setting",)
        note = Diagnostic("MP113", said, places.whole, helps=helps, severity=Severity.WARNING)
        return Passed(note)
    if words[0] in ("SET", "RESET"):
        if "time" in text and "zone" in text:
            said = "times are in UTC here, whatever a setting says"
            note = Diagnostic("MP113", said, places.whole, severity=Severity.WARNING)
            return Passed(note)
        return Passed(_note("settings say how an engine runs: this one is passed over", places))
    if words[0] == "INSERT":
        return Passed(_note("rows of INSERT are passed over: they come with --input", places))
    head = " ".join(_head(tokens))
    note = _note(f"`{head}` is passed over: no answer depends on it", places)
    if words[0] == "DROP":
        return Passed(note, drops=_name(tokens))
    if "STREAMING" in words[:4] and words[0] == "CREATE":
        target = _name(tokens)
        said = f"`{target}` holds what later statements insert"
        return Passed(_note(said, places), targets=target)
    return Passed(note, keeps=_kept(tokens))


def _head(tokens: Sequence[Token]) -> Sequence[str]:
    """The words that say what a statement does."""
    words = [each.text for each in tokens[:4]]
    if words[0].upper() not in ("CREATE", "DROP"):
        return words[:1]
    more = ("MATERIALIZED", "DEFAULT", "UNIQUE", "STREAMING", "OR", "REPLACE")
    count = 2
    while count < len(words) and words[count - 1].upper() in more:
        count += 1
    return words[:count]


def _note(said: str, places: Places) -> Diagnostic:
    return Diagnostic("MP113", said, places.whole, severity=Severity.NOTE)


def _name(tokens: Sequence[Token]) -> str:
    """The name behind the words for what is made or dropped: the last of a chain with points."""
    known = (
        "CREATE", "DROP", "TABLE", "STREAMING", "LIVE", "MATERIALIZED", "VIEW", "SOURCE", "SINK",
        "IF", "NOT", "EXISTS", "INDEX", "FLOW", *PREFIXES,
    )  # fmt: skip
    names = [each.text for each in tokens if each.text.upper() not in known]
    found = names[0] if names else ""
    while len(names) > 2 and names[1] == ".":
        names = names[2:]
        found = names[0]
    return found


def _kept(tokens: Sequence[Token]) -> str | None:
    """The view that an index, a sink or a subscription is of."""
    words = [each.text.upper() for each in tokens]
    for word in ("FROM", "ON", "SUBSCRIBE"):
        if word in words[:-1] and words[0] in ("CREATE", "SUBSCRIBE", "COPY"):
            place = words.index(word) + 1
            place += words[place] == "TO"
            return tokens[place].text if place < len(tokens) else None
    return None
