"""Plans that are decided by asking another question.

`dropDuplicates` on some of the columns has no counterpart here, because which row of a key comes
first shows.  But it has to know which keys came, and nothing else: it keeps what the distinct keys
keep.  Groups with aggregates that are not known keep at least their distinct keys.  And `window`
without a watermark makes a structure of a time column: its groups are told apart by where windows
start, which is any timestamp, so that the start can stand for the time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from millpond.spark.catalyst import SOURCES, Expr, Operator, Output
from millpond.spark.catalyst_plan import PASSING
from millpond.spark.event_time import EventWindow, window_of
from millpond.spark.state import kept


@dataclass(frozen=True)
class Question:
    """A plan that needs as much memory as another one."""

    plan: Operator
    both_ways: bool = True
    """Whether it has no bound if the other one has none."""
    bounds: bool = True
    """Whether it has a bound if the other one has one."""
    same_columns: bool = True
    """Whether a repair of the other one is a repair of it."""


def first_rows(plan: Operator) -> Question | None:
    """For rows that `dropDuplicates` lets through: the distinct keys.

    A filter of what comes out is one of the keys if it asks for them alone; another one may hide
    that a key has come.
    """
    filters = []
    while plan.kind in PASSING or plan.kind in ("Project", "Filter"):
        if plan.kind == "Filter":
            filters.append(plan)
        plan = plan.children[0]
    if plan.kind != "Deduplicate" or not plan.streaming or kept(plan.children[0]):
        return None
    keys = {each.id for each in plan.exprs("keys")}
    output = tuple(each for each in plan.output if each.id in keys)
    found, both_ways = replace(plan, output=output), True
    for each in reversed(filters):
        if keys.issuperset(x for one in each.exprs("condition") for x in one.references):
            found = replace(each, children=(found,), output=output)
        else:
            both_ways = False
    return Question(found, both_ways)


def groups_alone(plan: Operator) -> Question | None:
    """For groups whose aggregates are not known: which groups there are is a part of the answer."""
    wanted = {each.id for each in plan.output}
    asked: set[int] = set()
    while plan.kind in PASSING or plan.kind in ("Project", "Filter"):
        asked |= {x for each in plan.exprs("condition") for x in each.references}
        plan = plan.children[0]
    groups = plan.exprs("groupingExpressions")
    ids = {each.id for each in groups if each.kind == "AttributeReference"}
    if plan.kind != "Aggregate" or not groups or len(ids) < len(groups):
        return None
    if not ids <= wanted or asked:
        return None  # A group that does not show, or is hidden.
    output = tuple(each for each in plan.children[0].output if each.id in ids)
    keys = replace(plan, kind="Deduplicate", output=output, placed={"keys": groups})
    return Question(keys, bounds=False)


def window_starts(plan: Operator) -> Question | None:
    """For groups by windows that never close: their starts in the place of the times."""
    windows = dict(_windows(plan))
    if not windows or any(each.session for each in windows.values()):
        return None
    by_time = {each.column.id: id_ for id_, each in windows.items()}
    if len(by_time) < len(windows):
        return None
    return Question(_started(plan, windows, by_time), same_columns=False)


def _windows(plan: Operator) -> Iterator[tuple[int, EventWindow]]:
    for each in plan.nodes:
        if each.kind == "Aggregate" and each.streaming:
            for one in each.exprs("groupingExpressions"):
                if one.kind != "AttributeReference":
                    continue
                found = window_of(each.children[0], one.id)
                if found is not None:
                    yield one.id, found


def _started(
    plan: Operator, windows: Mapping[int, EventWindow], by_time: Mapping[int, int]
) -> Operator:
    if plan.kind in SOURCES:
        said = [_start(each, by_time) for each in plan.fields["output"]]
        output = tuple(Output(by_time.get(each.id, each.id), None) for each in plan.output)
        return replace(plan, fields={**plan.fields, "output": said}, output=output)
    below = tuple(_started(each, windows, by_time) for each in plan.children)
    if plan.kind == "Filter" and _asks_whether_there(plan, by_time):
        return below[0]
    if plan.kind == "Expand":
        return _unexpanded(plan, below, windows)
    if plan.kind == "Project":
        items = tuple(_passed(each, windows, by_time) for each in plan.exprs("projectList"))
        return replace(plan, children=below, placed={"projectList": items})
    return replace(plan, children=below)


def _start(said: list[dict[str, Any]], by_time: Mapping[int, int]) -> list[dict[str, Any]]:
    """A column of a source; a time gives way to the start of its window."""
    (column,) = said
    id_ = by_time.get(int(column["exprId"]["id"]))
    if id_ is None:
        return said
    return [{**column, "name": "window", "nullable": False, "exprId": {"id": id_}}]


def _asks_whether_there(plan: Operator, by_time: Mapping[int, int]) -> bool:
    """Spark's own filter below a window: the time is not NULL."""
    (condition,) = plan.exprs("condition")
    return condition.kind == "IsNotNull" and set(condition.references) <= set(by_time)


def _unexpanded(
    plan: Operator, below: tuple[Operator, ...], windows: Mapping[int, EventWindow]
) -> Operator:
    """Of the windows that a row is in, the one that starts last."""
    names = {
        int(each["exprId"]["id"]): str(each["name"])
        for one in plan.fields["projections"][0]
        for each in one
        if each["class"].endswith("AttributeReference")
    }
    items = tuple(
        _named("window" if each.id in windows else names.get(each.id, ""), each.id)
        for each in plan.output
    )
    return replace(plan, kind="Project", children=below, placed={"projectList": items})


def _passed(item: Expr, windows: Mapping[int, EventWindow], by_time: Mapping[int, int]) -> Expr:
    """A column of a projection; a time goes on as the start of its window."""
    if item.kind == "Alias" and item.id in windows:
        return _named(item.name, item.id)
    if item.kind == "AttributeReference" and item.id in by_time:
        return _named("window", by_time[item.id])
    return item


def _named(name: str, id_: int) -> Expr:
    fields = {"name": name, "exprId": {"id": id_}, "dataType": "timestamp"}
    return Expr("AttributeReference", fields, ())
