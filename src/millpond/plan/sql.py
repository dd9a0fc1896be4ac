"""A plan as SQL: in our own language, so that it reads back to the same plan, or for an engine.

`to_sql(plan)` is CQL; `to_sql(plan, "duckdb")` and its kin are for plans without windows over the
streams and tables as relations of those names.
"""

from __future__ import annotations

from collections.abc import Callable

from millpond.plan.error import PlanError
from millpond.plan.node import Node
from millpond.plan.query import Query, Script
from millpond.plan.sql_cql import Cql
from millpond.plan.sql_engine import (
    DuckDbExpressions,
    EngineQueries,
    PostgresExpressions,
    SparkExpressions,
)
from millpond.plan.sql_spelling import Spelling
from millpond.plan.sql_stream import aggregate_sql, stream_sql

_ENGINES: dict[str, Callable[[], EngineQueries]] = {
    "duckdb": lambda: EngineQueries(DuckDbExpressions()),
    "spark": lambda: EngineQueries(SparkExpressions()),
    "postgres": lambda: EngineQueries(PostgresExpressions()),
}
DIALECTS = ("cql", *_ENGINES)


def to_sql(plan: Query | Node, dialect: str = "cql") -> str:
    """A query or a plan as SQL text, without the `;` that ends a statement.

    >>> from millpond.plan import ColumnRef, Item, Project, Scan
    >>> from millpond.schema import INT, Column, Stream
    >>> scan = Scan(Stream("s", (Column("a", INT),)), "s")
    >>> print(to_sql(Project(scan, (Item(ColumnRef("s", "a", INT, True), "b"),))))
    SELECT s.a AS b
    FROM s
    """
    node = plan.root if isinstance(plan, Query) else plan
    if dialect == "cql":
        return Cql().whole(node)
    if dialect not in _ENGINES:
        raise PlanError(f"there is no dialect {dialect}; there is {', '.join(DIALECTS)}")
    return _ENGINES[dialect]().query(node, "\n")


def script_sql(script: Script) -> str:
    """A whole file: its declarations and its queries, which read back to the same."""
    name = Spelling().name
    queries = (f"CREATE QUERY {name(each.name)} AS\n{to_sql(each)};" for each in script.queries)
    declared = (*map(stream_sql, script.catalog), *map(aggregate_sql, script.catalog.aggregates))
    return "\n".join([*declared, *queries])
