"""The log of committed batches: what makes a run on Spark exactly once.

Layout of a checkpoint:

    manifest.json          whose it is: the queries and the fingerprints of their programs
    commits/<batch>/       state after that batch, and the running counts
    rejects/batch=<batch>/ rows that were not what their stream was declared to hold
    spark/                 Spark's own: which input each batch has

A batch is written into a folder under another name, every file is synced, one rename gives it its
name, and the parent is synced: the batch is committed wholly or not at all.  Spark runs a batch
again under the same number after a crash, so that one whose folder is there is done.
"""

from __future__ import annotations

import json
import os
import shutil
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from millpond.diagnostic import Diagnostic, UserError
from millpond.program import Program, State
from millpond.program.codec import (
    MANIFEST,
    damaged,
    read_file,
    read_manifest,
    read_state,
    write_file,
    write_manifest,
    write_state,
)
from millpond.spark.lines import Row

KEPT = 3
"""Commits that stay: only the newest is ever read; those before it are for whoever looks."""

_DIGITS = 12
_ANSWER = "answer.jsonl"
_LOCK = ".lock"


@dataclass
class Held:
    """What a query holds between batches: its state and, if somebody asks, its answer."""

    program: Program
    state: State
    answer: Counter[Row] | None = None


@dataclass
class Position:
    """How far a run is."""

    batch: int = -1
    at: int = 0
    """Instants up to the end of the batch: accepted rows and ticks."""
    rows: dict[str, int] = field(default_factory=dict)
    rejected: int = 0


class CommitLog:
    """The commits of one checkpoint folder."""

    def __init__(self, folder: Path, programs: Mapping[str, Program]) -> None:
        self.folder = folder.absolute()
        self.commits = self.folder / "commits"
        self.spark = self.folder / "spark"
        self.rejects = self.folder / "rejects"
        self.spool = self.folder / "spool"
        self._programs = dict(programs)
        self.fresh = self._open()
        """Whether nothing was here before."""
        self._unlock: Callable[[], object] = _nothing

    def _open(self) -> bool:
        queries = {name: each.fingerprint for name, each in self._programs.items()}
        path = self.folder / MANIFEST
        try:
            # A crash may have left the draft of a manifest, and nothing yet that it speaks for;
            # tagged input is spooled before the run begins.
            early = (f".{MANIFEST}", _LOCK, self.spool.name)
            fresh = all(each.name in early for each in self.folder.iterdir())
        except FileNotFoundError:
            fresh = True
        except OSError as error:
            damaged(self.folder, f"cannot be read ({error.strerror})")
        if not fresh:
            if read_manifest(path).get("queries") != queries:
                damaged(
                    path,
                    "is of another query or of other streams",
                    "give an empty folder, or the one that this query wrote",
                )
            self.commits.mkdir(exist_ok=True)
            for left in self.commits.glob(".*"):
                shutil.rmtree(left)
            return False
        return True

    def create(self) -> None:
        """Makes the checkpoint this run's own until `close`, and a fresh one these queries'."""
        queries = {name: each.fingerprint for name, each in self._programs.items()}
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            # A run that nobody ends gives the lock back when it is collected.
            self._unlock = weakref.finalize(self, os.close, _locked(self.folder / _LOCK))
            if not self.fresh:
                return
            # Under another name first: a manifest cut short would make the folder nobody's.
            draft = self.folder / f".{MANIFEST}"
            write_manifest(draft, {"queries": queries})
            os.replace(draft, self.folder / MANIFEST)
            sync_folder(self.folder)
            self.commits.mkdir(exist_ok=True)
        except OSError as error:
            raise UserError(
                Diagnostic(
                    "MP405",
                    f"the checkpoint cannot be written: {error.strerror}",
                    file=str(self.folder),
                    helps=("give a folder that can be written",),
                )
            ) from None

    def close(self) -> None:
        """Lets others go on from here."""
        self._unlock()

    # Reading -------------------------------------------------------------------------------------

    def restore(self, *, answers: bool) -> tuple[Position, dict[str, Held]]:
        """What the newest commit holds, or the empty state."""
        newest = self.newest()
        if newest is None:
            return Position(), {
                name: Held(each, each.empty(), Counter() if answers else None)
                for name, each in self._programs.items()
            }
        folder = self._of(newest)
        said = read_manifest(folder / MANIFEST)
        if said.get("batch") != newest:
            damaged(folder / MANIFEST, "is of another batch")
        position = Position(newest, said["at"], dict(said["rows"]), said["rejected"])
        held = {}
        for place, (name, program) in enumerate(self._programs.items()):
            state = read_state(program, folder / f"query-{place}")
            answer = self._read_answer(folder / f"query-{place}", said) if answers else None
            held[name] = Held(program, state, answer)
        return position, held

    def newest(self) -> int | None:
        """The number of the newest batch that is committed."""
        if not self.commits.is_dir():
            return None
        return max((int(each.name) for each in self.commits.glob("[0-9]*")), default=None)

    def check_spark(self) -> None:
        """Spark knows the input of each batch, we know its state: neither is good alone."""
        newest = self.newest()
        planned, done = _numbers(self.spark / "offsets"), _numbers(self.spark / "commits")
        if newest is not None and (not planned or max(planned) < newest):
            damaged(self.spark, f"knows nothing of batch {newest}, which is committed")
        if done and (newest is None or newest < max(done)):
            damaged(self.commits, f"lacks batch {max(done)}, which Spark has done")

    def _read_answer(self, folder: Path, said: Mapping[str, Any]) -> Counter[Row]:
        path = folder / _ANSWER
        if not said.get("answers"):
            damaged(
                path,
                "was not kept: this checkpoint was written with --emit changes",
                "go on with --emit changes, or give an empty folder",
            )
        answer: Counter[Row] = Counter()
        for line in read_file(path, said["answers"][folder.name]).splitlines():
            *row, n = json.loads(line)
            answer[tuple(row)] = n
        return answer

    # Writing -------------------------------------------------------------------------------------

    def write(self, position: Position, held: Iterable[Held]) -> None:
        """Commits a batch."""
        draft = self.commits / f".{position.batch}"
        if draft.exists():  # Of a batch that failed in this run.
            shutil.rmtree(draft)
        draft.mkdir(parents=True)
        answers = {}
        for place, each in enumerate(held):
            folder = draft / f"query-{place}"
            write_state(each.state, folder)
            if each.answer is not None:
                lines = [json.dumps([*row, n]) for row, n in each.answer.items()]
                content = "".join(f"{line}\n" for line in lines).encode()
                answers[folder.name] = write_file(folder / _ANSWER, content)
            sync_folder(folder)
        write_manifest(
            draft / MANIFEST,
            {
                "batch": position.batch,
                "at": position.at,
                "rows": position.rows,
                "rejected": position.rejected,
                "answers": answers,
            },
        )
        sync_folder(draft)
        os.rename(draft, self._of(position.batch))
        sync_folder(self.commits)
        self._prune(position.batch)

    def _prune(self, newest: int) -> None:
        for old in _numbers(self.commits):
            if old <= newest - KEPT:
                # A folder that is half gone is never the newest.
                shutil.rmtree(self._of(old), ignore_errors=True)

    def _of(self, batch: int) -> Path:
        return self.commits / f"{batch:0{_DIGITS}d}"


def _nothing() -> None:
    pass


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


def sync_folder(folder: Path) -> None:
    """Waits until the names in a folder are on disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _numbers(folder: Path) -> Sequence[int]:
    try:
        return sorted(int(each) for each in os.listdir(folder) if each.isdecimal())
    except FileNotFoundError:
        return []
