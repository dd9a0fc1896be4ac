"""Output that belongs to a checkpoint: what is said counts once it is committed.

A file only ever grows, and its length is committed; whoever goes on cuts off what stands behind
that, and says it again.  A folder gets a part for each commit, which is given its name behind the
commit that speaks for it.  Standard output cannot be taken back: what was said since the last
commit comes again.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import BinaryIO, Protocol

from millpond.diagnostic import Diagnostic, UserError
from millpond.plan import Query
from millpond.program.commits import sync_folder
from millpond.run.draft import writing
from millpond.run.output import Printer, Teller
from millpond.run.sources import ENDINGS, local_path
from millpond.run.table_sinks import CsvLines, csv_lines
from millpond.run.tail import Said, Tail, others, same_place


class Committed(Protocol):
    """Takes lines, and has them counted by commits."""

    def teller(self, query: Query, several: bool) -> Teller[str]:
        """What says a query's output in the terms of this sink."""
        ...

    def begin(self, said: Said | None, *, fresh: bool) -> None:
        """Before the first line: `said` is what the newest commit says, `fresh` whether nobody has
        written under this checkpoint before."""
        ...

    def write(self, lines: Iterable[str]) -> None:
        """Takes lines, in order."""
        ...

    def prepare(self, number: int) -> Said:
        """What commit `number` has to say of the lines so far, all of which are on disk."""
        ...

    def publish(self) -> None:
        """The commit is made."""
        ...

    def close(self) -> None:
        """Nothing more is written."""
        ...


def committed_sink(uri: str | None, queries: Sequence[Query], emit: str) -> Committed:
    """The sink of a URI, for a run with a checkpoint; without one, standard output."""
    if uri in (None, "-"):
        return CommittedLines(emit)
    path = local_path(uri or "")
    if path.is_dir() or path.suffix.lower() not in ENDINGS:
        return Parts(path, emit)
    match ENDINGS[path.suffix.lower()]:
        case "parquet":
            raise UserError(
                Diagnostic(
                    "MP403",
                    "a parquet file is written in one go, and with --checkpoint output is not",
                    file=str(path),
                    helps=("--sink out.jsonl, --sink out.csv, or a folder",),
                )
            )
        case "csv":
            return Grown(path, emit, csv_lines(path, queries, emit))
    return Grown(path, emit, None)


class CommittedLines:
    """Lines on standard output: at least once."""

    def __init__(self, emit: str) -> None:
        self._emit = emit

    def teller(self, query: Query, several: bool) -> Teller[str]:
        return Printer(query, several)

    def begin(self, said: Said | None, *, fresh: bool) -> None:
        if said is not None:
            same_place(said, "standard output")

    def write(self, lines: Iterable[str]) -> None:
        text = "\n".join(lines)
        if text:
            sys.stdout.write(text + "\n")
            sys.stdout.flush()

    def prepare(self, number: int) -> Said:
        return {"place": "standard output"}

    def publish(self) -> None:
        """It has been said."""

    def close(self) -> None:
        """Standard output stays open."""


class Grown:
    """JSON lines, or lines of CSV, in a file."""

    def __init__(self, path: Path, emit: str, csv: CsvLines | None) -> None:
        self._tail = Tail(path)
        self._emit = emit
        self._csv = csv

    def teller(self, query: Query, several: bool) -> Teller[str]:
        if self._csv is None:
            return Printer(query, several)
        return self._csv.teller(query)

    def begin(self, said: Said | None, *, fresh: bool) -> None:
        head = b"" if self._csv is None else self._csv.head.encode()
        self._tail.begin(said, fresh=fresh, head=head)

    def write(self, lines: Iterable[str]) -> None:
        self._tail.write("".join(f"{line}\n" for line in lines if line).encode())

    def prepare(self, number: int) -> Said:
        said = self._tail.prepare()
        # The last answer is said at the end, and said again if more input comes behind it.
        return {**said, "bytes": 0} if self._emit == "final" else said

    def publish(self) -> None:
        """It stands where it is."""

    def close(self) -> None:
        self._tail.close()


class Parts:
    """A folder with the lines of each commit in a file, `part-<commit>.jsonl`: exactly once."""

    def __init__(self, folder: Path, emit: str) -> None:
        self._folder = folder
        self._emit = emit
        self._draft = folder / ".part.draft"
        self._part: Path | None = None
        self._file: BinaryIO | None = None

    def teller(self, query: Query, several: bool) -> Teller[str]:
        return Printer(query, several)

    def begin(self, said: Said | None, *, fresh: bool) -> None:
        with writing(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
            parts = list(self._folder.glob("part-*.jsonl"))
            if said is None and fresh and parts:
                raise others(self._folder)
            if said is not None:
                same_place(said, str(self._folder.absolute()))
                self._finish(said)
            if self._emit == "final":
                for part in parts:
                    part.unlink()
            for left in self._folder.glob(".part-*.jsonl"):  # of a commit that was not made
                left.unlink()
            self._file = self._draft.open("wb")

    def _finish(self, said: Said) -> None:
        """Gives the part of the newest commit its name, if that was left to do."""
        if said["part"] is None:
            return
        prepared = self._folder / f".{said['part']}"
        if prepared.exists():
            os.replace(prepared, self._folder / said["part"])
            sync_folder(self._folder)

    def write(self, lines: Iterable[str]) -> None:
        assert self._file is not None
        with writing(self._folder):
            self._file.write("".join(f"{line}\n" for line in lines).encode())

    def prepare(self, number: int) -> Said:
        assert self._file is not None
        place = str(self._folder.absolute())
        with writing(self._folder):
            self._file.flush()
            os.fsync(self._file.fileno())
            empty = self._file.tell() == 0
            self._file.close()
            name = None if empty else f"part-{number:08d}.jsonl"
            self._part = None if name is None else self._folder / name
            if name is not None:
                os.replace(self._draft, self._folder / f".{name}")
                sync_folder(self._folder)
            self._file = self._draft.open("wb")
        return {"place": place, "part": name}

    def publish(self) -> None:
        if self._part is not None:
            with writing(self._folder):
                os.replace(self._part.with_name(f".{self._part.name}"), self._part)
                sync_folder(self._folder)
            self._part = None

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._draft.unlink(missing_ok=True)
