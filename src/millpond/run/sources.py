"""Sources of one stream each: parquet, JSON lines and CSV, files and folders."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, TextIO
from urllib.parse import unquote, urlparse

from millpond.diagnostic import Diagnostic, NotBuiltError, UserError, did_you_mean
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
            and each.suffix.lower() in _ENDINGS
            and not any(part.startswith(("_", ".")) for part in each.relative_to(path).parts)
        )
    else:
        files = [path] if path.is_file() else []
    if not files:
        raise _unreadable(name, uri, "there is no file of parquet, json or csv there")
    kinds = {_ENDINGS.get(each.suffix.lower()) for each in files}
    kind = kinds.pop()
    if kinds or kind is None:
        raise _unreadable(name, uri, "its files are not all parquet, all json or all csv")
    return kind, files


def rows_of_source(
    catalog: Catalog, stream: Stream, uri: str, size: int
) -> Iterator[list[Event | Reject]]:
    """The rows of a source in pieces of `size`, checked like tagged input.

    No more than a piece is held at a time, however large a file is.
    """
    kind, files = source_files(stream.name, uri)
    for file in files:
        rows = _READERS[kind](catalog, stream, file)
        while piece := list(islice(rows, size)):
            yield piece


def _json(catalog: Catalog, stream: Stream, file: Path) -> Iterator[Event | Reject]:
    """One object a line."""
    with _opened(stream, file) as opened:
        reader = TaggedReader(catalog, str(file), only=stream)
        yield from chain.from_iterable(reader.chunks(opened))


def _csv(catalog: Catalog, stream: Stream, file: Path) -> Iterator[Event | Reject]:
    """A header with the columns in any order; an empty field is NULL."""
    reader = TaggedReader(catalog, str(file))
    with (
        _opened(stream, file) as opened,
        io.TextIOWrapper(opened, encoding="utf-8-sig", errors="replace", newline="") as text,
    ):
        lines = _csv_lines(file, text)
        _, header = next(lines, (0, []))
        names = [each.strip() for each in header]
        if sorted(names) != sorted(stream.names):
            raise _unfit(
                file,
                f"the header has {_list(names)}, and stream `{stream.name}` has "
                f"{_list(stream.names)}",
            )
        for number, fields in lines:
            if fields:
                values = dict(zip(names, map(_field, fields), strict=False))
                if len(fields) > len(names):
                    values[f"field {len(names) + 1}"] = None
                yield reader.event(stream.name, values, number)


def _csv_lines(file: Path, text: TextIO) -> Iterator[tuple[int, list[str]]]:
    """The fields of each line, with its number."""
    lines = csv.reader(text)
    try:
        for fields in lines:
            yield lines.line_num, fields
    except csv.Error as error:
        raise _unfit(file, f"line {lines.line_num} is no csv: {error}") from None


def _field(text: str) -> int | str | None:
    text = text.strip()
    if not text:
        return None
    return int(text) if _INTEGER.fullmatch(text) else text


def _parquet(catalog: Catalog, stream: Stream, file: Path) -> Iterator[Event | Reject]:
    """The declared columns, which have to be of an integer type; others are left out."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    reader = TaggedReader(catalog, str(file))
    try:
        with pq.ParquetFile(file) as opened:
            for name, column in zip(stream.names, stream.columns, strict=True):
                place = opened.schema_arrow.get_field_index(name)
                if place < 0:
                    raise _unfit(
                        file,
                        f"the source of `{stream.name}` has no column `{name}`",
                        *did_you_mean(name, opened.schema_arrow.names),
                    )
                found = opened.schema_arrow.field(place).type
                if not pa.types.is_integer(found):
                    raise _unfit(
                        file, f"column `{name}` is {found} in the file, declared is {column.type}"
                    )
            row = 0
            for batch in opened.iter_batches(columns=list(stream.names)):
                for values in batch.to_pylist():
                    row += 1
                    yield reader.event(stream.name, values, row)
    except (OSError, pa.ArrowException) as error:
        raise _unreadable(stream.name, str(file), str(error).splitlines()[0]) from None


_READERS = {"json": _json, "csv": _csv, "parquet": _parquet}
_INTEGER = re.compile(r"[+-]?[0-9]{1,99}")


def _opened(stream: Stream, file: Path) -> BinaryIO:
    try:
        return file.open("rb", buffering=0)
    except OSError as error:
        raise _unreadable(stream.name, str(file), error.strerror or error) from None


def _list(names: Sequence[str]) -> str:
    return ", ".join(f"`{each}`" for each in names) or "no columns"


def _unfit(file: Path, why: str, *helps: str) -> UserError:
    return UserError(Diagnostic("MP404", why, file=str(file), helps=helps))


def _unreadable(name: str, uri: str, why: Any) -> UserError:
    return UserError(
        Diagnostic(
            "MP404",
            f"cannot read the source of `{name}`: {why}",
            file=uri,
            helps=(f"--source {name}=PATH names a file or a folder of parquet, json or csv",),
        )
    )
