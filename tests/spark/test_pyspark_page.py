"""The Python of docs/pyspark.md prints what the page shows."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.test_docs import ROOT, blocks, same

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAGE = ROOT / "docs" / "pyspark.md"
FILE = "pipeline.py"
DATA = "/data"
"""The folder that the page reads from."""


def ran(text: str, known: dict[str, Any]) -> list[tuple[list[str], list[str]]]:
    """What each `text` block shows, and what the Python before it printed; the Python of the page
    is one file."""
    found = []
    code, printed = "", io.StringIO()
    for block in blocks(text):
        if block.language == "python":
            above = code.count("\n")
            code += block.body
            Path(FILE).write_text(code, encoding="utf-8")
            with contextlib.redirect_stdout(printed):
                exec(compile("\n" * above + block.body, FILE, "exec"), known)
        elif block.language == "text":
            found.append((block.body.splitlines(), printed.getvalue().splitlines()))
            printed = io.StringIO()
    return found


def test_the_page_shows_what_is_printed(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("orders", "payments"):
        (tmp_path / name).mkdir()
    text = PAGE.read_text(encoding="utf-8").replace(DATA, str(tmp_path))
    found = ran(text, {"spark": spark})
    assert len(found) > 4
    for shown, printed in found:
        assert same(shown, printed), "\n".join(printed)
