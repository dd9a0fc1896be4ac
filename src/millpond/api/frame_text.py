"""The plan of a DataFrame as a text of ours, and back to the user's own places and calls.

A repair edits text, and is checked by reading that again.  So a plan is printed, and read, before
it is checked: every part then stands at a place, and what it was read from has the place that the
user knows.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from millpond.diagnostic import Source, Span, UserError
from millpond.language import read_script
from millpond.memory import MemoryClass, Verdict
from millpond.plan import (
    Distinct,
    Expression,
    Filter,
    Node,
    Query,
    Script,
    columns_of,
    nodes,
    script_sql,
)
from millpond.plan.rewrite import with_columns
from millpond.plan.sql_engine import SparkExpressions
from millpond.schema import Catalog, Stream
from millpond.spark.catalyst_expression import OutsideError
from millpond.spark.catalyst_plan import Translation

PARSED = "parsed"
"""What a DataFrame is called in which the fields of a text are columns."""


@dataclass(frozen=True)
class Repair:
    """An edit that bounds a query, checked again after the edit."""

    text: str
    code: str | None
    """The edit as a call on a DataFrame, where it is one."""
    sql: str | None
    """The whole query as SQL, edited."""
    memory: MemoryClass
    units: int | None
    keeps_answers: str


def script_of(translation: Translation, name: str) -> Script:
    """The plan as a file of one query, in our own language; raises `OutsideError`."""
    catalog = Catalog()
    for each in translation.streams:
        catalog.add(each)
    nowhere = Source(f"{name} as SQL", "")
    query = Query(name, translation.root, Span(nowhere, 0, 0))
    try:
        return read_script(script_sql(Script(nowhere, catalog, (query,))), nowhere.name)
    except UserError as error:
        said = error.diagnostics[0].message
        raise OutsideError(f"the plan has no text here: {said}") from error


def placed(verdict: Verdict, query: Query, root: Node) -> Verdict:
    """The verdict with its places in the user's text in the stead of those in ours.

    The plan that was read back has the parts of the one that was printed, each at its place.
    """
    places = dict(_places(query.root, root)) if query.root == root else {}
    because = tuple(
        replace(each, span=places.get((each.span.start, each.span.end)) if each.span else None)
        for each in verdict.because
    )
    return replace(verdict, because=because)


def _places(read: Any, meant: Any) -> Iterator[tuple[tuple[int, int], Span]]:
    """Where each part of a plan stands in our text, and where in the user's."""
    if isinstance(read, tuple):
        for one, other in zip(read, meant, strict=True):
            yield from _places(one, other)
        return
    if not is_dataclass(read) or isinstance(read, Span | Stream):
        return
    here, there = getattr(read, "span", None), getattr(meant, "span", None)
    if here is not None and there is not None:
        yield (here.start, here.end), there
    for each in fields(read):
        if each.name != "span":
            yield from _places(getattr(read, each.name), getattr(meant, each.name))


# Repairs ----------------------------------------------------------------------------------------


def repairs_of(script: Script, verdict: Verdict, columns: Container[str]) -> Iterator[Repair]:
    """The repairs, those that are calls on DataFrames first; a DataFrame declares nothing.

    `columns` are those that sources have of themselves, before any text is parsed.
    """
    found = [
        Repair(
            each.text,
            _code(script, verdict.name, each.sql, columns),
            each.sql.partition(" AS\n")[2] or each.sql,
            each.memory,
            each.units,
            each.keeps_answers,
        )
        for each in verdict.fixes
        if "CHECK (" not in each.text
    ]
    yield from sorted(found, key=lambda each: each.code is None)


def _code(script: Script, name: str, sql: str, columns: Container[str]) -> str | None:
    """What an edit of the text is as calls on DataFrames; None if it is something else."""
    (query,) = script.queries
    text = script.source.text
    try:
        (edited,) = read_script(text[: query.span.start] + sql + text[query.span.end :]).queries
    except UserError:
        return None
    if _shape(edited.root) != _shape(query.root):
        return None
    there = list(_predicates(query.root))
    added: dict[str, list[str]] = {}
    for each in _predicates(edited.root):
        if each in there:
            continue
        aliases = {column.alias for column in columns_of(each)}
        alias = next(iter(aliases)) if len(aliases) == 1 else None
        if alias is None or alias not in {scan.alias for scan in query.scans}:
            return None
        bare = with_columns(each, lambda column: replace(column, alias=None))
        plain = all(column.name in columns for column in columns_of(each))
        said = SparkExpressions().conjunction([bare])
        added.setdefault(alias if plain else PARSED, []).append(said)
    calls = [f"{alias}.where({_quoted(' AND '.join(said))})" for alias, said in added.items()]
    if isinstance(edited.root, Distinct) and not isinstance(query.root, Distinct):
        calls.append(f"{name}.distinct()")
    return "; ".join(calls) or None


def _shape(root: Node) -> list[object]:
    """A plan but for its filters and for whether it removes duplicates in the end."""
    below = root.input if isinstance(root, Distinct) else root
    kinds = [type(each) for each in nodes(below) if not isinstance(each, Filter)]
    return [*kinds, *(each.name for each in below.fields)]


def _predicates(root: Node) -> Iterator[Expression]:
    for each in nodes(root):
        if isinstance(each, Filter):
            yield from each.predicates


def _quoted(text: str) -> str:
    return repr(text) if '"' in text or "\\" in text else f'"{text}"'
