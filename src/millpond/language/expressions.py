"""Expressions: names resolved, types checked, constants folded, NULLs counted.

Functions come from the one table of `plan/functions.py`.  Whoever allows aggregate functions hands
in a collector for them (`aggregates.py`); anywhere else they are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from sqlglot import exp

from millpond.diagnostic import Collector as Errors
from millpond.diagnostic import Diagnostic, Span, UserError, did_you_mean
from millpond.language.constants import constant_of, not_built, shown
from millpond.language.declare import type_of
from millpond.language.functions import aggregate_of
from millpond.language.refused import (
    misplaced_subquery,
    no_condition,
    no_expression,
    unknown_function,
    unlike,
)
from millpond.language.scope import Scope
from millpond.language.spans import Places
from millpond.language.tree import STREAM_OPERATORS
from millpond.plan import (
    SCALARS,
    Call,
    Case,
    Cast,
    Comparison,
    Expression,
    InList,
    Is,
    Literal,
    Logical,
    Not,
    Operator,
)
from millpond.plan.functions import REFUSED_FUNCTIONS, cast_allowed, common_type, convert
from millpond.plan.moments import PARTS, UNITS
from millpond.schema import BOOLEAN, NULL, Catalog, Kind, Type

_COMPARISONS: dict[type[exp.Expr], Operator] = {
    exp.LT: Operator.LT,
    exp.LTE: Operator.LE,
    exp.EQ: Operator.EQ,
    exp.GTE: Operator.GE,
    exp.GT: Operator.GT,
    exp.NEQ: Operator.NE,
    exp.NullSafeEQ: Operator.SAME,
}
_SIGNS: dict[type[exp.Expr], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.DPipe: "||",
    exp.Like: "LIKE",
    exp.ILike: "ILIKE",
}


class Collector(Protocol):
    """Takes the aggregate functions of an expression."""

    def collect(self, call: exp.Anonymous, condition: exp.Expr | None, scope: Scope) -> Expression:
        """What stands for the aggregate's value in the expression."""
        ...


@dataclass(frozen=True)
class NoAggregates:
    """Says that none can stand in a place, and what to write instead."""

    where: str
    instead: str


Into = Collector | NoAggregates
"""What aggregates go into, if there is anything."""
IN_ROWS = "ask it in HAVING, or of a subquery in FROM"
"""Instead of an aggregate where single rows are asked."""
ANYWHERE = NoAggregates("here", IN_ROWS)


