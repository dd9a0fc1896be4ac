"""Expressions as SQL, with no more brackets than they need.

Printers are looked up by type.  A printed expression carries how tightly it binds, so that whoever
puts it into a larger one can tell whether it needs brackets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from typing import Any, NamedTuple

from millpond.plan.error import PlanError
from millpond.plan.expression import (
    Call,
    Case,
    Cast,
    ColumnRef,
    Comparison,
    Expression,
    InList,
    Is,
    Literal,
    Logical,
    Not,
    Operator,
)
from millpond.plan.node import AggregateCall
from millpond.plan.sql_spelling import Spelling


class Level(IntEnum):
    """How tightly an expression binds, loosest first."""

    OR = 1
    AND = 2
    NOT = 3
    PREDICATE = 4
    """Comparisons, IS, IN, LIKE."""
    CONCAT = 5
    ADD = 6
    MULTIPLY = 7
    SIGN = 8
    ATOM = 9


class Printed(NamedTuple):
    """The text of an expression, and how tightly it binds."""

    text: str
    level: Level

    def within(self, level: Level) -> str:
        """The text for a place that needs at least this level."""
        return self.text if self.level >= level else f"({self.text})"


def atom(text: str) -> Printed:
    return Printed(text, Level.ATOM)


Behind = Mapping[tuple[str | None, str], Printed]
"""What stands for a column, by alias and name: those of an aggregate have no name in SQL, which
says their expressions again."""

INFIX = {
    "+": Level.ADD,
    "-": Level.ADD,
    "*": Level.MULTIPLY,
    "/": Level.MULTIPLY,
    "%": Level.MULTIPLY,
    "||": Level.CONCAT,
}


class Expressions:
    """Prints expressions in our own language; engines override what they spell otherwise."""

    def __init__(self, spelling: Spelling) -> None:
        self.spelling = spelling

    def text(self, expression: Expression, behind: Behind | None = None) -> str:
        return self.printed(expression, behind or {}).text

    def conjunction(self, predicates: Sequence[Expression], behind: Behind | None = None) -> str:
        return " AND ".join(
            self.printed(each, behind or {}).within(Level.NOT) for each in predicates
        )

    def printed(self, expression: Expression, behind: Behind) -> Printed:
        found = _PRINTERS.get(type(expression))
        if found is None:
            raise PlanError(f"there is no SQL for a {type(expression).__name__}")
        return found(self, expression, behind)

    # -----------------------------------------------------------------------------------------

    def column(self, ref: ColumnRef, behind: Behind) -> Printed:
        found = behind.get((ref.alias, ref.name))
        if found is not None:
            return found
        if ref.alias is None:
            return atom(self.spelling.name(ref.name))
        return atom(f"{self.spelling.name(ref.alias)}.{self.spelling.name(ref.name)}")

    def literal(self, literal: Literal, _: Behind) -> Printed:
        text = self.spelling.literal(literal)
        return Printed(text, Level.SIGN if text.startswith("-") else Level.ATOM)

    def comparison(self, compared: Comparison, behind: Behind) -> Printed:
        left, right = (self.operand(each, behind) for each in compared.inputs)
        return Printed(f"{left} {compared.op} {right}", Level.PREDICATE)

    def operand(self, expression: Expression, behind: Behind) -> str:
        """A side of a comparison."""
        return self.printed(expression, behind).within(Level.CONCAT)

    def logical(self, logical: Logical, behind: Behind) -> Printed:
        level = Level[logical.op]
        within = Level.NOT if logical.op == "AND" else Level.AND
        parts = (self.printed(each, behind).within(within) for each in logical.operands)
        return Printed(f" {logical.op} ".join(parts), level)

    def negation(self, negation: Not, behind: Behind) -> Printed:
        match negation.operand:
            case Is() as is_:
                return self.is_(is_, behind, "NOT ")
            case InList() as in_list:
                return self.in_list(in_list, behind, "NOT ")
            case Comparison(op=Operator.SAME) as same:
                return self.differs(same, behind)
        return Printed(
            f"NOT {self.printed(negation.operand, behind).within(Level.ATOM)}", Level.NOT
        )

    def differs(self, same: Comparison, behind: Behind) -> Printed:
        left, right = (self.operand(each, behind) for each in same.inputs)
        return Printed(f"{left} IS DISTINCT FROM {right}", Level.PREDICATE)

    def is_(self, is_: Is, behind: Behind, negated: str = "") -> Printed:
        value = "NULL" if is_.value is None else str(is_.value).upper()
        return Printed(f"{self.operand(is_.operand, behind)} IS {negated}{value}", Level.PREDICATE)

    def in_list(self, in_list: InList, behind: Behind, negated: str = "") -> Printed:
        items = ", ".join(self.printed(each, behind).text for each in in_list.items)
        return Printed(
            f"{self.operand(in_list.operand, behind)} {negated}IN ({items})", Level.PREDICATE
        )

    def case(self, case: Case, behind: Behind) -> Printed:
        arms = " ".join(
            f"WHEN {self.text(condition, behind)} THEN {self.text(value, behind)}"
            for condition, value in case.branches
        )
        return atom(f"CASE {arms} ELSE {self.text(case.otherwise, behind)} END")

    def cast(self, cast: Cast, behind: Behind) -> Printed:
        text = self.text(cast.operand, behind)
        return atom(f"CAST({text} AS {self.spelling.type(cast.type)})")

    def call(self, call: Call, behind: Behind) -> Printed:
        arguments = [self.printed(each, behind) for each in call.arguments]
        if call.function in ("LIKE", "ILIKE"):
            return self.like(call, arguments)
        if call.function in INFIX:
            return self.infix(call, arguments)
        return self.function(call, arguments)

    def like(self, call: Call, arguments: Sequence[Printed]) -> Printed:
        text, pattern, *escape = (each.within(Level.CONCAT) for each in arguments)
        behind = f" ESCAPE {escape[0]}" if escape else ""
        return Printed(f"{text} {call.function} {pattern}{behind}", Level.PREDICATE)

    def infix(self, call: Call, arguments: Sequence[Printed]) -> Printed:
        level = INFIX[call.function]
        if len(arguments) == 1:
            return Printed(f"{call.function}{arguments[0].within(Level.ATOM)}", Level.SIGN)
        left, right = arguments
        tighter = Level(level + 1)
        return Printed(f"{left.within(level)} {call.function} {right.within(tighter)}", level)

    def function(self, call: Call, arguments: Sequence[Printed]) -> Printed:
        return atom(f"{call.function}({', '.join(each.text for each in arguments)})")

    # Aggregate functions ---------------------------------------------------------------------

    def aggregate(self, call: AggregateCall, behind: Behind | None = None) -> Printed:
        """An aggregate function of a group."""
        argument = "*" if call.argument is None else self.text(call.argument, behind)
        distinct = "DISTINCT " if call.distinct else ""
        return atom(f"{call.function}({distinct}{argument}){self.filtered(call)}")

    def filtered(self, call: AggregateCall) -> str:
        return "" if call.filter is None else f" FILTER (WHERE {self.text(call.filter)})"


_PRINTERS: dict[type, Callable[[Expressions, Any, Behind], Printed]] = {
    ColumnRef: lambda printer, each, behind: printer.column(each, behind),
    Literal: lambda printer, each, behind: printer.literal(each, behind),
    Comparison: lambda printer, each, behind: printer.comparison(each, behind),
    Logical: lambda printer, each, behind: printer.logical(each, behind),
    Not: lambda printer, each, behind: printer.negation(each, behind),
    Is: lambda printer, each, behind: printer.is_(each, behind),
    InList: lambda printer, each, behind: printer.in_list(each, behind),
    Case: lambda printer, each, behind: printer.case(each, behind),
    Cast: lambda printer, each, behind: printer.cast(each, behind),
    Call: lambda printer, each, behind: printer.call(each, behind),
}
