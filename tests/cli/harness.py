"""Runs the command line: in this process where that will do, else as a process of its own."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from millpond.cli.main import main

MILLPOND = (sys.executable, "-m", "millpond")
LONGEST = 60.0
"""Seconds after which a process that a test waits for has failed."""


@dataclass(frozen=True)
class Done:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[Any]:
        """Standard output as JSON lines."""
        return [json.loads(each) for each in self.out.splitlines()]

    @property
    def codes(self) -> list[str]:
        """The codes of the errors that were said, as text or as JSON, in order."""
        lines = self.err.splitlines()
        return [
            json.loads(each)["code"] if each.startswith("{") else each.removeprefix("error[")[:5]
            for each in lines
            if each.startswith(("error[", '{"code"'))
        ]


def millpond(*arguments: str | Path, stdin: bytes = b"") -> Done:
    """The command, in this process."""
    raw = io.BytesIO(), io.BytesIO()
    out, err = (io.TextIOWrapper(each, "utf-8", newline="", write_through=True) for each in raw)
    with ExitStack() as stack:
        stack.enter_context(patch.object(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(stdin))))
        stack.enter_context(patch.object(sys, "stdout", out))
        stack.enter_context(patch.object(sys, "stderr", err))
        try:
            main([str(each) for each in arguments])
        except SystemExit as leaving:
            code = leaving.code
    found = [each.getvalue().decode() for each in raw]
    assert isinstance(code, int)
    assert "Traceback" not in "".join(found)
    return Done(code, *found)


def process(*arguments: str | Path, stdin: bytes = b"", **more: Any) -> Done:
    """The command, as a process of its own."""
    done = subprocess.run(
        [*MILLPOND, *map(str, arguments)],
        input=stdin,
        capture_output=True,
        timeout=LONGEST,
        check=False,
        **more,
    )
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


def shell(command: str, folder: Path, longest: float = LONGEST) -> Done:
    """A line for a shell, as a user types it, with `millpond` on the PATH."""
    beside = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=folder,
        env={**os.environ, "PATH": beside, "PYTHONUNBUFFERED": ""},
        capture_output=True,
        timeout=longest,
        check=False,
    )
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


def jsonl(events: Iterable[Any]) -> bytes:
    """Events as tagged lines."""
    return b"".join(json.dumps(each).encode() + b"\n" for each in events)
