"""A verdict as people read it: what grows and what stops it first, the rule only when asked."""

from __future__ import annotations

import textwrap

import pytest
from tests.report.cases import QUERIES, decided, repaired

from millpond.report import Style, render_verdict

TEXTS = {
    "none": "q1: none, 0 units: nothing has to be remembered",
    "empty": "q1: none, 0 units: nothing has to be remembered",
    "constant": """\
        q1: constant, at most 18 units (288 bytes), whatever comes
          s: 9 values of a x 1 count = 9
          t: 9 values of d x 1 count = 9""",
    "emitted": """\
        q1: constant, at most 27 units (360 bytes), whatever comes
          s: 9 values of a x 1 minimum of b = 9
          t: 9 values of d x 1 maximum of e = 9
          emitted: 9 values of s.a x 1 row = 9""",
    "impractical": """\
        q1: impractical, at most 200000000000 units, which is above the budget
          emitted: 100000000000 values of s.a x (its key + 1 row)""",
    "window": """\
        q1: window, as much as its windows hold: rate of w x 10 instants
          w: rate of w x 10 instants x 2 columns
          given: rows of w per 10 instants""",
    "outside": """\
        q1: outside, whether a bound exists is not decided
          note[MP220]: an outer join takes answers back
            --> file.sql:3:19
             |
           3 | SELECT s.a FROM s LEFT JOIN t ON s.a = t.d
             |                   ^^^^^^^^^^^^^^^^^^^^^^^^""",
}


@pytest.mark.parametrize("case", TEXTS)
def test_the_text_of_each_class(case: str) -> None:
    assert render_verdict(decided(case)[1]) == textwrap.dedent(TEXTS[case])


LINEAR = """\
    q1: linear, no bound: it grows with distinct s.b, t.e
      error[MP213]: `s.b`, `t.e` are compared across streams, and how many rows lie on each side \
is asked for
        --> file.sql:3:28
         |
       3 | SELECT s.a FROM s, t WHERE s.b < t.e AND s.a = 10
         |                            ^^^^^^^^^
      repair: remove duplicates: SELECT DISTINCT
        3 - SELECT s.a FROM s, t WHERE s.b < t.e AND s.a = 10
        3 + SELECT DISTINCT s.a FROM s, t WHERE s.b < t.e AND s.a = 10
        then constant, at most 3 units; answers: fewer duplicates
      or: """


def test_a_linear_verdict_leads_with_growth_place_and_the_smallest_repair() -> None:
    query, _ = decided("linear")
    lines = render_verdict(repaired("linear"), query=query)
    assert lines.startswith(textwrap.dedent(LINEAR))
    assert "by arasu" not in lines
    assert lines.count("repair:") == 1


def test_why_shows_every_repair_as_a_patch() -> None:
    query, _ = decided("linear")
    verdict = repaired("linear")
    lines = render_verdict(verdict, query=query, why=True)
    assert lines.count("repair:") == len(verdict.fixes)
    assert lines.count("    3 + ") == len(verdict.fixes)


@pytest.mark.parametrize("case", QUERIES)
def test_why_adds_the_rule(case: str) -> None:
    plain = render_verdict(repaired(case))
    full = render_verdict(repaired(case), why=True)
    assert "= by " not in plain
    assert "= by " in full
    assert plain.splitlines()[0] == full.splitlines()[0]


@pytest.mark.parametrize("case", QUERIES)
def test_colours_add_nothing_but_colours(case: str) -> None:
    import re

    coloured = render_verdict(repaired(case), Style(colour=True), why=True)
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == render_verdict(repaired(case), why=True)
