"""Every kind of node, and whatever the language says at random, comes back from its own text."""

from __future__ import annotations

import pytest
from tests.plan.cases import PLANS
from tests.plan.roundtrip import assert_comes_back, assert_round_trip, script_of
from tests.strategies.queries import naming, random_case


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_comes_back_from_its_text(name: str) -> None:
    assert_comes_back(script_of(PLANS[name]))


@pytest.mark.parametrize("seed", range(200))
def test_a_random_query_comes_back_from_its_text(seed: int) -> None:
    case = random_case(seed)
    with naming(case):
        assert_round_trip(case.text)
