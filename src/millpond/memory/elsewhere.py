"""What Spark Structured Streaming and Flink SQL would keep for the same query: an estimate.

Both hold rows and not what the query needs of them.  A join of streams keeps every row of both
sides that passes its filters, unless times of both sides are compared, so that a watermark lets
old rows go; DISTINCT, UNION and GROUP BY keep every distinct row and every group, unless a time is
among the columns.  That, and what is refused, was tried on Spark 4.3; Flink's documentation says
the same of its regular joins, DISTINCT and GROUP BY.  Each estimate names what it assumes; none of
it enters a verdict.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from functools import cached_property

from millpond.memory.pace import Pace, Rate, pace_of, width, windows
from millpond.memory.verdict import MemoryClass, Verdict
from millpond.plan import (
    WINDOW_COLUMNS,
    Aggregate,
    Assign,
    ColumnRef,
    Comparison,
    Cross,
    Difference,
    Distinct,
    Expression,
    Extent,
    Filter,
    Intersect,
    Join,
    Node,
    Operator,
    Project,
    Query,
    Scan,
    SemiJoin,
    Window,
    columns_of,
    nodes,
    scans,
)
from millpond.schema import Stream


class Fate(StrEnum):
    """How state grows there; from best to worst."""

    NONE = "none"
    CONSTANT = "constant"
    WINDOW = "window"
    LINEAR = "linear"
    REFUSED = "refused"


@dataclass(frozen=True)
class Elsewhere:
    """What another engine would keep for a query."""

    engine: str
    memory: Fate
    keeps: str
    """What it would keep, or what of the query it refuses."""
    given: str
    """What the estimate assumes."""
    pace: Pace | None = None


_SPARK = "Spark 4.3, the same text, watermarks as declared here"
_FLINK = "Flink SQL, the same text, watermarks as declared here, table.exec.state.ttl not set"
_ORDER = list(Fate)


def elsewhere(
    query: Query, verdict: Verdict, rates: Mapping[str, Rate] | None = None
) -> tuple[Elsewhere, ...]:
    """The estimates for a query; none for what neither was asked about."""
    asked = _Asked(query, verdict, rates or {})
    if any(isinstance(each, Window) for each in asked.nodes):
        return asked.of_windows()
    return asked.on_spark(), asked.on_flink()


def at_rates(query: Query, verdict: Verdict, rates: Mapping[str, Rate] | None = None) -> Verdict:
    """The verdict with how fast its state grows, and with what others would keep."""
    return replace(
        verdict,
        pace=pace_of(query, verdict, rates or {}),
        elsewhere=elsewhere(query, verdict, rates),
    )


@dataclass(frozen=True)
class _Kept:
    """One thing that is kept."""

    memory: Fate
    what: str
    rows: Sequence[Stream] = ()
    """The streams whose rows it is."""
    columns: Sequence[str] = ()
    """Of rows that are kept once, the columns that tell them apart."""


@dataclass(frozen=True)
class _Asked:
    """A query as another engine would plan it."""

    query: Query
    verdict: Verdict
    rates: Mapping[str, Rate]

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        return tuple(nodes(self.query.root))

    # The engines ----------------------------------------------------------------------------------

    def on_spark(self) -> Elsewhere:
        why = self._refused_by_spark()
        if why is not None:
            return Elsewhere("Spark", Fate.REFUSED, why, _SPARK)
        return self._summed("Spark", list(self._kept(one_sided=True)), _SPARK)

    def on_flink(self) -> Elsewhere:
        given = _FLINK
        if any(not _equal(each, self._predicates) for each in self._joins):
            given += "; its documentation promises no join without an equality"
        return self._summed("Flink", list(self._kept(one_sided=False)), given)

    def of_windows(self) -> tuple[Elsewhere, ...]:
        """CQL's windows are none of theirs: what comes closest is a range of time."""
        if any(isinstance(each, Window) and _by_rows(each) for each in self.nodes):
            why = "windows of rows over streams"
            return (Elsewhere("Spark", Fate.REFUSED, why, _SPARK),)
        pace = pace_of(self.query, self.verdict, self.rates)
        names = _and(dict.fromkeys(stream.name for stream, _, _ in windows(self.query)))
        what = f"the rows of {names} for the length of the window and the watermark's delay"
        written = ", with the window written as a range of time between watermarked columns"
        return tuple(
            Elsewhere(engine, Fate.WINDOW, what, given + written, pace)
            for engine, given in (("Spark", "Spark 4.3"), ("Flink", "Flink SQL"))
        )

    def _summed(self, engine: str, kept: Sequence[_Kept], given: str) -> Elsewhere:
        if not kept:
            return Elsewhere(engine, Fate.NONE, "nothing", given)
        worst = max((each.memory for each in kept), key=_ORDER.index)
        what = "; ".join(dict.fromkeys(each.what for each in kept))
        growing = [each for each in kept if each.memory is Fate.LINEAR and each.rows]
        return Elsewhere(engine, worst, what, given, self._pace(growing) if growing else None)

    def _pace(self, kept: Sequence[_Kept]) -> Pace | None:
        """The rows that come in, or those with values that were not there before."""
        known, rows, size, measured = False, Fraction(0), Fraction(0), False
        without = list[str]()
        for each in kept:
            for stream in each.rows:
                rate = self.rates.get(stream.name)
                if rate is None:
                    without.append(stream.name)
                    continue
                share = rate.share(each.columns) if rate.share and each.columns else None
                new = rate.per_hour * (1 if share is None else share)
                known, measured = True, measured or share is not None
                rows += new
                read = width(stream, each.columns) if each.columns else read_of(self.query, stream)
                size += new * read
        if not known:
            return None
        missing = tuple(dict.fromkeys(without))
        return Pace(_ceiling(rows), _ceiling(size), measured=measured, without=missing)

    # What is kept ---------------------------------------------------------------------------------

    def _kept(self, *, one_sided: bool) -> Iterator[_Kept]:
        for each in self._joins:
            yield _of_join(each, self._predicates, one_sided)
        for node in self.nodes:
            match node:
                case Join() | SemiJoin():
                    sides = [_streams(each) for each in node.inputs]
                    if self._by_times(node):
                        yield _of_join(_scans(node), node.predicates, one_sided)
                    elif all(sides):
                        both = [*sides[0], *sides[1]]
                        yield _Kept(Fate.LINEAR, f"every row of {_names(both)}", both)
                case Distinct() | Difference() | Intersect():
                    yield self._of_rows(node, "every distinct row of its answer")
                case Aggregate():
                    yield self._of_groups(node)

    def _of_groups(self, node: Aggregate) -> _Kept:
        whole = [each for each in node.calls if each.distinct or each.function == "MEDIAN"]
        if whole and self.verdict.memory is MemoryClass.LINEAR:
            inner = _and(str(each.argument) for each in whole)
            return _Kept(Fate.LINEAR, f"every value of {inner}", self._alone)
        if not node.groups:
            return _Kept(Fate.CONSTANT, "one row of aggregates")
        names = ", ".join(str(each.expression) for each in node.groups)
        return self._of_rows(node, f"every group of {names}")

    def _of_rows(self, node: Node, what: str) -> _Kept:
        """Rows of an answer: those of a time go with the watermark."""
        times = {
            (each.alias, each.stream.time.column)
            for each in scans(node)
            if each.stream.time is not None
        }
        times |= {
            (each.input.alias, name)
            for each in nodes(node)
            if isinstance(each, Assign)
            for name in WINDOW_COLUMNS
        }
        if times & {(each.alias, each.name) for each in _shown(node)}:
            return _Kept(Fate.WINDOW, f"{what} until the watermark has passed its time")
        if self.verdict.answer.memory in (MemoryClass.NONE, MemoryClass.CONSTANT):
            return _Kept(Fate.CONSTANT, what)
        columns = tuple(dict.fromkeys(each.name for each in _shown(node)))
        return _Kept(Fate.LINEAR, what, self._alone, columns)

    @cached_property
    def _alone(self) -> tuple[Stream, ...]:
        """The stream of a query over one: no more rows can be new than come in."""
        return self.query.streams if len(self.query.scans) == 1 else ()

    # How it is asked ------------------------------------------------------------------------------

    @cached_property
    def _joins(self) -> tuple[tuple[Scan, ...], ...]:
        """The streams of each product of several."""
        found = []
        for node in self.nodes:
            if isinstance(node, Cross):
                sides = [side for each in node.inputs if (side := _scans(each))]
                if len(sides) > 1:
                    found.append(tuple(scan for side in sides for scan in side))
        return tuple(found)

    @cached_property
    def _predicates(self) -> tuple[Expression, ...]:
        return tuple(
            each for node in self.nodes if isinstance(node, Filter) for each in node.predicates
        )

    def _refused_by_spark(self) -> str | None:
        if any(not _equal(each, self._predicates) for each in self._joins):
            return _NO_EQUALITY
        for node in self.nodes:
            match node:
                case Join() if self._by_times(node):
                    if not _equal(_scans(node), node.predicates):
                        return _NO_EQUALITY
                case Join() if all(_streams(each) for each in node.inputs):
                    return "an outer join of streams without a watermark and a range of time"
                case SemiJoin() if _streams(node.right):
                    return "a subquery over a stream in a condition"
                case Difference() | Intersect() if all(_streams(each) for each in node.inputs):
                    return "EXCEPT and INTERSECT of streams"
                case Aggregate() if any(each.distinct for each in node.calls):
                    return "an aggregate of DISTINCT values"
        if any(_aggregates(each) > 1 for each in self.nodes):
            return "an aggregate of aggregates without a watermark"
        return None

    def _by_times(self, node: Join | SemiJoin) -> bool:
        """Whether times of both sides of an outer join let the rows of both go."""
        joined = _scans(node)
        return isinstance(node, Join) and len(_passing(joined, node.predicates)) == 2 == len(joined)


