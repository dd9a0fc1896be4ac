"""FROM: streams, windows, tables, subqueries and joins, to one node and the conditions on it.

Inner joins become a product with their conditions in a list, so that however a join is spelled the
plan is the same; an outer join is a node of its own.  Windows are checked here: they stand on what
is a stream.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from millpond.diagnostic import Diagnostic, Span, UserError, did_you_mean
from millpond.language.constants import not_built, shown
from millpond.language.context import Context
from millpond.language.joins import JoinConditions
from millpond.language.lengths import ticks
from millpond.language.scope import Scope, unique
from millpond.language.tree import ChangesOf, Length, WindowClause, WindowTable
from millpond.language.window_views import windowed_view
from millpond.language.windows import (
    no_time,
    no_window_of_table,
    positive,
    time_of,
    window_spec,
)
from millpond.plan import (
    Alias,
    Assign,
    Assigned,
    ColumnRef,
    Cross,
    Expression,
    Extent,
    Filter,
    Join,
    Node,
    Project,
    Results,
    Scan,
    SemiJoin,
    Side,
    Window,
    WindowFunction,
    WindowSpec,
    stream_valued,
)
from millpond.schema import Stream

_SIDES = {"LEFT": Side.LEFT, "RIGHT": Side.RIGHT, "FULL": Side.FULL}
_TABLE_TAKES = {"this", "alias", "joins", "pond_window", "pond_stream", "pond_watermark"}
_JOIN_TAKES = {"this", "on", "using", "kind", "side", "method", "pond_comma"}


@dataclass
class Group:
    """Inputs that inner joins put side by side, with the conditions on them."""

    start: int = 0
    """Where its columns begin among those of the whole FROM."""
    inputs: list[Node] = field(default_factory=list)
    conditions: list[Expression] = field(default_factory=list)

    def node(self, span: Span) -> Node:
        """The inputs as one."""
        made = self.inputs[0] if len(self.inputs) == 1 else Cross(tuple(self.inputs), span)
        return Filter(made, tuple(self.conditions), span) if self.conditions else made


class InputBinder:
    """Binds the FROM of one SELECT."""

    def __init__(
        self, context: Context, scope: Scope, subquery: Callable[[exp.Expr], Node]
    ) -> None:
        self._context = context
        self._scope = scope
        self._subquery = subquery
        self._joins = JoinConditions(context, scope)
        self._before = context.errors.number

    def bind(self, clause: exp.From, joins: Sequence[exp.Join]) -> Group:
        """All of FROM; what is wrong goes to the collector."""
        groups = [self._first(clause.this)]
        for join in joins:
            if join.args.get("pond_comma") and not join.kind:
                self._context.refuse_the_rest(join, _JOIN_TAKES)
                groups.append(self._first(join.this))
            else:
                self._join(groups[-1], join)
        together = Group()
        for each in groups:
            together.inputs += each.inputs
            together.conditions += each.conditions
        return together

    def _first(self, tree: exp.Expr) -> Group:
        group = Group(len(self._scope.columns))
        self._into(group, tree)
        return group

    def _into(self, group: Group, tree: exp.Expr) -> None:
        """An input, or a join in parentheses."""
        try:
            inner = tree.this if isinstance(tree, exp.Subquery) else None
            if isinstance(inner, exp.Table | exp.Subquery) and not tree.args.get("alias"):
                self._refuse_window_behind(tree)
                self._context.refuse_the_rest(tree, {"this", "joins"})
                self._into(group, inner)
                for join in tree.args.get("joins") or ():
                    self._join(group, join)
                return
            group.inputs.append(self.input(tree))
            for join in tree.args.get("joins") or ():
                self._join(group, join)
        except UserError as error:
            self._context.errors.add(error)
            self._scope.missing[_called(tree).lower()] = error

    def _refuse_window_behind(self, tree: exp.Expr) -> None:
        """Of inputs in parentheses each has a window of its own."""
        clause = tree.args.get("pond_window")
        if clause is not None:
            said = "a window behind parentheses has no stream of its own"
            helps = ("write it behind the stream: FROM (s [RANGE 10] JOIN t ON ...)",)
            place = self._context.places.of(clause)
            raise UserError(Diagnostic("MP134", said, place, helps=helps))

    # Joins -----------------------------------------------------------------------------------

    def _join(self, group: Group, join: exp.Join) -> None:
        self._context.refuse_the_rest(join, _JOIN_TAKES)
        known = len(self._scope.columns)
        inner = self._first(join.this)
        if not group.inputs or not inner.inputs:
            return
        span = self._context.places.of(join)
        kind, side = (join.kind or "").upper(), (join.side or "").upper()
        try:
            self._joins.refuse_form(join, span)
            conditions = self._joins.conditions(join, group.start, known, side)
        except UserError as error:
            self._context.errors.add(error)
            conditions = []
        semi = kind in ("SEMI", "ANTI") and side in ("", "LEFT")
        if semi:  # the right side is seen by the condition only
            del self._scope.columns[known:]
        if self._context.errors.number > self._before:
            return
        if semi:
            anti = kind == "ANTI"
            made: Node = SemiJoin(group.node(span), inner.node(span), tuple(conditions), anti, span)
            group.inputs, group.conditions = [made], []
            return
        if not side:
            group.inputs += inner.inputs
            group.conditions += [*inner.conditions, *conditions]
            return
        made = Join(group.node(span), inner.node(span), _SIDES[side], tuple(conditions), span)
        group.inputs, group.conditions = [made], []
        self._scope.again(made)

    # Inputs ----------------------------------------------------------------------------------

    def input(self, tree: exp.Expr) -> Node:
        """One input of FROM, its columns in scope."""
        span = self._context.places.of(tree)
        alias = tree.args.get("alias")
        word = _CALLED.get(type(tree))
        if word is not None:
            raise not_built(f"{word} in FROM", span, "write a subquery that reads a stream")
        if isinstance(alias, exp.TableAlias) and alias.args.get("columns"):
            raise not_built("column lists behind an alias", span, "name columns inside: a AS b")
        clause = tree.args.get("pond_window")
        if isinstance(tree, exp.Table) and isinstance(tree.this, WindowTable):
            if clause is not None:
                said = f"the rows of {tree.this.args['kind']} are in windows already"
                place = self._context.places.of(clause)
                raise UserError(Diagnostic("MP134", said, place, helps=("leave this one out",)))
            meant = self._context.named.get(tree.this.this.name.lower())
            if meant is not None:
                self._context.used.add(id(meant.tree))
                query = windowed_view(meant.tree, tree.this, self._context.places)
                with self._context.inside(meant):
                    return self._derived(query, tree.alias or tree.this.this.name, None, span)
            return self._assign(tree.this, tree.alias, span)
        if isinstance(tree, exp.Table) and isinstance(tree.this, exp.Identifier):
            self._context.refuse_the_rest(tree, _TABLE_TAKES)
            meant = self._context.named.get(tree.name.lower())
            if meant is not None:
                self._context.used.add(id(meant.tree))
                with self._context.inside(meant):
                    return self._derived(meant.tree, tree.alias or tree.name, clause, span)
            return self._scan(tree, clause, span)
        if isinstance(tree, exp.Subquery):
            self._context.refuse_the_rest(tree, {"this", "alias", "pond_window", "joins"})
            return self._derived(tree.this, tree.alias, clause, span)
        if isinstance(tree, ChangesOf):
            return self._derived(tree, tree.alias, clause, span)
        help_ = "declare what it reads with CREATE STREAM, and name that"
        raise not_built(f"this in FROM: {shown(tree)}", span, help_)

    def _scan(self, tree: exp.Table, clause: WindowClause | None, span: Span) -> Node:
        stream = self._declared(tree, span)
        name = self._free(tree.alias or stream.name, stream, span)
        word = self._context.places.of(tree.this)
        node: Node = Scan(stream, unique(name, self._taken()), word)
        if clause is not None:
            place = self._context.places.of(clause)
            if not stream.is_stream:
                raise no_window_of_table(stream, place)
            node = Window(node, self._spec(clause, node, (stream.name, name), place), span)
        self._scope.add(name, node)
        self._scope.opaque[name.lower()] = stream.opaque
        return node

    def _declared(self, tree: exp.Table, span: Span) -> Stream:
        stream = self._context.catalog.get(tree.name)
        if stream is None:
            known = [*self._context.catalog.names, *self._context.named]
            raise UserError(
                Diagnostic(
                    "MP101",
                    f"unknown stream `{tree.name}`",
                    self._context.places.of(tree.this, span),
                    helps=did_you_mean(tree.name, known)
                    or ("declare it with CREATE STREAM or CREATE TABLE",),
                )
            )
        return stream

    def _derived(
        self, query: exp.Expr, alias: str, clause: WindowClause | None, span: Span
    ) -> Node:
        """A subquery; under a window, what it gives as a stream."""
        plan = self._subquery(query)
        name = self._free(alias or "subquery", None, span)
        plan_alias = unique(name, self._taken())
        if clause is None:
            node: Node = Alias(plan, plan_alias, span)
        else:
            place = self._context.places.of(clause)
            if not stream_valued(plan):
                if not monotone(plan):
                    raise _no_window(place)
                plan = Results(plan, span)
            derived = Alias(plan, plan_alias, span)
            node = Window(derived, self._spec(clause, derived, (name,), place), span)
        self._scope.add(name, node)
        return node

    def _free(self, name: str, stream: Stream | None, span: Span) -> str:
        """The name, if no input of this FROM has it."""
        if name.lower() in {each.lower() for each in self._scope.qualifiers}:
            used = name if stream is None else stream.name
            raise UserError(
                Diagnostic(
                    "MP104",
                    f"`{name}` stands twice in FROM",
                    span,
                    helps=(f"name each use: `{used} AS {used}2`",),
                )
            )
        return name

    def _taken(self) -> Iterator[str]:
        return self._scope.taken()

    # Windows ---------------------------------------------------------------------------------

    def _spec(
        self, clause: WindowClause, node: Node, names: Sequence[str], span: Span
    ) -> WindowSpec:
        partition = tuple(
            self._own(each, node, names, span).name for each in clause.args.get("partition") or ()
        )
        return window_spec(clause, time_of(node), partition, self._context.places, f"`{names[0]}`")

    def _own(self, tree: exp.Expr, node: Node, names: Sequence[str], span: Span) -> ColumnRef:
        """A column of the window's own input, which may be qualified by any of these names."""
        scope = Scope()
        scope.add(names[0], node)
        if not isinstance(tree, exp.Column):
            raise not_built(f"PARTITION BY {shown(tree)}", span, "write a column of the stream")
        own = tree.table.lower() in {each.lower() for each in names}
        found = scope.find(
            "" if own else tree.table, tree.name, self._context.places.of(tree, span)
        )
        assert isinstance(found, ColumnRef)
        return found

    def _assign(self, tree: WindowTable, alias: str, span: Span) -> Node:
        kind = Assigned(tree.args["kind"])
        stream = self._declared(tree.this, span)
        word = self._context.places.of(tree.this)
        if not stream.is_stream:
            raise no_window_of_table(stream, word)
        name = self._free(alias or stream.name, stream, span)
        if stream.time is None:
            raise no_time(f"`{stream.name}`", word)
        column = tree.args.get("column")
        if column is not None and column.table.lower() not in ("", stream.name.lower()):
            Scope().find(column.table, column.name, self._context.places.of(column, span))
        if column is not None and column.name.lower() != stream.time.column.lower():
            raise _no_time_column(
                column.name, stream, stream.time.column, self._context.places.of(column, span)
            )
        scan = Scan(stream, unique(name, self._taken()), word)
        partition = tuple(
            self._own(each, scan, (stream.name, name), span).name
            for each in tree.args.get("partition") or ()
        )
        function = self._function(kind, tree, stream, partition, span)
        node = Assign(scan, function, span)
        self._scope.add(name, node)
        self._scope.opaque[name.lower()] = stream.opaque
        return node

    def _function(
        self,
        kind: Assigned,
        tree: WindowTable,
        stream: Stream,
        partition: tuple[str, ...],
        span: Span,
    ) -> WindowFunction:
        lengths = [self._ticks(each, stream) for each in tree.args.get("lengths") or ()]
        wanted, example = _USAGE[kind]
        if len(lengths) != wanted.count(" and ") + 1:
            said = f"{kind} takes {wanted} behind the time column"
            raise UserError(Diagnostic("MP001", said, span, helps=(f"write {example}",)))
        if partition and kind is not Assigned.SESSION:
            said = f"{kind} has no PARTITION BY: its windows are the same for all rows"
            where = self._context.places.of(tree.args["partition"][0], span)
            raise UserError(Diagnostic("MP001", said, where, helps=("GROUP BY the column",)))
        slide, size = lengths[0], lengths[-1]
        return WindowFunction(kind, size, slide, partition, self._context.close)

    def _ticks(self, length: Length, stream: Stream) -> int:
        assert stream.time_type is not None
        found = ticks(length, stream.time, stream.time_type, self._context.places)
        return positive(found, self._context.places.of(length))


