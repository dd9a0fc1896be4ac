"""What binding one statement goes by: the declared streams, the places of its parts, and the errors
found so far."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from sqlglot import exp

from millpond.diagnostic import Diagnostic, Span, UserError
from millpond.language.constants import integer_of, not_built
from millpond.language.expressions import ExpressionBinder
from millpond.language.findings import Findings
from millpond.language.spans import Places
from millpond.plan import Node
from millpond.schema import Catalog

_NAMES = {
    "windows": "WINDOW",
    "qualify": "QUALIFY",
    "laterals": "LATERAL",
    "sample": "TABLESAMPLE",
    "locks": "FOR UPDATE",
    "into": "INTO",
    "pivots": "PIVOT",
    "hint": "hints",
    "kind": "SELECT AS STRUCT",
    "cluster": "CLUSTER BY",
    "distribute": "DISTRIBUTE BY",
    "db": "names with a dot in FROM",
    "version": "FOR SYSTEM_TIME AS OF",
    "match": "MATCH_RECOGNIZE",
}
_INSTEAD = {
    "version": "join the table as it is: WITH (retroactive = false) has each row meet what the "
    "table holds when it comes",
    "hint": "leave it out: what is asked does not depend on it, unless it lets state expire",
}
_UNORDERED = "leave it out: an answer is a bag, and what is printed is sorted"
_LAST = "bound a column, as in `WHERE a <= 10`, or keep the last rows: [ROWS {0}]"
_NEVER: dict[type[exp.Expr], tuple[str, str]] = {
    exp.Order: ("ORDER BY", _UNORDERED),
    exp.Sort: ("SORT BY", _UNORDERED),
    exp.Limit: ("LIMIT", _LAST),
    exp.Fetch: ("FETCH", _LAST),
    exp.Offset: ("OFFSET", "bound a column: `WHERE a > 10`"),
}


Bind = Callable[[exp.Expr], Node]
"""Binds a query of which nothing around it is in sight."""


@dataclass(frozen=True)
class Named:
    """A query that WITH or a statement gave a name, and the names that it can use itself: those
    before it."""

    tree: exp.Expr
    known: dict[str, Named]
    close: bool | None = None
    """Of a statement's query: whether its windows are said when they close."""


@dataclass
class Context:
    """Of one statement."""

    catalog: Catalog
    places: Places
    errors: Findings = field(default_factory=Findings)
    named: dict[str, Named] = field(default_factory=dict)
    """Queries that WITH or a statement gave a name, by name in lower case."""
    used: set[int] = field(default_factory=set)
    """Those of them that were asked for, as `id` of their trees."""
    close: bool = True
    """Whether windows of TUMBLE, HOP and SESSION are said when they close."""

    def __post_init__(self) -> None:
        self.expressions = ExpressionBinder(self.places, self.catalog)

    def of(self, tree: exp.Expr) -> Span:
        """The span of a part."""
        return self.places.of(tree)

    def refuse_the_rest(self, tree: exp.Expr, taken: set[str]) -> None:
        """Notes every part of a tree that nobody takes."""
        if isinstance(tree.args.get("distinct"), exp.Distinct):
            self._refuse_distinct_on(tree.args["distinct"].args.get("on"))
        for key, value in tree.args.items():
            if key in taken or not value:
                continue
            first = value[0] if isinstance(value, list) else value
            span = self.of(first if isinstance(first, exp.Expr) else tree)
            if type(first) in _NEVER:
                self.errors.add(_never(first, span))
            else:
                helps = [_INSTEAD[key]] if key in _INSTEAD else []
                self.errors.add(not_built(_NAMES.get(key, "a part of this query"), span, *helps))

    def _refuse_distinct_on(self, on: exp.Expr | None) -> None:
        if on is not None:
            instead = "GROUP BY these, and take one value of the others: MIN(b)"
            self.errors.add(not_built("DISTINCT ON", self.of(on), instead))

    @contextmanager
    def inside(self, named: Named) -> Iterator[None]:
        """Inside, a query of that name is read."""
        before = self.close
        if named.close is not None:
            self.close = named.close
        try:
            with self.naming(named.known):
                yield
        finally:
            self.close = before

    @contextmanager
    def naming(self, named: dict[str, Named]) -> Iterator[None]:
        """Inside, these are the names of WITH."""
        before, self.named = self.named, named
        try:
            yield
        finally:
            self.named = before


def _never(clause: exp.Expr, span: Span) -> UserError:
    """Of a clause that no answer can have."""
    word, instead = _NEVER[type(clause)]
    rows = integer_of(clause.args.get("expression") or clause.args.get("count") or exp.Null())
    said = f"{word} has no place in a continuous query"
    return UserError(Diagnostic("MP140", said, span, helps=(instead.format(rows or 10),)))


@contextmanager
def with_named(context: Context, tree: exp.Expr, bind: Bind) -> Iterator[None]:
    """WITH: inside, each name stands for its query, read anew wherever it is used.

    What nobody uses is bound all the same, so that nothing is passed over.
    """
    own = list(_own_names(context, tree))
    try:
        with context.naming({**context.named, **dict(own)}):
            yield
    finally:
        for _, each in own:
            if id(each.tree) not in context.used:
                with context.naming(each.known):
                    try:
                        bind(each.tree)
                    except UserError as error:
                        context.errors.add(error)


def _own_names(context: Context, tree: exp.Expr) -> Iterator[tuple[str, Named]]:
    clause = tree.args.get("with_")
    if clause is None:
        return
    if clause.args.get("recursive"):
        raise not_built("WITH RECURSIVE", context.of(clause.expressions[0].args["alias"]))
    known, own = dict(context.named), set[str]()
    for each in clause.expressions:
        name, alias = each.alias.lower(), each.args["alias"]
        if alias.args.get("columns"):
            raise not_built("column lists behind a name of WITH", context.of(alias))
        if name in own:
            said = f"WITH names two queries `{each.alias}`"
            context.errors.add(UserError(Diagnostic("MP104", said, context.of(alias))))
            continue
        own.add(name)
        named = Named(each.this, known)
        known = {**known, name: named}
        yield name, named
