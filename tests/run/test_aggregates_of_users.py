"""Users' aggregates in bounded queries: states by group, in any chunking, inside declared units."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.run.aggregate_forms import DDL, by_definition, keeps_its_laws, random_rows
from tests.run.harness import random_cuts

from millpond.diagnostic import UserError
from millpond.language import read_script
from millpond.memory import verdict_of
from millpond.program.grouping import GroupedProgram
from millpond.program.user_state import state_of_text, text_of_state
from millpond.run.aggregate import GroupedTick
from millpond.run.group_bulk import GroupedBulk
from millpond.synopsis import program_of

CODE = """
class Mean:
    def init(self): return 0, 0.0
    def step(self, state, value): return state[0] + 1, state[1] + value
    def merge(self, one, other): return one[0] + other[0], one[1] + other[1]
    def final(self, state): return state[1] / state[0] if state[0] else None

class Kinds:
    def init(self): return set()
    def step(self, state, value):
        state.add(value)
        return state
    def merge(self, one, other): return one | other
    def final(self, state): return len(state)

class Mode:
    def init(self): return {}
    def step(self, state, value):
        state[value] = state.get(value, 0) + 1
        return state
    def merge(self, one, other):
        for key, n in other.items():
            one[key] = one.get(key, 0) + n
        return one
    def final(self, state): return max(state, key=lambda key: (state[key], key), default=None)

class Spread:
    def init(self): return None
    def step(self, state, value):
        return (value, value) if state is None else (min(state[0], value), max(state[1], value))
    def merge(self, one, other):
        if one is None or other is None:
            return one or other
        return min(one[0], other[0]), max(one[1], other[1])
    def final(self, state): return None if state is None else state[1] - state[0]
"""

DECLARED = "".join(
    f"CREATE AGGREGATE {name} (x {takes}) RETURNS {gives} AS 'of_users:{code}' "
    f"WITH (class = '{kind}', duplicates = '{duplicates}'{units});\n"
    for name, takes, gives, code, kind, duplicates, units in (
        ("gmean", "DOUBLE", "DOUBLE", "Mean", "algebraic", "sensitive", ", units = 2"),
        ("kinds", "INT", "INT", "Kinds", "holistic", "insensitive", ""),
        ("usual", "INT", "INT", "Mode", "holistic", "sensitive", ""),
        ("spread", "INT", "BIGINT", "Spread", "algebraic", "insensitive", ", units = 2"),
    )
)

FORMS = (
    "gmean(w) FROM s",
    "k, gmean(n), gmean(w), COUNT(*) FROM s WHERE n BETWEEN -9 AND 9 OR n IS NULL GROUP BY k",
    "k, usual(m), kinds(m) FROM s GROUP BY k",
    "k, spread(m), spread(m) FILTER (WHERE f) FROM s GROUP BY k",
    "k FROM s GROUP BY k HAVING gmean(w) > 1",
    "s.k, usual(s.m), kinds(t.m), spread(s.m) FROM s, t WHERE s.k = t.k GROUP BY s.k",
)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "of_users.py").write_text(CODE)
    yield tmp_path
    sys.modules.pop("of_users", None)


@pytest.mark.parametrize("select", FORMS)
def test_users_aggregates_give_the_changes_of_their_definition(select: str, folder: Path) -> None:
    text = f"{DDL}{DECLARED}SELECT {select}"
    script = read_script(text, name=str(folder / "query.sql"))
    query = script.queries[0]
    verdict = verdict_of(query)
    program = program_of(query, verdict)
    assert isinstance(program, GroupedProgram)
    assert program.certificate == verdict.units
    rng = random.Random(select)
    arrivals = random_rows(rng, script, 40)
    expected = by_definition(query, arrivals)
    assert expected
    lowerings = GroupedTick(program, compiled=False), GroupedBulk(program)
    cuts = random_cuts(rng, len(arrivals))
    keeps_its_laws(program, lowerings, arrivals.batch(program), cuts, expected)


@pytest.mark.parametrize(
    "state",
    [None, 3, (1, 0.1), [2**80, "x"], {"a": (1, True)}, {(1, 2): {3}}, frozenset([1.5]), -0.0],
)
def test_states_go_through_text(state: object) -> None:
    found = state_of_text(text_of_state(state))
    assert found == state
    assert type(found) is type(state)


def test_a_state_of_a_class_of_ones_own_has_no_text() -> None:
    with pytest.raises(UserError, match="MP317"):
        text_of_state((1, object()))
