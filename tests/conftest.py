"""How tests are dealt out to workers: those that need a Spark session all go to one of them.

xdist has groups for this (`--dist loadgroup`), which do nothing under pytest 9.2: version 3.8.0 of
xdist writes them where that pytest no longer looks.
"""

from __future__ import annotations

from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]


class OneSession(LoadScopeScheduling):  # type: ignore[misc]
    """Every test is dealt out on its own, those of the Spark room together and first."""

    def _split_scope(self, nodeid: str) -> str:
        own = not nodeid.startswith("tests/spark/") or "test_java.py" in nodeid
        return nodeid if own else "spark"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> OneSession:
    return OneSession(config, log)