class ExpressionBinder:
    """Binds expressions against a scope."""

    def __init__(self, places: Places, catalog: Catalog) -> None:
        self._places = places
        self.catalog = catalog
        self._dispatch: dict[type[exp.Expr], _Bind] = {
            exp.Paren: lambda tree, scope, into: self.bind(tree.this, scope, into),
            exp.Column: self._column,
            exp.And: self._logical,
            exp.Or: self._logical,
            exp.Not: self._not,
            exp.Between: self._between,
            exp.In: self._in,
            exp.Is: self._is,
            exp.NullSafeNEQ: self._differs,
            exp.Escape: self._escape,
            exp.Neg: self._negated,
            exp.Case: self._case,
            exp.If: self._if,
            exp.Cast: self._cast,
            exp.Extract: self._extract,
            exp.Trim: self._trim,
            exp.Substring: self._substring,
            exp.StrPosition: self._position,
            exp.Anonymous: self._call,
            exp.Filter: self._filtered,
            **dict.fromkeys(_COMPARISONS, self._comparison),
            **dict.fromkeys(_SIGNS, self._sign),
        }

    def bind(self, tree: exp.Expr, scope: Scope, into: Into = ANYWHERE) -> Expression:
        """The expression that a tree says."""
        constant = constant_of(tree, self._places)
        if constant is not None:
            return Literal(constant[0], constant[1], self.of(tree))
        found = self._dispatch.get(type(tree))
        if found is None:
            raise no_expression(tree, self.of(tree))
        return _negated_if_said(tree, found(tree, scope, into))

    def all(
        self, trees: Iterable[exp.Expr], scope: Scope, into: Into = ANYWHERE
    ) -> list[Expression]:
        """Several of them; raises with what is wrong in any."""
        return collected(lambda each: self.bind(each, scope, into), trees)

    def condition(self, tree: exp.Expr, scope: Scope, into: Into = ANYWHERE) -> Expression:
        """An expression that is true, false or unknown."""
        found = self.bind(tree, scope, into)
        if found.type not in (BOOLEAN, NULL):
            raise no_condition(tree, found, self.of(tree))
        return found

    def of(self, tree: exp.Expr) -> Span:
        return self._places.of(tree)

    # -----------------------------------------------------------------------------------------

    def _column(self, tree: exp.Column, scope: Scope, into: Into) -> Expression:
        if tree.args.get("db") or not isinstance(tree.this, exp.Identifier):
            raise not_built(f"the reference {shown(tree)}", self.of(tree), "write `input.column`")
        return scope.find(tree.table, tree.name, self.of(tree))

    def _logical(self, tree: exp.And | exp.Or, scope: Scope, into: Into) -> Expression:
        op = "AND" if isinstance(tree, exp.And) else "OR"
        operands: list[Expression] = []
        for found in collected(lambda each: self.condition(each, scope, into), tree.flatten()):
            if isinstance(found, Logical) and found.op == op:
                operands += found.operands
            else:
                operands.append(found)
        return Logical(op, tuple(operands), self.of(tree))

    def _not(self, tree: exp.Not, scope: Scope, into: Into) -> Expression:
        return Not(self.condition(tree.this, scope, into), self.of(tree))

    def _comparison(self, tree: exp.Binary, scope: Scope, into: Into) -> Expression:
        left, right = self.all([tree.left, tree.right], scope, into)
        return self.compare(_COMPARISONS[type(tree)], left, right, self.of(tree))

    def compare(self, op: Operator, left: Expression, right: Expression, span: Span) -> Comparison:
        """A comparison of two values of one kind; a text constant becomes what it is compared
        with."""
        left, right = self._alike([left, right], span, "compared")
        return Comparison(op, left, right, span)

    def _differs(self, tree: exp.NullSafeNEQ, scope: Scope, into: Into) -> Expression:
        left, right = self.all([tree.left, tree.right], scope, into)
        span = self.of(tree)
        return Not(self.compare(Operator.SAME, left, right, span), span)

    def _between(self, tree: exp.Between, scope: Scope, into: Into) -> Expression:
        return Logical("AND", tuple(self.between(tree, scope, into)), self.of(tree))

    def between(self, tree: exp.Between, scope: Scope, into: Into = ANYWHERE) -> list[Comparison]:
        """BETWEEN as its two comparisons."""
        span = self.of(tree)
        if tree.args.get("symmetric"):
            raise not_built("BETWEEN SYMMETRIC", span, "write the smaller end first")
        value, low, high = self.all([tree.this, tree.args["low"], tree.args["high"]], scope, into)
        return [
            self.compare(Operator.GE, value, low, span),
            self.compare(Operator.LE, value, high, span),
        ]

    def _in(self, tree: exp.In, scope: Scope, into: Into) -> Expression:
        span = self.of(tree)
        if tree.args.get("query") is not None:
            raise misplaced_subquery("IN", span)
        if not tree.expressions:
            raise not_built(f"the condition {shown(tree)}", span, "write `x IN (1, 2, 3)`")
        parts = self.all([tree.this, *tree.expressions], scope, into)
        operand, *items = self._alike(parts, span, "compared")
        return InList(operand, tuple(items), span)

    def _is(self, tree: exp.Is, scope: Scope, into: Into) -> Expression:
        span, right = self.of(tree), tree.expression
        if isinstance(right, exp.Null):
            return Is(self.bind(tree.this, scope, into), None, span)
        if isinstance(right, exp.Boolean):
            return Is(self.condition(tree.this, scope, into), bool(right.this), span)
        raise not_built(f"the condition {shown(tree)}", span, "IS takes NULL, TRUE and FALSE")

    def _sign(self, tree: exp.Binary, scope: Scope, into: Into) -> Expression:
        parts = self.all([tree.left, tree.right], scope, into)
        return self._made(_SIGNS[type(tree)], parts, self.of(tree))

    def _escape(self, tree: exp.Escape, scope: Scope, into: Into) -> Expression:
        like = tree.this
        if not isinstance(like, exp.Like | exp.ILike):
            raise no_expression(tree, self.of(tree))
        parts = self.all([like.left, like.right, tree.expression], scope, into)
        return _negated_if_said(like, self._made(_SIGNS[type(like)], parts, self.of(tree)))

    def _negated(self, tree: exp.Neg, scope: Scope, into: Into) -> Expression:
        return self._made("-", [self.bind(tree.this, scope, into)], self.of(tree))

    def _case(self, tree: exp.Case, scope: Scope, into: Into) -> Expression:
        span, subject = self.of(tree), tree.this
        conditions, values = [], []
        for arm in tree.args["ifs"]:
            if subject is None:
                conditions.append(self.condition(arm.this, scope, into))
            else:
                sides = self.all([subject, arm.this], scope, into)
                conditions.append(self.compare(Operator.EQ, sides[0], sides[1], self.of(arm)))
            values.append(self.bind(arm.args["true"], scope, into))
        last = tree.args.get("default")
        values.append(Literal(None) if last is None else self.bind(last, scope, into))
        return self._cases(conditions, values, span)

    def _if(self, tree: exp.If, scope: Scope, into: Into) -> Expression:
        last = tree.args.get("false")
        values = [
            self.bind(tree.args["true"], scope, into),
            Literal(None) if last is None else self.bind(last, scope, into),
        ]
        return self._cases([self.condition(tree.this, scope, into)], values, self.of(tree))

    def _cases(
        self, conditions: Sequence[Expression], values: Sequence[Expression], span: Span
    ) -> Case:
        *taken, otherwise = self._alike(values, span, "values of one CASE", exact=True)
        return Case(
            tuple(zip(conditions, taken, strict=True)),
            otherwise,
            next((each.type for each in (*taken, otherwise) if each.type is not NULL), NULL),
            span,
        )

    def _cast(self, tree: exp.Cast, scope: Scope, into: Into) -> Expression:
        span = self.of(tree)
        if isinstance(tree, exp.TryCast):
            raise not_built("TRY_CAST", span, "write CAST: a value that does not fit is an error")
        operand = self.bind(tree.this, scope, into)
        target = type_of(tree.args["to"], span, self._places)
        if not cast_allowed(operand.type, target):
            raise UserError(Diagnostic("MP105", f"{operand.type} cannot be cast to {target}", span))
        return Cast(operand, target, span)

    def _extract(self, tree: exp.Extract, scope: Scope, into: Into) -> Expression:
        part = tree.name.upper()
        if part not in (*PARTS, "EPOCH"):
            raise UserError(
                Diagnostic(
                    "MP131",
                    f"a time has no part `{tree.name}`",
                    self.of(tree.this),
                    helps=did_you_mean(part, (*PARTS, "EPOCH")),
                )
            )
        return self._named(part, [self.bind(tree.expression, scope, into)], self.of(tree))

    def _trim(self, tree: exp.Trim, scope: Scope, into: Into) -> Expression:
        side = (tree.args.get("position") or "BOTH").upper()
        name = {"LEADING": "LTRIM", "TRAILING": "RTRIM"}.get(side, "TRIM")
        parts = [tree.this, *([tree.expression] if tree.args.get("expression") else [])]
        return self._named(name, self.all(parts, scope, into), self.of(tree))

    def _substring(self, tree: exp.Substring, scope: Scope, into: Into) -> Expression:
        parts = [tree.this, tree.args.get("start"), tree.args.get("length")]
        bound = self.all([each for each in parts if each is not None], scope, into)
        return self._named("SUBSTRING", bound, self.of(tree))

    def _position(self, tree: exp.StrPosition, scope: Scope, into: Into) -> Expression:
        parts = self.all([tree.this, tree.args["substr"]], scope, into)
        return self._named("STRPOS", parts, self.of(tree))

    # Functions -------------------------------------------------------------------------------

    def _call(self, tree: exp.Anonymous, scope: Scope, into: Into) -> Expression:
        name, span = str(tree.name).upper(), self.of(tree)
        if aggregate_of(tree, self.catalog) is not None:
            return self._aggregate(tree, None, scope, into)
        if name.replace("-", "_").removesuffix("_RESTORE") in STREAM_OPERATORS:
            raise UserError(
                Diagnostic(
                    "MP137",
                    f"{name} cannot stand here",
                    span,
                    helps=(f"write `SELECT {name} a, b FROM ...` or `{name}(SELECT ...)`",),
                )
            )
        self._refuse_window(tree)
        if name not in SCALARS:
            known = name in REFUSED_FUNCTIONS
            place = span if known else self._places.head(tree)
            declared = [each.name for each in self.catalog.aggregates]
            raise unknown_function(str(tree.name), place, declared)
        for each in tree.expressions:
            if isinstance(each, exp.Distinct | exp.Star):
                said = "DISTINCT" if isinstance(each, exp.Distinct) else "`*`"
                helps = (f"{name} takes {SCALARS[name].takes}",)
                raise UserError(Diagnostic("MP144", f"{name} takes no {said}", span, helps=helps))
        return self._named(name, self.all(tree.expressions, scope, into), span)

    def _refuse_window(self, tree: exp.Anonymous) -> None:
        """A window stands behind an input of FROM, and behind WSTREAM."""
        window = tree.args.get("pond_window")
        if window is not None:
            raise UserError(
                Diagnostic(
                    "MP134",
                    f"no window can stand behind {str(tree.name).upper()}",
                    self.of(window),
                    helps=("write FROM s [ROWS 10], or for a window of results WSTREAM(...)",),
                )
            )

    def _filtered(self, tree: exp.Filter, scope: Scope, into: Into) -> Expression:
        call = tree.this
        if aggregate_of(call, self.catalog) is None:
            raise UserError(
                Diagnostic(
                    "MP132", "FILTER goes with an aggregate function", self.of(tree), helps=()
                )
            )
        return self._aggregate(call, tree.expression.this, scope, into)

    def _aggregate(
        self,
        tree: exp.Anonymous,
        condition: exp.Expr | None,
        scope: Scope,
        into: Into,
    ) -> Expression:
        self._refuse_window(tree)
        if isinstance(into, NoAggregates):
            raise UserError(
                Diagnostic(
                    "MP132",
                    f"no aggregate can stand {into.where}, and {shown(tree)} is one",
                    self.of(tree),
                    helps=(into.instead,),
                )
            )
        return into.collect(tree, condition, scope)

    def _named(self, name: str, arguments: Sequence[Expression], span: Span) -> Expression:
        """A scalar function by any of its names."""
        unit = arguments[0] if arguments and SCALARS[name.upper()].name == "DATE_TRUNC" else None
        if isinstance(unit, Literal) and isinstance(unit.value, str):
            self._refuse_unit(unit.value, unit.span or span)
        return self._made(SCALARS[name.upper()].name, arguments, span)

    def _refuse_unit(self, unit: str, span: Span) -> None:
        """A unit of DATE_TRUNC that there is not: it would fail at the first row."""
        word = unit.strip().upper()
        if not {word, word.removesuffix("S")} & set(UNITS):
            helps = did_you_mean(word, UNITS)
            raise UserError(
                Diagnostic("MP107", f"unknown unit of time `{unit}`", span, helps=helps)
            )

    def _made(self, name: str, arguments: Sequence[Expression], span: Span) -> Expression:
        function = SCALARS[name]
        if name in ("COALESCE", "NULLIF", "GREATEST", "LEAST"):
            arguments = self._alike(arguments, span, f"arguments of one {name}", exact=True)
        elif name in ("+", "-"):
            arguments = self._text_to_time(arguments)
        types = [each.type for each in arguments]
        result = function.result(types)
        if result is None:
            given = ", ".join(str(each) for each in types) or "nothing"
            raise UserError(
                Diagnostic(
                    "MP144",
                    f"{name} does not take {given}",
                    span,
                    helps=(f"{name} takes {function.takes}",),
                )
            )
        nullable = name in _MAY_BE_NULL or (
            all(each.nullable for each in arguments)
            if name in _FIRST_VALUE
            else any(each.nullable for each in arguments)
        )
        return Call(name, tuple(arguments), result, nullable, span)

    # Types -----------------------------------------------------------------------------------

    def _alike(
        self, parts: Sequence[Expression], span: Span, what: str, *, exact: bool = False
    ) -> list[Expression]:
        """Values of one kind; with `exact`, of one type."""
        parts = self._text_to_time(parts)
        meant = common_type([each.type for each in parts])
        if meant is None:
            raise unlike(parts, span, what)
        return [
            self.cast(each, meant)
            if exact
            or (each.type.kind is not meant.kind and not meant.kind.numeric)
            or _is_binary(each, meant)
            else each
            for each in parts
        ]

    def cast(self, part: Expression, meant: Type) -> Expression:
        """A value as another type; constants at once."""
        if part.type is NULL or part.type == meant:
            return part
        if Kind.VARCHAR is part.type.kind is meant.kind:
            return part
        if isinstance(part, Literal):
            try:
                return Literal(convert(part.value, part.type, meant), meant, part.span)
            except ValueError:
                return Cast(part, meant, part.span)
        return Cast(part, meant, part.span)

    def _text_to_time(self, parts: Sequence[Expression]) -> list[Expression]:
        """Text constants beside a DATE or a TIMESTAMP, read as one."""
        kinds = [each.type for each in parts if each.type.kind in (Kind.DATE, Kind.TIMESTAMP)]
        if not kinds:
            return list(parts)
        return [
            self._time_constant(each, kinds[0])
            if isinstance(each, Literal) and isinstance(each.value, str)
            else each
            for each in parts
        ]

    def _time_constant(self, part: Literal, meant: Type) -> Literal:
        try:
            return Literal(convert(part.value, part.type, meant), meant, part.span)
        except ValueError:
            raise UserError(
                Diagnostic("MP105", f"{part} is no {meant}", part.span, helps=(_LIKE_TIME,))
            ) from None


