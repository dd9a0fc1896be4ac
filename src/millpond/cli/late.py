"""Rows that come too late: counted, and written as the tagged lines that they were.

The file can be fed to another run, by itself or after the input that it was late for.
"""

from __future__ import annotations

import sys

from millpond.cli.output import SideFile
from millpond.plan import Script
from millpond.run import Event, tagged_line


class LateRows:
    """The late rows of a run, in the order in which they came; a row that is late for several
    queries is one of them."""

    def __init__(self, script: Script, path: str | None, *, committed: bool = False) -> None:
        self._catalog = script.catalog
        self._times = [each.time_type for each in script.catalog if each.time_type is not None]
        self._path = path
        self.file = SideFile(path, committed=committed)
        self.count = 0

    def __enter__(self) -> LateRows:
        self.file.open()
        return self

    def __exit__(self, *failure: object) -> None:
        self.file.close()
        if self.count:
            see = f", see {self._path}" if self._path else ""
            rows = "row" if self.count == 1 else "rows"
            print(f"millpond: {self.count} late {rows}{see}", file=sys.stderr)

    def add(self, event: Event) -> None:
        """One more, as the line of tagged input that says it."""
        self.count += 1
        stream = self._catalog.get(event.stream or "")
        if self._path is not None and stream is not None:
            time = self._times[0] if self._times else None
            self.file.write(tagged_line(stream, event.row, event.op, event.at, time))
