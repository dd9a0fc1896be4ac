"""The statements of a file, put together: what it declares, the queries that it names and reads
again, and what it asks.

A query that a statement names can be read by those behind it, as one that WITH names: its text
stands for its rows.  A plain view that others read is no query of its own, unless an index, a sink
or a subscription keeps it.  Rows that statements insert into a table without columns of its own are
that table's, all together.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from sqlglot import exp

from millpond.diagnostic import Diagnostic, Severity, Source, Span, UserError
from millpond.language.alter import altered
from millpond.language.bind import bind_select, closes
from millpond.language.constants import not_built
from millpond.language.context import Named
from millpond.language.declare import declare_stream
from millpond.language.declare_aggregate import declare_aggregate
from millpond.language.declare_foreign import Declared, declare_foreign
from millpond.language.dialect import CQL
from millpond.language.findings import Findings
from millpond.language.foreign import Passed
from millpond.language.group_windows import windows_of_from
from millpond.language.items import is_star
from millpond.language.marks import Marks, home_of, unqualified
from millpond.language.settle import settled
from millpond.language.spans import Places
from millpond.language.statements import Statement, Unread, statements
from millpond.language.temporal_filters import windows_of_filters
from millpond.language.tree import AggregateDeclaration, Alteration, Declaration
from millpond.language.type_names import type_of
from millpond.plan import Node, Query, Script, scans
from millpond.schema import Catalog, Form, Stream


@dataclass(frozen=True)
class _Asked:
    """A query: its name, the statement it stands in, and what was declared before it."""

    name: str
    statement: Statement
    before: Catalog

    @property
    def tree(self) -> exp.Expr:
        whole = self.statement.tree
        return whole.expression if isinstance(whole, exp.Create) else whole

    @property
    def kind(self) -> str:
        """VIEW, INSERT or QUERY; nothing where it has no name of its own."""
        whole = self.statement.tree
        return str(whole.args["kind"]) if isinstance(whole, exp.Create) else ""

    @property
    def places(self) -> Places:
        return self.statement.places

    @property
    def span(self) -> Span:
        """The statement up to where its query ends: what stands behind says where its rows go."""
        whole, query = self.places.whole, self.places.of(self.tree)
        theirs = self.kind and self.places.dialect != CQL
        return replace(whole, end=query.end) if theirs else whole


@dataclass
class _Views:
    """The queries that can be read by name."""

    named: dict[str, Named] = field(default_factory=dict)
    used: set[int] = field(default_factory=set)
    kept: set[str] = field(default_factory=set)
    """What an index, a sink or a subscription names."""

    def reported(self, asked: _Asked) -> bool:
        """Whether a query is one of its own."""
        read = id(asked.tree) in self.used
        return asked.kind != "VIEW" or not read or asked.name.lower() in self.kept


class ScriptReader:
    """Reads one file."""

    def __init__(self, source: Source, dialect: str, *, stored: bool) -> None:
        self._source, self._dialect, self._stored = source, dialect, stored
        self._errors = Findings()
        self._catalog = Catalog()
        self._asked: list[_Asked] = []
        self._computed: list[tuple[exp.Select, Stream, Places]] = []
        self._views = _Views()
        self._marks = Marks()
        self._notes: list[Diagnostic] = []
        self._homes: dict[str, str] = {}
        self._targets: dict[str, list[exp.Expr]] = {}
        self._all_declared = True

    def read(self) -> Script:
        """The file; raises with everything that is wrong in it."""
        for each in statements(self._source, self._dialect):
            try:
                self._take(each)
            except UserError as error:
                self._errors.add(error)
                declares = not isinstance(each, Passed) and each.declares
                self._all_declared = self._all_declared and not declares
        if not self._all_declared:  # queries would be blamed for streams that are missing
            self._errors.checkpoint()
        before = self._errors.number
        self._respell()
        self._errors.checkpoint_since(before)
        catalog = self._marked(self._catalog)
        self._compute(catalog)
        queries = self._bound(catalog)
        self._errors.checkpoint()
        return Script(self._source, catalog, queries, tuple(self._notes))

    # Statements ------------------------------------------------------------------------------

    def _take(self, each: Statement | Passed | Unread) -> None:
        """One statement, or what is wrong with it."""
        if isinstance(each, Unread):
            raise each.error
        if isinstance(each, Passed):
            self._pass(each)
        elif isinstance(each.tree, Declaration):
            self._declare(each.tree, each.places)
        elif isinstance(each.tree, AggregateDeclaration):
            self._catalog.add_aggregate(declare_aggregate(each.tree, each.places))
        elif isinstance(each.tree, Alteration):
            self._catalog.replace(altered(each.tree, each.places, self._catalog))
        else:
            self._ask(each)

    def _pass(self, each: Passed) -> None:
        name = (each.drops or "").lower()
        if name and (self._catalog.get(name) or any(a.name.lower() == name for a in self._asked)):
            said = f"`{each.drops}` is dropped behind what makes it"
            helps = ("leave DROP out: a file says what there is",)
            raise UserError(Diagnostic("MP002", said, each.note.span, helps=helps))
        if each.keeps is not None:
            self._views.kept.add(each.keeps.lower())
        if each.targets is not None:
            self._targets[each.targets.lower()] = []
        self._notes.append(each.note)

    def _declare(self, tree: Declaration, places: Places) -> None:
        if self._dialect == CQL:
            found = [Declared(declare_stream(tree, places))]
        else:
            found = declare_foreign(tree, places)
            self._homes[tree.this.name.lower()] = home_of(tree.this)
        for each in found:
            self._catalog.add(_as_rows(each.stream) if self._stored else each.stream)
            self._notes += each.notes
            if each.view is not None:
                self._computed.append((each.view, each.stream, places))

    def _ask(self, statement: Statement) -> None:
        """A query, by the name that it is given or by its place among the queries."""
        tree = statement.tree
        place = 1 + sum(each.kind != "VIEW" for each in self._asked)
        name = tree.this.name if isinstance(tree, exp.Create) else f"q{place}"
        taken = {each.name.lower() for each in self._asked}
        if _inserts(tree):
            self._insert(tree, statement.places)
            name = _unique(name, taken)
        else:
            self._rename(statement)
        if not _inserts(tree) and name.lower() in taken:
            said = f"two queries are called `{name}`"
            self._errors.add(UserError(Diagnostic("MP104", said, statement.places.whole)))
        self._asked.append(_Asked(name, statement, self._catalog.copy()))

    def _rename(self, statement: Statement) -> None:
        """`CREATE VIEW v (a, b) AS SELECT ...` names the columns of its query."""
        whole, places = statement.tree, statement.places
        columns = whole.args.get("pond_columns")
        if not columns:
            return
        query, span = whole.args["expression"], places.of(whole.this)
        items = query.expressions if isinstance(query, exp.Select) else []
        if not items or any(is_star(each) for each in items):
            what = "names of columns before a query with `*`"
            self._errors.add(not_built(what, span, "name them inside"))
        elif len(items) != len(columns):
            said = f"{len(columns)} names for {len(items)} columns"
            self._errors.add(UserError(Diagnostic("MP138", said, span)))
        else:
            pairs = zip(items, columns, strict=True)
            query.set("expressions", [_renamed(item, column.this) for item, column in pairs])

    def _insert(self, tree: exp.Expr, places: Places) -> None:
        """Rows go into a table that is declared, or are those of one that is not."""
        name = tree.this.name.lower()
        if self._catalog.get(name) is None and name not in self._targets:
            said = f"unknown table `{tree.this.name}`"
            helps = ("declare it with CREATE TABLE",)
            raise UserError(Diagnostic("MP101", said, places.of(tree.this), helps=helps))
        if name in self._targets:
            self._targets[name].append(tree.expression)

    # Other dialects' spellings ---------------------------------------------------------------

    def _respell(self) -> None:
        """What other dialects say in words of their own, in ours."""
        if self._dialect == CQL:
            return
        for each in self._asked:
            try:
                for error in unqualified(each.tree, self._homes, each.places):
                    self._errors.add(error)
                windows_of_from(each.tree, each.places)
                clocked = windows_of_filters(each.tree, self._catalog, each.places)
                self._notes += self._marks.clock(clocked)
                self._marks.read(each.tree, each.places)
            except UserError as error:
                self._errors.add(error)

    def _marked(self, catalog: Catalog) -> Catalog:
        """The catalog with streams as they are read; stored rows have neither form nor time."""
        return catalog if self._stored else self._marks.applied(catalog)

    def _compute(self, catalog: Catalog) -> None:
        """The views that compute columns, under the names of their streams."""
        for view, stream, places in self._computed:
            try:
                bind_select(view, catalog, places, settle=False)
            except UserError as error:
                self._errors.add(error)
            self._views.named[stream.name.lower()] = Named(view, {})

    # Queries ---------------------------------------------------------------------------------

    def _bound(self, catalog: Catalog) -> tuple[Query, ...]:
        plans: list[tuple[_Asked, Node]] = []
        for each in self._asked:
            before = self._marked(each.before.completed(self._catalog))
            try:
                plans.append((each, self._plan(each, before)))
            except UserError as error:
                self._errors.add(error)
            self._name(each, catalog)
        reported = [(each, plan) for each, plan in plans if self._views.reported(each)]
        tables = [each for each in reported if self._of_tables(*each)]
        left = [each for each in reported if each not in tables]
        for each, plan in tables:
            if left:
                self._notes.append(_of_tables(each))
            else:
                self._errors.add(_no_stream(each, plan))
        queries = []
        for each, plan in left:
            try:
                settled(plan, each.places.whole)
                queries.append(Query(each.name, plan, each.span))
            except UserError as error:
                self._errors.add(error)
        return tuple(queries)

    def _of_tables(self, asked: _Asked, plan: Node) -> bool:
        """Whether a query of another dialect reads tables alone: it has no instants here."""
        streams = any(each.stream.is_stream for each in scans(plan))
        return self._dialect != CQL and not streams

    def _plan(self, asked: _Asked, catalog: Catalog) -> Node:
        try:
            plan = bind_select(
                asked.tree,
                catalog,
                asked.places,
                settle=False,
                named=dict(self._views.named),
                used=self._views.used,
            )
        except RecursionError:
            said = "the query is nested too deeply"
            raise UserError(Diagnostic("MP001", said, asked.places.whole)) from None
        if asked.kind == "INSERT":
            self._refuse_columns(asked, plan, catalog)
        else:
            self._refuse_types(asked, plan)
        return plan

    def _refuse_types(self, asked: _Asked, plan: Node) -> None:
        """Columns that a query's table declares with types have to be those of the query."""
        columns = asked.statement.tree.args.get("pond_columns") or ()
        for column, found in zip(columns, plan.fields, strict=False):
            kind = column.args.get("kind")
            span = asked.places.of(column)
            if kind is not None and type_of(kind, span, asked.places) != found.type:
                said = f"a column `{column.name}` of another type than the query's, {found.type}"
                raise not_built(said, span, "write CAST(... AS ...) in the query")

    def _refuse_columns(self, asked: _Asked, plan: Node, catalog: Catalog) -> None:
        """INSERT gives each column of its table a value, or each of those that it names."""
        tree = asked.statement.tree
        sink = catalog.get(tree.this.name)
        named = tree.args.get("pond_columns") or ()
        if sink is None or (not named and sink.opaque):
            return
        wanted = len(named) or len(sink.names)
        if len(plan.fields) != wanted:
            said = f"`{tree.this.name}` takes {wanted} columns, and gets {len(plan.fields)}"
            span = asked.places.of(asked.tree)
            raise UserError(Diagnostic("MP138", said, span, helps=("select one for each",)))

    def _name(self, asked: _Asked, catalog: Catalog) -> None:
        """Statements behind this one can read it by name."""
        tree, name = asked.tree, asked.name.lower()
        if asked.kind == "INSERT":
            name = asked.statement.tree.this.name.lower()
            parts = self._targets.get(name)
            if parts is None or parts[-1] is not tree:
                return
            tree = self._together(parts, asked.places.whole)
        elif not asked.kind or catalog.get(name) is not None:
            return
        close = closes(tree, self._dialect)
        self._views.named[name] = Named(tree, dict(self._views.named), close)

    def _together(self, parts: list[exp.Expr], span: Span) -> exp.Expr:
        """All rows that are inserted into one table."""
        found = parts[0]
        columns = [each.alias_or_name.lower() for each in found.expressions]
        for each in parts[1:]:
            if [item.alias_or_name.lower() for item in each.expressions] != columns:
                self._errors.add(
                    not_built(
                        "a table whose rows are inserted with columns of other names",
                        span,
                        "select the same columns, in one order",
                    )
                )
            found = exp.Union(this=found.copy(), expression=each.copy(), distinct=False)
        return found


