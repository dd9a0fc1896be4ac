"""Queries over windows: what their windows hold is enough to answer them (Golab, section 2.2.2).

The answer at an instant is a function of what the windows hold then, so that the rows of the
windows are all that has to be kept, and what is stored besides (the groups of an aggregate, the
rows of a DISTINCT, how often rows match) is made of them.  That holds while every stream is read
through a window that *forgets*: RANGE, NOW, ROWS.

Rows of TUMBLE and HOP stay in the answer for ever.  What is computed from them *by window*, each
row of it from rows of one window alone, never changes once that window has ended, so that only
rows of open windows are kept.  What stays and is computed by no window is only passed on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from millpond.memory.amount import Amount
from millpond.memory.by_window import (
    FORGETS,
    STAYS,
    Past,
    added,
    by_window,
    carried,
    side_by_side,
)
from millpond.memory.flatten import NotFlatError
from millpond.memory.kept import Kept, Many, many_rows
from millpond.memory.verdict import MemoryClass, Reason, SideUnits, Verdict
from millpond.memory.window_rows import (
    Lasting,
    all_places,
    different,
    groups,
    held,
    lasting,
    partitions,
    places_in,
    rows,
    source,
)
from millpond.plan import (
    WINDOW_COLUMNS,
    Aggregate,
    AggregateCall,
    Alias,
    Assign,
    Assigned,
    Change,
    Changes,
    Cross,
    Difference,
    Distinct,
    Expression,
    Extent,
    Filter,
    Intersect,
    Join,
    Node,
    Project,
    Query,
    Results,
    Scan,
    SemiJoin,
    Side,
    Union,
    Window,
    WindowSpec,
    nodes,
)
from millpond.plan.lengths import window_text
from millpond.schema import Kind


def has_windows(query: Query) -> bool:
    """Whether this is about a query: some stream of it is read through a window."""
    return any(
        isinstance(each, Assign) or (isinstance(each, Window) and _bounded(each.spec))
        for each in nodes(query.root)
    )


def _bounded(spec: WindowSpec) -> bool:
    """Whether a window differs from the whole stream."""
    return spec.extent is not Extent.UNBOUNDED or spec.slide is not None


def windowed(query: Query, buffer: SideUnits, budget: int) -> Verdict:
    """The verdict on a query over windows; NotFlatError where they do not say what it keeps."""
    reader = _Reader()
    root = query.root
    while isinstance(root, Alias):
        root = root.input
    below = root.input if isinstance(root, Changes) else root
    past = reader.of(below)
    if isinstance(root, Changes):
        _said_of_changes(root, past)
    return reader.verdict(query, _holds(query, reader), _answer(root, below, past), buffer, budget)


def _said_of_changes(node: Changes, past: Past) -> None:
    if node.restore:
        raise NotFlatError("what comes and goes between two refreshes is kept as well", node.span)
    if past.stays and node.change is Change.RSTREAM:
        raise NotFlatError("RSTREAM says again what stays for ever", node.span)


def _answer(root: Node, below: Node, past: Past) -> SideUnits:
    """The answer, or, of a stream, what it gives at one instant: with a count for each row."""
    if past.stays and root is below:
        return SideUnits(MemoryClass.LINEAR, None)
    if past.stays:
        return SideUnits(MemoryClass.WINDOW, None)
    found = rows(below).times(Amount.of(len(below.fields) + 1)).number
    return SideUnits(MemoryClass.WINDOW if found is None else MemoryClass.CONSTANT, found)


def _holds(query: Query, reader: _Reader) -> Reason:
    why = "every stream is read through a window that forgets, and what they hold is enough"
    if reader.by_window:
        why = "rows of windows that have ended are asked for no more: the open ones are enough"
    if not reader.state:
        why = "each row is looked at once and let go"
    return Reason("golab 2.2.2", "MP205" if reader.state else "MP202", why, span=query.span)


# What is kept -----------------------------------------------------------------------------------


class _Reader(Kept):
    """Goes through a plan, and notes what has to be kept."""

    def __init__(self) -> None:
        super().__init__()
        self.by_window = False

    def of(self, node: Node, *, kept: bool = False, conditions: Sequence[Expression] = ()) -> Past:
        """What becomes of a node's rows; `kept` says whether they are needed when others come, and
        `conditions` what the rows of a product have to meet."""
        match node:
            case Scan():
                return self._scan(node)
            case Window():
                return self._window(node)
            case Assign():
                return self._assign(node, kept)
            case Alias():
                return self.of(node.input, kept=kept)
            case Filter():
                return self.of(node.input, kept=kept, conditions=(*conditions, *node.predicates))
            case Project():
                return self._project(node, kept)
            case Union():
                return added([self.of(each, kept=kept) for each in node.inputs])
            case Results():
                raise NotFlatError("a stream of results has a past of its own", node.span)
            case Changes():
                raise NotFlatError("a stream of changes has a past of its own", node.span)
            case Aggregate():
                return self._aggregate(node)
            case Distinct():
                return self._distinct(node)
            case Cross():
                return self._joined(node, conditions)
            case Join() | SemiJoin():
                return self._matched(node)
        return self._counted(node)

    # Inputs

    def _scan(self, node: Scan) -> Past:
        if not node.stream.is_stream:
            why = f"`{node.stream.name}` is a table: what it holds is not bounded by windows"
            raise NotFlatError(why, node.span)
        return STAYS

    def _window(self, node: Window) -> Past:
        spec, stream = node.spec, source(node)
        if stream is not None and not _bounded(spec):
            return STAYS
        if spec.extent is Extent.UNBOUNDED:
            raise NotFlatError("an UNBOUNDED window forgets nothing", node.span)
        if stream is None:
            raise NotFlatError("a window on what a query gives has a past of its own", node.span)
        if spec.internal:
            raise NotFlatError("results of an INTERNAL window stay when its rows leave", node.span)
        if partitions(stream, spec.partition) is None:
            names = ", ".join(f"`{stream.name}.{each}`" for each in spec.partition)
            why = f"{names} {'has' if len(spec.partition) == 1 else 'have'} no bound, so that"
            raise NotFlatError(f"{why} there may be any number of partitions", node.span)
        if spec.extent is Extent.RANGE:
            self.give(lasting(stream, spec)[0])
        said = window_text(spec, stream.time_type, spec.partition)
        alias = node.fields[0].alias or stream.name
        self.note(alias, [f"rows of {said}"], many_rows(held(node)), len(node.fields))
        return FORGETS

    def _assign(self, node: Assign, kept: bool) -> Past:
        if node.function.assigned is Assigned.SESSION:
            raise NotFlatError("a session may go on for ever", node.span)
        if kept or node.function.close:
            stream = node.input.stream
            self.give(Lasting(stream, node.function.size))
            keeps = [f"rows of open windows of {node.function.assigned}"]
            self.note(node.input.alias, keeps, many_rows(held(node)), len(stream.columns))
        self.by_window = True
        width = len(node.input.fields)
        ends = {width + place: name for place, name in enumerate(WINDOW_COLUMNS)}
        function = replace(node.function, assigned=Assigned.HOP)
        return Past(function, ends, stays=True)

    # One input

    def _project(self, node: Project, kept: bool) -> Past:
        past = self.of(node.input, kept=kept)
        return past.with_ends(carried(node.input, past, [x.expression for x in node.items]))

    def _distinct(self, node: Distinct) -> Past:
        past = self.of(node.input, kept=True)
        by_window(past, node, "DISTINCT")
        many = Many(different(node.input, all_places(node)), "row", "counts")
        self.note("distinct rows", _names(node), many, len(node.fields) + 1)
        return past

    def _aggregate(self, node: Aggregate) -> Past:
        keys = [each.expression for each in node.groups]
        before = len(self.state), self.total, dict(self.given)
        past = self.of(node.input, kept=True)
        past = past.with_ends(carried(node.input, past, keys))
        by_window(past, node, "an aggregate")
        folded = past.stays and _from_one(node.input) and all(map(_decomposes, node.calls))
        if folded:  # its rows are added to the groups of open windows one by one
            del self.state[before[0] :]
            self.total, self.given = before[1], before[2]
        units = len(keys)
        for call in node.calls:
            units += 1
            if folded or _subtracts(call):
                units += _SUMS.get(call.function, 0)
            elif call.argument is not None:
                read = places_in(node.input, [*keys, call.argument])
                many = Many(different(node.input, read), "value", "values")
                self.note(f"values of {call}", [call.name], many, 2)
        self._groups(node, folded, units)
        return past

    def _groups(self, node: Aggregate, folded: bool, units: int) -> None:
        many = groups(node)
        if folded:
            time = _open(node.input)
            self.counts |= time.rows.number is None
            if many.number is None:
                self.give(time)
        self.note("answer", _names(node), Many(many, "group", "answer"), units)

    # Several inputs

    def _joined(self, node: Cross, conditions: Sequence[Expression]) -> Past:
        pasts = [self.of(each, kept=True) for each in node.inputs]
        return side_by_side(node, pasts, conditions)

    def _matched(self, node: Join | SemiJoin) -> Past:
        sides = node.inputs
        pasts = [self.of(each, kept=True) for each in sides]
        both = side_by_side(node, pasts, node.predicates)
        for each in sides:
            units = 1 if _from_one(each) else len(each.fields) + 1
            self.note("matches", _names(each), Many(rows(each), "row", "counts"), units)
        width = len(node.left.fields)
        left = {place: end for place, end in both.ends.items() if place < width}
        if isinstance(node, SemiJoin) or node.side is Side.LEFT:
            return both.with_ends(left)
        right = {place: end for place, end in both.ends.items() if place >= width}
        return both.with_ends(right if node.side is Side.RIGHT else {})

    def _counted(self, node: Difference | Intersect) -> Past:
        past = added([self.of(each, kept=True) for each in node.inputs])
        by_window(past, node, "EXCEPT" if isinstance(node, Difference) else "INTERSECT")
        for each in node.inputs:
            many = Many(rows(each), "row", "counts")
            self.note("rows of a side", _names(each), many, len(each.fields) + 1)
        return past


def _open(node: Node) -> Lasting:
    """Of what is read through TUMBLE or HOP alone: its stream and the length of its windows."""
    (leaf,) = (each for each in nodes(node) if isinstance(each, Assign))
    return Lasting(leaf.input.stream, leaf.function.size)


def _from_one(node: Node) -> bool:
    """Whether rows are those of one input, filtered and reduced."""
    while isinstance(node, Alias | Filter | Project):
        node = node.input
    return isinstance(node, Window | Assign)


def _names(node: Node) -> list[str]:
    return [each.name for each in node.fields]


# Aggregates

_SUMS = {"SUM": 1, "AVG": 1, "VAR_SAMP": 2, "VAR_POP": 2, "STDDEV_SAMP": 2, "STDDEV_POP": 2}
"""What is kept beside one number where a row is added: sums, or how many rows there are."""
_BEST = ("MIN", "MAX", "BOOL_AND", "BOOL_OR")


def _decomposes(call: AggregateCall) -> bool:
    """Whether a few numbers for each group are enough where rows only come."""
    if call.declared is not None:
        return False
    return call.function in _BEST or (_sums(call) and not call.distinct)


def _subtracts(call: AggregateCall) -> bool:
    """Whether they are where rows leave as well, exactly."""
    if call.declared is not None or call.distinct or not _sums(call):
        return False
    exact = call.argument is None or call.argument.type.kind is not Kind.DOUBLE
    return exact or call.function == "COUNT"


def _sums(call: AggregateCall) -> bool:
    return call.function == "COUNT" or call.function in _SUMS
