"""`millpond run` that commits behind every batch and says so on standard output, to be killed."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

from millpond.cli import main, run_committed
from millpond.program.commits import Commits
from millpond.run import intake

TURN = 5
"""Rows of one source before those of the next one."""

_write = Commits.write


def _told(self: Commits, number: int, fill: Callable[[Path], None]) -> None:
    print(f"begin {number}", flush=True)
    _write(self, number, fill)
    print(f"commit {number}", flush=True)


if __name__ == "__main__":
    run_committed._SECONDS = float(os.environ.get("SECONDS", "0"))
    run_committed._SHARE = 0
    intake._TURN = TURN
    os.fsync = lambda fd: None
    Commits.write = _told  # type: ignore[method-assign]
    main(sys.argv[1:])
