"""The log of committed batches: what makes a run on Spark exactly once.

Layout of a checkpoint (`program/commits.py`):

    manifest.json          whose it is: the queries and the fingerprints of their programs
    commits/<batch>/       state after that batch, and the running counts
    rejects/batch=<batch>/ rows that were not what their stream was declared to hold
    spark/                 Spark's own: which input each batch has

Spark runs a batch again under the same number after a crash, so that one whose folder is there is
done.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

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
from millpond.program.commits import Commits, numbered, sync_folder
from millpond.spark.lines import Row

_ANSWER = "answer.jsonl"


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
        # Tagged input is spooled before the run begins.
        self._commits = Commits(folder, "spool")
        self.folder = self._commits.folder
        self.commits = self._commits.commits
        self.spark = self.folder / "spark"
        self.rejects = self.folder / "rejects"
        self.spool = self.folder / "spool"
        self._programs = dict(programs)
        self._owner = {"queries": {name: each.fingerprint for name, each in programs.items()}}
        owner = self._commits.owner
        self.fresh = owner is None
        """Whether nothing was here before."""
        if owner is not None and owner.get("by") == "local":
            damaged(
                self.folder / MANIFEST,
                "is of a run without Spark, which knows its input in another way",
                "--engine local goes on with it",
            )
        if owner is not None and owner.get("queries") != self._owner["queries"]:
            damaged(
                self.folder / MANIFEST,
                "is of another query or of other streams",
                "give an empty folder, or the one that this query wrote",
            )

    def create(self) -> None:
        """Makes the checkpoint this run's own until `close`, and a fresh one these queries'."""
        self._commits.create(self._owner)

    def close(self) -> None:
        """Lets others go on from here."""
        self._commits.close()

    # Reading -------------------------------------------------------------------------------------

    def restore(self, *, answers: bool) -> tuple[Position, dict[str, Held]]:
        """What the newest commit holds, or the empty state."""
        newest = self.newest()
        if newest is None:
            return Position(), {
                name: Held(each, each.empty(), Counter() if answers else None)
                for name, each in self._programs.items()
            }
        folder = self._commits.of(newest)
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
        return self._commits.newest()

    def check_spark(self) -> None:
        """Spark knows the input of each batch, we know its state: neither is good alone."""
        newest = self.newest()
        planned, done = numbered(self.spark / "offsets"), numbered(self.spark / "commits")
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
        self._commits.write(position.batch, lambda draft: self._fill(draft, position, held))

    def _fill(self, draft: Path, position: Position, held: Iterable[Held]) -> None:
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
