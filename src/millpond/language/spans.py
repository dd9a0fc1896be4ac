"""Where a parsed expression stands: the hull of the names and constants inside it."""

from __future__ import annotations

from sqlglot import exp

from millpond.diagnostic import Source, Span


def span_of(tree: exp.Expression, source: Source, default: Span) -> Span:
    """The span of `tree`; `default` where it has no name or constant of its own."""
    starts, ends = [], []
    for node in tree.walk():
        if "start" in node.meta:
            starts.append(node.meta["start"])
            ends.append(node.meta["end"] + 1)
    if not starts:
        return default
    return Span(source, min(starts), max(ends))
