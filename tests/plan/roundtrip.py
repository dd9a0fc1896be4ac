"""Printing is the inverse of reading: a script comes back from its own text as the same script."""

from __future__ import annotations

from millpond.diagnostic import Source, Span
from millpond.language import read_script
from millpond.plan import Node, Query, Script, scans, script_sql
from millpond.schema import Catalog


def script_of(plan: Node) -> Script:
    """A file with the plan as its one query, and what that reads."""
    source = Source("plan", "")
    catalog = Catalog()
    for each in {scan.stream.name: scan.stream for scan in scans(plan)}.values():
        catalog.add(each)
    return Script(source, catalog, (Query("q1", plan, Span(source, 0, 0)),))


def assert_comes_back(script: Script) -> None:
    """Names, declarations and plans survive being printed and read; spans are not compared."""
    text = script_sql(script)
    again = read_script(text, "printed")
    assert list(again.catalog) == list(script.catalog), text
    assert again.catalog.aggregates == script.catalog.aggregates, text
    assert [each.name for each in again.queries] == [each.name for each in script.queries], text
    for one, other in zip(script.queries, again.queries, strict=True):
        assert other.root == one.root, f"{one.name} of\n{text}"
        assert other.fields == one.fields, f"{one.name} of\n{text}"
    assert script_sql(again) == text


def assert_round_trip(text: str) -> None:
    """What a text of declarations and queries means comes back from what it is printed as."""
    assert_comes_back(read_script(text))
