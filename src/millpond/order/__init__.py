"""Conjunctions of order atoms over integers, dense numbers and finite sets, decided exactly by
difference bounds."""

from millpond.order.bounds import ZERO, Bound, DifferenceBounds, Zero
from millpond.order.values import PLAIN, Values

__all__ = ["PLAIN", "ZERO", "Bound", "DifferenceBounds", "Values", "Zero"]
