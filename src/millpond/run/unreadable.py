"""Sources that cannot be read, or whose columns are not those of their stream."""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO

from millpond.diagnostic import Diagnostic, UserError
from millpond.schema import Stream


def opened(stream: Stream, file: Path) -> BinaryIO:
    """A file of a source, to read bytes from."""
    try:
        return file.open("rb", buffering=0)
    except OSError as error:
        raise unreadable(stream.name, str(file), error.strerror or error) from None


def unfit(file: Path, why: str, *helps: str, line: int | None = None) -> UserError:
    """A file that was read, and does not have the rows of its stream."""
    return UserError(Diagnostic("MP404", why, file=str(file), line=line, helps=helps))


def unreadable(name: str, uri: str, why: Any) -> UserError:
    """A source that cannot be read at all."""
    return UserError(
        Diagnostic(
            "MP404",
            f"cannot read the source of `{name}`: {why}",
            file=uri,
            helps=(f"--source {name}=PATH names a file or a folder of parquet, json or csv",),
        )
    )
