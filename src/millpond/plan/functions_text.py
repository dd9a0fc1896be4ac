"""Functions of text: a character is a code point, and places count from 1.

LIKE has no escape character unless ESCAPE gives one, as in the standard.  CONCAT skips NULLs, `||`
does not.  Where engines differ (a negative place in SUBSTRING counts from the end, a negative
count in LEFT and RIGHT leaves that many out) it is as in DuckDB.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from millpond.plan.signature import Rule, Scalar, Signature, first_of, taking
from millpond.schema import BIGINT, BOOLEAN, HUGEINT, VARCHAR, Kind, Type, Value


def _joined(types: Sequence[Type]) -> Signature | None:
    """Two values, one of them text or unknown; the other is written as text."""
    if len(types) != 2 or not any(each.kind in (Kind.VARCHAR, Kind.NULL) for each in types):
        return None
    return Signature((VARCHAR, VARCHAR), VARCHAR)


def _concatenated(types: Sequence[Type]) -> Signature | None:
    return Signature((VARCHAR,) * len(types), VARCHAR) if types else None


def _concat(*parts: str | None) -> str:
    return "".join(each for each in parts if each is not None)


def _like(flags: int) -> Callable[..., bool]:
    def matches(text: str, pattern: str, escape: str = "") -> bool:
        return _pattern(pattern, escape, flags).fullmatch(text) is not None

    return matches


@lru_cache(maxsize=1024)
def _pattern(pattern: str, escape: str, flags: int) -> re.Pattern[str]:
    if len(escape) > 1:
        raise ValueError("an escape is one character")
    parts = []
    characters = iter(pattern)
    for each in characters:
        if each == escape:
            following = next(characters, None)
            if following is None:
                raise ValueError("a pattern does not end with its escape character")
            parts.append(re.escape(following))
        else:
            parts.append({"%": ".*", "_": "."}.get(each) or re.escape(each))
    return re.compile("".join(parts), flags)


def _substring(text: str, start: int, length: int | None = None) -> str:
    # Place 0 is the one before the first, as in the standard.
    begin = start - 1 if start >= 0 else len(text) + start
    if length is None:
        return text[max(begin, 0) :]
    if length < 0:
        raise ValueError("a length is not negative")
    return text[max(begin, 0) : max(begin + length, 0)]


def _left(text: str, count: int) -> str:
    return text[:count]


def _right(text: str, count: int) -> str:
    return text[max(len(text) - count, 0) if count >= 0 else -count :]


def _trimming(strip: Callable[[str, str], str]) -> Callable[..., str]:
    return lambda text, characters=" ": strip(text, characters)


def _replace(text: str, old: str, new: str) -> str:
    return text.replace(old, new) if old else text


_TEXT = taking(VARCHAR, result=VARCHAR)
_TEXT_AND_COUNT = taking(VARCHAR, HUGEINT, result=VARCHAR)
_TWO_TEXTS = taking(VARCHAR, VARCHAR, result=BOOLEAN)
_PLACE = taking(VARCHAR, VARCHAR, result=BIGINT)
_TRIM = taking(VARCHAR, VARCHAR, result=VARCHAR, optional=1)
_LIKE = taking(VARCHAR, VARCHAR, VARCHAR, result=BOOLEAN, optional=1)
_SUBSTRING: Rule = first_of(_TEXT_AND_COUNT, taking(VARCHAR, HUGEINT, HUGEINT, result=VARCHAR))


def _trim(name: str, strip: Callable[[str, str], str]) -> Scalar:
    return Scalar(name, "text, and perhaps the characters to take off", _TRIM, _trimming(strip))


def _place(text: str, sought: str) -> Value:
    return text.find(sought) + 1


TEXTS = (
    Scalar(
        "||",
        "text and another value, such as CAST(x AS VARCHAR)",
        _joined,
        lambda one, other: one + other,
    ),
    Scalar("CONCAT", "values", _concatenated, _concat, strict=False),
    Scalar("LIKE", "text and a pattern, and an escape character with ESCAPE", _LIKE,
           _like(re.DOTALL)),
    Scalar("ILIKE", "text and a pattern, and an escape character with ESCAPE", _LIKE,
           _like(re.DOTALL | re.IGNORECASE)),
    Scalar("LOWER", "text", _TEXT, str.lower),
    Scalar("UPPER", "text", _TEXT, str.upper),
    Scalar("LENGTH", "text", taking(VARCHAR, result=BIGINT), len),
    Scalar("REVERSE", "text", _TEXT, lambda text: text[::-1]),
    Scalar("SUBSTRING", "text, the first place, and perhaps a length", _SUBSTRING, _substring),
    Scalar("LEFT", "text and a count", _TEXT_AND_COUNT, _left),
    Scalar("RIGHT", "text and a count", _TEXT_AND_COUNT, _right),
    _trim("TRIM", str.strip),
    _trim("LTRIM", str.lstrip),
    _trim("RTRIM", str.rstrip),
    Scalar("REPLACE", "text, what to replace, and by what",
           taking(VARCHAR, VARCHAR, VARCHAR, result=VARCHAR), _replace),
    Scalar("STARTS_WITH", "two texts", _TWO_TEXTS, str.startswith),
    Scalar("ENDS_WITH", "two texts", _TWO_TEXTS, str.endswith),
    Scalar("CONTAINS", "two texts", _TWO_TEXTS, str.__contains__),
    Scalar("STRPOS", "text, and what to look for in it", _PLACE, _place),
    Scalar("POSITION", "what to look for, and the text", _PLACE,
           lambda sought, text: _place(text, sought)),
)  # fmt: skip
