"""Where lines of output and bad rows go."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO, Any

from millpond.cli.options import Options, unwritable
from millpond.diagnostic import MillpondError
from millpond.plan import Query
from millpond.report import Style, render_diagnostic
from millpond.run import Reject, Teller
from millpond.run.sinks import open_sink


class Rejects:
    """Bad rows of a run with `--on-error skip`: counted, and written where `--rejects` says."""

    def __init__(self, options: Options) -> None:
        self._path = options.rejects
        self._file: IO[str] | None = None
        self.count = 0

    def __enter__(self) -> Rejects:
        if self._path is not None:
            self._file = opened(Path(self._path))
        return self

    def __exit__(self, *failure: object) -> None:
        if self._file is not None:
            self._file.close()
        if self.count:
            see = f", see {self._path}" if self._path else ""
            rows = "1 bad row" if self.count == 1 else f"{self.count} bad rows"
            print(f"millpond: {rows} skipped{see}", file=sys.stderr)

    def add(self, reject: Reject) -> None:
        self.count += 1
        if self._file is not None:
            said = {
                "line": reject.line,
                "code": reject.diagnostic.code,
                "error": reject.diagnostic.message,
                "text": reject.text,
            }
            self._file.write(json.dumps(said, ensure_ascii=False) + "\n")
        elif self.count == 1:
            print(render_diagnostic(reject.diagnostic, Style.of(sys.stderr)), file=sys.stderr)


class Output:
    """The output of a run, whole or not at all where it is a file.

    After Ctrl-C a file is whole up to the last whole instant; after an error there is none.
    """

    def __init__(self, uri: str | None, queries: Sequence[Query], emit: str) -> None:
        self._asked = uri, queries, emit
        self._several = len(queries) > 1

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

    def teller(self, query: Query) -> Teller[Any]:
        """What says a query's output in the terms of where it goes."""
        return self._sink.teller(query, self._several)

    def write(self, said: Iterable[Any]) -> None:
        """Takes what the tellers have said, in order."""
        self._sink.write(said)


def opened(path: Path) -> IO[str]:
    """A file to write to."""
    try:
        return path.open("w", encoding="utf-8", newline="\n")
    except OSError as error:
        raise unwritable(path, error) from None
