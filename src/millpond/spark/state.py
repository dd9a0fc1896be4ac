"""What Spark's own operators keep of a query, as it is written.

Spark keeps whole rows of both sides of a join, a row for each group and for each key that was seen.
It lets go of them only behind a watermark: of groups and keys that have a column with one, and of
joins by such a key, or by a condition that holds the event times of both sides together (Spark's
`StreamingJoinHelper`, which this follows).  All else stays for ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from millpond.spark.catalyst import SOURCES, Expr, Operator
from millpond.spark.catalyst_block import said_source
from millpond.spark.catalyst_expression import USER_CODE, snake
from millpond.spark.catalyst_plan import PASSING, join_type
from millpond.spark.event_time import Atom, atoms_of, length, window_of


@dataclass(frozen=True)
class Kept:
    """What one operator keeps."""

    operator: str
    keeps: str
    horizon: str | None
    """How much of it can be there at once, where a watermark lets go of it: what comes in so much
    time."""
    keyed: bool = False
    """Whether there is one row for each key, and not one for each row of the input."""
    timed: bool = False
    """Whether rows without an event time are not kept: no watermark ever passes those."""

    def __str__(self) -> str:
        if self.horizon is None:
            return f"{self.operator} keeps {self.keeps} and lets go of none"
        return f"{self.operator} keeps {self.keeps} up to the watermark: {self.horizon}"


def kept(plan: Operator, above: Sequence[Atom] = ()) -> list[Kept]:
    """What each operator with state keeps, in the order in which rows come to them; `above` is
    what is asked of the rows that come out."""
    return list(_below(plan, list(above)))


def _below(plan: Operator, above: list[Atom]) -> Iterator[Kept]:
    """What a plan keeps; `above` is what later filters ask for, which Spark asks in the join."""
    match plan.kind:
        case "Filter":
            above = [*above, *(x for each in plan.exprs("condition") for x in atoms_of(each))]
        case "Join" if join_type(plan) in ("Inner", "Cross"):
            above = [*above, *(x for each in plan.exprs("condition") for x in atoms_of(each))]
        case kind if kind != "Project" and kind not in PASSING:
            above = []
    for each in plan.children:
        yield from _below(each, above)
    yield from _kept(plan, above)


def by_event_time(plan: Operator) -> str | None:
    """A column with a watermark that a condition asks for, if there is one."""
    for each in plan.nodes:
        for one in each.exprs("condition") if each.streaming else ():
            timed = {x for below in each.children for x in below.delays}
            for part in one.nodes:
                if part.kind == "AttributeReference" and part.id in timed and not _there(one):
                    return part.name
    return None


def _there(expr: Expr) -> bool:
    """Spark's own filter below a window."""
    return expr.kind == "IsNotNull"


_STATELESS = (
    PASSING
    | frozenset(SOURCES)
    | frozenset(("Project", "Filter", "Union", "Generate", "Expand", "WithCTE"))
    | frozenset(("CTERelationDef", "CTERelationRef"))
)

_USER_OPERATORS = frozenset(
    {
        *("MapInPandas", "MapInArrow", "PythonMapInArrow", "FlatMapGroupsInPandas"),
        *("FlatMapGroupsInArrow", "FlatMapCoGroupsInPandas", "FlatMapCoGroupsInArrow"),
        *("FlatMapGroupsInPandasWithState", "TransformWithStateInPandas", "TransformWithState"),
        *("TransformWithStateInPySpark", "FlatMapGroupsWithState", "MapPartitions", "MapElements"),
        *("TypedFilter", "ScriptTransformation", "BatchEvalPython", "ArrowEvalPython"),
    }
)
"""Operators that run what somebody wrote."""

_GROUPED = ("Aggregate", "Distinct", "Deduplicate", "DeduplicateWithinWatermark")


def foreign(plan: Operator) -> str | None:
    """What runs code that cannot be looked into, or is not known here, if anything does."""
    for each in plan.nodes:
        if not each.streaming:
            continue
        code = sorted(each.kinds & USER_CODE)
        if code:
            names = ", ".join(dict.fromkeys(f"`{x}`" for x in _names(each.fields, code)))
            return f"user code, {names or code[0]}, may keep what it likes"
        if each.kind in _USER_OPERATORS:
            return f"user code, `{each.kind[0].lower()}{each.kind[1:]}`, may keep what it likes"
        if each.kind not in _STATELESS and each.kind not in _GROUPED and each.kind != "Join":
            return f"the operator {each.kind} is not known here"
        if each.kind == "Join" and not _supported(each):
            return f"a {join_type(each)} join of a stream with a table keeps rows of the table"
    return None


def _supported(join: Operator) -> bool:
    """Of a join with a table, whether each row of the stream is looked at once."""
    left, right = (each.streaming for each in join.children)
    if left and right:
        return True
    kept_side = ("Inner", "Cross", "LeftOuter", "LeftSemi", "LeftAnti") if left else (
        "Inner", "Cross", "RightOuter"
    )  # fmt: skip
    return join_type(join) in kept_side


