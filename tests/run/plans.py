"""Plans written out as nodes, events as tuples, and output as one short line an instant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from millpond.diagnostic import Source, Span
from millpond.plan import (
    Aggregate,
    AggregateCall,
    Call,
    ColumnRef,
    Comparison,
    Cross,
    Expression,
    Extent,
    Filter,
    Item,
    Literal,
    Node,
    Operator,
    Project,
    Query,
    Scan,
    Window,
    WindowSpec,
)
from millpond.run import DefinitionRun, Emit, Event, Op, Session
from millpond.run.output import change_order
from millpond.run.values import order_key
from millpond.schema import BIGINT, HUGEINT, Catalog, Column, Form, Row, Stream, Time

SPAN = Span(Source("q.sql", "SELECT"), 0, 6)


def stream(
    name: str, columns: str, *, delay: int = 0, timed: bool = True, until: int | None = None
) -> Stream:
    """A stream of BIGINT columns, of which `ts` is the time if it is timed."""
    form = Form.STREAM if until is None else Form.FINITE
    time = Time("ts", delay) if timed else None
    return Stream(name, _columns(columns), form=form, time=time, until=until)


def table(name: str, columns: str, *, retroactive: bool = True) -> Stream:
    """A table of BIGINT columns."""
    return Stream(name, _columns(columns), form=Form.TABLE, retroactive=retroactive)


def _columns(names: str) -> tuple[Column, ...]:
    return tuple(Column(each, BIGINT) for each in names.split())


def scan(of: Stream, alias: str | None = None) -> Scan:
    return Scan(of, alias or of.name)


def windowed(
    of: Stream | Node,
    extent: str,
    size: int | None = None,
    slide: int | None = None,
    *,
    by: str = "",
    internal: bool = False,
    alias: str | None = None,
) -> Window:
    """`of [extent size SLIDE slide]`."""
    spec = WindowSpec(Extent(extent), size, slide, tuple(by.split()), internal)
    return Window(scan(of, alias) if isinstance(of, Stream) else of, spec)


def column(node: Node, name: str) -> ColumnRef:
    """A column, as `name` or `alias.name`."""
    alias, _, short = name.rpartition(".")
    for each in node.fields:
        if each.name == short and alias in ("", each.alias):
            return ColumnRef(each.alias, each.name, each.type, each.nullable)
    raise LookupError(name)


def chosen(node: Node, names: str) -> Project:
    """`SELECT names`."""
    items = tuple(Item(column(node, each), each.rpartition(".")[2]) for each in names.split())
    return Project(node, items)


def compared(node: Node, left: str, op: str, right: str | int) -> Comparison:
    other = Literal(right, BIGINT) if isinstance(right, int) else column(node, right)
    return Comparison(Operator(op), column(node, left), other)


def where(node: Node, *conditions: tuple[str, str, str | int]) -> Filter:
    return Filter(node, tuple(compared(node, *each) for each in conditions))


def cross(*inputs: Node) -> Cross:
    return Cross(inputs)


def total(node: Node, function: str, of: str = "", by: str = "") -> Aggregate:
    """`SELECT by, FUNCTION(of) ... GROUP BY by`; without a column, of `*`."""
    argument: Expression | None = column(node, of) if of else None
    call = AggregateCall(function, argument, False, function.lower(), HUGEINT)
    groups = tuple(Item(column(node, each), each.rpartition(".")[2]) for each in by.split())
    return Aggregate(node, groups, (call,))


def quotient(node: Node, left: str, right: str, function: str) -> Call:
    return Call(function, (column(node, left), column(node, right)), BIGINT)


# Running ----------------------------------------------------------------------------------------

Given = tuple[object, ...]
"""`("s", 1, 5)` a row; `("-r", 1)` a delete, `("r@7", 1)` with a time of its own; `("@time", 9)`,
`("@tick",)`, `("@end", "s")`."""


def event(given: Given, line: int = 1) -> Event:
    name, *values = given
    assert isinstance(name, str)
    if name == "@tick":
        return Event(None, (), line, Op.TICK)
    if name == "@time":
        (at,) = values
        assert isinstance(at, int)
        return Event(None, (), line, Op.TIME, at)
    if name == "@end":
        return Event(str(values[0]), (), line, Op.END)
    op = Op.DELETE if name.startswith("-") else Op.INSERT
    name, _, own = name.removeprefix("-").partition("@")
    row: Row = tuple(values)  # type: ignore[arg-type]  # a test's tuple holds values
    return Event(name, row, line, op, int(own) if own else None)


class Short:
    """A teller: `5: -(1) +(2)x3`, or `5 = (1) (2)x3` for answers."""

    def __init__(self, name: str = "") -> None:
        self._name = name and f"{name} "

    def changes(self, at: int, changes: Iterable[tuple[Row, int]]) -> list[str]:
        said = (f"{'-+'[n > 0]}{_row(row, n)}" for row, n in sorted(changes, key=change_order))
        return [f"{self._name}{at}: {' '.join(said)}"]

    def answer(self, at: int, answer: Mapping[Row, int]) -> str:
        return f"{self._name}{at} = {_rows(answer)}".rstrip()

    def final(self, answer: Mapping[Row, int]) -> list[str]:
        return [f"{self._name}{_rows(answer)}"]


def _rows(answer: Mapping[Row, int]) -> str:
    return " ".join(_row(row, answer[row]) for row in sorted(answer, key=order_key))


def _row(row: Row, n: int) -> str:
    return f"({','.join(map(str, row))})" + (f"x{abs(n)}" if abs(n) != 1 else "")


def session(
    roots: Node | Mapping[str, Node],
    *,
    emit: str = "changes",
    instants: str = "all",
    separate: bool = False,
    more: Sequence[Stream] = (),
    late: list[Event] | None = None,
    limit: int | None = None,
) -> Session:
    """A session of plans, by definition."""
    plans = {"": roots} if not isinstance(roots, Mapping) else roots
    queries = [Query(name, root, SPAN) for name, root in plans.items()]
    catalog = Catalog()
    for each in {source.name: source for q in queries for source in q.sources}.values():
        catalog.add(each)
    for each in more:
        catalog.add(each)
    return Session(
        catalog,
        [(q, DefinitionRun(q, every=emit == "answers"), Short(q.name)) for q in queries],
        Emit(emit),
        instants=instants,
        separate=separate,
        late=None if late is None else late.append,
        limit=limit,
    )


def ran(
    roots: Node | Mapping[str, Node],
    given: Sequence[Given],
    *,
    size: int | None = None,
    ended: bool = True,
    **options: object,
) -> list[str]:
    """What is said over some events, in pieces of a size."""
    under_way = session(roots, **options)  # type: ignore[arg-type]  # those of `session`
    events = [event(each, line) for line, each in enumerate(given, 1)]
    step = size or max(1, len(events))
    said: list[str] = []
    for start in range(0, len(events), step):
        said += under_way.advance(events[start : start + step])
    said += under_way.finish(ended=ended)
    if under_way.failure is not None:
        raise under_way.failure
    return said
