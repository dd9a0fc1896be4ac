"""How much memory a query can ever need: verdicts, their reasons, and the shape of the synopsis."""

from millpond.memory.check import Evaluator, check_script
from millpond.memory.decide import unproved, verdict_of
from millpond.memory.elsewhere import Elsewhere, Fate, at_rates
from millpond.memory.normal_form import normal_form
from millpond.memory.pace import Pace, Rate
from millpond.memory.proof import DEFAULT_SIZE, witness_of
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
from millpond.memory.witness import Fed, Respond, Witness

__all__ = [
    "DEFAULT_BUDGET",
    "DEFAULT_SIZE",
    "Attribute",
    "Bits",
    "Combination",
    "Elsewhere",
    "Evaluator",
    "Fate",
    "Fed",
    "Fix",
    "Function",
    "MemoryClass",
    "Pace",
    "Part",
    "Rate",
    "Reason",
    "Respond",
    "Shape",
    "Side",
    "SideUnits",
    "SpjQuery",
    "StateEntry",
    "StreamShape",
    "Verdict",
    "Witness",
    "at_rates",
    "check_script",
    "normal_form",
    "repairs",
    "shape_of",
    "unproved",
    "verdict_of",
    "witness_of",
]
