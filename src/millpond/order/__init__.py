"""Conjunctions of order atoms over the integers, decided exactly by difference bounds."""

from millpond.order.bounds import ZERO, Bound, DifferenceBounds, Zero

__all__ = ["ZERO", "Bound", "DifferenceBounds", "Zero"]
