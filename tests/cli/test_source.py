"""`--source` with the local engine: rows of files become rows of streams, in turns."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.cli.harness import millpond

TEXT = """
CREATE STREAM s (a INT, b INT); CREATE STREAM t (d INT);
SELECT s.a FROM s, t WHERE s.a = t.d AND s.a BETWEEN 0 AND 9
"""
Rows = Sequence[tuple[int | None, ...]]
S: Rows = [(number % 12, None if number % 5 == 0 else number) for number in range(30)]
T: Rows = [(number,) for number in range(20)]


def written(folder: Path, kind: str) -> tuple[Path, Path]:
    """The rows of both streams in files of a kind: one file, and a folder of two."""
    (folder / "t").mkdir()
    one, two = folder / f"s.{kind}", [folder / "t" / f"{number}.{kind}" for number in (1, 2)]
    halves = [T[:8], T[8:]]
    tables: list[tuple[Path, tuple[str, ...], Rows]] = [(one, ("a", "b"), S)]
    tables += [(path, ("d",), half) for path, half in zip(two, halves, strict=True)]
    for path, names, rows in tables:
        columns = {name: pa.array([row[place] for row in rows]) for place, name in enumerate(names)}
        if kind == "parquet":
            pq.write_table(pa.table(columns), path)
        elif kind == "csv":
            lines = [names, *(tuple("" if x is None else str(x) for x in row) for row in rows)]
            path.write_text("".join(",".join(line) + "\n" for line in lines))
        else:
            path.write_text("".join(f"{_json(names, row)}\n" for row in rows))
    return one, folder / "t"


def _json(names: tuple[str, ...], row: tuple[int | None, ...]) -> str:
    pairs = zip(names, row, strict=True)
    return "{" + ", ".join(f'"{k}": {"null" if v is None else v}' for k, v in pairs) + "}"


@pytest.fixture
def query(tmp_path: Path) -> Path:
    path = tmp_path / "q.sql"
    path.write_text(TEXT)
    return path


@pytest.mark.parametrize("kind", ["parquet", "jsonl", "csv"])
def test_files_and_folders_of_any_kind_are_rows_in_turns(
    query: Path, tmp_path: Path, kind: str
) -> None:
    s, t = written(tmp_path, kind)
    sources = ("--engine", "local", "--source", f"s={s}", "--source", f"t={t}")
    done = millpond("run", query, *sources)
    assert (done.code, done.err) == (0, "")
    arrivals = [(0, row) for row in S] + [(1, row) for row in T]
    expected = []
    for at, (stream, row) in enumerate(arrivals, 1):
        if stream and 0 <= (row[0] or 0) <= 9:
            n = sum(1 for a, _ in S if a == row[0])
            expected.append({"op": "+", "row": {"a": row[0]}, "n": n, "at": at})
    assert done.lines == expected
    for rows in ("1", "7", "1000"):
        assert millpond("run", query, *sources, "--batch-rows", rows).out == done.out


@pytest.mark.parametrize("rows", ["1", "5", "100000"])
def test_turns_do_not_depend_on_batches(query: Path, tmp_path: Path, rows: str) -> None:
    """More rows than a turn has: which row comes when is the same however batches are cut."""
    many = tmp_path / "s.jsonl"
    many.write_text('{"a": 1, "b": 1}\n' * 9000)
    few = tmp_path / "t.jsonl"
    few.write_text('{"d": 1}\n' * 3)
    sources = ("--engine", "local", "--source", f"s={many}", "--source", f"t={few}")
    done = millpond("run", query, *sources, "--batch-rows", rows, "--lowering", "plain")
    assert [(each["at"], each.get("n", 1)) for each in done.lines] == [
        (8193, 8192), (8194, 8192), (8195, 8192), *((at, 3) for at in range(8196, 9004)),
    ]  # fmt: skip


def test_a_bad_row_of_a_source_is_named_by_file_and_line(query: Path, tmp_path: Path) -> None:
    s, t = written(tmp_path, "csv")
    with (t / "2.csv").open("a") as file:
        file.write("x\n5\n")
    sources = ("--engine", "local", "--source", f"s={s}", "--source", f"t={t}")
    done = millpond("run", query, *sources)
    assert (done.code, done.codes) == (2, ["MP304"])
    assert f"--> {t / '2.csv'}:14:1" in done.err
    skipped = millpond("run", query, *sources, "--on-error", "skip")
    assert skipped.code == 0
    assert skipped.err.endswith("1 bad row skipped\n")
    assert len(skipped.lines) == len(done.lines) + 1


@pytest.mark.parametrize(
    ("sources", "message"),
    [
        (("s=nope.csv",), "there is no file"),
        (("s=q.sql",), "not all parquet"),
    ],
)
def test_a_source_that_cannot_be_read_is_said(
    query: Path, monkeypatch: pytest.MonkeyPatch, sources: tuple[str, ...], message: str
) -> None:
    monkeypatch.chdir(query.parent)
    query.write_text("CREATE STREAM s (a INT); SELECT a FROM s")
    options = [word for each in sources for word in ("--source", each)]
    done = millpond("run", "q.sql", "--engine", "local", *options)
    assert (done.code, done.codes, done.out) == (2, ["MP404"], "")
    assert message in done.err
