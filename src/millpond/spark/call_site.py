"""Where the user's text says a part of a Catalyst plan: a line of Python, or a piece of SQL.

Spark 4 notes of every Column operation the line that called it, and of SQL the characters.  A line
is shown where its file, or its notebook cell, can be read.
"""

from __future__ import annotations

import linecache
import os
import re
import sys
from typing import Any

from millpond.diagnostic import Source, Span

_FILE = re.compile(r"(.+):(\d+)")
_CELL = re.compile(r"line (\d+) in cell \[(\d+)\]")


def span_of(origin: Any) -> Span | None:
    """The place of a Java `Origin`; None where Spark does not know it."""
    context = origin.context()
    if context is None:
        return None
    if context.contextType().toString() == "DataFrame":
        return line_of(context.callSite())
    start, stop, text = origin.startIndex(), origin.stopIndex(), origin.sqlText()
    if not (start.isDefined() and stop.isDefined() and text.isDefined()):
        return None
    name = origin.objectName()
    source = Source(f"view {name.get()}" if name.isDefined() else "<sql>", text.get())
    return Span(source, start.get(), stop.get() + 1)


def line_of(call_site: str) -> Span | None:
    """The line that `file:12` or `line 3 in cell [5]` names.

    >>> line_of("nowhere.py:12")
    """
    first = call_site.partition("\n")[0]
    if (cell := _CELL.fullmatch(first)) is not None:
        return _line(_cell(int(cell[2])), int(cell[1]))
    if (file := _FILE.fullmatch(first)) is not None:
        return _line(_file(file[1]), int(file[2]))
    return None


def _line(source: Source | None, number: int) -> Span | None:
    """A line without the blanks around it."""
    if source is None:
        return None
    lines = source.text.splitlines(keepends=True)
    if number > len(lines):
        return None
    line = lines[number - 1]
    start = sum(map(len, lines[: number - 1])) + len(line) - len(line.lstrip())
    return Span(source, start, start + len(line.strip()))


def _file(name: str) -> Source | None:
    linecache.checkcache(name)
    text = "".join(linecache.getlines(name))
    if not text:
        return None
    here = os.path.relpath(name) if os.path.isabs(name) else name
    return Source(name if here.startswith("..") else here, text)


def _cell(number: int) -> Source | None:
    """The text of a notebook's cell, which IPython keeps in `In`."""
    cells = getattr(sys.modules.get("__main__"), "In", None)
    if not isinstance(cells, list) or number >= len(cells):
        return None
    return Source(f"cell [{number}]", str(cells[number]))
