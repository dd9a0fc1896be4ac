"""`run --debug` looks at the certificate after every step, and says the same."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.cli.harness import jsonl, millpond

from millpond.diagnostic import InternalError
from millpond.program import Program

TEXT = """
CREATE STREAM s (a INT, b INT); CREATE STREAM t (d INT);
CREATE QUERY pairs AS SELECT s.a FROM s, t WHERE s.a = t.d AND s.a BETWEEN 0 AND 4;
CREATE QUERY grouped AS SELECT a, COUNT(*) AS n FROM s WHERE a BETWEEN 0 AND 4 GROUP BY a;
"""


@pytest.fixture
def command(tmp_path: Path) -> tuple[str, ...]:
    rng = random.Random(1)
    (tmp_path / "q.sql").write_text(TEXT)
    (tmp_path / "rows.jsonl").write_bytes(
        jsonl(
            {"s": {"a": rng.randint(0, 6), "b": 1}} if number % 2 else {"t": {"d": number % 5}}
            for number in range(100)
        )
    )
    return "run", str(tmp_path / "q.sql"), "--input", str(tmp_path / "rows.jsonl")


def test_debug_mode_says_the_same(command: tuple[str, ...]) -> None:
    assert millpond(*command, "--debug") == millpond(*command)


def test_a_certificate_that_is_broken_ends_the_run(
    command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Program, "certificate", 3)
    with pytest.raises(InternalError, match="its certificate says at most 3"):
        millpond(*command, "--debug")
    assert millpond(*command).codes == ["MP900"]
