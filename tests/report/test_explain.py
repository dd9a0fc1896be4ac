"""An explanation is the plan, the verdict and the program, for reading and as data."""

from __future__ import annotations

import json

import pytest
from tests.report.cases import QUERIES, decided

from millpond.language import read_script
from millpond.memory import verdict_of
from millpond.plan import plan_dict, tree_lines
from millpond.program import Program
from millpond.report import explain_dict, explain_lines, render_verdict, verdict_dict
from millpond.synopsis import program_of


def program(case: str) -> Program | None:
    query, verdict = decided(case)
    return None if verdict.shape is None else program_of(query, verdict)


def parts(case: str) -> dict[str, list[str]]:
    """The indented lines of an explanation by their heading."""
    found: dict[str, list[str]] = {}
    query, verdict = decided(case)
    for line in explain_lines(query, verdict, program(case)):
        if not line.startswith(" "):
            found[line.split()[0]] = []
        else:
            found[list(found)[-1]].append(line.removeprefix("  "))
    return found


@pytest.mark.parametrize("case", QUERIES)
def test_an_explanation_shows_the_plan_and_the_verdict_with_its_rule(case: str) -> None:
    query, verdict = decided(case)
    plan = [line.partition("  (")[0] for line in parts(case)["plan"]]
    assert plan == tree_lines(query.root)
    assert parts(case)["verdict"] == render_verdict(verdict, why=True).splitlines()


def test_the_plan_shows_types_where_columns_are_made() -> None:
    assert parts("none")["plan"] == [
        "Project s.a  (a INT)",
        "└─ Filter s.a > 10",
        "   └─ Scan s  (a INT, b INT)",
    ]


def test_what_is_long_is_shown_below_its_node() -> None:
    columns = ", ".join(f"reading_{number} DECIMAL(9, 4)" for number in range(6))
    names = ", ".join(f"reading_{number}" for number in range(6))
    text = f"CREATE STREAM s ({columns}); SELECT {names} FROM s WHERE reading_0 > 1"
    (query,) = read_script(text).queries
    shown = explain_lines(query, verdict_of(query), None)
    assert shown[1 : shown.index("verdict")] == [
        "  Project s.reading_0, s.reading_1, s.reading_2, s.reading_3, s.reading_4, s.reading_5",
        "  │   (reading_0 DECIMAL(9, 4), reading_1 DECIMAL(9, 4), reading_2 DECIMAL(9, 4),",
        "  │   reading_3 DECIMAL(9, 4), reading_4 DECIMAL(9, 4), reading_5 DECIMAL(9, 4))",
        "  └─ Filter s.reading_0 > 1",
        "     └─ Scan s",
        "            (reading_0 DECIMAL(9, 4), reading_1 DECIMAL(9, 4), reading_2 DECIMAL(9, 4),",
        "            reading_3 DECIMAL(9, 4), reading_4 DECIMAL(9, 4), reading_5 DECIMAL(9, 4))",
    ]


@pytest.mark.parametrize("case", QUERIES)
def test_there_is_a_program_where_there_is_a_bound(case: str) -> None:
    assert ("program" in parts(case)) is (case not in ("window", "linear", "outside"))


def test_a_program_says_what_each_synopsis_keeps_and_at_most_how_much() -> None:
    assert parts("constant")["program"] == [
        "synopsis join",
        "  s: rows of s where a is not null and a >= 11 and a <= 19",
        "    keeps a count per value of (a): at most 9 units",
        "  t: rows of t where d is not null and d >= 11 and d <= 19",
        "    keeps a count per value of (d): at most 9 units",
        "  steps: bulk, tick",
    ]
    said = "\n".join(parts("emitted")["program"])
    assert "keeps the least b per value of (a)" in said
    assert "emitted set by (a in 11..19): each row once" in said
    assert parts("empty")["program"] == ["the answer is always empty: nothing runs"]


@pytest.mark.parametrize("case", QUERIES)
def test_an_explanation_is_data_too(case: str) -> None:
    query, verdict = decided(case)
    found = explain_dict(query, verdict, program(case))
    assert json.loads(json.dumps(found)) == found
    assert list(found) == ["name", "plan", "verdict", "program"]
    assert found["plan"] == plan_dict(query.root)
    assert found["verdict"] == verdict_dict(verdict)
    if found["program"] is not None:
        assert list(found["program"]) == ["fingerprint", "certificate", "operators"]
        assert found["program"]["certificate"] == verdict.units
