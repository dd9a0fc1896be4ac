"""`millpond demo`."""

from __future__ import annotations


def demo() -> int:
    """Check a query, repair another, and run it here and on Spark.

    \b
    Example:
      millpond demo
    """
    return 0
