"""Typed expressions of a plan, each with the place in the text that it came from.

Logic is three-valued as in SQL: unknown is NULL.  What a function does, and which types it takes,
stands in `functions.py`; arithmetic is a function with a sign for a name.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from millpond.diagnostic import Span
from millpond.schema import BOOLEAN, INTEGER_TYPES, NULL, Type, Value

_NO_SPAN: Any = field(default=None, compare=False)


class Operator(StrEnum):
    """The comparisons, in SQL's spelling."""

    LT = "<"
    LE = "<="
    EQ = "="
    GE = ">="
    GT = ">"
    NE = "<>"
    SAME = "IS NOT DISTINCT FROM"
    """Equal, or both NULL; never unknown."""

    @property
    def flipped(self) -> Operator:
        """The same comparison with its sides exchanged."""
        return _FLIPPED.get(self, self)


_FLIPPED = {
    Operator.LT: Operator.GT,
    Operator.LE: Operator.GE,
    Operator.GE: Operator.LE,
    Operator.GT: Operator.LT,
}

COMPARISONS: dict[Operator, Callable[[Any, Any], bool]] = {
    Operator.LT: operator.lt,
    Operator.LE: operator.le,
    Operator.EQ: operator.eq,
    Operator.GE: operator.ge,
    Operator.GT: operator.gt,
    Operator.NE: operator.ne,
    Operator.SAME: operator.eq,
}


@dataclass(frozen=True)
class ColumnRef:
    """A column of the rows that an expression is about; what lies behind a projection has no
    alias."""

    alias: str | None
    name: str
    type: Type
    nullable: bool
    span: Span | None = _NO_SPAN

    @property
    def inputs(self) -> tuple[Expression, ...]:
        return ()

    def __str__(self) -> str:
        return self.name if self.alias is None else f"{self.alias}.{self.name}"


@dataclass(frozen=True)
class Literal:
    """A constant, or NULL."""

    value: Value
    type: Type = NULL
    span: Span | None = _NO_SPAN

    @property
    def inputs(self) -> tuple[Expression, ...]:
        return ()

    @property
    def nullable(self) -> bool:
        return self.value is None

    def __str__(self) -> str:
        if self.value is None:
            return "NULL"
        if isinstance(self.value, bool):
            return str(self.value).upper()
        return repr(self.value) if isinstance(self.value, str) else str(self.value)


@dataclass(frozen=True)
class Comparison:
    """`left op right`; unknown when a side is NULL, but for IS NOT DISTINCT FROM."""

    op: Operator
    left: Expression
    right: Expression
    span: Span | None = _NO_SPAN
    type: Type = BOOLEAN

    @property
    def inputs(self) -> tuple[Expression, ...]:
        return self.left, self.right

    @property
    def nullable(self) -> bool:
        return self.op is not Operator.SAME and (self.left.nullable or self.right.nullable)

    def __str__(self) -> str:
        return f"{_bracketed(self.left)} {self.op} {_bracketed(self.right)}"


@dataclass(frozen=True)
class Logical:
    """AND or OR of two or more conditions."""

    op: str
    operands: tuple[Expression, ...]
    span: Span | None = _NO_SPAN
    type: Type = BOOLEAN

    def __post_init__(self) -> None:
        if self.op not in ("AND", "OR") or len(self.operands) < 2:
            raise ValueError(f"{self.op} of {len(self.operands)} conditions")

    @property
    def inputs(self) -> tuple[Expression, ...]:
        return self.operands

    @property
    def nullable(self) -> bool:
        return any(each.nullable for each in self.operands)

    def __str__(self) -> str:
        return f" {self.op} ".join(_bracketed(each) for each in self.operands)


@dataclass(frozen=True)
class Not:
    """NOT of a condition."""

    operand: Expression
    span: Span | None = _NO_SPAN
    type: Type = BOOLEAN

    @property
    def inputs(self) -> tuple[Expression, ...]:
        return (self.operand,)

    @property
    def nullable(self) -> bool:
        return self.operand.nullable

    def __str__(self) -> str:
        return f"NOT {_bracketed(self.operand)}"


