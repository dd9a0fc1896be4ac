"""Declarations that would bound a query without one: CHECKs that somebody knows to hold.

What holds of the data is no edit of the query.  The fewest of the CHECKs that make the verdict
better are looked for, first those on columns that the verdict names, and the plan over the narrower
streams is decided as any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from millpond.memory.decide import verdict_of
from millpond.memory.verdict import DEFAULT_BUDGET, MemoryClass, Verdict
from millpond.plan import (
    Cross,
    Difference,
    Intersect,
    Join,
    Node,
    Query,
    Scan,
    SemiJoin,
    Union,
)
from millpond.schema import Check, Stream

Known = tuple[str, str, Check]
"""A CHECK of a column of a stream."""

_MOST = 3
"""More at once are not tried, but all together."""
_ASKED = 8
"""Of so many CHECKs subsets are tried."""


@dataclass(frozen=True)
class Remedy:
    """CHECKs that make a query bounded together."""

    checks: tuple[Known, ...]
    memory: MemoryClass
    units: int | None


def remedy(
    query: Query, verdict: Verdict, known: Sequence[Known], budget: int = DEFAULT_BUDGET
) -> Remedy | None:
    """The fewest of the CHECKs that bound a query without a bound; None if not even all do."""
    if verdict.memory not in (MemoryClass.LINEAR, MemoryClass.OUTSIDE):
        return None
    names = {each.name for each in query.streams}
    usable = [each for each in known if each[0] in names]
    best: Remedy | None = None
    for some in _subsets(query, verdict, usable):
        if best is not None and len(some) > len(best.checks):
            break
        found = verdict_of(with_checks(query, some), budget=budget)
        if found.memory in (MemoryClass.NONE, MemoryClass.CONSTANT):
            tried = Remedy(tuple(some), found.memory, found.units)
            if best is None or (tried.units or 0) < (best.units or 0):
                best = tried
    return best


def _subsets(query: Query, verdict: Verdict, known: Sequence[Known]) -> Iterator[Sequence[Known]]:
    named = {
        (scan.stream.name, column)
        for reason in verdict.because
        for alias, _, column in (each.partition(".") for each in reason.attributes)
        for scan in query.scans
        if scan.alias == alias
    }
    first = sorted(known, key=lambda each: each[:2] not in named)
    for count in range(1, min(_MOST, len(first)) + 1):
        yield from combinations(first[:_ASKED], count)
    if len(first) > _MOST:
        yield first


def with_checks(query: Query, known: Iterable[Known]) -> Query:
    """The query over streams that obey more CHECKs."""
    changed = {each.name: each for each in query.streams}
    for stream, column, check in known:
        changed[stream] = _with_check(changed[stream], column, check)
    return replace(query, root=_over(query.root, changed))


def _with_check(stream: Stream, name: str, check: Check) -> Stream:
    columns = tuple(
        replace(each, check=each.check.meet(check)) if each.name == name else each
        for each in stream.columns
    )
    return replace(stream, columns=columns)


def _over(node: Node, changed: Mapping[str, Stream]) -> Node:
    match node:
        case Scan():
            return replace(node, stream=changed.get(node.stream.name, node.stream))
        case Cross() | Union():
            return replace(node, inputs=tuple(_over(each, changed) for each in node.inputs))
        case Join() | SemiJoin() | Difference() | Intersect():
            left, right = _over(node.left, changed), _over(node.right, changed)
            return replace(node, left=left, right=right)
    return replace(node, input=_over(node.input, changed))  # type: ignore[arg-type] # a scan below
