"""What a window lets through: CQL's windows, and the assigned windows of TUMBLE, HOP and SESSION.

Windows are half-open.  With RANGE T a row with timestamp `ts` is inside while `ts <= now < ts + T`;
with SLIDE S the contents change only at multiples τ of S, and then are `τ - T <= ts < τ`.  Sizes
are in the unit of the time column (microseconds for TIMESTAMP).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Extent(StrEnum):
    """By what a window is measured."""

    RANGE = "RANGE"
    ROWS = "ROWS"
    UNBOUNDED = "UNBOUNDED"


@dataclass(frozen=True)
class WindowSpec:
    """`[PARTITION BY columns ROWS 5 SLIDE 2]`; `[NOW]` is `[RANGE 1]`.

    Results of an `internal` window stay when its rows leave (Golab, 3.3.2).
    """

    extent: Extent
    size: int | None = None
    slide: int | None = None
    partition: tuple[str, ...] = ()
    internal: bool = False

    def __post_init__(self) -> None:
        if (self.size is None) is not (self.extent is Extent.UNBOUNDED):
            raise ValueError(f"{self.extent} window of size {self.size}")
        if any(each is not None and each < 1 for each in (self.size, self.slide)):
            raise ValueError("a window's size and slide are at least 1")
        if self.partition and self.extent is not Extent.ROWS:
            raise ValueError("only a window of rows is partitioned")

    def __str__(self) -> str:
        words = [f"PARTITION BY {', '.join(self.partition)}"] if self.partition else []
        words.append(self.extent.value if self.size is None else f"{self.extent} {self.size}")
        if self.slide is not None:
            words.append(f"SLIDE {self.slide}")
        if self.internal:
            words.append("INTERNAL")
        return f"[{' '.join(words)}]"


class Assigned(StrEnum):
    """How windows are assigned to rows."""

    TUMBLE = "TUMBLE"
    HOP = "HOP"
    SESSION = "SESSION"


@dataclass(frozen=True)
class WindowFunction:
    """`TUMBLE`, `HOP` or `SESSION` of a stream: each row once for each window that it is in, with
    `window_start` and `window_end`.

    `size` is the window's length, or a session's gap.  With `close` a window's rows come at its
    end, once; else they are there from their own instant on.
    """

    assigned: Assigned
    size: int
    slide: int
    partition: tuple[str, ...] = ()
    close: bool = True

    def __str__(self) -> str:
        sizes = str(self.size)
        if self.assigned is Assigned.HOP:
            sizes = f"{self.slide}, {self.size}"
        per = f" PARTITION BY {', '.join(self.partition)}" if self.partition else ""
        return f"{self.assigned}({sizes}{per}){' on close' if self.close else ''}"
