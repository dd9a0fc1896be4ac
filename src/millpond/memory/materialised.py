"""The materialised answer: held when someone asks for answers, and no part of operator state."""

from __future__ import annotations

from millpond.memory.reachable import reachable
from millpond.memory.shape import answer_keys
from millpond.memory.spj import SpjQuery
from millpond.memory.verdict import MemoryClass, SideUnits


def materialised(spj: SpjQuery) -> SideUnits:
    """The distinct rows that can be in an answer, with a count where duplicates are kept."""
    if not spj.satisfiable:
        return SideUnits(MemoryClass.NONE, 0)
    if any(not spj.predicate.bounded(each) for each in spj.shown):
        return SideUnits(MemoryClass.LINEAR, None)
    rows = reachable(answer_keys(spj), spj.predicate)
    width = len(spj.projection) + (0 if spj.distinct else 1)
    return SideUnits(MemoryClass.CONSTANT, rows * width)
