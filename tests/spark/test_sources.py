"""What is read is what stands there; what is no row of its stream is kept apart and counted."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.spark.harness import Pieces, compiled, static

from millpond.diagnostic import UserError
from millpond.spark.sources import source_df, tagged, union
from millpond.spark.stream import SparkRun

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TEXT = """
CREATE STREAM s (a INT NOT NULL, b TINYINT CHECK (b < 100));
CREATE STREAM t (d BIGINT);
SELECT a, b FROM s;
CREATE QUERY ends AS SELECT d FROM t;
"""

GOOD_JSON = {
    '{"a": 1, "b": 2}': (1, 2),
    ' {"b": null, "a": 1} ': (1, None),
    '{"a": -0, "b": -128}': (0, -128),
    '{"a": 2147483647, "b": 99}\r': (2147483647, 99),
}
BAD_JSON = [
    '{"a": null, "b": 2}',
    '{"a": 1}',
    '{"a": 1, "b": 2, "c": 3}',
    '{"a": 1, "a": 1, "b": 2}',
    '{"A": 1, "b": 2}',
    '{"a": "1", "b": 2}',
    '{"a": 1.0, "b": 2}',
    '{"a": 1e3, "b": 2}',
    '{"a": true, "b": 2}',
    '{"a": 1, "b": "2"}',
    '{"a": 1, "b": 2.5}',
    '{"a": NaN, "b": 2}',
    '{"a": 2147483648, "b": 2}',
    '{"a": 99999999999999999999, "b": 2}',
    '{"a": 1, "b": 200}',
    '{"a": 1, "b": 100}',
    '{"a": 1, "b": {}}',
    '{"a": 1, "b": 2} and more',
    '{"a": 1, "b": 2}{"a": 1, "b": 2}',
    '[{"a": 1, "b": 2}]',
    "{'a': 1, 'b': 2}",
    "null",
    "no JSON",
]
GOOD_CSV = {"2,1": (1, 2), ",1": (1, None), ' 3 ,"4"': (4, 3), "+5,-6": (-6, 5)}
BAD_CSV = [
    "2,",
    "1.5,1",
    "x,1",
    "1e1,1",
    "1,2147483648",
    "1,99999999999999999999",
    "100,1",
    "1",
    "1,2,3",
]


def run_of(
    spark: SparkSession, sources: dict[str, Path], folder: Path
) -> tuple[Pieces, SparkRun, list[str]]:
    """A streaming run over sources: what it said, and what it rejected."""
    script, programs = compiled(TEXT)
    sink = Pieces()
    run = SparkRun(spark, script, programs, checkpoint=folder, sink=sink)
    frames = [
        source_df(spark, stream, str(sources[stream.name]))
        for stream in script.catalog
        if stream.name in sources
    ]
    run.start(union(frames)).awaitTermination()
    rejects = sorted(folder.glob("rejects/batch=*/part-*"))
    return sink, run, [line for path in rejects for line in path.read_text().splitlines()]


def rows_of(sink: Pieces, query: str = "q1") -> list[tuple[Any, ...]]:
    return sorted(
        (
            tuple(line["row"].values())
            for line in sink.lines
            if line["query"] == query
            for _ in range(line.get("n", 1))
        ),
        key=str,
    )


def in_order(rows: Any) -> list[tuple[Any, ...]]:
    return sorted(rows, key=str)


def write_ends(folder: Path) -> Path:
    path = folder / "t[1] 50%.parquet"  # Characters that Spark would take for a pattern.
    pq.write_table(pa.table({"d": pa.array([1, None, 2**63 - 1, -(2**63)], pa.int64())}), path)
    return path


def test_json_lines_are_rows_or_rejects(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    # Spark reads a folder with all that is in it, and takes such names for columns.
    for folder in ("batch=0", "kind=x", "more"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / path.name).write_text('{"a": 5, "b": 5}\n')
    path.write_text("".join(f"{line}\n" for line in [*GOOD_JSON, "", *BAD_JSON]))
    sources = {"s": path, "t": write_ends(tmp_path)}
    sink, run, rejects = run_of(spark, sources, tmp_path / "checkpoint")
    assert rows_of(sink) == in_order(GOOD_JSON.values())
    assert rows_of(sink, "ends") == in_order([(1,), (None,), (2**63 - 1,), (-(2**63),)])
    assert run.progress is not None
    assert run.progress.total_rejected == len(BAD_JSON) == len(rejects)
    assert run.progress.total_rows == run.at == len(GOOD_JSON) + 4
    said = [json.loads(line)["s"] for line in rejects]
    assert {"a": None, "b": 2} in said
    assert '{"a": 1, "b": 2} and more' in said


def test_csv_lines_are_rows_or_rejects(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "rows").mkdir()
    for name, lines in {"1.csv.gz": GOOD_CSV, "2.CSV.GZ": BAD_CSV}.items():
        said = "".join(f"{line}\n" for line in ["b,a", *lines])
        (tmp_path / "rows" / name).write_bytes(gzip.compress(said.encode()))
    sources = {"s": tmp_path / "rows", "t": write_ends(tmp_path)}
    sink, run, rejects = run_of(spark, sources, tmp_path / "checkpoint")
    assert rows_of(sink) == in_order(GOOD_CSV.values())
    assert run.progress is not None
    assert run.progress.total_rejected == len(BAD_CSV) == len(rejects)


def test_a_csv_file_with_its_columns_in_another_order_is_not_mixed_up(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "rows").mkdir()
    (tmp_path / "rows" / "1.csv").write_text("b,a\n2,1\n")
    (tmp_path / "rows" / "2.csv").write_text("a,b\n1,2\n")
    sources = {"s": tmp_path / "rows", "t": write_ends(tmp_path)}
    with pytest.raises(UserError, match="MP503") as failed:
        run_of(spark, sources, tmp_path / "checkpoint")
    assert "header" in " ".join(failed.value.diagnostics[0].notes)


def test_parquet_of_other_widths_is_read_without_wrapping(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "rows").mkdir()
    for number, kind in enumerate([pa.int8(), pa.int16(), pa.int32(), pa.int64()]):
        wide = [1, 99, 100, None] + ([200] if number else [])
        table = pa.table(
            {"b": pa.array(wide, kind), "a": [7] * len(wide), "more": ["x"] * len(wide)}
        )
        pq.write_table(table, tmp_path / "rows" / f"{number}.parquet")
    sources = {"s": tmp_path / "rows", "t": write_ends(tmp_path)}
    sink, run, rejects = run_of(spark, sources, tmp_path / "checkpoint")
    assert rows_of(sink) == in_order([(7, 1), (7, 99), (7, None)] * 4)
    assert run.progress is not None
    assert run.progress.total_rejected == 4 + 3 == len(rejects)


def test_a_row_of_two_streams_or_of_none_is_rejected(spark: SparkSession, tmp_path: Path) -> None:
    script, programs = compiled(TEXT)
    run = SparkRun(spark, script, programs, checkpoint=tmp_path, sink=Pieces())
    both = {"s": {"a": 1, "b": 2}, "t": {"d": 3}}
    run.process(static(spark, script, [both, {"s": None}, {"t": {"d": 3}}]), 0)
    assert run.progress is not None
    assert (run.progress.rows, run.progress.rejected) == (1, 2)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("missing.parquet", None, "cannot be read"),
        ("empty/", None, "no files"),
        ("rows.txt", "1", "told by its name"),
        ("_rows.json", "{}", "told by its name"),
        ("rows.csv", "a,c\n1,2\n", "the header has"),
        ("rows.parquet", "nonsense", "cannot be read"),
        ("mixed/1.json", "{}", None),
        ("nested/day=1/1.json", "{}", "folders in it"),
        ("kafka://host/topic", None, "not built yet"),
    ],
)
def test_a_source_that_cannot_be_read_is_said_at_once(
    spark: SparkSession, tmp_path: Path, name: str, content: str | None, message: str | None
) -> None:
    path = tmp_path / name
    if name.endswith("/"):
        path.mkdir()
    if content is not None:
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(content)
    if "folders" in (message or ""):
        path = path.parents[1]
    if message is None:
        (path.parent / "2.csv").write_text("a,b\n")
        path, message = path.parent, "several formats"
    script, _ = compiled(TEXT)
    stream = script.catalog.get("s")
    assert stream is not None
    with pytest.raises(UserError, match=message):
        source_df(spark, stream, name if ":" in name else str(path))


def test_parquet_and_frames_have_to_have_the_columns(spark: SparkSession, tmp_path: Path) -> None:
    script, _ = compiled(TEXT)
    s = script.catalog.get("s")
    assert s is not None
    for table, message in (
        (pa.table({"a": [1]}), "lacks column `b`"),
        (pa.table({"a": [1], "b": ["x"]}), "declared is TINYINT"),
    ):
        pq.write_table(table, tmp_path / "rows.parquet")
        with pytest.raises(UserError, match=message):
            source_df(spark, s, str(tmp_path / "rows.parquet"))
        with pytest.raises(UserError, match=message):
            tagged({"s": spark.createDataFrame(table)}, script.catalog)


def test_a_stream_without_a_source_is_said_by_name(spark: SparkSession, tmp_path: Path) -> None:
    script, programs = compiled(TEXT)
    run = SparkRun(spark, script, programs, checkpoint=tmp_path, sink=Pieces())
    with pytest.raises(UserError, match="stream `t` of query `ends` has no source"):
        run.process(static(spark, script, []).drop("t"), 0)
