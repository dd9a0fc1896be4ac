"""Watermarks that would have Spark let go of state: calls to add, checked again before offered.

They go by event time, so that what is older than they allow is no longer answered.  Ten minutes and
an hour are examples, to be filled in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from millpond.spark.catalyst import SOURCES, Operator, Output
from millpond.spark.catalyst_plan import join_type
from millpond.spark.event_time import Atom, EventWindow, window_of
from millpond.spark.state import kept, sources

_DELAY = 600_000_000
_RANGE = 3_600_000_000
_CALL = 'withWatermark("{}", "10 minutes")'


@dataclass(frozen=True)
class Watermarks:
    """What to add, in words and as calls."""

    text: str
    code: str


def watermarks(plan: Operator) -> Watermarks | None:
    """The watermarks that bound all that a plan keeps by time; None if none were found.

    Tried for one operator with state, of a plan without watermarks.
    """
    state = [each for each in plan.nodes if each.streaming and _keeps(each)]
    if len(state) != 1 or any(each.delays for each in plan.nodes):
        return None
    (one,) = state
    match one.kind:
        case "Join" if join_type(one) == "Inner":
            return _join(plan, one)
        case "Deduplicate":
            return _first_rows(plan, one)
        case "Aggregate":
            return _windows(plan, one)
    return None


def _keeps(plan: Operator) -> bool:
    if plan.kind == "Join":
        return all(each.streaming for each in plan.children)
    return plan.kind in ("Aggregate", "Distinct", "Deduplicate")


def _join(plan: Operator, join: Operator) -> Watermarks | None:
    """The event times of both sides held together."""
    left, right = (_time(each) for each in join.children)
    if left is None or right is None or left.source == right.source:
        return None
    atoms: list[Atom] = [
        ("<=", (left.id, 0), (right.id, 0)),
        ("<=", (right.id, 0), (left.id, _RANGE)),
    ]
    if not _bounded(plan, (left.id, right.id), atoms):
        return None
    sides = [f'{x.source}.{_CALL.format(x.name)}.alias("{x.source}")' for x in (left, right)]
    between = f"{right} BETWEEN {left} AND {left} + INTERVAL 1 HOUR"
    return Watermarks(
        f"hold the event times together: watermarks on {left} and {right}, and a range",
        f'{sides[0]}.join({sides[1]}, ... & expr("{between}"))',
    )


def _first_rows(plan: Operator, one: Operator) -> Watermarks | None:
    """Keys that are forgotten when no late row can have them any more."""
    time = _time(one.children[0])
    if time is None or not _bounded(plan, (time.id,), [], within=one):
        return None
    keys = ", ".join(f'"{each.name}"' for each in one.exprs("keys"))
    return Watermarks(
        f"forget keys by event time: a watermark on {time}",
        f"{time.source}.{_CALL.format(time.name)}.dropDuplicatesWithinWatermark([{keys}])",
    )


def _windows(plan: Operator, one: Operator) -> Watermarks | None:
    """Windows that close."""
    for each in one.exprs("groupingExpressions"):
        found = window_of(one.children[0], each.id) if each.kind == "AttributeReference" else None
        if found is not None:
            return _closing(plan, found, each.id)
    return None


def _closing(plan: Operator, window: EventWindow, id_: int) -> Watermarks | None:
    time = next((x for x in _times(plan) if x.id == window.column.id), None)
    if time is None or not _bounded(plan, (time.id, id_), []):
        return None
    return Watermarks(
        f"let windows close: a watermark on {time}", f"{time.source}.{_CALL.format(time.name)}"
    )


# Trying -----------------------------------------------------------------------------------------


def _bounded(
    plan: Operator, ids: tuple[int, ...], atoms: list[Atom], within: Operator | None = None
) -> bool:
    """Whether watermarks on these columns would have Spark let go of everything."""
    tried = _watermarked(plan, dict.fromkeys(ids, _DELAY), within)
    return all(each.horizon is not None for each in kept(tried, atoms))


def _watermarked(plan: Operator, delays: Mapping[int, int], within: Operator | None) -> Operator:
    output = tuple(Output(each.id, delays.get(each.id, each.delay)) for each in plan.output)
    children = tuple(_watermarked(each, delays, within) for each in plan.children)
    kind = "DeduplicateWithinWatermark" if plan is within else plan.kind
    return replace(plan, kind=kind, output=output, children=children)


@dataclass(frozen=True)
class _Time:
    """A time column of a source."""

    id: int
    name: str
    source: str

    def __str__(self) -> str:
        return f"{self.source}.{self.name}"


def _time(plan: Operator) -> _Time | None:
    """The time column that a side still has, of the one source below it."""
    there = {each.id for each in plan.output}
    found = [each for each in _times(plan) if each.id in there]
    return found[0] if len(found) == 1 else None


def _times(plan: Operator, name: str = "") -> Iterator[_Time]:
    if plan.kind in SOURCES:
        for (column,) in plan.fields["output"]:
            if column["dataType"] == "timestamp":
                called = name or next(sources(plan))
                yield _Time(int(column["exprId"]["id"]), str(column["name"]), called)
        return
    one = list(sources(plan)) if plan.streaming else []
    for each in plan.children:
        yield from _times(each, name or (one[0] if len(one) == 1 else ""))
