"""Which aggregate functions a query can name: those of the language, and those of its file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from millpond.plan import AGGREGATES
from millpond.plan.functions import converts
from millpond.schema import Catalog, Type, UserAggregate


@dataclass(frozen=True)
class AggregateFunction:
    """An aggregate function, whoever wrote it."""

    name: str
    takes: str
    result: Callable[[Type], Type | None]
    """The type of what it gives; None for an argument that it does not take."""
    declared: UserAggregate | None = None


def aggregate_of(tree: exp.Expr, catalog: Catalog) -> AggregateFunction | None:
    """The aggregate function that a tree calls; None if it calls none."""
    if not isinstance(tree, exp.Anonymous):
        return None
    name = str(tree.name)
    known, declared = AGGREGATES.get(name.upper()), catalog.aggregate(name)
    if known is not None:
        return AggregateFunction(known.name, known.takes, known.result)
    if declared is None:
        return None

    def result(given: Type) -> Type | None:
        return declared.returns if converts(given, declared.takes) else None

    return AggregateFunction(declared.name, str(declared.takes), result, declared)
