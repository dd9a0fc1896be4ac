"""Where the output of a run goes: standard output, or files of JSON lines, parquet or CSV.

JSON lines are those of standard output, byte for byte; parquet and CSV are tables with typed
columns (`table_sinks.py`).  A file is there whole when the run has ended, or not at all; a folder
gets one file of JSON lines.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

from millpond.plan import Query
from millpond.run.draft import Draft, writing
from millpond.run.output import Printer, Teller
from millpond.run.sources import ENDINGS, local_path
from millpond.run.table_sinks import csv_sink, parquet_sink


class Sink(Protocol):
    """Takes what its tellers say, in order."""

    def teller(self, query: Query, several: bool) -> Teller[Any]:
        """What says a query's output in the terms of this sink."""
        ...

    def write(self, said: Iterable[Any]) -> None:
        """Takes what tellers have said."""
        ...

    def close(self) -> None:
        """All has been said."""
        ...

    def abandon(self) -> None:
        """The run has failed: no file is left that looks whole."""
        ...


def open_sink(uri: str | None, queries: Sequence[Query], emit: str = "changes") -> Sink:
    """The sink of a URI, for the output of some queries; without one, standard output."""
    if uri in (None, "-"):
        return StandardOutput()
    path = local_path(uri or "")
    if path.is_dir() or path.suffix.lower() not in ENDINGS:
        with writing(path):
            path.mkdir(parents=True, exist_ok=True)
        return LineSink(path / "part-00000000.jsonl")
    match ENDINGS[path.suffix.lower()]:
        case "parquet":
            return parquet_sink(path, queries, emit)
        case "csv":
            return csv_sink(path, queries, emit)
    return LineSink(path)


class StandardOutput:
    """JSON lines on standard output, on their way at once."""

    def teller(self, query: Query, several: bool) -> Printer:
        return Printer(query, several)

    def write(self, said: Iterable[str]) -> None:
        text = "\n".join(said)
        if text:
            sys.stdout.write(text + "\n")
            sys.stdout.flush()

    def close(self) -> None:
        """Standard output stays open."""

    def abandon(self) -> None:
        """What was printed was true."""


class LineSink:
    """JSON lines in a file."""

    def __init__(self, path: Path) -> None:
        self._draft = Draft(path)

    def teller(self, query: Query, several: bool) -> Printer:
        return Printer(query, several)

    def write(self, said: Iterable[str]) -> None:
        text = "".join(f"{line}\n" for line in said)
        with writing(self._draft.path):
            self._draft.file.write(text.encode())

    def close(self) -> None:
        self._draft.keep()

    def abandon(self) -> None:
        self._draft.drop()
