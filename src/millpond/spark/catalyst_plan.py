"""Catalyst's operators as a plan of ours, with the user's own names.

Projections, filters and inner joins are gathered into one *block* (sources, conditions, what each
column shows), so that a pipeline of ten calls becomes the one SELECT that it means.  An operator or
an expression whose meaning is not known here is `OutsideError`, with its name; a column that nobody
asks for may be anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from millpond.diagnostic import Span
from millpond.plan import (
    Aggregate,
    Alias,
    ColumnRef,
    Distinct,
    Expression,
    Item,
    Join,
    Node,
    Project,
    Scan,
    SemiJoin,
    Side,
    Union,
    scans,
)
from millpond.schema import Column, Stream
from millpond.spark.catalyst import SOURCES, Expr, Operator, Session
from millpond.spark.catalyst_aggregate import Grouping
from millpond.spark.catalyst_block import (
    Block,
    block_of,
    is_open,
    rows_of,
    said_source,
    unique,
)
from millpond.spark.catalyst_expression import Expressions, Missing, OutsideError
from millpond.spark.catalyst_table import Tables, equates, opened, pinned, table_columns
from millpond.spark.catalyst_types import said_of, type_of

_ABOVE = "\0"
"""Stands before a name that was given above a projection: one that is given below it goes first."""

PASSING = frozenset(
    {
        *("CollectMetrics", "EventTimeWatermark", "ResolvedHint", "SubqueryAlias", "View"),
        *("RebalancePartitions", "Repartition", "RepartitionByExpression"),
    }
)
"""Operators whose rows are those of their input."""


@dataclass(frozen=True)
class Translation:
    """A plan, and the streams that it reads."""

    root: Node
    streams: tuple[Stream, ...]


def translated(plan: Operator, session: Session, tables: Tables = Tables.UNKNOWN) -> Translation:
    """The plan of a streaming DataFrame; raises `OutsideError`."""
    translator = _Translator(session, tables)
    wanted = frozenset(each.id for each in plan.output)
    try:
        block = translator.block(plan, wanted)
        ordered = replace(block, names={each.id: block.names[each.id] for each in plan.output})
        root = translator.node(ordered)
    except ValueError as error:  # nodes are checked when they are built
        raise OutsideError("what its operators are put together to is not known here") from error
    return Translation(
        root, tuple({each.stream.name: each.stream for each in scans(root)}.values())
    )


class _Translator:
    def __init__(self, session: Session, tables: Tables) -> None:
        self._session = session
        self._tables = tables
        self._pinned: set[int] = set()
        """Columns that are some constant, whichever."""
        self._taken: set[str] = set()
        self._shared: dict[int, Operator] = {}
        self.streams: dict[str, Stream] = {}
        """By what is the same of all readers of a source."""

    def block(
        self, plan: Operator, wanted: frozenset[int], name: str = "", view: str = ""
    ) -> Block:
        """The rows of an operator of which the wanted columns are asked for; `name` is what the
        user calls them, `view` what is read."""
        if not plan.streaming:
            raise OutsideError("a table is joined, and what it holds is not known here")
        if plan.kind in SOURCES:
            return self._source(plan, name, view)
        if plan.kind in PASSING:
            said = plan.fields.get("identifier")
            if plan.kind == "SubqueryAlias" and isinstance(said, dict):
                view = str(said["name"])
                name = view if name.startswith(_ABOVE) or not name else name
            return self.block(plan.children[0], wanted, name, view)
        match plan.kind:
            case "Project":
                return self._project(plan, wanted, name, view)
            case "Filter":
                return self._filter(plan, wanted, name, view)
            case "Join":
                return self._join(plan, wanted)
            case "Union":
                return self._union(plan)
            case "Distinct":
                return self._distinct(plan.children[0])
            case "Deduplicate":
                return self._deduplicate(plan, wanted)
            case "Aggregate":
                return self._aggregate(plan)
            case "WithCTE":
                return self._with(plan, wanted)
            case "CTERelationRef":
                return self._reference(plan, wanted)
        raise OutsideError(f"the operator {plan.kind} is not known here")

    # Sources -------------------------------------------------------------------------------------

    def _source(self, plan: Operator, name: str, view: str) -> Block:
        name = name.removeprefix(_ABOVE)
        stream = self._stream(plan, view or name)
        scan = Scan(stream, self._unique(name or stream.name))
        columns: dict[int, Expression | Missing] = {}
        names = {}
        for (attribute,) in plan.fields["output"]:
            id_, called = int(attribute["exprId"]["id"]), str(attribute["name"])
            names[id_] = called
            column = stream.column(called)
            if column is None:
                said = said_of(attribute["dataType"])
                columns[id_] = Missing(f"`{scan.alias}.{called}` is of type {said}", None)
            else:
                columns[id_] = ColumnRef(scan.alias, column.name, column.type, column.nullable)
        return Block((scan,), columns, names)

    def _stream(self, plan: Operator, view: str) -> Stream:
        key = plan.source or ""
        columns = tuple(
            Column(str(each["name"]), type_, bool(each["nullable"]))
            for (each,) in plan.fields["output"]
            if (type_ := type_of(each["dataType"])) is not None
        )
        if key not in self.streams:
            known = {each.name.lower() for each in self.streams.values()}
            name = unique(view or said_source(str(plan.fields["sourceName"])), known)
            self.streams[key] = Stream(name, columns)
        if self.streams[key].columns != columns:
            raise OutsideError("one source is read in two ways")
        return self.streams[key]

    def _unique(self, name: str) -> str:
        found = unique(name, self._taken)
        self._taken.add(found.lower())
        return found

    # Rows of a product ---------------------------------------------------------------------------

    def _project(self, plan: Operator, wanted: frozenset[int], name: str, view: str) -> Block:
        items = plan.exprs("projectList")
        asked = frozenset(x for each in items if each.id in wanted for x in each.references)
        further = name if name.startswith(_ABOVE) else _ABOVE + name
        below = self.block(plan.children[0], asked, further, view)
        columns = {each.id: self._shown(each, below) for each in items}
        names = {each.id: each.name for each in items}
        return replace(below, columns=columns, names=names)

    def _shown(self, expr: Expr, below: Block) -> Expression | Missing:
        try:
            return Expressions(below.columns, self._session).of(expr)
        except OutsideError as error:
            return Missing(error.what, error.span)

    def _filter(self, plan: Operator, wanted: frozenset[int], name: str, view: str) -> Block:
        (condition,) = plan.exprs("condition")
        below = self.block(plan.children[0], wanted | {*condition.references}, name, view)
        if not self._pinned.isdisjoint(condition.references):
            raise OutsideError("what a condition leaves of a table is not known here")
        return self._filtered(below, condition)

    def _filtered(self, below: Block, condition: Expr) -> Block:
        found = Expressions(below.columns, self._session).conjuncts(condition)
        return replace(below, predicates=(*below.predicates, *found))

    def _join(self, plan: Operator, wanted: frozenset[int]) -> Block:
        conditions = plan.exprs("condition")
        asked = wanted | {x for each in conditions for x in each.references}
        if not all(each.streaming for each in plan.children):
            return self._with_table(plan, asked, conditions)
        left, right = (self.block(each, asked) for each in plan.children)
        match join_type(plan):
            case "Inner" | "Cross":
                merged = self._merged(left, right)
                for each in conditions:
                    merged = self._filtered(merged, each)
                return merged
            case "LeftOuter" | "RightOuter" | "FullOuter" as kind:
                side = Side[kind.removesuffix("Outer").upper()]
                return self._outer(left, right, side, conditions)
            case "LeftSemi" | "LeftAnti" as kind:
                return self._semi(left, right, conditions, anti=kind == "LeftAnti")
        raise OutsideError(f"a {join_type(plan)} join is not known here")

    def _with_table(
        self, plan: Operator, asked: frozenset[int], conditions: Sequence[Expr]
    ) -> Block:
        """Each row of the stream with the rows of a table that it meets."""
        kind = join_type(plan)
        (stream,) = (each for each in plan.children if each.streaming)
        (table,) = (each for each in plan.children if not each.streaming)
        if self._tables is Tables.UNKNOWN or kind not in ("Inner", "LeftOuter", "RightOuter"):
            raise OutsideError("a table is joined, and what it holds is not known here")
        block = self.block(stream, asked)
        if len(block.inputs) != 1 or not isinstance(block.inputs[0], Scan):
            raise OutsideError("a table is joined with more than one stream at once")
        names = {id_: name for id_, name, _, _ in table_columns(table)}
        if self._tables is Tables.OPEN:
            scan, columns = opened(table, block.inputs[0])
            both = replace(block, inputs=(scan,))
        else:
            both, columns = block, pinned(table)
            self._pinned |= columns.keys()
            if not all(map(equates, conditions)):
                raise OutsideError("a table is joined by more than equality")
        both = replace(both, columns={**block.columns, **columns}, names={**block.names, **names})
        if kind == "Inner" or self._tables is Tables.PINNED:
            for each in conditions:
                both = self._filtered(both, each)
        return both

    def _merged(self, *blocks: Block) -> Block:
        plain = [each if is_open(each) else self._wrapped(each) for each in blocks]
        return Block(
            tuple(node for each in plain for node in each.inputs),
            {id_: shown for each in plain for id_, shown in each.columns.items()},
            {id_: name for each in plain for id_, name in each.names.items()},
            tuple(one for each in plain for one in each.predicates),
        )

    def _sides(
        self, left: Block, right: Block, conditions: Sequence[Expr]
    ) -> tuple[Block, Node, Node, tuple[Expression, ...]]:
        """Two inputs that stay apart, and the predicates between them."""
        left, right = self._single(left), self._single(right)
        both = self._merged(left, right)
        on = Expressions(both.columns, self._session)
        predicates = tuple(x for each in conditions for x in on.conjuncts(each))
        return both, left.inputs[0], right.inputs[0], predicates

    def _outer(self, left: Block, right: Block, side: Side, conditions: Sequence[Expr]) -> Block:
        both, one, other, predicates = self._sides(left, right, conditions)
        node = Join(one, other, side, predicates, _span_of(predicates))
        fields = {(each.alias, each.name): each.nullable for each in node.fields}
        columns = {
            id_: replace(shown, nullable=fields[shown.alias, shown.name])
            if isinstance(shown, ColumnRef)
            else shown
            for id_, shown in both.columns.items()
        }
        return Block((node,), columns, both.names)

    def _semi(self, left: Block, right: Block, conditions: Sequence[Expr], *, anti: bool) -> Block:
        names = left.names
        both, one, other, predicates = self._sides(left, right, conditions)
        node = SemiJoin(one, other, predicates, anti, _span_of(predicates))
        return Block((node,), {id_: both.columns[id_] for id_ in names}, names)

    def _single(self, block: Block) -> Block:
        """A block of one input, whose columns are that input's."""
        bare = len(block.inputs) == 1 and not block.predicates and is_open(block)
        plain = all(isinstance(each, ColumnRef | Missing) for each in block.columns.values())
        return block if bare and plain else self._wrapped(block)

    # Sets ----------------------------------------------------------------------------------------

    def _union(self, plan: Operator) -> Block:
        blocks = [self.block(each, frozenset(x.id for x in each.output)) for each in plan.children]
        first = blocks[0]
        called = [first.names[each.id] for each in plan.children[0].output]
        sides = tuple(
            self._projected(block, [each.id for each in side.output], called)
            for block, side in zip(blocks, plan.children, strict=True)
        )
        return block_of(Union(sides), [each.id for each in plan.output], called)

    def _distinct(self, plan: Operator) -> Block:
        ids = [each.id for each in plan.output]
        return self._each_once(self.block(plan, frozenset(ids)), ids)

    def _deduplicate(self, plan: Operator, wanted: frozenset[int]) -> Block:
        """Where only the keys are asked for, which row comes first does not show."""
        keys = [each.id for each in plan.exprs("keys")]
        if not wanted <= frozenset(keys):
            below = self.block(plan.children[0], wanted | {*keys})
            named = ", ".join(f"`{below.names[each]}`" for each in keys)
            raise OutsideError(f"which row of each {named} comes first decides what comes out")
        return self._each_once(self.block(plan.children[0], frozenset(keys)), keys)

    def _each_once(self, block: Block, ids: Sequence[int]) -> Block:
        called = [block.names[each] for each in ids]
        node = self._projected(block, ids, called)
        return block_of(Distinct(node), ids, called)

    # Aggregates ----------------------------------------------------------------------------------

    def _aggregate(self, plan: Operator) -> Block:
        items, groups = plan.exprs("aggregateExpressions"), plan.exprs("groupingExpressions")
        asked = frozenset(x for each in (*items, *groups) for x in each.references)
        below = self.block(plan.children[0], asked)
        if not is_open(below):
            below = self._wrapped(below)
        grouping = Grouping(below.columns, self._session, groups, items)
        columns = {each.id: grouping.shown(each) for each in items}
        node = Aggregate(rows_of(below), tuple(grouping.groups), tuple(grouping.calls))
        return Block((node,), columns, {each.id: each.name for each in items})

    # WITH ----------------------------------------------------------------------------------------

    def _with(self, plan: Operator, wanted: frozenset[int]) -> Block:
        (place,) = [i for i, each in enumerate(plan.children) if each.kind != "CTERelationDef"]
        for each in plan.children:
            if each.kind == "CTERelationDef":
                self._shared[int(each.fields["id"])] = each.children[0]
        return self.block(plan.children[place], wanted)

    def _reference(self, plan: Operator, wanted: frozenset[int]) -> Block:
        """A WITH is read as often as it is named, each time with columns of its own."""
        meant = self._shared[int(plan.fields["cteId"])]
        ids = dict(zip((x.id for x in meant.output), (x.id for x in plan.output), strict=True))
        below = self.block(meant, frozenset(old for old, new in ids.items() if new in wanted))
        return replace(
            below,
            columns={new: below.columns[old] for old, new in ids.items()},
            names={new: below.names[old] for old, new in ids.items()},
        )

    # Nodes ---------------------------------------------------------------------------------------

    def node(self, block: Block) -> Node:
        """A block as a whole query."""
        ids = list(block.names)
        if len(block.inputs) == 1 and not block.predicates:
            node = block.inputs[0]
            same = [ColumnRef(None, x.name, x.type, x.nullable) for x in node.fields]
            if isinstance(node, Distinct | Union) and [block.columns[x] for x in ids] == same:
                return node
        return self._projected(block, ids, [block.names[each] for each in ids])

    def _projected(self, block: Block, ids: Sequence[int], names: Sequence[str]) -> Project:
        if not (is_open(block) or isinstance(block.inputs[0], Aggregate | Join | SemiJoin)):
            block = self._wrapped(block)
        items = []
        taken: set[str] = set()
        for id_, name in zip(ids, names, strict=True):
            found = block.columns[id_]
            if isinstance(found, Missing):
                raise OutsideError(found.what, found.span)
            name = unique(name, taken)
            taken.add(name.lower())
            items.append(Item(found, name))
        return Project(rows_of(block), tuple(items))

    def _wrapped(self, block: Block) -> Block:
        """A block as one input with a name of its own; columns that are not known stay so."""
        known = [x for x in block.names if not isinstance(block.columns[x], Missing)]
        whole = self.node(replace(block, names={x: block.names[x] for x in known}))
        alias = self._unique("subquery")
        node = Alias(whole, alias)
        columns: dict[int, Expression | Missing] = {
            id_: ColumnRef(alias, field.name, field.type, field.nullable)
            for id_, field in zip(known, node.fields, strict=True)
        }
        missing = {x: each for x, each in block.columns.items() if isinstance(each, Missing)}
        return Block((node,), columns | missing, block.names)


def join_type(plan: Operator) -> str:
    """The type of a join: `Inner`, `LeftOuter`, ..."""
    said = plan.fields["joinType"]
    name = str(said.get("object") or said.get("product-class"))
    return name.rpartition(".")[2].removesuffix("$")


def _span_of(predicates: Sequence[Expression]) -> Span | None:
    return next((each.span for each in predicates if each.span is not None), None)
