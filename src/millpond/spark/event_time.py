"""Event time in a Catalyst plan: columns compared at a distance, windows, and lengths of time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from millpond.plan.lengths import units
from millpond.spark.catalyst import Expr, Operator, expr_of

Moved = tuple[int, int]
"""A column, and what is added to it, in microseconds."""
Atom = tuple[str, Moved, Moved]
"""`<=` of two sides, or `=`, whose first side is a column as it is."""


def atoms_of(expr: Expr) -> Iterator[Atom]:
    """The comparisons of two columns at a distance that a condition is made of."""
    match expr.kind:
        case "And":
            for each in expr.children:
                yield from atoms_of(each)
        case "Between":
            value, low, high = (expr.one(each) for each in ("input", "lower", "upper"))
            yield from _atom("<=", low, value)
            yield from _atom("<=", value, high)
        case "LessThan" | "LessThanOrEqual":
            yield from _atom("<=", *expr.children)
        case "GreaterThan" | "GreaterThanOrEqual":
            yield from _atom("<=", *reversed(expr.children))
        case "EqualTo":
            left, right = expr.children
            for one, other in ((left, right), (right, left)):
                if one.kind == "AttributeReference":
                    yield from _atom("=", one, other)


def _atom(op: str, left: Expr, right: Expr) -> Iterator[Atom]:
    one, other = _moved(left), _moved(right)
    if one is not None and other is not None:
        yield op, one, other


def _moved(expr: Expr) -> Moved | None:
    """A column and what is added to it."""
    match expr.kind:
        case "AttributeReference":
            return expr.id, 0
        case "Cast" if _alike(expr):
            return _moved(expr.children[0])  # It changes nothing, and Spark leaves it out.
        case "TimestampAddInterval":
            start, interval = expr.children
            return _plus(_moved(start), _microseconds(interval))
        case "DatetimeSub":
            by = _microseconds(expr.one("interval"))
            return _plus(_moved(expr.one("start")), None if by is None else -by)
        case _ if "replacement" in expr.fields and len(expr.children) == 1:
            return _moved(expr.children[0])
    return None


def _alike(cast: Expr) -> bool:
    """Whether the columns of a cast are of its type."""
    columns = [each for each in cast.nodes if each.kind == "AttributeReference"]
    return all(each.fields["dataType"] == cast.fields["dataType"] for each in columns)


def _plus(side: Moved | None, more: int | None) -> Moved | None:
    return None if side is None or more is None else (side[0], side[1] + more)


def _microseconds(expr: Expr) -> int | None:
    """The length of an interval that is a constant."""
    match expr.kind:
        case "UnaryMinus":
            below = _microseconds(expr.children[0])
            return None if below is None else -below
        case "Cast":
            return _microseconds(expr.children[0])
        case "Literal":
            return interval_of(str(expr.fields.get("value")), str(expr.fields["dataType"]))
    return None


# Windows ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class EventWindow:
    """What `window` or `session_window` made of a time column."""

    column: Expr
    size: int
    overlap: int
    session: bool


def window_of(plan: Operator, id_: int) -> EventWindow | None:
    """The window that a column below an operator holds; None if it holds none."""
    for each in plan.nodes:
        for made in _made(each, id_):
            return _window(made)
    return None


def _made(plan: Operator, id_: int) -> Iterator[Expr]:
    if plan.kind == "Project":
        yield from (
            each.children[0]
            for each in plan.exprs("projectList")
            if each.kind == "Alias" and each.id == id_
        )
    if plan.kind == "Expand":
        for place, each in enumerate(plan.output):
            if each.id == id_:
                yield expr_of(plan.fields["projections"][0][place])


def _window(made: Expr) -> EventWindow | None:
    if made.kind != "CreateNamedStruct" or len(made.children) != 4:
        return None
    end = made.children[3]
    columns = [each for each in end.nodes if each.kind == "AttributeReference"]
    if len({each.id for each in columns}) != 1:
        return None
    while end.kind in ("KnownNullable", "PreciseTimestampConversion"):
        end = end.children[0]
    if end.kind == "Add":
        size = _number(end.children[1])
        slides = [each.children[1] for each in end.nodes if each.kind == "Remainder"]
        slide = _number(slides[0]) if slides else None
        if size and slide:
            return EventWindow(columns[0], size, -(-size // slide), session=False)
    moved = _moved(end)
    if moved is not None and moved[1] > 0:
        return EventWindow(columns[0], moved[1], 1, session=True)
    return None


def _number(expr: Expr) -> int | None:
    return int(expr.fields["value"]) if expr.kind == "Literal" else None


# Words ------------------------------------------------------------------------------------------

_UNITS: Mapping[str, int] = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}
_PART = re.compile(r"(-?\d+)\s+([a-z]+?)s?(?=\s|$)")


def interval_of(text: str, type_: str) -> int | None:
    """The microseconds of a constant: a number of them, or words.

    >>> interval_of("1 hour 5 minutes", "string") == 65 * 60 * 10**6
    True
    >>> interval_of("2 months", "interval")
    """
    if type_.startswith("interval ") and "month" not in type_ and "year" not in type_:
        return int(text)
    parts = _PART.findall(text.lower().removeprefix("interval").strip())
    if not parts or any(unit not in _UNITS for _, unit in parts):
        return None
    return sum(int(count) * _UNITS[unit] for count, unit in parts)


def length(microseconds: int) -> str:
    """
    >>> length(600_000_000)
    '10 minutes'
    """
    count, word = units(microseconds)
    return f"{count} {word.lower()}" + ("" if count == 1 else "s")
