"""Every node of the plan as a function of an instant, from scratch, over the contents so far.

A node's value is a list of rows with lifetimes.  A lifetime is what the paper's windows need
beyond the value itself: when the last part of a result came in says when the result was given
(Golab, 3.3.2 and 3.3.3), which state of a table that is not retroactive it reflects (Definition
3.1), and whether the parts of a result of internal windows ever met.  A combination lives from
when the last of its parts comes in until the first one leaves.  What is computed from groups of
rows (DISTINCT, EXCEPT, ...) has no one instant of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, assert_never

from millpond.plan import (
    AGGREGATES,
    Aggregate,
    AggregateCall,
    Alias,
    Assign,
    Call,
    Cast,
    Changes,
    Cross,
    Difference,
    Distinct,
    Expression,
    Field,
    Filter,
    Intersect,
    Join,
    Node,
    Project,
    Results,
    Scan,
    SemiJoin,
    Side,
    Union,
    Window,
    columns_of,
    scans,
)
from millpond.plan.evaluate import all_compiled, compiled, holds
from millpond.plan.functions import EvaluationError
from millpond.plan.user_code import loaded
from millpond.run.contents import BEFORE, NEVER, Bag, Contents, Lived, Log, Moment
from millpond.run.windows import Everything, Leaf, Windowed, assigned_on, window_on
from millpond.schema import Row, Value

Ask = Callable[[Moment], list[Lived]]
"""The rows of a node at an instant."""
Derive = Callable[[Changes | Results], Log]
"""Runs a plan that gives rows at instants, and keeps what it gives in a log."""


class Builder:
    """Builds the function of a plan; `leaves` are where its rows come from.

    With `external`, windows are taken as external ones whatever they say.
    """

    def __init__(self, contents: Contents, derive: Derive, *, external: bool) -> None:
        self._contents = contents
        self._derive = derive
        self._external = external
        self.leaves: list[Leaf] = []
        self.windows: list[Windowed] = []

    def build(self, node: Node) -> Ask:
        match node:
            case Scan():
                return self._scan(node)
            case Changes() | Results():
                return self._window(Everything(self._derive(node)))
            case Window():
                log = self._log(node.input)
                return self._window(
                    window_on(log, node.spec, node.input.fields, external=self._external)
                )
            case Assign():
                log = self._log(node.input)
                return self._window(assigned_on(log, node.function, node.input.fields))
            case Alias():
                return self.build(node.input)
            case Cross():
                return self._product(node, ())
            case Filter():
                return self._filter(node)
            case Project():
                return self._project(node)
            case Join():
                return self._join(node)
            case SemiJoin():
                return self._semi_join(node)
            case Union():
                asks = [self.build(each) for each in node.inputs]
                return lambda now: [each for ask in asks for each in ask(now)]
            case Difference() | Intersect():
                return self._bags(node)
            case Distinct():
                ask = self.build(node.input)
                return lambda now: _ageless(dict.fromkeys(row for row, _, _ in ask(now)))
            case Aggregate():
                return self._aggregate(node)
        assert_never(node)

    # Leaves

    def _log(self, node: Node) -> Log:
        """The rows of a stream, or of a plan that gives rows at instants."""
        match node:
            case Alias():
                return self._log(node.input)
            case Scan() if node.stream.is_stream:
                return self._contents.logs[node.stream.name]
            case Changes() | Results():
                return self._derive(node)
        raise TypeError(f"{type(node).__name__} is no stream")

    def _scan(self, node: Scan) -> Ask:
        if node.stream.is_stream:
            return self._window(Everything(self._log(node)))
        history = self._contents.tables[node.stream.name]
        self.leaves.append(history)
        return history.held

    def _window(self, window: Windowed) -> Ask:
        self.leaves.append(window)
        self.windows.append(window)
        return window.visible

    # One input

    def _filter(self, node: Filter) -> Ask:
        if isinstance(node.input, Cross):
            return self._product(node.input, node.predicates)
        ask, test = self.build(node.input), holds(node.predicates, node.input.fields)
        return lambda now: [each for each in ask(now) if test(each[0])]

    def _project(self, node: Project) -> Ask:
        ask = self.build(node.input)
        values = all_compiled((item.expression for item in node.items), node.input.fields)

        def asked(now: Moment) -> list[Lived]:
            return [
                (tuple(value(row) for value in values), enter, leave)
                for row, enter, leave in ask(now)
            ]

        return asked

    def _aggregate(self, node: Aggregate) -> Ask:
        ask, fields = self.build(node.input), node.input.fields
        keys = all_compiled((item.expression for item in node.groups), fields)
        calls = [_called(each, fields) for each in node.calls]

        def asked(now: Moment) -> list[Lived]:
            groups: dict[Row, list[Lived]] = {} if keys else {(): []}
            for each in ask(now):
                groups.setdefault(tuple(key(each[0]) for key in keys), []).append(each)
            return [
                (
                    (*key, *(call([row for row, _, _ in lived]) for call in calls)),
                    max((enter for _, enter, _ in lived), default=BEFORE),
                    NEVER,
                )
                for key, lived in groups.items()
            ]

        return asked

    # Several inputs

    def _product(self, node: Cross, predicates: Sequence[Expression]) -> Ask:
        """The product, filtered while it is made: a predicate that cannot fail is asked as soon as
        its columns are there."""
        streams = any(map(_has_stream, node.inputs))
        parts = [_Part(self.build(each), streams and _of_the_moment(each)) for each in node.inputs]
        return _Product(node, parts, predicates).asked

    def _join(self, node: Join) -> Ask:
        left, right = self.build(node.left), self.build(node.right)
        test = holds(node.predicates, (*node.left.fields, *node.right.fields))
        nothing = (None,) * len(node.left.fields), (None,) * len(node.right.fields)
        left_then = _of_the_moment(node.left) and _has_stream(node.right)
        right_then = _of_the_moment(node.right) and _has_stream(node.left)

        def asked(now: Moment) -> list[Lived]:
            lefts, rights = left(now), right(now)
            found: list[Lived] = []
            matched_left: set[int] = set()
            matched_right: set[int] = set()
            for i, one, j, other in _pairs(
                lefts, rights, left if left_then else None, right if right_then else None, now
            ):
                both = _together(one, other)
                if both[1] < both[2] and test(both[0]):
                    found.append(both)
                    matched_left.add(i)
                    matched_right.add(j)
            if node.side is not Side.RIGHT:
                found += _alone(lefts, matched_left, lambda row: (*row, *nothing[1]))
            if node.side is not Side.LEFT:
                found += _alone(rights, matched_right, lambda row: (*nothing[0], *row))
            return found

        return asked

    def _semi_join(self, node: SemiJoin) -> Ask:
        left, right = self.build(node.left), self.build(node.right)
        test = holds(node.predicates, (*node.left.fields, *node.right.fields))
        then = _of_the_moment(node.right) and _has_stream(node.left)

        def asked(now: Moment) -> list[Lived]:
            rights = right(now)
            return [
                each
                for each in left(now)
                if any(
                    test((*each[0], *other))
                    for other, _, _ in (right(_known(each[1], now)) if then else rights)
                )
                is not node.anti
            ]

        return asked

    def _bags(self, node: Difference | Intersect) -> Ask:
        left, right = self.build(node.left), self.build(node.right)
        minus = isinstance(node, Difference)

        def asked(now: Moment) -> list[Lived]:
            one, other = bag(left(now)), bag(right(now))
            return _ageless((one - other if minus else one & other).elements())

        return asked


# Products ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Part:
    """An input of a product; one that is asked for `then` has what it held when the others met."""

    ask: Ask
    then: bool


class _Product:
    """Combinations of rows, input by input; what the others have to have met for comes last."""

    def __init__(
        self, node: Cross, parts: Sequence[_Part], predicates: Sequence[Expression]
    ) -> None:
        places = sorted(range(len(parts)), key=lambda place: parts[place].then)
        self._steps: list[tuple[_Part, Callable[[Row], bool] | None]] = []
        fields: list[Field] = []
        waiting = list(predicates)
        for place in places:
            fields += node.inputs[place].fields
            ready: list[Expression] = []
            later: list[Expression] = []
            for each in waiting:
                now = len(self._steps) + 1 == len(places) or _may_be_early(each, fields)
                (ready if now else later).append(each)
            waiting = later
            self._steps.append((parts[place], holds(ready, fields) if ready else None))
        self._reorder = None if places == sorted(places) else _back_in_order(node, places)

    def asked(self, now: Moment) -> list[Lived]:
        found: list[Lived] = [((), BEFORE, NEVER)]
        for part, test in self._steps:
            rows = None if part.then else part.ask(now)
            found = [
                both
                for each in found
                for other in (_held_then(part.ask, each, now) if rows is None else rows)
                if (both := _together(each, other))[1] < both[2] and (not test or test(both[0]))
            ]
        if self._reorder is None:
            return found
        return [(self._reorder(row), enter, leave) for row, enter, leave in found]


def _back_in_order(node: Cross, places: Sequence[int]) -> Callable[[Row], Row]:
    """What puts the columns of a product made in another order where the node has them."""
    starts, start = {}, 0
    for place in places:
        starts[place] = start
        start += len(node.inputs[place].fields)
    columns = [
        starts[place] + offset
        for place, each in enumerate(node.inputs)
        for offset in range(len(each.fields))
    ]
    if len(columns) == 1:
        return lambda row: row
    return itemgetter(*columns)


def _held_then(ask: Ask, others: Lived, now: Moment) -> list[Lived]:
    """What tables that are not retroactive held when the other parts of a result met; what became
    of them since touches no such result."""
    return [(row, BEFORE, NEVER) for row, _, _ in ask(_known(others[1], now))]


def _known(enter: Moment, now: Moment) -> Moment:
    return now if enter == BEFORE else enter


def _pairs(
    lefts: list[Lived], rights: list[Lived], left: Ask | None, right: Ask | None, now: Moment
) -> Iterator[tuple[int, Lived, int, Lived]]:
    """Every pair of an outer join, with places; of the side whose function is given, what it held
    when the row of the other side came in."""
    if left is not None:
        for j, other in enumerate(rights):
            for one in _held_then(left, other, now):
                yield -1, one, j, other
        return
    for i, one in enumerate(lefts):
        others = rights if right is None else _held_then(right, one, now)
        for j, other in enumerate(others):
            yield i, one, j if right is None else -1, other


def _together(one: Lived, other: Lived) -> Lived:
    return (*one[0], *other[0]), max(one[1], other[1]), min(one[2], other[2])


def _alone(rows: list[Lived], matched: set[int], padded: Callable[[Row], Row]) -> Iterable[Lived]:
    return ((padded(row), BEFORE, NEVER) for i, (row, _, _) in enumerate(rows) if i not in matched)


def _of_the_moment(node: Node) -> bool:
    """Whether a node consists of tables only, one of them not retroactive."""
    tables = [each.stream for each in scans(node)]
    if any(each.is_stream for each in tables):
        return False
    return any(not each.retroactive for each in tables)


def _has_stream(node: Node) -> bool:
    return any(each.stream.is_stream for each in scans(node))


def _may_be_early(expression: Expression, fields: Sequence[Field]) -> bool:
    there = {(each.alias, each.name) for each in fields}
    named = ((each.alias, each.name) for each in columns_of(expression))
    return _cannot_fail(expression) and all(each in there for each in named)


def _cannot_fail(expression: Expression) -> bool:
    """Whether asking it early cannot raise what would not be raised otherwise."""
    if isinstance(expression, Call | Cast):
        return False
    return all(_cannot_fail(each) for each in expression.inputs)


# Groups -----------------------------------------------------------------------------------------


def bag(lived: Iterable[Lived]) -> Bag:
    """The rows without their lifetimes."""
    return Counter(row for row, _, _ in lived)


def _ageless(rows: Iterable[Row]) -> list[Lived]:
    return [(row, BEFORE, NEVER) for row in rows]


def _called(call: AggregateCall, fields: Sequence[Field]) -> Callable[[list[Row]], Value]:
    """An aggregate function over the rows of a group."""
    test = holds((call.filter,), fields) if call.filter is not None else None
    value = compiled(_converted(call), fields) if call.argument is not None else None
    compute = _computed(call)

    def called(rows: list[Row]) -> Value:
        kept = rows if test is None else [row for row in rows if test(row)]
        if value is None:
            return len(kept)
        values = [each for each in map(value, kept) if each is not None]
        if call.distinct:
            values = list(dict.fromkeys(values))
        try:
            return compute(values)
        except EvaluationError as error:
            error.span = error.span or call.span
            raise

    return called


def _converted(call: AggregateCall) -> Expression:
    """The argument, for a user's function as the type that it takes."""
    assert call.argument is not None
    if call.declared is None or call.argument.type == call.declared.takes:
        return call.argument
    return Cast(call.argument, call.declared.takes, call.argument.span)


def _computed(call: AggregateCall) -> Callable[[list[Any]], Value]:
    """The function of the values that are not NULL."""
    if call.declared is not None:
        return loaded(call.declared, call.span).compute
    function = AGGREGATES[call.function]
    return lambda values: function.compute(values) if values else function.nothing
