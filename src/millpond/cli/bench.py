"""`millpond bench`."""

from __future__ import annotations


def bench() -> int:
    """Measure.

    \b
    Example:
      millpond bench slice --quick
    """
    return 0
