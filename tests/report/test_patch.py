"""An edit as a patch: applied to the user's lines, it gives the edited file."""

from __future__ import annotations

import pytest

from millpond.diagnostic import Source, Span
from millpond.report import Style
from millpond.report.patch import patch_lines

FILE = "CREATE STREAM s (a INT);\n\nCREATE QUERY q AS\n    SELECT a\n    FROM s;\n-- the end\n"
QUERY = "CREATE QUERY q AS\n    SELECT a\n    FROM s"


def span_of(file: str, text: str) -> Span:
    return Span(Source("q.sql", file), file.index(text), file.index(text) + len(text))


@pytest.mark.parametrize(
    "edited",
    [
        QUERY.replace("SELECT", "SELECT DISTINCT"),
        QUERY + "\n    WHERE a < 9",
        QUERY + " WHERE a < 9",
        QUERY.replace("\n    FROM", " FROM"),
        "SELECT 1 FROM s",
        QUERY,
    ],
)
def test_a_patch_applied_is_the_edit(edited: str) -> None:
    lines = FILE.splitlines()
    found = [each.lstrip().partition(" ") for each in patch_lines(span_of(FILE, QUERY), edited)]
    gone = {int(number): said[2:] for number, _, said in found if said[0] == "-"}
    come = {int(number): said[2:] for number, _, said in found if said[0] == "+"}
    assert all(lines[number - 1] == said for number, said in gone.items())
    wanted = FILE.replace(QUERY, edited).splitlines()
    assert all(wanted[number - 1] == said for number, said in come.items())
    kept = [each for number, each in enumerate(lines, 1) if number not in gone]
    assert kept == [each for number, each in enumerate(wanted, 1) if number not in come]


def test_only_the_lines_that_differ_are_shown() -> None:
    shown = list(patch_lines(span_of(FILE, QUERY), QUERY.replace("SELECT", "SELECT DISTINCT")))
    assert shown == ["4 -     SELECT a", "4 +     SELECT DISTINCT a"]


def test_of_a_shared_line_only_the_edited_part_is_shown() -> None:
    file = "CREATE STREAM s (a INT); SELECT a FROM s; SELECT 2 FROM s;"
    shown = list(patch_lines(span_of(file, "SELECT a FROM s"), "SELECT DISTINCT a FROM s"))
    assert shown == ["1 - SELECT a FROM s", "1 + SELECT DISTINCT a FROM s"]


def test_without_a_place_all_of_it_is_new() -> None:
    assert list(patch_lines(None, "SELECT a\nFROM s")) == ["1 + SELECT a", "2 + FROM s"]


def test_the_user_s_text_steers_no_terminal() -> None:
    file = "SELECT a FROM s -- \x1b[31m"
    shown = "\n".join(patch_lines(span_of(file, "SELECT a"), "SELECT b"))
    assert "\x1b" not in shown
    assert "\x1b[31;1m-" in "\n".join(
        patch_lines(span_of(file, "SELECT a"), "SELECT b", Style(colour=True))
    )
