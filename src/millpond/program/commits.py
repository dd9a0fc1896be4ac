"""A folder of commits: what makes a run go on where it was, whatever ended it.

A commit is written into a folder under another name, every file is synced, one rename gives it its
name, and the parent is synced: it is there wholly or not at all.  Only the newest is ever read.  A
checkpoint belongs to one run at a time, which holds its lock.

    manifest.json   whose it is
    commits/<n>/    what was held after the n-th commit
"""

from __future__ import annotations

import os
import shutil
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from millpond.diagnostic import Diagnostic, UserError
from millpond.program.codec import MANIFEST, damaged, read_manifest, write_manifest

KEPT = 3
"""Commits that stay: those before the newest are for whoever looks."""

_DIGITS = 12
_LOCK = ".lock"


class Commits:
    """The commits of one checkpoint folder; `early` names what may be there before the first."""

    def __init__(self, folder: Path, *early: str) -> None:
        self.folder = folder.absolute()
        self.commits = self.folder / "commits"
        self.owner: Mapping[str, Any] | None = None
        """What the manifest says; None where nothing was here before."""
        self._unlock: Callable[[], object] = _nothing
        try:
            # A crash may have left the draft of a manifest, and nothing yet that it speaks for.
            there = {f".{MANIFEST}", _LOCK, *early}
            fresh = all(each.name in there for each in self.folder.iterdir())
        except FileNotFoundError:
            fresh = True
        except OSError as error:
            damaged(self.folder, f"cannot be read ({error.strerror})")
        if not fresh:
            self.owner = read_manifest(self.folder / MANIFEST)

    def create(self, owner: Mapping[str, Any]) -> None:
        """Makes the checkpoint this run's own until `close`, and a fresh one somebody's."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            # A run that nobody ends gives the lock back when it is collected.
            self._unlock = weakref.finalize(self, os.close, _locked(self.folder / _LOCK))
            if self.owner is None:
                # Under another name first: a manifest cut short would make the folder nobody's.
                draft = self.folder / f".{MANIFEST}"
                write_manifest(draft, owner)
                os.replace(draft, self.folder / MANIFEST)
                sync_folder(self.folder)
            self.commits.mkdir(exist_ok=True)
            for left in self.commits.glob(".*"):
                shutil.rmtree(left)
        except OSError as error:
            raise _unwritable(self.folder, error) from None

    def close(self) -> None:
        """Lets others go on from here."""
        self._unlock()

    def newest(self) -> int | None:
        """The number of the newest commit."""
        return max(numbered(self.commits), default=None)

    def of(self, number: int) -> Path:
        """The folder of a commit."""
        return self.commits / f"{number:0{_DIGITS}d}"

    def write(self, number: int, fill: Callable[[Path], None]) -> None:
        """Commits what `fill` puts into a folder; it syncs the files, and folders below."""
        draft = self.commits / f".{number}"
        try:
            if draft.exists():  # Of a commit that failed in this run.
                shutil.rmtree(draft)
            draft.mkdir(parents=True)
            fill(draft)
            sync_folder(draft)
            os.rename(draft, self.of(number))
            sync_folder(self.commits)
        except OSError as error:
            raise _unwritable(self.folder, error) from None
        for old in numbered(self.commits):
            if old <= number - KEPT:
                # A folder that is half gone is never the newest.
                shutil.rmtree(self.of(old), ignore_errors=True)


def sync_folder(folder: Path) -> None:
    """Waits until the names in a folder are on disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def numbered(folder: Path) -> Sequence[int]:
    """The names in a folder that are numbers, in order."""
    try:
        return sorted(int(each) for each in os.listdir(folder) if each.isdecimal())
    except FileNotFoundError:
        return []


def _nothing() -> None:
    pass


def _unwritable(folder: Path, error: OSError) -> UserError:
    return UserError(
        Diagnostic(
            "MP405",
            f"the checkpoint cannot be written: {error.strerror}",
            file=str(folder),
            helps=("give a folder that can be written",),
        )
    )


def _locked(path: Path) -> int:
    """Holds a file until it is closed or this process ends, however that happens."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        damaged(
            path.parent, "is in use by another run", "wait for that run, or give another folder"
        )
    except (ImportError, OSError):
        pass  # Windows has no such locks, and neither have some file systems.
    return handle