_USAGE = {
    Assigned.TUMBLE: ("a size", "TUMBLE(TABLE s, DESCRIPTOR(ts), size)"),
    Assigned.HOP: ("a slide and a size", "HOP(TABLE s, DESCRIPTOR(ts), slide, size)"),
    Assigned.SESSION: ("a gap", "SESSION(TABLE s PARTITION BY k, DESCRIPTOR(ts), gap)"),
}
_CALLED: dict[type[exp.Expr], str] = {
    exp.Lateral: "LATERAL",
    exp.Unnest: "UNNEST",
    exp.Values: "VALUES",
}


def _called(tree: exp.Expr) -> str:
    """The name that columns of an input are qualified with."""
    inner = tree.this
    if isinstance(inner, WindowTable):
        inner = inner.this
    return str(tree.alias or getattr(inner, "name", ""))


def _no_window(span: Span) -> UserError:
    return UserError(
        Diagnostic(
            "MP134",
            "a window stands on a stream, and the answer of this subquery changes",
            span,
            helps=("make a stream of it: ISTREAM(SELECT ...), or windows that are INTERNAL",),
        )
    )


def _no_time_column(name: str, stream: Stream, time: str, span: Span) -> UserError:
    """What DESCRIPTOR names that is not the time column."""
    if any(each.name.lower() == name.lower() for each in stream.columns):
        code, said = "MP135", f"the time column of `{stream.name}` is `{time}`, not `{name}`"
    else:
        code, said = "MP102", f"`{stream.name}` has no column `{name}`"
    return UserError(Diagnostic(code, said, span, helps=(f"write DESCRIPTOR({time})",)))


def monotone(node: Node) -> bool:
    """Whether rows of a plan only ever come, one result for each when its last part comes."""
    match node:
        case Scan():
            return node.stream.is_stream or not node.stream.retroactive
        case Window():
            return node.spec.internal or node.spec.extent is Extent.UNBOUNDED
        case Assign():
            return node.function.close
        case Results():
            return True
    simple = isinstance(node, Alias | Filter | Cross | Project)
    return simple and all(monotone(each) for each in node.inputs)
