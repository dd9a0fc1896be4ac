"""The units that a length of time is counted in, by the words that people have for them.

All have a fixed length.  A month and a year have none, so that a window of one would hold now more
and now less; they are known here in order to be refused with the reason.
"""

from __future__ import annotations

from millpond.diagnostic import Diagnostic, Span, UserError, did_you_mean

MICROSECONDS = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}
"""How long each unit is."""
_SHORT = {
    "us": "microsecond",
    "ms": "millisecond",
    "msec": "millisecond",
    "s": "second",
    "sec": "second",
    "m": "minute",
    "min": "minute",
    "h": "hour",
    "hr": "hour",
    "d": "day",
    "w": "week",
}
_VARIABLE = {"month": "30 days", "quarter": "90 days", "year": "365 days"}


def _singular(word: str) -> str:
    """The unit, or what may be one, that a word means."""
    folded = word.lower()
    if len(folded) > 3:
        folded = folded.removesuffix("s")
    return _SHORT.get(folded, folded)


def is_unit(word: str) -> bool:
    """Whether a word means a unit of time, also one that is refused."""
    meant = _singular(word)
    return meant in MICROSECONDS or meant in _VARIABLE


def unit_of(word: str, span: Span, whole: Span | None = None) -> str:
    """The unit that a word means; `whole` is the length that it stands in.

    >>> from millpond.diagnostic import Source
    >>> unit_of("mins", Span(Source("q.sql", "mins"), 0, 4))
    'minute'
    """
    meant = _singular(word)
    if meant in MICROSECONDS:
        return meant
    if meant in _VARIABLE:
        raise UserError(
            Diagnostic(
                "MP107",
                f"a {meant} has no fixed length",
                whole or span,
                helps=(f"count days instead: {_VARIABLE[meant]}",),
            )
        )
    shown = [each.upper() if word.isupper() else each for each in MICROSECONDS]
    raise UserError(
        Diagnostic("MP107", f"unknown unit of time `{word}`", span, helps=did_you_mean(word, shown))
    )
