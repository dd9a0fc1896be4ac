"""Verdicts under version control: `millpond check --lock FILE`.

A lock holds the class and the number of each query, under the path of its file as seen from the
lock's folder, so that it does not matter where a check is started.  A check that finds none worse
brings the file up to date, and leaves what it holds of other files that are still there; one that
finds a query worse leaves it as it is and fails, as a formatter does that is asked only to look.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from millpond.cli.given import unwritable
from millpond.diagnostic import Diagnostic, UserError
from millpond.memory import MemoryClass, Verdict

_WORSE = (
    MemoryClass.NONE,
    MemoryClass.CONSTANT,
    MemoryClass.IMPRACTICAL,
    MemoryClass.WINDOW,
    MemoryClass.DOMAIN,
    MemoryClass.OUTSIDE,
    MemoryClass.LINEAR,
)
"""From best to worst."""

Entry = Mapping[str, Any]


class Lock:
    """A lock file as it is, and what a check has found."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._held = _read(path)
        self._found: dict[str, Entry] = {}
        self._checked: set[str] = set()

    def add(self, file: str, verdict: Verdict) -> Diagnostic | None:
        """One more verdict; what is worse about it, if something is."""
        within = self._within(file)
        self._checked.add(within)
        name = f"{within}:{verdict.name}"
        entry = {"memory": verdict.memory.value, "units": verdict.units}
        self._found[name] = entry
        held = self._held.get(name)
        if held is None or not _worse(entry, held):
            return None
        return Diagnostic(
            "MP409",
            f"query {verdict.name} is {_said(entry)}, and was {_said(held)}",
            verdict.because[0].span,
            helps=(
                f"undo the edit, or accept it: take `{name}` out of {self._path}, and check again",
            ),
        )

    def write(self) -> None:
        """Brings the file up to date, all of it or nothing."""
        found = {name: each for name, each in self._held.items() if self._elsewhere(name)}
        found |= self._found
        if found == self._held:
            return
        text = json.dumps({"version": 1, "queries": found}, indent=2, ensure_ascii=False)
        beside = self._path.with_name(self._path.name + ".new")
        try:
            beside.write_text(text + "\n", encoding="utf-8")
            os.replace(beside, self._path)
        except OSError as error:
            raise unwritable(self._path, error) from None

    def _within(self, file: str) -> str:
        """A file as seen from the lock's folder; `-` is standard input everywhere."""
        if file == "-":
            return file
        try:
            return Path(os.path.relpath(file, self._path.parent)).as_posix()
        except ValueError:  # on another drive
            return Path(file).as_posix()

    def _elsewhere(self, name: str) -> bool:
        """Whether an entry is of a file that this check is not about."""
        file = name.rpartition(":")[0]
        there = file == "-" or (self._path.parent / file).is_file()
        return file not in self._checked and there


def _read(path: Path) -> dict[str, Entry]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        held = document["queries"]
        if document["version"] != 1 or not _well_formed(held.values()):
            raise ValueError
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no lock of verdicts"
        raise UserError(
            Diagnostic(
                "MP404",
                f"cannot read the lock: {why}",
                file=str(path),
                helps=("name a lock, or a file that is not there yet",),
            )
        ) from None
    return dict(held)


def _well_formed(entries: Iterable[Entry]) -> bool:
    return all(
        each["memory"] in list(MemoryClass) and isinstance(each["units"], int | None)
        for each in entries
    )


def _worse(entry: Entry, held: Entry) -> bool:
    now, before = (_WORSE.index(MemoryClass(each["memory"])) for each in (entry, held))
    if now != before:
        return now > before
    return None not in (entry["units"], held["units"]) and entry["units"] > held["units"]


def _said(entry: Entry) -> str:
    units = entry["units"]
    return f"{entry['memory']}" + (f" of {units} units" if units is not None else "")
