"""How statements of SQL are laid out, and how the names in them are made."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from millpond.plan.error import PlanError

_LONG = 88
"""Columns that take more room stand in lines of their own."""


@dataclass(frozen=True)
class Statement:
    """A statement without its `;`, and what it is for."""

    text: str
    comment: str = ""

    def __str__(self) -> str:
        said = "".join(f"-- {line}\n" for line in self.comment.splitlines())
        return f"{said}{self.text};"


@dataclass(frozen=True)
class Measure:
    """A column that rows of one bucket are merged in: by SUM, MIN or MAX."""

    name: str
    merge: str
    type: str


class Names:
    """Names that differ, in whatever case they are read: plain words, numbered where taken."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = {each.lower() for each in taken}

    def new(self, wanted: str) -> str:
        word = re.sub(r"\W+", "_", wanted).strip("_").lower() if _odd(wanted) else wanted
        word = word if word and not word[0].isdigit() else f"c_{word}".rstrip("_")
        found, count = word, 1
        while found.lower() in self._taken:
            count += 1
            found = f"{word}_{count}"
        self._taken.add(found.lower())
        return found


def _odd(text: str) -> bool:
    return re.fullmatch(r"\w+", text) is None


def in_one_line(text: str) -> str:
    """A name or a constant that is laid out as it is: its own lines would be indented, too."""
    if len(text.splitlines()) > 1 or "\n" in text:
        raise PlanError("a text or a name has several lines")
    return text


def indented(text: str, by: str = "  ") -> str:
    return "\n".join(f"{by}{line}" if line else line for line in text.splitlines())


def select(
    columns: Sequence[str],
    source: str,
    where: Sequence[str] = (),
    group: Sequence[str] = (),
    *,
    distinct: bool = False,
) -> str:
    """One SELECT, a clause a line."""
    listed = ", ".join(columns)
    if len(listed) > _LONG or "\n" in listed:
        listed = "\n  " + ",\n  ".join(columns)
    word = "SELECT DISTINCT" if distinct else "SELECT"
    lines = [f"{word} {listed}".replace("SELECT \n", "SELECT\n"), f"FROM {source}"]
    if where:
        lines.append("WHERE " + "\n  AND ".join(where))
    if group:
        lines.append(f"GROUP BY {', '.join(group)}")
    return "\n".join(lines)


def with_(steps: Sequence[tuple[str, str]], last: str) -> str:
    """A SELECT behind named steps."""
    if not steps:
        return last
    made = ",\n".join(f"{name} AS (\n{indented(text)}\n)" for name, text in steps)
    return f"WITH {made}\n{last}"


def union_all(parts: Sequence[str]) -> str:
    return "\nUNION ALL\n".join(parts)


def merged(keys: Sequence[str], measures: Sequence[Measure], source: str) -> str:
    """Rows of buckets, one for each: what they hold is merged."""
    if not measures:
        return select(keys, source, distinct=True)
    columns = [*keys, *(f"{each.merge}({each.name}) AS {each.name}" for each in measures)]
    text = select(columns, source, (), keys)
    # An aggregation of everything has a row even where there is nothing.
    return text if keys else f"{text}\nHAVING COUNT(*) > 0"


def view(name: str, text: str, comment: str = "") -> Statement:
    return Statement(f"CREATE OR REPLACE TEMPORARY VIEW {name} AS\n{text}", comment)


def table(name: str, text: str, comment: str = "") -> list[Statement]:
    """A table made anew."""
    return [
        Statement(f"DROP TABLE IF EXISTS {name}", comment),
        Statement(f"CREATE TABLE {name} AS\n{text}"),
    ]


def replaced(name: str, text: str, comment: str = "") -> list[Statement]:
    """A table whose contents become others, made of what it holds."""
    quote = name[-1] if name[-1] in '"`' else ""
    made = f"{name.removesuffix(quote)}_next{quote}"
    return [
        Statement(f"CREATE TABLE {made} AS\n{text}", comment),
        Statement(f"DROP TABLE {name}"),
        Statement(f"ALTER TABLE {made} RENAME TO {name}"),
    ]
