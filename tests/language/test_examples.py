"""The language written out: every example reads, prints back, and runs to the bytes beside it.

`examples/` holds what a user would copy, `contract/` every statement of the contract's "Language:
SQL", `golab/` every CQL query that Golab's thesis prints.  A file `NAME.sql` has its input in
`NAME.jsonl` and what it prints in `NAME.out.jsonl`, which was worked out by hand.  What is written
for another engine begins with its name.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.cli.harness import millpond
from tests.plan.roundtrip import assert_round_trip
from tests.test_docs import ROOT, run_page

from millpond.language import read_file

HERE = Path(__file__).parent
FOLDERS = (ROOT / "examples", HERE / "contract", HERE / "golab")
FILES = sorted(each for folder in FOLDERS for each in folder.glob("*.sql"))

OTHERS = ("flink", "materialize", "risingwave", "spark")
"""Whose files there are in `examples/` beside our own."""


def dialect_of(path: Path) -> str:
    """The dialect that a file is written in."""
    word = path.stem.partition("_")[0]
    return word if word in OTHERS else "cql"


every_file = pytest.mark.parametrize(
    "path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}"
)


def printed(path: Path, *options: str) -> str:
    """What running an example by definition prints."""
    rows = path.with_suffix(".jsonl")
    said = ("--dialect", dialect_of(path), "--engine", "definition", "--input", rows)
    done = millpond("run", path, *said, *options)
    assert done.code == 0, done.err
    return done.out


@every_file
def test_an_example_reads(path: Path) -> None:
    assert read_file(str(path), dialect_of(path)).queries


@pytest.mark.parametrize(
    "path", [each for each in FILES if dialect_of(each) == "cql"], ids=lambda path: path.stem
)
def test_an_example_prints_as_sql_of_the_same_plan(path: Path) -> None:
    assert_round_trip(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("dialect", OTHERS)
def test_there_are_files_of_every_engine(dialect: str) -> None:
    assert dialect in {dialect_of(path) for path in FILES}


@pytest.mark.parametrize(
    "path", [each for each in FILES if dialect_of(each) != "cql"], ids=lambda path: path.stem
)
def test_a_file_of_another_engine_says_how_it_is_checked(path: Path) -> None:
    command = f"millpond check --dialect {dialect_of(path)} {path.name}"
    assert f"-- {command}\n" in path.read_text(encoding="utf-8")
    done = millpond(*command.split()[1:-1], path)
    assert done.code in (0, 1), done.err
    assert "outside" not in done.out


@every_file
def test_an_example_runs_to_what_was_worked_out_by_hand(path: Path) -> None:
    expected = path.with_suffix(".out.jsonl").read_text(encoding="utf-8")
    assert printed(path).splitlines() == expected.splitlines()


@every_file
def test_an_example_prints_the_same_bytes_however_it_is_cut(path: Path) -> None:
    assert printed(path) == printed(path, "--batch-rows", "1") == printed(path, "--batch-rows", "3")


@every_file
def test_an_example_has_its_input_its_output_and_where_it_is_from(path: Path) -> None:
    assert path.read_text(encoding="utf-8").startswith("-- ")
    assert path.with_suffix(".out.jsonl").read_text(encoding="utf-8").endswith("\n")
    events = path.with_suffix(".jsonl").read_text(encoding="utf-8").splitlines()
    assert 3 <= len(events) <= 14


def test_no_input_or_output_is_without_its_query() -> None:
    files = {each for folder in FOLDERS for each in folder.glob("*.jsonl")}
    ends = (".jsonl", ".out.jsonl")
    assert files == {path.with_suffix(end) for path in FILES for end in ends}


def test_the_nested_sum_and_the_one_by_wstream_say_the_same() -> None:
    nested, wstream = (
        HERE / "golab" / f"ch3_{each}_sum.out.jsonl" for each in ("nested", "wstream")
    )
    assert nested.read_bytes() == wstream.read_bytes()


def test_the_page_of_examples_shows_what_happens(tmp_path: Path) -> None:
    folder = tmp_path / "examples"
    shutil.copytree(ROOT / "examples", folder)
    run_page((folder / "README.md").read_text(encoding="utf-8"), folder)


def test_the_page_of_examples_lists_each() -> None:
    page = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    listed = {line.split("`")[1] for line in page.splitlines() if line.startswith("| `")}
    assert listed == {each.name for each in (ROOT / "examples").glob("*.sql")}
