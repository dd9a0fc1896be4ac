"""The weighted relational algebra: what a query means, before anything is said of how it runs.

Nodes are frozen and checked when built; building a plan runs nothing.
"""

from millpond.plan.expression import (
    COMPARISONS,
    ColumnRef,
    Comparison,
    Expression,
    Literal,
    Operator,
)
from millpond.plan.node import Cross, Distinct, Field, Filter, Item, Node, Project, Scan, scans
from millpond.plan.query import Query, Script
from millpond.plan.render import plan_dict, tree_lines

__all__ = [
    "COMPARISONS",
    "ColumnRef",
    "Comparison",
    "Cross",
    "Distinct",
    "Expression",
    "Field",
    "Filter",
    "Item",
    "Literal",
    "Node",
    "Operator",
    "Project",
    "Query",
    "Scan",
    "Script",
    "plan_dict",
    "scans",
    "tree_lines",
]
