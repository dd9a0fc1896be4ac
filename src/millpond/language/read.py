"""A file of declarations and queries, read whole: all of its errors come in one go."""

from __future__ import annotations

import sys
from pathlib import Path

from millpond.diagnostic import Diagnostic, Source, UserError
from millpond.language.dialect import CQL
from millpond.language.script import ScriptReader
from millpond.plan import Script


def read_file(path: str, dialect: str = CQL, *, stored: bool = False) -> Script:
    """Reads a file; `-` is standard input."""
    name = "<stdin>" if path == "-" else path
    try:
        raw = _standard_input() if path == "-" else Path(path).read_bytes()
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(
            Diagnostic(
                "MP004",
                "the file is not UTF-8 text",
                file=name,
                line=raw[: error.start].count(b"\n") + 1,
                helps=("save it as UTF-8",),
            )
        ) from None
    except OSError as error:
        raise UserError(
            Diagnostic(
                "MP004",
                f"cannot read the file: {error.strerror or error}",
                file=name,
                helps=("give the path of a .sql file, or - for standard input",),
            )
        ) from None
    return read_script(text, name, dialect, stored=stored)


def _standard_input() -> bytes:
    if sys.stdin is None:  # closed before we began
        raise OSError("standard input is closed")
    return sys.stdin.buffer.read()


def read_script(
    text: str, name: str = "<text>", dialect: str = CQL, *, stored: bool = False
) -> Script:
    """Reads a text of declarations and queries; `dialect` is one of `dialect.DIALECTS`.  With
    `stored`, everything is a bag of rows without time, whatever it was declared as.

    >>> script = read_script("CREATE STREAM s (a INT); SELECT a FROM s WHERE a > 10")
    >>> script.queries[0].name, script.catalog.names
    ('q1', ('s',))
    """
    return ScriptReader(Source(name, text), dialect.lower(), stored=stored).read()
