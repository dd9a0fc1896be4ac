"""Sources of one stream or table each: parquet, JSON lines and CSV, files and folders.

Whatever the format, a row is checked as tagged input is; what a format knows of its columns before
the first row (`csv_rows.py`, `parquet_rows.py`) is checked at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from urllib.parse import unquote, urlparse

from millpond.diagnostic import Diagnostic, NotBuiltError
from millpond.run.csv_rows import csv_rows
from millpond.run.event import Event, Reject
from millpond.run.ingest import TaggedReader
from millpond.run.parquet_rows import parquet_rows
from millpond.run.promises import Promises
from millpond.run.unreadable import opened, unreadable
from millpond.schema import Catalog, Stream

ENDINGS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".csv": "csv",
}
"""Formats by how a file's name ends."""


def local_path(uri: str) -> Path:
    """The path that a URI without a scheme, or with `file:`, means."""
    parsed = urlparse(uri)
    if parsed.scheme in ("", "file"):
        return Path(unquote(parsed.path)) if parsed.scheme else Path(uri)
    raise NotBuiltError(
        Diagnostic(
            "MP110",
            f"not built yet: `{parsed.scheme}:` as a source or a sink",
            helps=("a path or a file: URI of parquet, json or csv",),
        )
    )


def source_files(name: str, uri: str) -> tuple[str, list[Path]]:
    """The format of a source and its files, in order of name."""
    path = local_path(uri)
    if path.is_dir():
        files = sorted(
            each
            for each in path.rglob("*")
            if each.is_file()
            and each.suffix.lower() in ENDINGS
            and not any(part.startswith(("_", ".")) for part in each.relative_to(path).parts)
        )
    else:
        files = [path] if path.is_file() else []
    if not files:
        raise unreadable(name, uri, "there is no file of parquet, json or csv there")
    kinds = {ENDINGS.get(each.suffix.lower()) for each in files}
    kind = kinds.pop()
    if kinds or kind is None:
        raise unreadable(name, uri, "its files are not all parquet, all json or all csv")
    return kind, files


def rows_of_source(
    catalog: Catalog, stream: Stream, uri: str, size: int, promises: Promises | None = None
) -> Iterator[list[Event | Reject]]:
    """The rows of a source in pieces of `size`, checked like tagged input.

    No more than a piece is held at a time, however large a file is.  `promises` are those of the
    tagged input that follows, if any does: it may delete what a table holds from here.
    """
    kind, files = source_files(stream.name, uri)
    promises = promises or Promises(catalog, interleaved=False)
    for file in files:
        yield from rows_of_file(catalog, stream, kind, file, size, promises)


def rows_of_file(
    catalog: Catalog, stream: Stream, kind: str, file: Path, size: int, promises: Promises
) -> Iterator[list[Event | Reject]]:
    """The rows of one file of a source, likewise."""
    only = stream if kind == "json" else None
    reader = TaggedReader(catalog, str(file), only=only, promises=promises)
    rows = _READERS[kind](reader, stream, file)
    while piece := list(islice(rows, size)):
        yield piece


def _json_rows(reader: TaggedReader, stream: Stream, file: Path) -> Iterator[Event | Reject]:
    """One object a line."""
    with opened(stream, file) as lines:
        yield from chain.from_iterable(reader.chunks(lines))


_READERS = {"json": _json_rows, "csv": csv_rows, "parquet": parquet_rows}
