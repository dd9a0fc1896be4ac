"""Where lines of output and bad rows go."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import IO

from millpond.cli.options import Options, not_yet, unwritable
from millpond.report import Style, render_diagnostic
from millpond.run import Reject
from millpond.run.sources import local_path


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
            print(f"millpond: {self.count} bad rows skipped{see}", file=sys.stderr)

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


class Lines:
    """The output of a run: standard output, a file, or a folder."""

    def __init__(self, sink: str | None) -> None:
        self._sink = sink
        self._file: IO[str] = sys.stdout

    def __enter__(self) -> Lines:
        if self._sink not in (None, "-"):
            self._file = opened(_sink_file(self._sink or ""))
        return self

    def __exit__(self, *failure: object) -> None:
        if self._file is not sys.stdout:
            self._file.close()

    def write(self, lines: Iterable[str]) -> None:
        """Whole lines, on their way at once."""
        text = "\n".join(lines)
        if text:
            self._file.write(text + "\n")
            self._file.flush()


def _sink_file(uri: str) -> Path:
    path = local_path(uri)
    if path.suffix in (".json", ".jsonl", ".ndjson") and not path.is_dir():
        return path
    if path.suffix in (".parquet", ".csv"):
        raise not_yet(f"a sink of kind {path.suffix[1:]}", "--sink out.jsonl, or a folder")
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(path, error) from None
    return path / "part-00000000.jsonl"


def opened(path: Path) -> IO[str]:
    """A file to write to."""
    try:
        return path.open("w", encoding="utf-8", newline="\n")
    except OSError as error:
        raise unwritable(path, error) from None
