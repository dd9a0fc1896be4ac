"""Sources of one stream each: parquet, JSON lines and CSV, files and folders."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import polars as pl

from millpond.diagnostic import Diagnostic, UserError, did_you_mean
from millpond.run.ingest import Event, Reject, TaggedReader
from millpond.schema import Catalog, Stream

_ENDINGS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".csv": "csv",
}


def local_path(uri: str) -> Path:
    """The path that a URI without a scheme, or with `file:`, means."""
    parsed = urlparse(uri)
    if parsed.scheme in ("", "file"):
        return Path(unquote(parsed.path)) if parsed.scheme else Path(uri)
    raise UserError(
        Diagnostic(
            "MP404",
            f"sources of kind `{parsed.scheme}` are not built yet",
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
            if each.suffix in _ENDINGS and not each.name.startswith(("_", "."))
        )
    else:
        files = [path] if path.is_file() else []
    if not files:
        raise _unreadable(name, uri, "there is no file of parquet, json or csv there")
    kinds = {_ENDINGS.get(each.suffix) for each in files}
    kind = kinds.pop()
    if kinds or kind is None:
        raise _unreadable(name, uri, "its files are not all parquet, all json or all csv")
    return kind, files


def rows_of_source(
    catalog: Catalog, stream: Stream, uri: str, size: int
) -> Iterator[list[Event | Reject]]:
    """The rows of a source in pieces, checked like tagged input."""
    kind, files = source_files(stream.name, uri)
    reader = TaggedReader(catalog, uri)
    line = 0
    for file in files:
        frame = _scan(stream, kind, file, uri)
        for start in range(0, len(frame), size):
            piece = []
            for values in frame.slice(start, size).iter_rows(named=True):
                line += 1
                piece.append(reader.event(stream.name, values, line))
            yield piece


def _scan(stream: Stream, kind: str, file: Path, uri: str) -> pl.DataFrame:
    columns = list(stream.names)
    try:
        match kind:
            case "parquet":
                present = pl.read_parquet_schema(file)
                wanted = [each for each in columns if each in present]
                frame = pl.read_parquet(file, columns=wanted)
            case "csv":
                frame = pl.read_csv(file)
            case _:
                frame = pl.read_ndjson(file)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise _unreadable(stream.name, uri, str(error).splitlines()[0]) from None
    for each in columns:
        if each not in frame.columns:
            raise UserError(
                Diagnostic(
                    "MP404",
                    f"the source of `{stream.name}` has no column `{each}`",
                    file=str(file),
                    helps=did_you_mean(each, frame.columns),
                )
            )
    return frame.select(columns)


def _unreadable(name: str, uri: str, why: Any) -> UserError:
    return UserError(
        Diagnostic(
            "MP404",
            f"cannot read the source of `{name}`: {why}",
            file=uri,
            helps=(f"--source {name}=PATH names a file or a folder of parquet, json or csv",),
        )
    )
