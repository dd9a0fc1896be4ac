"""A query whose users' aggregates say nothing, so that asking it runs no code of theirs.

Its answers are those of the query with some columns made NULL.  So whatever inputs it tells apart,
the query itself tells apart as well.  That is for queries of which a verdict says `linear`: no
condition of HAVING asks a user's aggregate there, and none stands in a subquery.
"""

from __future__ import annotations

from dataclasses import replace

from millpond.plan.expression import Literal, columns_of
from millpond.plan.node import Aggregate, AggregateCall, Filter, Item, Node, Project
from millpond.plan.query import Query


def without_user_code(query: Query) -> Query:
    """The query over users' aggregates that are NULL."""
    root = query.root
    if not isinstance(root, Project):
        return query
    found = _aggregate(root.input)
    declared = {each.name for each in found.calls if each.declared} if found else set()
    if not declared:
        return query
    items = tuple(_silent_item(each, declared) for each in root.items)
    return replace(query, root=replace(root, input=_silent(root.input), items=items))


def _aggregate(node: Node) -> Aggregate | None:
    while isinstance(node, Filter):
        node = node.input
    return node if isinstance(node, Aggregate) else None


def _silent(node: Node) -> Node:
    if isinstance(node, Filter):
        return replace(node, input=_silent(node.input))
    assert isinstance(node, Aggregate)
    return replace(node, calls=tuple(_silent_call(each) for each in node.calls))


def _silent_call(call: AggregateCall) -> AggregateCall:
    """The least of no values in the place of a user's function."""
    if call.declared is None:
        return call
    nothing = Literal(None, call.type)
    return replace(call, function="MIN", argument=nothing, distinct=False, declared=None)


def _silent_item(item: Item, declared: set[str]) -> Item:
    expression = item.expression
    if not declared & {each.name for each in columns_of(expression)}:
        return item
    return replace(item, expression=Literal(None, expression.type))
