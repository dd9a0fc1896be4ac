"""Where lines of output and bad rows go."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO, Any

from millpond.cli.given import unwritable
from millpond.cli.options import Options
from millpond.diagnostic import MillpondError
from millpond.plan import Query
from millpond.report import Style, render_diagnostic
from millpond.run import Reject, Teller
from millpond.run.sinks import open_sink
from millpond.run.tail import Said, Tail


class SideFile:
    """A file of lines beside the output; with `committed` its length belongs to a checkpoint."""

    def __init__(self, path: str | None, *, committed: bool = False) -> None:
        self._path = None if path is None else Path(path)
        self._committed = committed
        self._file: IO[str] | None = None
        self._tail: Tail | None = None

    def open(self) -> None:
        """Opens it anew; one that is committed waits for `begin`."""
        if self._path is not None and not self._committed:
            self._file = opened(self._path)

    def begin(self, said: Said | None, *, fresh: bool) -> None:
        """Opens it behind what was committed."""
        if self._path is not None:
            self._tail = Tail(self._path)
            self._tail.begin(said, fresh=fresh)

    def prepare(self) -> Said | None:
        """What a commit has to say of it."""
        return None if self._tail is None else self._tail.prepare()

    def write(self, line: str) -> bool:
        """Takes a line; false if there is no such file."""
        if self._tail is not None:
            self._tail.write((line + "\n").encode("utf-8", "backslashreplace"))
        elif self._file is not None:
            self._file.write(line + "\n")
        return self._path is not None

    def close(self) -> None:
        for each in (self._file, self._tail):
            if each is not None:
                each.close()


class Rejects:
    """Bad rows of a run with `--on-error skip`: counted, and written where `--rejects` says."""

    def __init__(self, options: Options, *, committed: bool = False) -> None:
        self._path = options.rejects
        self.file = SideFile(options.rejects, committed=committed)
        self.count = 0

    def __enter__(self) -> Rejects:
        self.file.open()
        return self

    def __exit__(self, *failure: object) -> None:
        self.file.close()
        if self.count:
            see = f", see {self._path}" if self._path else ""
            rows = "1 bad row" if self.count == 1 else f"{self.count} bad rows"
            print(f"millpond: {rows} skipped{see}", file=sys.stderr)

    def add(self, reject: Reject) -> None:
        self.count += 1
        said = {
            "line": reject.line,
            "code": reject.diagnostic.code,
            "error": reject.diagnostic.message,
            "text": reject.text,
        }
        if not self.file.write(json.dumps(said, ensure_ascii=False)) and self.count == 1:
            print(render_diagnostic(reject.diagnostic, Style.of(sys.stderr)), file=sys.stderr)


class Output:
    """The output of a run, whole or not at all where it is a file.

    After Ctrl-C a file is whole up to the last whole instant; after an error there is none.
    Output that is committed (`run/committed.py`) has no end: it stands as far as it goes.
    """

    def __init__(self, uri: str | None, queries: Sequence[Query], emit: str) -> None:
        self._asked = uri, queries, emit

    def __enter__(self) -> Output:
        self._sink = open_sink(*self._asked)
        return self

    def __exit__(self, kind: type[BaseException] | None, *failure: object) -> None:
        if kind is not None and not issubclass(kind, KeyboardInterrupt):
            self._sink.abandon()
            return
        try:
            self._sink.close()
        except MillpondError:
            self._sink.abandon()
            raise

    def teller(self, query: Query, several: bool) -> Teller[Any]:
        """What says a query's output in the terms of where it goes."""
        return self._sink.teller(query, several)

    def write(self, said: Iterable[Any]) -> None:
        """Takes what the tellers have said, in order."""
        self._sink.write(said)


def opened(path: Path) -> IO[str]:
    """A file to write to."""
    try:
        return path.open("w", encoding="utf-8", newline="\n")
    except OSError as error:
        raise unwritable(path, error) from None
