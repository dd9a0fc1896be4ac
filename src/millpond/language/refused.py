"""What is said of expressions that cannot be: of values that do not go together, of functions that
are none, of subqueries where none can stand."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from millpond.diagnostic import Diagnostic, Span, UserError, did_you_mean
from millpond.language.constants import not_built, shown
from millpond.plan import AGGREGATES, SCALARS, Expression, Literal
from millpond.plan.functions import REFUSED_FUNCTIONS, common_type
from millpond.schema import Kind

_CAST = "nothing is cast silently: write CAST(... AS ...)"
_EXAMPLES = {Kind.DATE: "DATE '2026-01-31'", Kind.TIMESTAMP: "TIMESTAMP '2026-01-31 12:30:00'"}
_RANKS = ("ROW_NUMBER", "RANK", "DENSE_RANK", "NTILE")
_LONGEST = 60
"""Characters of the user's text that a message repeats."""


def no_condition(tree: exp.Expr, found: Expression, span: Span) -> UserError:
    """A value where a condition is needed."""
    helps = "compare it with something: `<`, `=`, IS NOT NULL, ..."
    if found.type.kind.numeric or found.type.kind is Kind.VARCHAR:
        value = "'x'" if found.type.kind is Kind.VARCHAR else "1"
        helps = f"compare it with something, as in `{shown(tree).strip('`')} = {value}`"
    said = f"a condition is needed here, and {shown(tree)} is {found.type}"
    return UserError(Diagnostic("MP105", said, span, helps=(helps,)))


def unlike(parts: Sequence[Expression], span: Span, what: str) -> UserError:
    """Values that have no type in common; in a comparison the one is blamed that does not go with
    the first that is no constant."""
    other = next((each for each in parts if not isinstance(each, Literal)), None)
    wrong = None if other is None or what != "compared" else _not_like(other, parts)
    if other is None or wrong is None:
        types = " and ".join(dict.fromkeys(str(each.type) for each in parts))
        return UserError(Diagnostic("MP105", f"{types} cannot be {what}", span, helps=(_CAST,)))
    said = f"{_said(wrong)} is {wrong.type}, and {_said(other)} is {other.type}"
    helps = _CAST
    if isinstance(wrong, Literal) and wrong.span is not None:
        kind, span = other.type.kind, wrong.span
        if kind is Kind.VARCHAR:
            helps = f"write `'{span.text}'`"
        elif kind in _EXAMPLES:
            helps = f"write {_EXAMPLES[kind]}"
    return UserError(Diagnostic("MP105", f"{said}: they cannot be compared", span, helps=(helps,)))


def _not_like(other: Expression, parts: Sequence[Expression]) -> Expression | None:
    return next((each for each in parts if common_type([each.type, other.type]) is None), None)


def _said(part: Expression) -> str:
    """A value as the user wrote it."""
    text = str(part) if part.span is None else " ".join(part.span.text.split())
    return f"`{text}`" if len(text) <= _LONGEST else f"`{text[: _LONGEST - 3]}...`"


def unknown_function(name: str, span: Span, declared: Sequence[str] = ()) -> UserError:
    """A function that there is not; `name` is as the user writes it; the file has `declared`."""
    reason = REFUSED_FUNCTIONS.get(name.upper())
    if reason is not None:
        said = f"`{name}` is no function of a continuous query"
        return UserError(Diagnostic("MP131", said, span, helps=(reason,)))
    if name.upper() == "EXISTS":
        said = "EXISTS asks a query, and here is none"
        wanted = "write EXISTS (SELECT ... FROM ... WHERE ...)"
        return UserError(Diagnostic("MP131", said, span, helps=(wanted,)))
    known = [*filter(str.isidentifier, SCALARS), *AGGREGATES, *declared]
    helps = did_you_mean(name, known)
    return UserError(Diagnostic("MP131", f"unknown function `{name}`", span, helps=helps))


def misplaced_subquery(word: str, span: Span) -> UserError:
    """EXISTS or IN (SELECT ...) where only a join could carry it out."""
    return UserError(
        Diagnostic(
            "MP141",
            f"{word} with a subquery can only be one of the conditions that AND joins in WHERE",
            span,
            helps=("write a query for each case, and UNION them",),
        )
    )


def no_expression(tree: exp.Expr, span: Span) -> UserError:
    """What stands where a value is needed, and is none."""
    match tree:
        case exp.Exists():
            return misplaced_subquery("EXISTS", span)
        case exp.Subquery() | exp.Select() | exp.SetOperation():
            said = "a subquery that stands for a value"
            helps = ("join with it: put the subquery into FROM",)
            return UserError(Diagnostic("MP141", said, span, helps=helps))
        case exp.Window():
            said = "OVER has no place in a continuous query"
            helps = ("aggregate over a window of the stream: `FROM s [ROWS 10]`",)
            if tree.this.name.upper() in _RANKS:
                helps = (
                    "the newest row of each key is FROM s [PARTITION BY k ROWS 1], its largest "
                    "value is SELECT k, MAX(v) ... GROUP BY k",
                )
            return UserError(Diagnostic("MP140", said, span, helps=helps))
        case exp.Interval():
            return not_built(f"the interval {shown(tree)}", span, "write INTERVAL '5' MINUTE")
    return not_built(f"the expression {shown(tree)}", span)
