"""A file that only grows, and whose length belongs to a checkpoint.

Whoever goes on cuts off what stands behind the length that was committed, and writes it again.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

from millpond.diagnostic import Diagnostic, UserError
from millpond.run.draft import writing

_TAIL = 1024
"""Bytes by which a file is known again."""

Said = Mapping[str, Any]
"""What a commit says of a place for output."""


class Tail:
    """A file that only grows, and whose length is committed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: BinaryIO | None = None

    def begin(self, said: Said | None, *, fresh: bool, head: bytes = b"") -> None:
        """Opens it behind what was committed."""
        with writing(self.path):
            there = self.path.exists()
            self._file = file = self.path.open("r+b") if there else self.path.open("w+b")
            size = os.fstat(file.fileno()).st_size
            if said is None and fresh and size:
                raise others(self.path)
            length = 0 if said is None else self._checked(said, size)
            file.seek(length)
            file.truncate()
            if not length:
                file.write(head)

    def _checked(self, said: Said, size: int) -> int:
        """How long it is, if it begins as it was left."""
        same_place(said, str(self.path.absolute()))
        length = int(said["bytes"])
        if length > size or (length and self._seal(length) != said["tail"]):
            from millpond.program.codec import damaged  # it takes a while to load

            damaged(
                self.path,
                "is not the output that was committed",
                "put back the file as the run left it, or give an empty folder for --checkpoint",
            )
        return length

    def _seal(self, length: int) -> str:
        assert self._file is not None
        start = max(0, length - _TAIL)
        return hashlib.sha256(os.pread(self._file.fileno(), length - start, start)).hexdigest()

    def write(self, content: bytes) -> None:
        assert self._file is not None
        with writing(self.path):
            self._file.write(content)

    def prepare(self) -> Said:
        """What a commit has to say of it; all of it is on disk."""
        assert self._file is not None
        with writing(self.path):
            self._file.flush()
            os.fsync(self._file.fileno())
            _sync(self.path.absolute().parent)
        length = self._file.tell()
        place = str(self.path.absolute())
        return {"place": place, "bytes": length, "tail": self._seal(length)}

    def close(self) -> None:
        """Nothing more is written."""
        if self._file is not None:
            self._file.close()


def same_place(said: Said, place: str) -> None:
    """Refuses to go on at another place than the one that was committed."""
    if said["place"] != place:
        raise UserError(
            Diagnostic(
                "MP405",
                "the checkpoint does not fit: the output went to another place",
                notes=(f"it was {said['place']}, and is {place}",),
                helps=("give the same --sink again, or an empty folder for --checkpoint",),
            )
        )


def others(path: Path) -> UserError:
    """There is something at a place where this run has written nothing."""
    return UserError(
        Diagnostic(
            "MP403",
            f"{path.name} has the output of another run",
            file=str(path),
            helps=("give a new place, or the checkpoint of the run that wrote this one",),
        )
    )


def _sync(folder: Path) -> None:
    from millpond.program.commits import sync_folder  # it takes a while to load

    sync_folder(folder)