def _inserts(tree: exp.Expr) -> bool:
    return isinstance(tree, exp.Create) and tree.args["kind"] == "INSERT"


def _renamed(item: exp.Expr, name: exp.Expr) -> exp.Alias:
    value = item.this if isinstance(item, exp.Alias) else item
    made = exp.Alias(this=value, alias=name.copy())
    made.meta.update(item.meta)
    return made


def _of_tables(asked: _Asked) -> Diagnostic:
    said = f"`{asked.name}` reads tables alone, and is left out: what it keeps is their rows"
    return Diagnostic("MP113", said, asked.places.whole, severity=Severity.WARNING)


_MAKES_STREAMS = {
    "flink": "one without PRIMARY KEY, whose format is no log of changes",
    "materialize": "a SOURCE without ENVELOPE UPSERT or DEBEZIUM",
    "risingwave": "a SOURCE, or a TABLE that is APPEND ONLY, without PRIMARY KEY",
    "spark": "FROM STREAM t",
    "databricks": "FROM STREAM t",
}
"""How each dialect says that rows only come."""


def _no_stream(asked: _Asked, plan: Node) -> UserError:
    found = list(scans(plan))
    said = "the query reads tables alone, whose rows come and go: it has no stream"
    where = found[0].span if len({each.stream.name for each in found}) == 1 else None
    made = _MAKES_STREAMS.get(asked.places.dialect)
    helps = (f"rows only come from {made}" if made else "declare it with CREATE STREAM",)
    return UserError(Diagnostic("MP139", said, where or asked.places.whole, helps=helps))


def _unique(name: str, taken: set[str]) -> str:
    found, number = name, 2
    while found.lower() in taken:
        found, number = f"{name}_{number}", number + 1
    return found


def _as_rows(declared: Stream) -> Stream:
    return replace(
        declared,
        form=Form.STREAM,
        time=None,
        until=None,
        rows_per_instant=None,
        retroactive=True,
    )
