"""The types of columns and of CAST, by the words that users have for them.

In our own dialect a type is known by the word that is written: what INT8 is depends on whom one
asks.  In another's, sqlglot says what its words mean.
"""

from __future__ import annotations

import re

from sqlglot import exp

from millpond.diagnostic import Diagnostic, Span, UserError, did_you_mean
from millpond.language.constants import TIMESTAMP_TYPES, not_built
from millpond.language.spans import Places
from millpond.schema import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    HUGEINT,
    INT,
    SMALLINT,
    TIMESTAMP,
    TINYINT,
    Type,
    decimal,
    enum,
    varchar,
)

_D = exp.DType
_PLAIN: dict[exp.DType, Type] = {
    _D.BOOLEAN: BOOLEAN,
    _D.TINYINT: TINYINT,
    _D.SMALLINT: SMALLINT,
    _D.INT: INT,
    _D.BIGINT: BIGINT,
    _D.INT128: HUGEINT,
    _D.FLOAT: DOUBLE,
    _D.DOUBLE: DOUBLE,
    _D.DATE: DATE,
    **dict.fromkeys(TIMESTAMP_TYPES, TIMESTAMP),
}
_TEXTS = (_D.VARCHAR, _D.TEXT, _D.CHAR, _D.NVARCHAR, _D.NCHAR, _D.UUID)
_WORDS = (
    "BIGINT", "BOOL", "BOOLEAN", "CHAR", "CHARACTER", "DATE", "DEC", "DECIMAL", "DOUBLE", "ENUM",
    "FLOAT", "HUGEINT", "INT", "INTEGER", "NUMERIC", "REAL", "SMALLINT", "STRING", "TEXT",
    "TIMESTAMP", "TINYINT", "VARCHAR",
)  # fmt: skip
"""The words of our own dialect."""
_INSTEAD = {
    "INTERVAL": "use BIGINT, and count the smallest unit",
    "TIME": "use TIMESTAMP, or BIGINT",
    "JSON": "use `VARCHAR`, or a column for each part",
}
_MOST_DIGITS = 38
_LIKE_DECIMAL = f"write DECIMAL(9, 2), with {_MOST_DIGITS} digits at most"
_WORD = re.compile(r"\w+")
_MICROSECONDS = 6


def type_of(kind: exp.Expr, span: Span, places: Places) -> Type:
    """The type that is written; `span` is where, if the tree does not know."""
    span = places.of(kind, span)
    said = _WORD.match(span.text)
    word = "" if said is None else said[0].upper()
    meant = kind.this if isinstance(kind, exp.DataType) else None
    if places.dialect == "cql" and word not in _WORDS:
        raise _unknown(kind, word, span)
    if meant is _D.DECIMAL:
        return _decimal(kind, span)
    if meant in _TEXTS:
        return _text(kind, span)
    if meant is not None and meant.name.startswith("ENUM"):
        return _enum(kind, span)
    found = _PLAIN.get(meant) if meant is not None else None
    if found is TIMESTAMP and all(number <= _MICROSECONDS for number in _sizes(kind, span)):
        return found
    if found is not None and not kind.expressions:
        return found
    if found is not None or places.dialect == "cql":
        raise not_built(f"columns of type {' '.join(span.text.split())}", span, *_plainer(found))
    raise _unknown(kind, word, span)


def _plainer(found: Type | None) -> tuple[str, ...]:
    return () if found is None else (f"write {found}",)


def _unknown(kind: exp.Expr, word: str, span: Span) -> UserError:
    said = " ".join(span.text.split())
    if word in _INSTEAD:
        return UserError(
            Diagnostic("MP105", f"no column is of type {said}", span, helps=(_INSTEAD[word],))
        )
    return UserError(
        Diagnostic("MP105", f"unknown type `{said}`", span, helps=did_you_mean(word, _WORDS))
    )


def _sizes(kind: exp.Expr, span: Span) -> list[int]:
    """The numbers in parentheses."""
    numbers = [
        each.this if isinstance(each, exp.DataTypeParam) else each for each in kind.expressions
    ]
    if any(not str(each.this).isdecimal() for each in numbers):
        raise _wrong(span, "its size is no number")
    return [int(str(each.this)) for each in numbers]


def _decimal(kind: exp.Expr, span: Span) -> Type:
    """DECIMAL alone is DECIMAL(18, 3), as in DuckDB; DECIMAL(9) has no digits behind the point."""
    match _sizes(kind, span):
        case []:
            return decimal(18, 3)
        case [precision]:
            scale = 0
        case [precision, scale]:
            pass
        case _:
            raise _wrong(span, "it takes two numbers", _LIKE_DECIMAL)
    if not 1 <= precision <= _MOST_DIGITS:
        raise _wrong(span, f"it has 1 to {_MOST_DIGITS} digits", _LIKE_DECIMAL)
    if scale > precision:
        raise _wrong(span, "it has more digits behind the point than in all", _LIKE_DECIMAL)
    return decimal(precision, scale)


def _text(kind: exp.Expr, span: Span) -> Type:
    match _sizes(kind, span):
        case []:
            return varchar()
        case [length] if length > 0:
            return varchar(length)
    raise _wrong(span, "it takes one length, of at least 1")


def _enum(kind: exp.Expr, span: Span) -> Type:
    values = [each for each in kind.expressions if isinstance(each, exp.Literal) and each.is_string]
    if not values or len(values) != len(kind.expressions):
        raise _wrong(span, "it takes a list of texts", "write ENUM('x', 'y')")
    texts = tuple(str(each.this) for each in values)
    twice = next((each for each in texts if texts.count(each) > 1), None)
    if twice is not None:
        raise _wrong(span, f"`{twice}` stands in it twice")
    return enum(texts)


def _wrong(span: Span, why: str, *helps: str) -> UserError:
    said = " ".join(span.text.split())
    return UserError(
        Diagnostic(
            "MP105",
            f"{said} cannot be: {why}",
            span,
            helps=helps,
        )
    )
