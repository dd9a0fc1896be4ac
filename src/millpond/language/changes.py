"""Streams of changes and windows over results: ISTREAM, DSTREAM, RSTREAM, WSTREAM (Golab, 2.1.3,
3.3.3 and 3.4)."""

from __future__ import annotations

from sqlglot import exp

from millpond.diagnostic import Diagnostic, Span, UserError
from millpond.language.constants import not_built
from millpond.language.context import Context
from millpond.language.tree import ChangesClause, ChangesOf, WindowClause
from millpond.language.windows import time_of, window_spec
from millpond.plan import (
    Alias,
    Change,
    Changes,
    Extent,
    Node,
    Results,
    Window,
    WindowSpec,
    scans,
    stream_valued,
)


def changed_by(context: Context, plan: Node, clause: ChangesClause) -> Node:
    """What `SELECT ISTREAM ...` makes of the plan of its SELECT."""
    restore = bool(clause.args.get("restore"))
    return changed(context, plan, str(clause.this), restore, clause, word_of(clause, context))


def word_of(tree: ChangesClause | ChangesOf, context: Context) -> Span:
    """Where ISTREAM or its kin stands, `-RESTORE` included."""
    start, end = tree.meta["word"]
    return context.places.characters(start, end)


def changed(
    context: Context,
    plan: Node,
    kind: str,
    restore: bool,
    clause: ChangesClause | None,
    span: Span,
) -> Node:
    """The stream of changes of a plan, or the window over its results."""
    if stream_valued(plan) and not isinstance(plan, Results):
        raise UserError(
            Diagnostic(
                "MP137",
                f"{kind} of what is a stream already",
                span,
                helps=("one stream operator is enough",),
            )
        )
    if not any(each.stream.is_stream for each in scans(plan)):
        raise UserError(
            Diagnostic(
                "MP137",
                f"{kind} of tables alone: a continuous query reads a stream",
                span,
                helps=("join the table with a stream",),
            )
        )
    window = None if clause is None else clause.args.get("window")
    if kind != "WSTREAM":
        if window is not None:
            raise _no_window(kind, context.of(window))
        return Changes(plan, Change(kind), restore, span)
    if restore:
        raise UserError(
            Diagnostic(
                "MP137",
                "there is no WSTREAM_RESTORE: it would not be clear which results its window holds "
                "(Golab, 3.4)",
                span,
                helps=("write WSTREAM, which keeps results as they are given",),
            )
        )
    return windowed(context, plan, window, span=None if clause is None else context.of(clause))


def _no_window(kind: str, span: Span) -> UserError:
    return UserError(
        Diagnostic(
            "MP134",
            f"{kind} gives changes at their instants, and holds none of them in a window",
            span,
            helps=("leave the window out, or write WSTREAM, which keeps results in it",),
        )
    )


def windowed(
    context: Context,
    plan: Node,
    window: WindowClause | None,
    alias: str | None = None,
    span: Span | None = None,
) -> Node:
    """The results of a plan under a window of their own; `span` is where both are asked for."""
    results: Node = plan if isinstance(plan, Results) else Results(plan, plan.span)
    if alias is not None:
        results = Alias(results, alias, plan.span)
    if window is None:
        return Window(results, WindowSpec(Extent.UNBOUNDED), plan.span)
    place = context.of(window)
    if window.args.get("partition") or window.args.get("internal"):
        raise UserError(
            Diagnostic(
                "MP134",
                "the window of WSTREAM is of RANGE or of ROWS",
                place,
                helps=("write WSTREAM(*)[ROWS 10]",),
            )
        )
    spec = window_spec(window, time_of(plan), (), context.places, "the query")
    return Window(results, spec, span or place)


def nested_wstream(
    tree: exp.Select, context: Context
) -> tuple[exp.Select, exp.Select, WindowClause] | None:
    """`SELECT SUM(WSTREAM(SUM(a))[ROWS 10]) FROM ...`: an aggregate over the window of the results
    of another, as the SELECT below, the SELECT above and the window between them."""
    inner = [
        each
        for item in tree.expressions
        for each in item.walk()
        if _is_wstream(each) and each.args.get("pond_window") is not None
    ]
    if not inner or tree.args.get("pond_changes") is not None:
        return None
    call = inner[0]
    if len(inner) > 1 or len(call.expressions) != 1 or tree.args.get("group"):
        raise not_built(
            "several windows of results in one SELECT",
            context.of(call),
            "write the inner query in FROM, with its window behind it",
        )
    below, above = tree.copy(), exp.Select()
    below.set("expressions", [exp.alias_(call.expressions[0].copy(), "result")])
    for key in ("distinct", "having", "pond_emit"):
        above.set(key, tree.args.get(key))
        below.set(key, None)
    above.set(
        "expressions",
        [
            each.copy().transform(
                lambda part: exp.column("result", table="results") if _is_wstream(part) else part
            )
            for each in tree.expressions
        ],
    )
    return below, above, call.args["pond_window"]


def _is_wstream(tree: exp.Expr) -> bool:
    return isinstance(tree, exp.Anonymous) and str(tree.name).upper() == "WSTREAM"