_NO_EQUALITY = "a join of streams without an equality between them"


def read_of(query: Query, stream: Stream) -> int:
    """Bytes of the columns of a stream that a query reads, by their types."""
    aliases = {each.alias for each in query.scans if each.stream is stream}
    read = {
        each.name
        for node in nodes(query.root)
        for expression in _expressions(node)
        for each in columns_of(expression)
        if each.alias in aliases
    }
    return width(stream, [each for each in stream.names if each in read])


def _expressions(node: Node) -> Iterator[Expression]:
    match node:
        case Filter() | Join() | SemiJoin():
            yield from node.predicates
        case Project():
            yield from (each.expression for each in node.items)
        case Aggregate():
            yield from (each.expression for each in node.groups)
            for call in node.calls:
                yield from (each for each in (call.argument, call.filter) if each is not None)


def _of_join(joined: Sequence[Scan], predicates: Sequence[Expression], one_sided: bool) -> _Kept:
    """The rows of a join: those of a side go with the watermark where later ones of the other side
    have later times than they may match."""
    passing = _passing(joined, predicates)
    forever = [each for each in joined if each.alias not in passing]
    if not forever:
        what = f"rows of {_named(joined)} until the watermark has passed their range of time"
        return _Kept(Fate.WINDOW, what)
    if not one_sided:
        forever = list(joined)
    what = f"every row of {_named(forever)} that passes its filters"
    return _Kept(Fate.LINEAR, what, [each.stream for each in forever])


