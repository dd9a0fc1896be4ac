"""A bar that shows how much of a bound is used."""

from __future__ import annotations


def gauge(units: int, bound: int | None, *, width: int = 18) -> str:
    """Units held beside their bound.

    >>> gauge(9, 18, width=8)
    '[####----] 9 of at most 18 units'
    """
    if bound is None:
        return f"{units} units, no bound"
    full = width if not bound else round(width * min(units, bound) / bound)
    return f"[{'#' * full}{'-' * (width - full)}] {units} of at most {bound} units"
