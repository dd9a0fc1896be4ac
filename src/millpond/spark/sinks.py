"""Where the lines of a run go: a folder of JSON lines, or a stream of text."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO, Protocol
from urllib.parse import unquote, urlsplit

from millpond.diagnostic import Diagnostic, UserError
from millpond.program.commits import sync_folder


class Sink(Protocol):
    """Takes the output of batches, each before it is committed."""

    def begin(self, *, fresh: bool) -> None:
        """Before anything else; `fresh` if the checkpoint has seen no batch."""

    def put(self, name: str, pieces: Iterable[bytes]) -> None:
        """The output called `name`; again, and the same, if the batch has to be run again."""


class FolderSink:
    """Each batch's lines in a file of their own, `part-<batch>.jsonl`: exactly once.

    A file is there whole or not at all, and a batch that is run again replaces it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def begin(self, *, fresh: bool) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            others = fresh and any(self.folder.glob("*.jsonl"))
        except OSError as error:
            raise UserError(
                Diagnostic(
                    "MP403",
                    f"the sink cannot be written: {error.strerror}",
                    file=str(self.folder),
                    helps=("give a folder, which is made if it is not there",),
                )
            ) from None
        if others:
            raise UserError(
                Diagnostic(
                    "MP403",
                    "the sink has the output of another run",
                    file=str(self.folder),
                    helps=(
                        "give an empty folder, or the checkpoint of the run that wrote this one",
                    ),
                )
            )

    def put(self, name: str, pieces: Iterable[bytes]) -> None:
        path, draft = self.folder / f"{name}.jsonl", self.folder / f".{name}.draft"
        with draft.open("wb") as file:
            for piece in pieces:
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
            empty = file.tell() == 0
        if empty:  # Nothing was said, and nothing that an earlier attempt said may stay.
            draft.unlink()
            path.unlink(missing_ok=True)
        else:
            os.replace(draft, path)
        sync_folder(self.folder)


class StreamSink:
    """Lines on a stream such as standard output, flushed batch by batch.

    At least once: what was written before a crash cannot be taken back, and the batch that was not
    committed is said again.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def begin(self, *, fresh: bool) -> None:
        """Nothing to prepare."""

    def put(self, name: str, pieces: Iterable[bytes]) -> None:
        for piece in pieces:
            self._stream.write(piece)
        self._stream.flush()


def sink_of(uri: str, stdout: BinaryIO) -> Sink:
    """The sink that `--sink` names: a folder, or `-` for standard output."""
    if uri == "-":
        return StreamSink(stdout)
    return FolderSink(path_of(uri))


def path_of(uri: str) -> Path:
    """The local path of a path or a file:// URI."""
    said = urlsplit(uri)
    # A letter before a colon is a drive of Windows.
    if len(said.scheme) <= 1:
        return Path(uri)
    if said.scheme == "file" and said.netloc in ("", "localhost"):
        return Path(unquote(said.path))
    raise UserError(
        Diagnostic(
            "MP403",
            f"`{uri}` is of a kind that is not built yet",
            helps=("give a path or a file:// URI",),
        )
    )


def hadoop_path(path: Path) -> str:
    """A local path as Spark takes it: a URI in which nothing is escaped."""
    return f"file://{path.absolute()}"


def hadoop_glob(path: Path) -> str:
    """The same for a reader, to which some characters are patterns."""
    return "file://" + escaped(str(path.absolute()))


def escaped(name: str) -> str:
    """A name as a pattern that only it matches."""
    return "".join(f"\\{each}" if each in "*?[]{}\\" else each for each in name)


def copied(paths: Iterable[Path]) -> Iterable[bytes]:
    """The contents of files, one after the other, in pieces."""
    for path in paths:
        with path.open("rb") as file:
            while piece := file.read(1 << 20):
                yield piece