@dataclass(frozen=True)
class Is:
    """`operand IS value`, where value is NULL, TRUE or FALSE; never unknown."""

    operand: Expression
    value: bool | None
    span: Span | None = _NO_SPAN
    type: Type = BOOLEAN
    nullable: bool = False

    @property
    def inputs(self) -> tuple[Expression, ...]:
        return (self.operand,)

    def __str__(self) -> str:
        value = "NULL" if self.value is None else str(self.value).upper()
        return f"{_bracketed(self.operand)} IS {value}"


@dataclass(frozen=True)
class InList:
    """`operand IN (items)`."""

    operand: Expression
    items: tuple[Expression, ...]
    span: Span | None = _NO_SPAN
    type: Type = BOOLEAN

    @property
    def inputs(self) -> tuple[Expression, ...]:
        return (self.operand, *self.items)

    @property
    def nullable(self) -> bool:
        return any(each.nullable for each in self.inputs)

    def __str__(self) -> str:
        return f"{_bracketed(self.operand)} IN ({', '.join(str(each) for each in self.items)})"


@dataclass(frozen=True)
class Case:
    """`CASE WHEN condition THEN value ... ELSE otherwise END`."""

    branches: tuple[tuple[Expression, Expression], ...]
    otherwise: Expression
    type: Type
    span: Span | None = _NO_SPAN

    @property
    def inputs(self) -> tuple[Expression, ...]:
        return (*(each for branch in self.branches for each in branch), self.otherwise)

    @property
    def nullable(self) -> bool:
        return any(value.nullable for _, value in self.branches) or self.otherwise.nullable

    def __str__(self) -> str:
        arms = " ".join(f"WHEN {condition} THEN {value}" for condition, value in self.branches)
        return f"CASE {arms} ELSE {self.otherwise} END"


@dataclass(frozen=True)
class Cast:
    """`CAST(operand AS type)`; a value that does not fit is an error."""

    operand: Expression
    type: Type
    span: Span | None = _NO_SPAN

    @property
    def inputs(self) -> tuple[Expression, ...]:
        return (self.operand,)

    @property
    def nullable(self) -> bool:
        return self.operand.nullable

    def __str__(self) -> str:
        return f"CAST({self.operand} AS {self.type})"


@dataclass(frozen=True)
class Call:
    """A scalar function of `functions.py`, by its name there; signs are functions, too."""

    function: str
    arguments: tuple[Expression, ...]
    type: Type
    nullable: bool = True
    span: Span | None = _NO_SPAN

    @property
    def inputs(self) -> tuple[Expression, ...]:
        return self.arguments

    def __str__(self) -> str:
        if self.function.isidentifier() and self.function not in _WORDS:
            return f"{self.function}({', '.join(str(each) for each in self.arguments)})"
        if len(self.arguments) == 1:
            return f"{self.function}{_bracketed(self.arguments[0])}"
        if self.function in _WORDS:
            words = (self.function, "ESCAPE")
            tail = zip(words, self.arguments[1:], strict=False)
            said = [f"{word} {_bracketed(each)}" for word, each in tail]
            return " ".join([_bracketed(self.arguments[0]), *said])
        return f" {self.function} ".join(_bracketed(each) for each in self.arguments)


_WORDS = ("LIKE", "ILIKE")
"""Functions whose name stands between their arguments."""

Expression = ColumnRef | Literal | Comparison | Logical | Not | Is | InList | Case | Cast | Call

_SIMPLE = (ColumnRef, Literal, Cast, Case)


def _bracketed(expression: Expression) -> str:
    plain = isinstance(expression, _SIMPLE) or (
        isinstance(expression, Call)
        and expression.function.isidentifier()
        and expression.function not in _WORDS
    )
    return str(expression) if plain else f"({expression})"


def columns_of(expression: Expression) -> Iterator[ColumnRef]:
    """Every column that an expression names, from left to right."""
    if isinstance(expression, ColumnRef):
        yield expression
    for each in expression.inputs:
        yield from columns_of(each)


def integer(value: int, span: Span | None = None) -> Literal:
    """An integer constant, of the smallest type from INT on."""
    fitting = (INTEGER_TYPES[name] for name in ("INT", "BIGINT"))
    return Literal(value, next((each for each in fitting if value in each.range), NULL), span)