def _names(said: object, kinds: list[str]) -> Iterator[str]:
    if isinstance(said, dict):
        if str(said.get("class", "")).rpartition(".")[2] in kinds:
            yield str(said.get("name") or said.get("udfName") or snake(kinds[0]))
        said = list(said.values())
    if isinstance(said, list):
        for each in said:
            yield from _names(each, kinds)


# Operators --------------------------------------------------------------------------------------


def _kept(plan: Operator, above: list[Atom]) -> Iterator[Kept]:
    if not plan.streaming:
        return
    match plan.kind:
        case "Aggregate":
            yield _groups(plan)
        case "Distinct":
            yield _keys(plan, {each.id for each in plan.output}, "distinct", "each row once")
        case "Deduplicate":
            keys = {each.id: each.name for each in plan.exprs("keys")}
            yield _keys(plan, set(keys), "dropDuplicates", f"each {_listed(keys.values())} once")
        case "DeduplicateWithinWatermark":
            names = _listed(each.name for each in plan.exprs("keys"))
            delay = max(plan.children[0].delays.values(), default=None)
            horizon = None if delay is None else _rate(plan, 2 * delay)
            yield Kept("dropDuplicatesWithinWatermark", f"each {names} once", horizon, keyed=True)
        case "Join" if all(each.streaming for each in plan.children):
            yield from _sides(plan, above)


def _groups(plan: Operator) -> Kept:
    below = plan.children[0]
    groups = {each.id: each for each in plan.exprs("groupingExpressions") if _named(each)}
    names = [_said(each) for each in plan.exprs("groupingExpressions")]
    what = f"a row for each {_listed(names)}" if names else "one row"
    timed = {id_: delay for id_, delay in below.delays.items() if id_ in groups}
    if not timed:
        return Kept("groupBy", what, None, keyed=True)
    id_, delay = next(iter(timed.items()))
    window = window_of(below, id_)
    if window is None:
        return Kept("groupBy", what, _rate(plan, delay), keyed=True)
    size = "" if window.overlap == 1 else f" x {window.overlap} windows"
    return Kept("groupBy", what, _rate(plan, delay + window.size) + size, keyed=True, timed=True)


def _keys(plan: Operator, keys: set[int], operator: str, what: str) -> Kept:
    timed = [delay for id_, delay in plan.children[0].delays.items() if id_ in keys]
    return Kept(operator, what, _rate(plan, max(timed)) if timed else None, keyed=True)


def _rate(plan: Operator, microseconds: int) -> str:
    """So much of what comes in, of each source."""
    names = dict.fromkeys(name for each in plan.children for name in sources(each))
    return " + ".join(f"rate of {name} x {length(microseconds)}" for name in names)


def sources(plan: Operator) -> Iterator[str]:
    """The streams below an operator by the names that the user has for them."""
    named = plan.fields.get("identifier")
    if plan.kind == "SubqueryAlias" and isinstance(named, dict) and _alone(plan):
        yield str(named["name"])
    elif plan.kind in SOURCES:
        yield said_source(str(plan.fields["sourceName"]))
    else:
        for each in plan.children:
            if each.streaming:
                yield from sources(each)


def _alone(plan: Operator) -> bool:
    return sum(each.kind in SOURCES for each in plan.nodes) == 1


# Joins ------------------------------------------------------------------------------------------


def _sides(plan: Operator, above: list[Atom]) -> Iterator[Kept]:
    left, right = plan.children
    atoms = above or [x for each in plan.exprs("condition") for x in atoms_of(each)]
    delays = {**left.delays, **right.delays}
    slowest = max(delays.values(), default=0)
    windows = [window_of(plan, x) for x in delays]
    slowest += max((each.size for each in windows if each is not None), default=0)
    keyed = [each for each in atoms if _by_event_time(plan, each)]
    for side, other in ((left, right), (right, left)):
        names = " and ".join(dict.fromkeys(sources(side)))
        behind = _behind(side, other, atoms, slowest)
        if keyed:
            behind = slowest + min(abs(moved) for _, _, (_, moved) in keyed)
        horizon = None
        if behind is not None:
            horizon = " + ".join(f"rate of {x} x {length(behind)}" for x in sources(side))
        yield Kept("join", f"every row of {names}", horizon)


def _by_event_time(join: Operator, atom: Atom) -> bool:
    """Whether a key of the join has a watermark: rows behind it cannot match on either side."""
    op, (one, _), (other, _) = atom
    left, right = ({each.id for each in side.output} for side in join.children)
    apart = (one in left) is not (other in left) and {one, other} <= left | right
    return op == "=" and apart and any(one in side.delays for side in join.children)


def _behind(side: Operator, other: Operator, atoms: list[Atom], slowest: int) -> int | None:
    """How far the event time of a side may lie behind the newest one and still find a match:
    `x + more <= y + plus` bounds y from below."""
    mine, theirs = side.delays, other.delays
    found = [
        max(0, slowest + plus - more)
        for op, (x, more), (y, plus) in atoms
        if op == "<=" and x in theirs and y in mine
    ]
    return min(found, default=None)


# Words ------------------------------------------------------------------------------------------


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{each}`" for each in names)


def _named(expr: Expr) -> bool:
    return expr.kind == "AttributeReference"


def _said(expr: Expr) -> str:
    return expr.name if _named(expr) else snake(expr.kind)
