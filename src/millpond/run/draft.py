"""A file that is there whole or not at all: written beside its place, and renamed at the end."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from millpond.diagnostic import Diagnostic, UserError


class Draft:
    """A file under way; what is no regular file, such as a pipe, is written to directly."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with writing(path):
            direct = path.exists() and not stat.S_ISREG(path.stat().st_mode)
            self._beside = None if direct else path.with_name(f".{path.name}.{os.getpid()}.draft")
            self.file = (self._beside or path).open("wb")

    def keep(self) -> None:
        """The file is whole."""
        with writing(self.path):
            self.file.flush()
            if self._beside is not None:
                os.fsync(self.file.fileno())
            self.file.close()
            if self._beside is not None:
                os.replace(self._beside, self.path)

    def drop(self) -> None:
        """The file will not become whole."""
        with suppress(OSError):
            self.file.close()
        if self._beside is not None:
            with suppress(OSError):
                self._beside.unlink()


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Says which file it was that could not be written."""
    try:
        yield
    except OSError as error:
        said = f"cannot write {path}: {error.strerror or error}"
        raise UserError(Diagnostic("MP406", said, file=str(path))) from None
