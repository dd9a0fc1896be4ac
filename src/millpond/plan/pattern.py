"""Update patterns (Golab, section 3.2): what is known of how a node's answer changes."""

from __future__ import annotations

from millpond.plan.node import Alias, Cross, Distinct, Filter, Node, Project, Scan, Union, nodes

_KEEPS = (Alias, Cross, Distinct, Filter, Project, Union)


def monotonic(node: Node) -> bool:
    """Whether a node is known to add rows only and to take none back: it is made of whole streams
    by operators that never take back."""
    return all(
        each.stream.is_stream if isinstance(each, Scan) else isinstance(each, _KEEPS)
        for each in nodes(node)
    )
