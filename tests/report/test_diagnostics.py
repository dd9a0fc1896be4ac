"""How a diagnostic looks: message, place, the line with a caret under the span, hints."""

from __future__ import annotations

import json
import textwrap

import pytest
from tests.language.marked import spans, unmarked

from millpond.diagnostic import CODES, Diagnostic, Severity, Source, Span
from millpond.report import Style, diagnostic_dict, render_diagnostic, render_page

ESCAPE = "\x1b"


def diagnostic(
    text: str, *, notes: tuple[str, ...] = (), helps: tuple[str, ...] = ()
) -> Diagnostic:
    """A diagnostic at the marked span of a text."""
    ((start, end),) = spans(text)
    span = Span(Source("f.sql", unmarked(text)), start, end)
    return Diagnostic("MP102", "what is wrong", span, notes, helps)


def excerpt(text: str) -> list[str]:
    """The lines of text and caret."""
    return render_diagnostic(diagnostic(text)).splitlines()[3:5]


def test_a_diagnostic_is_a_message_a_place_a_caret_notes_and_hints() -> None:
    shown = render_diagnostic(
        diagnostic("one\nSELECT «abc» FROM s\n", notes=("because",), helps=("do this", "or that"))
    )
    assert shown == textwrap.dedent(
        """\
        error[MP102]: what is wrong
          --> f.sql:2:8
           |
         2 | SELECT abc FROM s
           |        ^^^
          = because
          help: do this
          help: or that"""
    )


def test_the_margin_is_as_wide_as_the_number_of_the_line() -> None:
    assert excerpt("\n" * 123 + "a «b»") == [" 124 | a b", "     |   ^"]


@pytest.mark.parametrize(
    ("text", "line", "caret"),
    [
        ("«abc» d", "abc d", "^^^"),
        ("a «b»", "a b", "  ^"),
        ("a «»b", "a b", "  ^"),
        ("ab«»", "ab", "  ^"),
        ("\t\ta «b» c", "  a b c", "    ^"),
        ("a\t«b\tc»", "a b c", "  ^^^"),
        ("a «b\nsecond\nthird» d", "a b", "  ^"),
        ("a «b c\r\nsecond» d", "a b c", "  ^^^"),
        ("é «ü» x", "é ü x", "  ^"),
        ("日本 «x»", "日本 x", "     ^"),
        ("x «日本»", "x 日本", "  ^^^^"),
        ("😀 «b»", "😀 b", "   ^"),
        ("e\N{COMBINING ACUTE ACCENT} «b»", "e\N{COMBINING ACUTE ACCENT} b", "  ^"),
        ("a\N{NO-BREAK SPACE}«b»", "a b", "  ^"),
        (f"a{ESCAPE}[31m «b»", "a\N{REPLACEMENT CHARACTER}[31m b", "       ^"),
        ("«\x00» b", "\N{REPLACEMENT CHARACTER} b", "^"),
    ],
)
def test_the_caret_stands_under_the_span(text: str, line: str, caret: str) -> None:
    assert excerpt(text) == [f" 1 | {line}", f"   | {caret}"]


@pytest.mark.parametrize("before", [0, 30, 100, 1000, 10_000])
@pytest.mark.parametrize("width", [1, 20, 300])
@pytest.mark.parametrize("after", [0, 30, 1000])
def test_a_long_line_is_cut_around_the_span(before: int, width: int, after: int) -> None:
    line, caret = excerpt("." * before + "«" + "x" * width + "»" + "-" * after)
    shown, marks = line.removeprefix(" 1 | "), caret.removeprefix("   | ")
    assert len(shown) <= 110
    assert shown[marks.index("^")] == "x"
    assert all(shown[place] == "x" for place, mark in enumerate(marks) if mark == "^")
    assert marks.count("^") == shown.count("x")


def test_a_place_without_a_text_is_a_file_and_a_line() -> None:
    shown = render_diagnostic(Diagnostic("MP301", "bad", file="rows.jsonl", line=7))
    assert shown == "error[MP301]: bad\n  --> rows.jsonl:7:1"
    assert render_diagnostic(Diagnostic("MP404", "bad", file="x")) == "error[MP404]: bad\n  --> x"
    assert render_diagnostic(Diagnostic("MP403", "bad")) == "error[MP403]: bad"


@pytest.mark.parametrize("severity", Severity)
def test_the_severity_is_said(severity: Severity) -> None:
    shown = render_diagnostic(Diagnostic("MP403", "bad", severity=severity))
    assert shown == f"{severity.value}[MP403]: bad"


def test_nothing_in_a_message_steers_the_terminal() -> None:
    shown = render_diagnostic(
        Diagnostic("MP101", "a\x1b[2Jb\nc", notes=("\x07",), helps=("\u202e",))
    )
    assert shown.splitlines() == [
        "error[MP101]: a\N{REPLACEMENT CHARACTER}[2Jb c",
        "  = \N{REPLACEMENT CHARACTER}",
        "  help: \N{REPLACEMENT CHARACTER}",
    ]


def test_colours_add_nothing_but_colours() -> None:
    import re

    found = diagnostic("SELECT «abc» FROM s", notes=("because",), helps=("do this",))
    coloured = render_diagnostic(found, Style(colour=True))
    assert ESCAPE in coloured
    assert re.sub(rf"{ESCAPE}\[[0-9;]*m", "", coloured) == render_diagnostic(found)


def test_a_diagnostic_is_data_too() -> None:
    found = diagnostic_dict(diagnostic("a\n«é»", notes=("n",), helps=("h",)))
    assert found == {
        "code": "MP102",
        "severity": "error",
        "message": "what is wrong",
        "file": "f.sql",
        "line": 2,
        "column": 1,
        "notes": ["n"],
        "helps": ["h"],
        "text": "é",
    }
    assert json.loads(json.dumps(found)) == found
    nowhere = diagnostic_dict(Diagnostic("MP403", "bad"))
    assert (nowhere["file"], nowhere["line"], nowhere["column"]) == (None, None, None)


@pytest.mark.parametrize("code", CODES)
def test_every_page_renders(code: str) -> None:
    shown = render_page(CODES[code])
    head, empty, why, *_ = shown.splitlines()
    assert head == f"{code}: {CODES[code].title}"
    assert not empty
    assert why == CODES[code].why
    assert f"For example:  {CODES[code].example}" in shown
    assert shown.splitlines()[-1] == f"Instead:      {CODES[code].instead}"
