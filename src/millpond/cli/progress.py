"""Rows, rows/s, instant and the state gauge on stderr: for people, or as JSON lines."""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Callable

from millpond.report import gauge

_EVERY = 0.5
"""Seconds between two lines."""
_ERASE = "\r\x1b[K"


class ProgressLine:
    """Says how far a run is: on a terminal in one line that is written over, as JSON if asked,
    else not at all."""

    def __init__(
        self, as_json: bool, bound: int | None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._json = as_json
        self._bound = bound
        self._live = not as_json and sys.stderr.isatty()
        self._clock = clock
        self._start = self._shown = clock()
        self._rows = 0
        self._open = False

    def due(self) -> bool:
        """Whether it is time to say something again."""
        return (self._live or self._json) and self._clock() - self._shown >= _EVERY

    def show(
        self, *, rows: int, at: int | str, units: int, rejected: int, **more: float | str | None
    ) -> None:
        """The totals so far; `more` is for programs that read the JSON."""
        now = self._clock()
        overall = rows / max(1e-9, now - self._start)
        if self._json:
            said = {
                "rows": rows,
                "rows_per_second": round(overall),
                "at": at,
                "units": units,
                "bound": self._bound,
                "rejected": rejected,
                **more,
            }
            print(json.dumps(said), file=sys.stderr, flush=True)
        elif self._live:
            recent = now - self._shown
            rate = (rows - self._rows) / recent if recent >= _EVERY else overall
            parts = [f"{rows:,} rows", f"{rate:,.0f} rows/s", gauge(units, self._bound)]
            parts.append(f"instant {at if isinstance(at, str) else f'{at:,}'}")
            named = (name for name in ("watermark", "commit") if more.get(name) is not None)
            parts += [f"{name} {more[name]}" for name in named]
            if rejected:
                parts.append(f"{rejected:,} rejected")
            print(_ERASE + _fitting(parts), end="", file=sys.stderr, flush=True)
            self._open = True
        self._shown, self._rows = now, rows

    def clear(self) -> None:
        """Makes room where output goes to the same terminal."""
        if self._open and sys.stdout.isatty():
            print(_ERASE, end="", file=sys.stderr, flush=True)
            self._open = False

    def end(self) -> None:
        """Leaves the last line standing."""
        if self._open:
            print(file=sys.stderr)
            self._open = False


def _fitting(parts: list[str]) -> str:
    """As many of the parts, from the first on, as a line of the terminal holds."""
    room = shutil.get_terminal_size().columns - 1
    while len(parts) > 1 and len("  ".join(parts)) > room:
        parts = parts[:-1]
    return "  ".join(parts)[:room]
