"""What becomes of rows that stay: those of one window of TUMBLE or HOP meet no others.

Rows of TUMBLE and HOP never leave an answer, and nor do those of a stream without a window.  But a
row that is computed *by window*, from rows of one window alone, does not change when that window
has ended: whatever stands above needs the open windows only, as long as it groups by them, or
combines rows of the same one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from millpond.memory.flatten import NotFlatError
from millpond.memory.window_rows import places_in
from millpond.plan import (
    Assign,
    ColumnRef,
    Comparison,
    Cross,
    Expression,
    Extent,
    Join,
    Node,
    Operator,
    SemiJoin,
    Window,
    WindowFunction,
    nodes,
    scans,
)


@dataclass(frozen=True)
class Past:
    """What becomes of the rows of a node."""

    function: WindowFunction | None = None
    """The windows of TUMBLE or HOP that rows are in."""
    ends: Mapping[int, str] = field(default_factory=dict)
    """The columns that name the window that a row is computed from, and which end of it."""
    stays: bool = False
    """Whether rows stay for ever."""

    def with_ends(self, ends: Mapping[int, str]) -> Past:
        return replace(self, ends=ends)


FORGETS = Past()
STAYS = Past(stays=True)


def carried(node: Node, past: Past, shown: Sequence[Expression]) -> dict[int, str]:
    """Which of the columns that are made of a node's name its window."""
    found = {}
    for place, each in enumerate(shown):
        if isinstance(each, ColumnRef):
            (read,) = places_in(node, [each])
            if read in past.ends:
                found[place] = past.ends[read]
    return found


def by_window(past: Past, node: Node, what: str) -> None:
    if past.stays and not past.ends:
        raise _staying(node, f"{what} asks for all of them")


def _windowed(node: Node) -> bool:
    bounded = isinstance(node, Window) and node.spec.extent is not Extent.UNBOUNDED
    return bounded or isinstance(node, Assign)


def _staying(node: Node, why: str) -> NotFlatError:
    """Rows that stay are needed again: those of a stream without a window, if there is one."""
    forgotten = {id(below) for each in nodes(node) if _windowed(each) for below in nodes(each)}
    bare = [each for each in scans(node) if id(each) not in forgotten]
    if bare:
        return NotFlatError(f"`{bare[0].alias}` has no window, and {why}", bare[0].span)
    (leaf, *_) = (each for each in nodes(node) if isinstance(each, Assign))
    return NotFlatError(
        f"rows of {leaf.function.assigned} stay in the answer, and {why}", leaf.span
    )


def added(pasts: Sequence[Past]) -> Past:
    """Rows of several nodes of the same columns."""
    if not any(each.stays for each in pasts):
        return FORGETS
    first = pasts[0]
    if any(each.function != first.function or not each.stays for each in pasts):
        return STAYS
    ends = {
        place: end
        for place, end in first.ends.items()
        if all(each.ends.get(place) == end for each in pasts)
    }
    return first.with_ends(ends)


def side_by_side(
    node: Cross | Join | SemiJoin, pasts: Sequence[Past], conditions: Sequence[Expression]
) -> Past:
    """Rows of several nodes combined: none of them stays, or all are of the same window."""
    if not any(each.stays for each in pasts):
        return FORGETS
    first = pasts[0]
    if not all(each.stays and each.ends and each.function == first.function for each in pasts):
        raise _staying(node, _LATER)
    starts, start = [], 0
    for each in node.inputs:
        starts.append(start)
        start += len(each.fields)
    ends = {
        start + place: end
        for start, past in zip(starts, pasts, strict=True)
        for place, end in past.ends.items()
    }
    if not _connected(node, starts, ends, conditions):
        raise _staying(node, _LATER)
    return first.with_ends(ends)


_LATER = "rows that come later may be combined with them"


def _connected(
    node: Cross | Join | SemiJoin,
    starts: Sequence[int],
    ends: Mapping[int, str],
    conditions: Sequence[Expression],
) -> bool:
    """Whether conditions say of all inputs that their rows are of the same window."""
    there = {
        (each.alias, each.name): place
        for place, each in enumerate(x for one in node.inputs for x in one.fields)
    }
    one = {0}
    pairs = []
    for each in conditions:
        if isinstance(each, Comparison) and each.op is Operator.EQ:
            sides = (each.left, each.right)
            places = [there[x.alias, x.name] for x in sides if isinstance(x, ColumnRef)]
            found = [ends.get(place) for place in places]
            if len(found) == 2 and found[0] is not None and found[0] == found[1]:
                pairs.append([max(i for i, s in enumerate(starts) if s <= p) for p in places])
    for _ in starts:
        one |= {each for pair in pairs if one & set(pair) for each in pair}
    return len(one) == len(starts)
