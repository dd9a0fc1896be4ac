"""Plans in our own language, spelled so that the text binds to the same plan again.

Windows stand in brackets; what a query gives as a stream is `ISTREAM(...)` and its kin around it;
WSTREAM is `SELECT WSTREAM(a, b)[ROWS 10]`, since only there it takes a window.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from millpond.plan.error import PlanError
from millpond.plan.expression import (
    Call,
    Cast,
    ColumnRef,
    Comparison,
    Expression,
    Is,
    Not,
    Operator,
    columns_of,
)
from millpond.plan.lengths import length, time_of, window_text
from millpond.plan.node import (
    Alias,
    Assign,
    Changes,
    Difference,
    Distinct,
    Filter,
    Intersect,
    Item,
    Node,
    Project,
    Results,
    Scan,
    SemiJoin,
    Union,
    Window,
    nodes,
)
from millpond.plan.render import label
from millpond.plan.sql_expression import Expressions, Printed, atom
from millpond.plan.sql_query import Parts, Queries
from millpond.plan.sql_spelling import Spelling
from millpond.plan.window import Assigned, Extent, WindowSpec


class CqlExpressions(Expressions):
    """Expressions of the language, where POSITION takes its arguments with IN and other order."""

    def __init__(self) -> None:
        super().__init__(Spelling())

    def function(self, call: Call, arguments: Sequence[Printed]) -> Printed:
        if call.function == "POSITION":
            call = replace(call, function="LOCATE")
        return super().function(call, arguments)


_NESTED = ("results", "result")
"""What the binder calls the results that an aggregate of WSTREAM is over."""


class Cql(Queries):
    """Queries of the language."""

    def __init__(self) -> None:
        super().__init__(CqlExpressions())

    # Streams ---------------------------------------------------------------------------------

    def window(self, node: Window) -> str:
        """A window behind a stream, or behind a subquery whose results are a stream."""
        below, spec = node.input, self._spec(node)
        match below:
            case Scan():
                text = f"{self._name(below.stream.name)} {spec}"
                same = below.alias == below.stream.name
                return text if same else f"{text} AS {self._name(below.alias)}"
            case Alias():
                inner = below.input
                # A window makes the results of a subquery a stream without a word for it.
                plan = inner.input if isinstance(inner, Results) else inner
                return f"({self.query(plan)}) {spec} AS {self._name(below.alias)}"
        return self.input(Alias(node, "subquery"))

    def assign(self, node: Assign) -> str:
        stream, function = node.input.stream, node.function
        assert stream.time is not None
        per = ", ".join(map(self._name, function.partition))
        table = f"TABLE {self._name(stream.name)}{f' PARTITION BY {per}' if per else ''}"
        lengths = [length(function.size, stream.time_type)]
        if function.assigned is Assigned.HOP:
            lengths.insert(0, length(function.slide, stream.time_type))
        column = f"DESCRIPTOR({self._name(stream.time.column)})"
        text = f"{function.assigned}({table}, {column}, {', '.join(lengths)})"
        alias = node.input.alias
        return text if alias == stream.name else f"{text} AS {self._name(alias)}"

    def changes(self, node: Changes, separator: str) -> str:
        return f"{_word(node)}({self.query(node.input, separator)})"

    def results(self, node: Results, separator: str) -> str:
        """An aggregate over internal windows gives its results as a stream by itself."""
        if not any(isinstance(each, Window) and each.spec.internal for each in nodes(node)):
            raise PlanError("the results of a plan have no query of their own without WSTREAM")
        return self.query(node.input, separator)

    def windowed(self, node: Window, separator: str) -> str:
        results = node.input
        if not isinstance(results, Results):
            return self.select(node, separator)
        plan, spec = results.input, self._spec(node)
        if node.spec == WindowSpec(Extent.UNBOUNDED):
            return f"WSTREAM({self.query(plan, separator)})"
        distinct = isinstance(plan, Distinct)
        inner = plan.input if isinstance(plan, Distinct) else plan
        if not isinstance(inner, Project):
            raise PlanError(f"WSTREAM with a window needs a SELECT, and this is {label(plan)}")
        return self.select(
            inner, separator, distinct=distinct, around=lambda items: f"WSTREAM({items}){spec}"
        )

    # Queries ---------------------------------------------------------------------------------

    def whole(self, node: Node) -> str:
        """A statement: windows that are not said when they close are so by what ends it."""
        assigned = [each for each in nodes(node) if isinstance(each, Assign)]
        if len({each.function.close for each in assigned}) > 1:
            raise PlanError("one query says all of its windows when they close, or none")
        emit = "" if not assigned or assigned[0].function.close else "\nEMIT CHANGES"
        if isinstance(node, Changes) and emit:
            return f"{_word(node)}({self.query(node.input, _LINE)}{emit})"
        return self.query(node, _LINE) + emit

    def operand(self, node: Node) -> str:
        """The casts that make both sides alike are made again when the text is read."""
        if isinstance(node, Project) and _makes_alike(node):
            node = node.input
        return super().operand(node)

    def parts(self, node: Node) -> Parts:
        """An aggregate over WSTREAM is one SELECT with its own FROM and WHERE."""
        parts = super().parts(node)
        source = parts.source
        match source:
            case Window(input=Alias(input=Results(input=Project() as inner), alias="results")):
                pass
            case _:
                return parts
        grouped = parts.aggregate is not None and parts.aggregate.groups
        if grouped or parts.where or parts.semijoins or len(inner.items) > 1:
            return parts
        if inner.items[0].name != _NESTED[1]:
            return parts
        below = super().parts(inner)
        text = self.expressions.text(inner.items[0].expression, self.behind(below))
        return replace(
            parts,
            semijoins=below.semijoins,
            where=below.where,
            source=below.source,
            instead={_NESTED: atom(f"WSTREAM({text}){self._spec(source)}")},
        )

    def conditions(self, node: Node) -> tuple[tuple[SemiJoin, ...], tuple[Expression, ...], Node]:
        """Semi-joins stand above the filter; one below it is a join in FROM."""
        semijoins: list[SemiJoin] = []
        while isinstance(node, SemiJoin) and (_asks_in(node) or not _alone(node)):
            semijoins.insert(0, node)
            node = node.left
        where: list[Expression] = []
        while isinstance(node, Filter):
            where[:0] = node.predicates
            node = node.input
        return tuple(semijoins), tuple(where), node

    def exists(self, node: SemiJoin) -> str:
        """`1 IN (SELECT ...)` compares with what the subquery alone knows: EXISTS would make that
        a condition of the subquery."""
        equal = _asks_in(node)
        if equal is None:
            return super().exists(node)
        inner = replace(node, predicates=node.predicates[1:], anti=False)
        column = self.expressions.operand(equal.right, {})
        rows = super().exists(inner).replace("EXISTS (SELECT 1", f"(SELECT {column}", 1)
        word = "NOT IN" if node.anti else "IN"
        return f"{self.expressions.operand(equal.left, {})} {word} {rows}"

    def natural(self, expression: Expression, parts: Parts) -> str | None:
        found = super().natural(expression, parts)
        if found is not None or parts.aggregate is None or not isinstance(expression, ColumnRef):
            return found
        calls = {each.name: each for each in parts.aggregate.calls}
        call = calls.get(expression.name) if expression.alias is None else None
        return None if call is None else call.function.lower()

    def group(self, item: Item, parts: Parts) -> str:
        """A key that is called by the name of an item is written so."""
        expression = item.expression
        if isinstance(expression, ColumnRef) and expression.name == item.name:
            return self.expressions.text(expression, parts.instead)
        known = {each.name.lower() for each in parts.source.fields}
        ours = ColumnRef(None, item.name, expression.type, expression.nullable)
        if item.name.lower() not in known and Item(ours, item.name) in (parts.items or ()):
            return self._name(item.name)
        return super().group(item, parts)

    def _name(self, text: str) -> str:
        return self.expressions.spelling.name(text)

    def _spec(self, node: Window) -> str:
        partition = self.expressions.spelling.names(node.spec.partition)
        return window_text(node.spec, time_of(node.input), partition)


_LINE = "\n"


def _word(node: Changes) -> str:
    return f"{node.change}{'_RESTORE' if node.restore else ''}"


def _of(expression: Expression, node: Node) -> bool:
    """Whether an expression is about the columns of a node alone."""
    known = {(each.alias, each.name) for each in node.fields}
    return all((each.alias, each.name) in known for each in columns_of(expression))


def _alone(node: SemiJoin) -> bool:
    """Whether a predicate is about the right side alone, which WHERE of a subquery would make a
    filter of that side."""
    return any(_of(each, node.right) for each in node.predicates)


def _asks_in(node: SemiJoin) -> Comparison | None:
    """The comparison of an IN that is about the right side alone."""
    if not node.predicates or any(_of(each, node.right) for each in node.predicates[1:]):
        return None
    match node.predicates[0]:
        case Comparison(op=Operator.EQ) as equal:
            pass
        case Not(operand=Is(operand=Comparison(op=Operator.EQ) as equal, value=False)):
            pass
        case _:
            return None
    return equal if _of(equal, node.right) else None


def _makes_alike(node: Project) -> bool:
    """Whether a node is what the binder puts above a side of a set operation: casts of columns."""
    if not isinstance(node.input, _SIDES):
        return False
    columns = [
        each.expression.operand if isinstance(each.expression, Cast) else each.expression
        for each in node.items
    ]
    return any(isinstance(each.expression, Cast) for each in node.items) and [
        (item.name, getattr(each, "alias", ""), getattr(each, "name", ""))
        for item, each in zip(node.items, columns, strict=True)
    ] == [(each.name, None, each.name) for each in node.input.fields]


_SIDES = (Project, Distinct, Union, Difference, Intersect)
