"""How many rows windows hold, and how many different rows what is computed from them can have.

A window of time holds the rows of its instants: a number where a stream declares how many rows an
instant has, else its rate times the window's length.  With a SLIDE the rows that have come since
the last boundary wait beside those that are seen, except those that will never be.  What is
computed from columns of some inputs is no more than the rows of those inputs combined, and no more
than the values that their domains allow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import reduce

from millpond.language.units import MICROSECONDS
from millpond.memory.amount import ONE, Amount
from millpond.memory.attribute import Attribute
from millpond.memory.scale import scale_of
from millpond.plan import (
    WINDOW_COLUMNS,
    Aggregate,
    Alias,
    Assign,
    Cross,
    Distinct,
    Expression,
    Extent,
    Join,
    Node,
    Project,
    Scan,
    Side,
    Union,
    Window,
    WindowFunction,
    WindowSpec,
    columns_of,
)
from millpond.schema import Column, Kind, Stream

Places = Set[int]
"""Where columns stand in the rows of a node."""


@dataclass(frozen=True)
class Lasting:
    """For how long rows of a stream stay: so many instants."""

    stream: Stream
    instants: int

    @property
    def rows(self) -> Amount:
        """How many rows come in that time."""
        if self.stream.rows_per_instant is not None:
            return Amount.of(self.stream.rows_per_instant * self.instants)
        return Amount.of(f"rate of {self.stream.name} x {self.length}")

    @property
    def given(self) -> str | None:
        """The rate that has to be known, if one has to be."""
        if self.stream.rows_per_instant is not None:
            return None
        return f"rows of {self.stream.name} per {self.length.removeprefix('1 ')}"

    @property
    def length(self) -> str:
        """That time in words."""
        unit = self._unit
        if unit is None or self.instants == 1:
            return _counted(self.instants, "instant")
        length = self.instants * MICROSECONDS[unit]
        word = next(each for each in _WORDS if length % MICROSECONDS[each] == 0)
        return _counted(length // MICROSECONDS[word], word)

    @property
    def _unit(self) -> str | None:
        """What an instant is, where that is known."""
        type_ = self.stream.time_type
        if type_ is not None and type_.kind is Kind.TIMESTAMP:
            return "microsecond"
        return None if self.stream.time is None else self.stream.time.unit


_WORDS = ("day", "hour", "minute", "second", "millisecond", "microsecond")


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")


def lasting(stream: Stream, spec: WindowSpec) -> tuple[Lasting, int]:
    """From how long a time the rows are that a RANGE window holds, and from how many such times.

    Those that wait for the next boundary follow those that are seen where windows overlap; else
    they are from a time of their own, with rows between that no window shows.
    """
    assert spec.size is not None
    if spec.slide is None:
        return Lasting(stream, spec.size), 1
    if spec.slide > spec.size:
        return Lasting(stream, spec.size), 2
    return Lasting(stream, spec.size + spec.slide), 1


def rows_of_rows(spec: WindowSpec) -> int:
    """How many rows of one partition a ROWS window holds: those that are seen, and those that wait
    for the M-th row."""
    assert spec.size is not None
    return spec.size + min(spec.slide or 1, spec.size) - 1


def copies(function: WindowFunction) -> int:
    """In how many open windows of TUMBLE or HOP a row can be."""
    return -(-function.size // function.slide)


def values_of(column: Column) -> int | None:
    """How many values the domain of a column has, NULL among them; None where it has no bound."""
    attribute = Attribute("", column.name)
    found = scale_of({attribute: column}, {}, ()).values(column, None).size
    return None if found is None else found + column.nullable


def partitions(stream: Stream, names: Sequence[str]) -> int | None:
    """How many partitions there are by columns of a stream; None where they have no bound."""
    found = [values_of(column) for each in names if (column := stream.column(each)) is not None]
    return _product(found)


def _product(sizes: Iterable[int | None]) -> int | None:
    found = 1
    for each in sizes:
        if each is None:
            return None
        found *= each
    return found


def held(leaf: Window | Assign) -> Amount:
    """How many rows a window holds, each once."""
    if isinstance(leaf, Assign):
        return Lasting(leaf.input.stream, leaf.function.size).rows
    spec, stream = leaf.spec, source(leaf)
    if spec.extent is Extent.RANGE:
        assert stream is not None
        time, times = lasting(stream, spec)
        return time.rows.times(Amount.of(times))
    parts = 1 if stream is None else partitions(stream, spec.partition)
    assert parts is not None
    return Amount.of(rows_of_rows(spec) * parts)


def source(window: Window) -> Stream | None:
    """The stream that a window is on; None where it is on what another query gives."""
    node: Node = window.input
    while isinstance(node, Alias):
        node = node.input
    return node.stream if isinstance(node, Scan) else None


def rows(node: Node) -> Amount:
    """How many rows a node has at most, duplicates counted."""
    match node:
        case Window():
            return held(node)
        case Assign():
            return held(node).times(Amount.of(copies(node.function)))
        case Cross():
            return _times(rows(each) for each in node.inputs)
        case Join():
            left, right = rows(node.left), rows(node.right)
            found = left.times(right)
            found = found if node.side is Side.RIGHT else found.plus(left)
            return found if node.side is Side.LEFT else found.plus(right)
        case Union():
            return reduce(Amount.plus, (rows(each) for each in node.inputs))
        case Aggregate():
            return groups(node)
        case Distinct():
            return different(node.input, all_places(node))
    return rows(node.inputs[0])


def _times(amounts: Iterable[Amount]) -> Amount:
    return reduce(Amount.times, amounts, ONE)


def groups(node: Aggregate) -> Amount:
    """How many groups an aggregate has at most."""
    return different(node.input, places_in(node.input, [x.expression for x in node.groups]))


def all_places(node: Node) -> Places:
    return set(range(len(node.fields)))


def places_in(node: Node, expressions: Iterable[Expression]) -> Places:
    """The columns of a node that expressions read."""
    there = {(each.alias, each.name): place for place, each in enumerate(node.fields)}
    return {there[c.alias, c.name] for each in expressions for c in columns_of(each)}


def different(node: Node, places: Places) -> Amount:
    """How many different rows the columns at these places make at most."""
    if not places:
        return ONE
    match node:
        case Window():
            return _in_domain(source(node), places, held(node))
        case Assign():
            return _assigned(node, places)
        case Project():
            read = [node.items[place].expression for place in places]
            return different(node.input, places_in(node.input, read))
        case Cross():
            return _times(different(*each) for each in _split(node.inputs, places))
        case Join():
            return _padded(node, places)
        case Union():
            return reduce(Amount.plus, (different(each, places) for each in node.inputs))
        case Aggregate():
            keys = [node.groups[each] for each in places if each < len(node.groups)]
            if len(keys) < len(places):
                return groups(node)
            return different(node.input, places_in(node.input, [x.expression for x in keys]))
    return different(node.inputs[0], places)


def _in_domain(stream: Stream | None, places: Places, most: Amount) -> Amount:
    """No more than the rows, and than the values of the columns."""
    if stream is None:
        return most
    sizes = _product(values_of(stream.columns[each]) for each in places)
    return most if sizes is None else most.at_most(Amount.of(sizes))


def _assigned(node: Assign, places: Places) -> Amount:
    """What rows have of their own, for each open window if the window is asked for as well."""
    width = len(node.fields) - len(WINDOW_COLUMNS)
    own = {each for each in places if each < width}
    windows = ONE if own == places else Amount.of(copies(node.function))
    if not own:
        return windows
    return windows.times(_in_domain(node.input.stream, own, held(node)))


def _split(inputs: Iterable[Node], places: Places) -> Iterator[tuple[Node, Places]]:
    """Which columns of each input columns of the product are."""
    start = 0
    for each in inputs:
        width = len(each.fields)
        yield each, {place - start for place in places if start <= place < start + width}
        start += width


def _padded(node: Join, places: Places) -> Amount:
    """Of an outer join: one row more of a side that may be NULL."""
    found = ONE
    for (each, own), kept in zip(_split(node.inputs, places), (Side.LEFT, Side.RIGHT), strict=True):
        amount = different(each, own)
        found = found.times(amount if not own or node.side is kept else amount.plus(ONE))
    return found
