"""The gauge is as full as the state is of its bound."""

from __future__ import annotations

import pytest

from millpond.report import gauge


@pytest.mark.parametrize(
    ("units", "bound", "shown"),
    [
        (0, 8, "[--------] 0 of at most 8 units"),
        (2, 8, "[##------] 2 of at most 8 units"),
        (8, 8, "[########] 8 of at most 8 units"),
        (9, 8, "[########] 9 of at most 8 units"),
        (0, 0, "[########] 0 of at most 0 units"),
        (10**30, 2 * 10**30, f"[####----] {10**30} of at most {2 * 10**30} units"),
        (7, None, "7 units, no bound"),
    ],
)
def test_a_gauge_shows_units_beside_their_bound(units: int, bound: int | None, shown: str) -> None:
    assert gauge(units, bound, width=8) == shown
