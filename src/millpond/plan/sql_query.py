"""Plans as queries of SQL: which node becomes which clause.

A projection and what lies right below it make one SELECT: HAVING is a filter on an aggregate,
WHERE one on the inputs, EXISTS a semi-join on top of it.  Products are lists in FROM, outer joins
are joins there, and whatever has no clause of its own stands in FROM as a subquery.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from millpond.plan.error import PlanError
from millpond.plan.expression import ColumnRef, Expression, Literal
from millpond.plan.node import (
    Aggregate,
    Alias,
    Assign,
    Changes,
    Cross,
    Difference,
    Distinct,
    Filter,
    Intersect,
    Item,
    Join,
    Node,
    Project,
    Results,
    Scan,
    SemiJoin,
    Union,
    Window,
    aliases,
)
from millpond.plan.sql_expression import Behind, Expressions


@dataclass(frozen=True)
class Parts:
    """The clauses of one SELECT."""

    items: tuple[Item, ...] | None
    having: tuple[Expression, ...]
    aggregate: Aggregate | None
    semijoins: tuple[SemiJoin, ...]
    """Innermost first."""
    where: tuple[Expression, ...]
    source: Node
    instead: Behind = field(default_factory=dict)
    """What stands for columns of the source that have no name in SQL."""


class Queries(ABC):
    """Prints what every SQL can say; windows and streams are a matter of the dialect."""

    expressions: Expressions

    def __init__(self, expressions: Expressions) -> None:
        self.expressions = expressions
        self._derived = 0

    # Queries ---------------------------------------------------------------------------------

    def query(self, node: Node, separator: str = " ") -> str:
        """A whole query; clauses of its outermost SELECT stand on lines of their own if asked."""
        found = _QUERIES.get(type(node))
        if found is None:
            raise PlanError(f"there is no SQL for a {type(node).__name__}")
        return found(self, node, separator)

    def select(
        self,
        node: Node,
        separator: str,
        *,
        distinct: bool = False,
        around: Callable[[str], str] = str,
    ) -> str:
        """One SELECT; `around` is what stands around its items."""
        parts = self.parts(node)
        behind = self.behind(parts)
        word = "SELECT DISTINCT" if distinct else "SELECT"
        clauses = [
            f"{word} {around(self.items(parts, behind))}",
            f"FROM {self.source(parts.source)}",
        ]
        where = self.where(parts)
        if where:
            clauses.append(f"WHERE {where}")
        if parts.aggregate is not None and parts.aggregate.groups:
            keys = (self.group(each, parts) for each in parts.aggregate.groups)
            clauses.append(f"GROUP BY {', '.join(keys)}")
        if parts.having:
            clauses.append(f"HAVING {self.expressions.conjunction(parts.having, behind)}")
        return separator.join(clauses)

    def parts(self, node: Node) -> Parts:
        """A node taken apart into the clauses of a SELECT."""
        items: tuple[Item, ...] | None = None
        having: tuple[Expression, ...] = ()
        aggregate: Aggregate | None = None
        if isinstance(node, Project):
            items, node = node.items, node.input
        if isinstance(node, Filter) and isinstance(node.input, Aggregate):
            having, node = node.predicates, node.input
        if isinstance(node, Aggregate):
            aggregate, node = node, node.input
        semijoins, where, source = self.conditions(node)
        return Parts(items, having, aggregate, semijoins, where, source)

    def conditions(self, node: Node) -> tuple[tuple[SemiJoin, ...], tuple[Expression, ...], Node]:
        """The semi-joins and the filters on top of a FROM, and what stands in it."""
        semijoins: list[SemiJoin] = []
        where: list[Expression] = []
        while isinstance(node, SemiJoin | Filter):
            if isinstance(node, SemiJoin):
                semijoins.insert(0, node)
                node = node.left
            else:
                where[:0] = node.predicates
                node = node.input
        return tuple(semijoins), tuple(where), node

    def behind(self, parts: Parts) -> Behind:
        """What stands for the columns of the aggregate."""
        if parts.aggregate is None:
            return parts.instead
        groups, calls = parts.aggregate.groups, parts.aggregate.calls
        return {
            **parts.instead,
            **{
                (None, each.name): self.expressions.printed(each.expression, parts.instead)
                for each in groups
            },
            **{
                (None, each.name): self.expressions.aggregate(each, parts.instead) for each in calls
            },
        }

    def items(self, parts: Parts, behind: Behind) -> str:
        if parts.items is not None:
            return ", ".join(self.item(each, parts, behind) for each in parts.items)
        if parts.aggregate is None:
            return "*"
        columns = ((each.name, behind[None, each.name]) for each in parts.aggregate.fields)
        return ", ".join(
            f"{text.text} AS {self.expressions.spelling.name(name)}" for name, text in columns
        )

    def item(self, item: Item, parts: Parts, behind: Behind) -> str:
        """One item of SELECT, with its name where it would not come out under it anyway."""
        text = self.expressions.text(item.expression, behind)
        named = self.natural(item.expression, parts) == item.name
        return text if named else f"{text} AS {self.expressions.spelling.name(item.name)}"

    def natural(self, expression: Expression, parts: Parts) -> str | None:
        """What an expression comes out under when it is given no name, if every engine agrees."""
        if not isinstance(expression, ColumnRef):
            return None
        if (expression.alias, expression.name) in parts.instead:
            return None
        if expression.alias is None and parts.aggregate is not None:
            groups = {each.name: each.expression for each in parts.aggregate.groups}
            key = groups.get(expression.name)
            return key.name if isinstance(key, ColumnRef) else None
        return expression.name

    def group(self, item: Item, parts: Parts) -> str:
        """A key of GROUP BY."""
        text = self.expressions.text(item.expression, parts.instead)
        if not isinstance(item.expression, Literal):
            return text
        # A bare constant is the place of a column in many dialects.
        return f"CAST({text} AS {self.expressions.spelling.type(item.expression.type)})"

    def where(self, parts: Parts) -> str:
        conditions = [self.expressions.conjunction(parts.where)] if parts.where else []
        return " AND ".join([*conditions, *map(self.exists, parts.semijoins)])

    def exists(self, node: SemiJoin) -> str:
        semijoins, where, source = self.conditions(node.right)
        conditions = [self.expressions.conjunction(where)] if where else []
        conditions += map(self.exists, semijoins)
        if node.predicates:
            conditions.append(self.expressions.conjunction(node.predicates))
        clause = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        word = "NOT EXISTS" if node.anti else "EXISTS"
        return f"{word} (SELECT 1 FROM {self.source(source)}{clause})"

    def distinct(self, node: Distinct, separator: str) -> str:
        if isinstance(node.input, Union):
            return self.operation("UNION", node.input.inputs, separator)
        return self.select(node.input, separator, distinct=True)

    def difference(self, node: Difference | Intersect, word: str, separator: str) -> str:
        """Of two sets, the operation without ALL says the same."""
        left, right = node.inputs
        if isinstance(left, Distinct) and isinstance(right, Distinct):
            return self.operation(word, (left.input, right.input), separator)
        return self.operation(f"{word} ALL", (left, right), separator)

    def operation(self, word: str, inputs: Sequence[Node], separator: str) -> str:
        return f"{separator}{word}{separator}".join(map(self.operand, inputs))

    def operand(self, node: Node) -> str:
        """A side of a set operation."""
        plain = isinstance(node, Project | Aggregate) or (
            isinstance(node, Distinct) and isinstance(node.input, Project | Aggregate)
        )
        text = self.query(node)
        return text if plain else f"({text})"

    # FROM ------------------------------------------------------------------------------------

    def source(self, node: Node) -> str:
        """What stands behind FROM."""
        if isinstance(node, Cross):
            return ", ".join(map(self.joined, node.inputs))
        return self.joined(node)

    def joined(self, node: Node) -> str:
        """One input, joins included."""
        match node:
            case Join():
                left, right = self.inline(node.left), self.enclosed(node.right)
                return f"{left} {node.side} JOIN {right} ON {self.on(node.predicates)}"
            case SemiJoin():
                return self.semijoin(node)
            case Cross():
                return f"({self.inline(node)})"
        return self.input(node)

    def semijoin(self, node: SemiJoin) -> str:
        """A semi-join that has to stand in FROM."""
        left, right = self.inline(node.left), self.enclosed(node.right)
        word = "ANTI" if node.anti else "SEMI"
        return f"{left} LEFT {word} JOIN {right} ON {self.on(node.predicates)}"

    def inline(self, node: Node) -> str:
        """Inner joins as a chain, to the left of another join."""
        match node:
            case Filter(input=Cross() as cross):
                *first, last = (self.enclosed(each) for each in cross.inputs)
                chain = " CROSS JOIN ".join(first)
                return f"{chain} JOIN {last} ON {self.on(node.predicates)}"
            case Cross():
                return " CROSS JOIN ".join(map(self.enclosed, node.inputs))
        return self.joined(node)

    def enclosed(self, node: Node) -> str:
        """An input, with brackets around joins."""
        match node:
            case Filter(input=Cross()) | Cross() | Join() | SemiJoin():
                return f"({self.inline(node)})"
        return self.input(node)

    def on(self, predicates: Sequence[Expression]) -> str:
        return self.expressions.conjunction(predicates) if predicates else "TRUE"

    def input(self, node: Node) -> str:
        """One input of FROM."""
        match node:
            case Scan():
                return self._as(self.expressions.spelling.name(node.stream.name), node.alias)
            case Alias():
                return self._as(f"({self.query(node.input)})", node.alias)
            case Window():
                return self.window(node)
            case Assign():
                return self.assign(node)
        known = list(aliases(node))
        if len(known) > 1:
            raise PlanError(f"there is no SQL for {' and '.join(known)} under one name")
        self._derived += 1
        number = "" if self._derived == 1 else f"_{self._derived}"
        return self._as(f"({self.query(node)})", known[0] if known else f"subquery{number}")

    def _as(self, text: str, alias: str) -> str:
        name = self.expressions.spelling.name(alias)
        return text if text == name else f"{text} AS {name}"

    # Streams ---------------------------------------------------------------------------------

    @abstractmethod
    def window(self, node: Window) -> str:
        """A window in FROM."""

    @abstractmethod
    def assign(self, node: Assign) -> str:
        """TUMBLE, HOP or SESSION in FROM."""

    @abstractmethod
    def changes(self, node: Changes, separator: str) -> str:
        """A query that gives the changes of another."""

    @abstractmethod
    def results(self, node: Results, separator: str) -> str:
        """A query that gives every result of another."""

    def windowed(self, node: Window, separator: str) -> str:
        """A query that is a window."""
        return self.select(node, separator)


def _select(printer: Queries, node: Node, separator: str) -> str:
    return printer.select(node, separator)


_QUERIES: dict[type, Callable[[Queries, Any, str], str]] = {
    **dict.fromkeys((Scan, Alias, Assign, Cross, Filter, Project, Join), _select),
    **dict.fromkeys((SemiJoin, Aggregate), _select),
    Distinct: lambda printer, node, separator: printer.distinct(node, separator),
    Union: lambda printer, node, separator: printer.operation("UNION ALL", node.inputs, separator),
    Difference: lambda printer, node, separator: printer.difference(node, "EXCEPT", separator),
    Intersect: lambda printer, node, separator: printer.difference(node, "INTERSECT", separator),
    Changes: lambda printer, node, separator: printer.changes(node, separator),
    Results: lambda printer, node, separator: printer.results(node, separator),
    Window: lambda printer, node, separator: printer.windowed(node, separator),
}