def _passing(joined: Sequence[Scan], predicates: Sequence[Expression]) -> set[str]:
    """The inputs of a join of two whose times have an upper end in times of the other."""
    times = {(each.alias, each.stream.time.column) for each in joined if each.stream.time}
    if len(joined) != 2 or len(times) != 2:
        return set()
    found = set()
    for each in predicates:
        if isinstance(each, Comparison):
            left, right = (
                {(column.alias, column.name) for column in columns_of(side)}
                for side in (each.left, each.right)
            )
            if len(left) == len(right) == 1 and left | right == times:
                low, high = (next(iter(left))[0], next(iter(right))[0])
                match each.op:
                    case Operator.EQ:
                        found |= {low, high}
                    case Operator.LT | Operator.LE:
                        found.add(high)
                    case Operator.GT | Operator.GE:
                        found.add(low)
    return {each for each in found if each is not None}


def _equal(joined: Sequence[Scan], predicates: Sequence[Expression]) -> bool:
    """Whether equalities tie the inputs of a join together, one by one."""
    aliases = {each.alias for each in joined}
    ties = []
    for each in predicates:
        if isinstance(each, Comparison) and each.op is Operator.EQ:
            left, right = (
                {column.alias for column in columns_of(side)} for side in (each.left, each.right)
            )
            if left and right and not left & right and left | right <= aliases:
                ties.append(left | right)
    tied = {joined[0].alias}
    while more := [each for each in ties if each & tied and each - tied]:
        tied |= {alias for each in more for alias in each if alias is not None}
    return tied == aliases


def _aggregates(node: Node) -> int:
    """The largest number of aggregations one above the other, DISTINCT among them."""
    below = max((_aggregates(each) for each in node.inputs), default=0)
    return below + isinstance(node, Aggregate | Distinct)


def _shown(node: Node) -> list[ColumnRef]:
    """The columns that rows of a node are told apart by."""
    match node:
        case Aggregate():
            found = [each.expression for each in node.groups]
        case Distinct(input=Project() as below):
            found = [each.expression for each in below.items]
        case _:
            found = []
    return [each for each in found if isinstance(each, ColumnRef)]


def _by_rows(window: Window) -> bool:
    return window.spec.extent is Extent.ROWS


def _ceiling(value: Fraction) -> int:
    return -(-value.numerator // value.denominator)


def _scans(node: Node) -> tuple[Scan, ...]:
    return tuple(each for each in scans(node) if each.stream.is_stream)


def _streams(node: Node) -> tuple[Stream, ...]:
    return tuple(each.stream for each in _scans(node))


def _named(joined: Sequence[Scan]) -> str:
    return _and(dict.fromkeys(each.alias for each in joined))


def _names(streams: Sequence[Stream]) -> str:
    return _and(dict.fromkeys(each.name for each in streams))


def _and(names: Iterator[str] | Sequence[str] | Mapping[str, None]) -> str:
    """
    >>> _and(["s"]), _and(["s", "t", "u"])
    ('s', 's, t and u')
    """
    found = list(names)
    return found[0] if len(found) == 1 else f"{', '.join(found[:-1])} and {found[-1]}"