def _negated_if_said(tree: exp.Expr, found: Expression) -> Expression:
    """The parser keeps the NOT of `NOT LIKE`, in some dialects that of `IS NOT NULL`, as a mark."""
    return Not(found, found.span) if tree.args.get("negate") else found


_Bind = Callable[..., Expression]
_FIRST_VALUE = ("COALESCE", "GREATEST", "LEAST")
_MAY_BE_NULL = ("/", "%", "MOD", "NULLIF", "SQRT", "LN", "LOG10", "LOG2", "IF")
_LIKE_TIME = "write '2013-01-31' or '2013-01-31 12:30:00'"


def _is_binary(part: Expression, meant: Type) -> bool:
    """Whether `0.1` stands beside a DOUBLE: it then is the nearest one, not a tenth exactly."""
    return (
        isinstance(part, Literal) and part.type.kind is Kind.DECIMAL and meant.kind is Kind.DOUBLE
    )


def collected(
    bind: Callable[[exp.Expr], Expression], trees: Iterable[exp.Expr]
) -> list[Expression]:
    """What several trees say; raises with what is wrong in any of them."""
    errors, found = Errors(), []
    for each in trees:
        try:
            found.append(bind(each))
        except UserError as error:
            errors.add(error)
    errors.checkpoint()
    return found
