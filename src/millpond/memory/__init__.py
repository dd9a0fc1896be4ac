"""How much memory a query can ever need: verdicts, their reasons, and the shape of the synopsis."""

from millpond.memory.decide import verdict_of
from millpond.memory.normal_form import normal_form
from millpond.memory.repair import repairs
from millpond.memory.shape import Combination, Function, Part, Shape, Side, StreamShape, shape_of
from millpond.memory.spj import Attribute, SpjQuery
from millpond.memory.verdict import (
    DEFAULT_BUDGET,
    Bits,
    Fix,
    MemoryClass,
    Reason,
    SideUnits,
    StateEntry,
    Verdict,
)

__all__ = [
    "DEFAULT_BUDGET",
    "Attribute",
    "Bits",
    "Combination",
    "Fix",
    "Function",
    "MemoryClass",
    "Part",
    "Reason",
    "Shape",
    "Side",
    "SideUnits",
    "SpjQuery",
    "StateEntry",
    "StreamShape",
    "Verdict",
    "normal_form",
    "repairs",
    "shape_of",
    "verdict_of",
]
