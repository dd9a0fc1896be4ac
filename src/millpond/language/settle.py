"""What holds of a whole plan, and no part of it shows: one kind of time, streams to read, and
nodes that internal windows and non-retroactive tables do not go with."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from millpond.diagnostic import Collector, Diagnostic, Span, UserError
from millpond.plan import (
    Alias,
    Assign,
    Changes,
    Cross,
    Difference,
    Distinct,
    Filter,
    Intersect,
    Join,
    Node,
    Project,
    Results,
    Scan,
    SemiJoin,
    Side,
    Window,
    nodes,
    scans,
)
from millpond.schema import Kind, Stream


def settled(plan: Node, whole: Span) -> None:
    """Raises with everything that is wrong with a plan as a whole."""
    errors = Collector()
    for check in _CHECKS:
        for each in check(plan, whole):
            errors.add(UserError(each))
    errors.checkpoint()


def without_common_time(plan: Node) -> bool:
    """Whether a plan reads streams with and without time, and has no window that goes by one."""
    timed = {each.stream.time is not None for each in scans(plan) if each.stream.is_stream}
    return len(timed) > 1 and not any(isinstance(each, Window | Assign) for each in nodes(plan))


def _streams(plan: Node, whole: Span) -> Iterator[Diagnostic]:
    found = list(scans(plan))
    if not any(each.stream.is_stream for each in found):
        yield Diagnostic(
            "MP139",
            "the query reads tables alone, and a continuous query reads a stream",
            (found[0].span if len(found) == 1 else None) or whole,
            helps=("join the table with a stream, or declare it with CREATE STREAM",),
        )


def _one_time(plan: Node, whole: Span) -> Iterator[Diagnostic]:
    """Timed with untimed streams, or times of two types, have no common instants."""
    found = [each for each in scans(plan) if each.stream.is_stream]
    for each in found[1:]:
        first, other = found[0].stream, each.stream
        if (first.time is None) is not (other.time is None):
            timed, untimed = (first, other) if first.time is not None else (other, first)
            yield Diagnostic(
                "MP139",
                f"`{timed.name}` has a time column and `{untimed.name}` has none",
                each.span or whole,
                helps=(f"declare one for `{untimed.name}`: TIMESTAMP BY ts",),
            )
            return
        counts = _counted(first), _counted(other)
        if counts[0] != counts[1]:
            yield Diagnostic(
                "MP139",
                f"the time of `{first.name}` counts {counts[0]}, and of `{other.name}` {counts[1]}",
                each.span or whole,
                helps=("declare both with one type, and integers WITH (unit = 'second')",),
            )
            return


def _counted(stream: Stream) -> str:
    """What a time column counts, in words; nothing for a stream without one."""
    if stream.time is None or stream.time_type is None:
        return "nothing"
    if stream.time_type.kind is Kind.TIMESTAMP:
        return "microseconds"
    return f"{stream.time.unit}s" if stream.time.unit else "units that it does not name"


def _internal(plan: Node, whole: Span) -> Iterator[Diagnostic]:
    """Golab, 3.3.2: without expiry, DISTINCT and negation would break their own meaning."""
    for node in nodes(plan):
        what = _FORBIDS.get(type(node))
        if what is None or not any(_has_internal(each) for each in node.inputs):
            continue
        window = next(each for each in nodes(node) if _is_internal(each))
        yield Diagnostic(
            "MP136",
            f"{what} does not go with an INTERNAL window: rows that have left would be in its "
            "answer",
            window.span or whole,
            helps=("leave INTERNAL out; ISTREAM(...) gives a stream that only grows",),
        )


_FORBIDS: dict[type, str] = {
    Distinct: "DISTINCT",
    Difference: "EXCEPT",
    Intersect: "INTERSECT",
    SemiJoin: "[NOT] EXISTS or [NOT] IN",
    Join: "an outer join",
}


def _has_internal(node: Node) -> bool:
    """Whether rows of an internal window come through; the results of one are a stream."""
    if isinstance(node, Results | Changes):
        return False
    return _is_internal(node) or any(_has_internal(each) for each in node.inputs)


def _is_internal(node: Node) -> bool:
    return isinstance(node, Window) and node.spec.internal


def _results(plan: Node, whole: Span) -> Iterator[Diagnostic]:
    """Golab, 3.3.3: a window over results of DISTINCT or negation could hold what is no answer."""
    for node in nodes(plan):
        if not isinstance(node, Window) or not isinstance(node.input, Results):
            continue
        for each in nodes(node.input):
            if isinstance(each, Distinct | Difference | SemiJoin) and (
                not isinstance(each, SemiJoin) or each.anti
            ):
                yield Diagnostic(
                    "MP136",
                    "WSTREAM does not go with DISTINCT or negation: its window could hold what is "
                    "no answer any more",
                    node.span or whole,
                    helps=("leave WSTREAM out, or what it does not go with",),
                )
                break


def _non_retroactive(plan: Node, whole: Span) -> Iterator[Diagnostic]:
    """Golab, 3.3.1: such a table is read when a row of a stream comes, so one has to be beside
    it, and its own rows are kept for none."""
    for node in nodes(plan):
        later = [each for each in node.inputs if _only_such_tables(each)]
        if not later or _only_such_tables(node):
            continue
        beside = [each for each in node.inputs if each not in later]
        joins = isinstance(node, Cross | Join | SemiJoin)
        kept = any(each in later for each in _kept_alone(node))
        if not joins or kept or not beside or not all(_rows_come(each) for each in beside):
            yield _lonely(later[0], whole)


def _kept_alone(node: Node) -> tuple[Node, ...]:
    """The inputs whose rows an answer has also where nothing of the other side meets them."""
    match node:
        case Join(side=Side.LEFT) | SemiJoin():
            return (node.left,)
        case Join(side=Side.RIGHT):
            return (node.right,)
        case Join():
            return (node.left, node.right)
    return ()


def _lonely(node: Node, whole: Span) -> Diagnostic:
    table = next(each for each in scans(node) if not each.stream.retroactive)
    return Diagnostic(
        "MP142",
        f"`{table.stream.name}` is not retroactive: it is read when a row of a stream comes, and "
        "here none comes beside it",
        table.span or whole,
        helps=("join it with a stream or a window directly, or declare it retroactive",),
    )


def _only_such_tables(node: Node) -> bool:
    """Whether a plan reads non-retroactive tables alone, in a way that one row at a time can."""
    found = list(scans(node))
    simple = all(isinstance(each, Scan | Alias | Filter | Project | Cross) for each in nodes(node))
    return simple and bool(found) and all(not each.stream.retroactive for each in found)


def _rows_come(node: Node) -> bool:
    """Whether each row of a plan came at an instant that is known."""
    coming = Scan | Alias | Filter | Project | Cross | Window | Assign | SemiJoin
    return isinstance(node, Changes | Results) or (
        isinstance(node, coming)
        and all(_rows_come(each) or _only_such_tables(each) for each in node.inputs)
        and any(each.stream.is_stream for each in scans(node))
    )


_CHECKS: tuple[Callable[[Node, Span], Iterator[Diagnostic]], ...] = (
    _streams,
    _one_time,
    _internal,
    _results,
    _non_retroactive,
)
