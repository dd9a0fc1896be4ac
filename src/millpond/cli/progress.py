"""Rows, rows/s, instant and the state gauge on stderr: for people, or as JSON lines."""

from __future__ import annotations

import json
import sys
import time

from millpond.report import gauge

_EVERY = 0.5
"""Seconds between two lines."""


class ProgressLine:
    """Says how far a run is: on a terminal in one line that is written over, as JSON if asked,
    else not at all."""

    def __init__(self, as_json: bool, bound: int | None) -> None:
        self._json = as_json
        self._bound = bound
        self._live = not as_json and sys.stderr.isatty()
        self._start = self._shown = time.monotonic()
        self._open = False

    def due(self) -> bool:
        """Whether it is time to say something again."""
        return (self._live or self._json) and time.monotonic() - self._shown >= _EVERY

    def show(
        self, *, rows: int, at: int | str, units: int, rejected: int, **more: float | str | None
    ) -> None:
        """The totals so far; `more` is for programs that read the JSON."""
        self._shown = time.monotonic()
        rate = rows / max(1e-9, self._shown - self._start)
        if self._json:
            said = {
                "rows": rows,
                "rows_per_second": round(rate),
                "at": at,
                "units": units,
                "bound": self._bound,
                "rejected": rejected,
                **more,
            }
            print(json.dumps(said), file=sys.stderr, flush=True)
        elif self._live:
            instant = at if isinstance(at, str) else f"{at:,}"
            parts = [f"{rows:,} rows", f"{rate:,.0f} rows/s", f"instant {instant}"]
            if more.get("watermark") is not None:
                parts.append(f"watermark {more['watermark']}")
            text = "  ".join([*parts, gauge(units, self._bound)])
            print(f"\r{text:<78}", end="", file=sys.stderr, flush=True)
            self._open = True

    def end(self) -> None:
        """Leaves the last line standing."""
        if self._open:
            print(file=sys.stderr)
            self._open = False
