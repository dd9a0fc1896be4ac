"""Sentences of the contract on input, instants and output, each with a case that holds it.

`instants/*.txt` are the cases: what they hold (a quotation), a script, its input, and the lines
that come out, worked out by hand from the contract alone.  `instants/sentences.txt` is a copy of
the sentences; each must be quoted by a case, or be held by a test that is named here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.cli.harness import Done, jsonl, millpond

HERE = Path(__file__).parent / "instants"
ROOT = Path(__file__).parents[2]

ELSEWHERE = {
    "which is the default for pipelines on Spark (a folder beside the checkpoint).":
        "tests/spark/test_sources.py::test_json_lines_are_rows_or_rejects",
    "over separate sources it is the smallest over streams neither ended nor idle "
    "(`--idle-timeout`).":
        "tests/run/test_instants.py::test_over_separate_sources_the_clock_is_that_of_the_slowest",
    "On Spark the clock moves between batches: outputs agree whenever no row is late.":
        "tests/spark/test_stream.py::test_lines_written_by_spark_are_those_written_here",
    "A stored count that would pass 2^63 moves to a wide path, never wraps.":
        "tests/program/test_wide.py::test_counts_and_products_past_64_bits_are_exact",
}  # fmt: skip
"""Sentences that are held by other tests: of Spark, of compiled engines, of several sources."""


@dataclass
class Case:
    """A script, what it is given, and what has to come out."""

    name: str
    quotes: list[str] = field(default_factory=list)
    parts: dict[str, list[str]] = field(default_factory=dict)

    def lines(self, part: str) -> list[str]:
        return [each for each in self.parts.get(part, []) if each]

    def text(self, part: str) -> str:
        return "".join(each + "\n" for each in self.lines(part))

    def said(self, option: str) -> str:
        """What stands behind `-- option:`."""
        found = (each.removeprefix(f"{option}:") for each in self.parts if each.startswith(option))
        return next(found, "").strip()


def cases(text: str) -> Iterator[Case]:
    """The cases of a file, in order."""
    case, part = Case(""), "script"
    for line in text.splitlines():
        if line.startswith("== "):
            if case.name:
                yield case
            case, part = Case(line.removeprefix("== ")), "script"
        elif line.startswith("> "):
            case.quotes.append(line.removeprefix("> "))
        elif line.startswith("-- "):
            part = line.removeprefix("-- ")
            case.parts[part] = []
        else:
            case.parts.setdefault(part, []).append(line)
    yield case


def sentences() -> list[str]:
    """What the contract says, one statement each."""
    lines = (HERE / "sentences.txt").read_text(encoding="utf-8").splitlines()[1:]
    return [each for each in lines if each and not each.startswith("## ")]


CASES = [
    case
    for path in sorted(HERE.glob("*.txt"))
    if path.name != "sentences.txt"
    for case in cases(path.read_text(encoding="utf-8"))
]

every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "_"))


def run(case: Case, folder: Path, *options: str) -> Done:
    """Runs a case in a folder of its own."""
    (folder / "q.sql").write_text(case.text("script"), encoding="utf-8")
    (folder / "input.jsonl").write_text(case.text("input"), encoding="utf-8")
    given = [*case.said("options").split(), *options]
    for part in ("late", "rejects"):
        if part in case.parts:
            given += [f"--{part}", str(folder / f"{part}.jsonl")]
    return millpond(
        "run", folder / "q.sql", "--engine", "definition",
        "--input", folder / "input.jsonl", *given,
    )  # fmt: skip


@every_case
def test_what_the_contract_says_is_what_happens(case: Case, tmp_path: Path) -> None:
    done = run(case, tmp_path)
    assert done.code == int(case.said("exit") or 0), done.err
    assert case.said("says") in done.err
    if "output" in case.parts:
        assert done.out.splitlines() == case.lines("output")
    if "late" in case.parts:
        late = tmp_path / "late.jsonl"
        assert (late.read_text(encoding="utf-8") if late.exists() else "") == case.text("late")
    if "rejects" in case.parts:
        kept = (tmp_path / "rejects.jsonl").read_text(encoding="utf-8").splitlines()
        assert len(kept) == len(case.lines("rejects"))


@every_case
def test_how_input_is_cut_never_shows(case: Case, tmp_path: Path) -> None:
    if case.said("options").startswith("--instants batch") or case.said("exit"):
        pytest.skip("batches show, or nothing runs")
    whole = run(case, tmp_path)
    for size in ("1", "2", "100"):
        cut = run(case, tmp_path, "--batch-rows", size)
        assert (cut.code, cut.out) == (whole.code, whole.out)


def test_over_separate_sources_the_clock_is_that_of_the_slowest(tmp_path: Path) -> None:
    rows = {"s": [0, 100, 200], "t": [50, 60, 150]}
    sources = []
    for name, times in rows.items():
        path = tmp_path / f"{name}.jsonl"
        path.write_bytes(jsonl({"a": ts, "ts": ts} for ts in times))
        sources += ["--source", f"{name}={path}"]
    query = tmp_path / "q.sql"
    query.write_text(
        "".join(f"CREATE STREAM {name} (a INT, ts BIGINT) TIMESTAMP BY ts;" for name in rows)
        + "SELECT a FROM s UNION ALL SELECT a FROM t;"
    )
    done = millpond("run", query, "--engine", "definition", *sources)
    assert done.code == 0, done.err
    assert [each["at"] for each in done.lines] == [0, 50, 60, 100, 150, 200]
    assert "late" not in done.err


# The cases --------------------------------------------------------------------------------------


@every_case
def test_a_case_quotes_the_contract(case: Case) -> None:
    assert case.quotes
    for quote in case.quotes:
        assert any(quote in each for each in sentences()), quote


@pytest.mark.parametrize("sentence", sentences())
def test_a_sentence_of_the_contract_is_held(sentence: str) -> None:
    if not any(quote in sentence for case in CASES for quote in case.quotes):
        path, _, name = ELSEWHERE[sentence].partition("::")
        assert f"def {name}(" in (ROOT / path).read_text(encoding="utf-8")


def test_no_sentence_is_said_to_be_elsewhere_that_is_not_there() -> None:
    assert set(ELSEWHERE) <= set(sentences())


def test_names_of_cases_are_distinct() -> None:
    names = [each.name for each in CASES]
    assert len(set(names)) == len(names)


def test_a_file_of_cases_reads_as_it_is_written() -> None:
    text = "== one\n> said\nSELECT 1;\n-- options: --emit final\n-- input\n{}\n\n== two\n"
    found = list(cases(text))
    assert [each.name for each in found] == ["one", "two"]
    assert found[0].quotes == ["said"]
    assert found[0].said("options") == "--emit final"
    assert (found[0].text("script"), found[0].text("input")) == ("SELECT 1;\n", "{}\n")
    assert found[1].text("input") == ""
