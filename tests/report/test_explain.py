"""An explanation is the plan, the verdict and the program, for reading and as data."""

from __future__ import annotations

import json

import pytest
from tests.report.cases import QUERIES, decided

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
    assert parts(case)["plan"] == tree_lines(query.root)
    assert parts(case)["verdict"] == render_verdict(verdict, why=True).splitlines()


@pytest.mark.parametrize("case", QUERIES)
def test_there_is_a_program_where_there_is_a_bound(case: str) -> None:
    assert ("program" in parts(case)) is (case not in ("linear", "outside"))


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
