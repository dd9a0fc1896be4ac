"""Sinks: the same output as lines, parquet or CSV, whole or not at all."""

from __future__ import annotations

import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millpond.diagnostic import Source, Span, UserError
from millpond.plan import Query, Scan
from millpond.run.event import Event
from millpond.run.sinks import Sink, open_sink
from millpond.run.sources import rows_of_source
from millpond.schema import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    HUGEINT,
    INT,
    INTERVAL,
    NULL,
    TIMESTAMP,
    TINYINT,
    VARCHAR,
    Catalog,
    Column,
    Row,
    Stream,
    Time,
    Type,
    decimal,
    enum,
)


def query(name: str = "q1", time: Type | None = None, **columns: Type) -> Query:
    made = tuple(Column(each, kind) for each, kind in columns.items())
    if time is not None:
        made = (*made, Column("ts", time))
    stream = Stream("s", made, time=None if time is None else Time("ts"))
    return Query(name, Scan(stream, "s"), Span(Source("q.sql", "q"), 0, 1))


AB = query(a=INT, b=VARCHAR)
CHANGES: list[tuple[int, list[tuple[Row, int]]]] = [
    (1, [((1, "x"), 2)]),
    (3, [((None, ""), 1), ((1, "x"), -2), ((7, 'a, "b"\n'), 1), ((8, None), 1)]),
]


def write(sink: Sink, queries: list[Query], changes: Any = CHANGES) -> None:
    for each in queries:
        teller = sink.teller(each, len(queries) > 1)
        for at, rows in changes:
            sink.write(teller.changes(at, rows))


def written(path: Path, *queries: Query, emit: str = "changes", changes: Any = CHANGES) -> Path:
    sink = open_sink(str(path), queries, emit)
    write(sink, list(queries), changes)
    sink.close()
    return path


def refused(call: Any) -> tuple[str, str]:
    with pytest.raises(UserError) as caught:
        call()
    return caught.value.diagnostics[0].code, caught.value.diagnostics[0].message


# Formats ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["out.jsonl", "out.json", "out.NDJSON", "folder", "a/folder"])
def test_lines_are_those_of_standard_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    write(open_sink(None, [AB]), [AB])
    write(open_sink("-", [AB]), [AB])
    printed = capsys.readouterr().out
    path = written(tmp_path / name, AB)
    path = path / "part-00000000.jsonl" if path.is_dir() else path
    assert path.read_text(encoding="utf-8") * 2 == printed
    assert printed.count("\n") == 10


def test_csv_has_op_n_and_at_before_the_columns(tmp_path: Path) -> None:
    path = written(tmp_path / "out.csv", AB)
    assert path.read_bytes().decode() == (
        'op,n,at,a,b\n+,2,1,1,x\n-,2,3,1,x\n+,1,3,,""\n+,1,3,7,"a, ""b""\n"\n+,1,3,8,\n'
    )


def test_parquet_has_typed_columns(tmp_path: Path) -> None:
    kinds: dict[str, tuple[Type, Any, pa.DataType]] = {
        "t": (TINYINT, 1, pa.int8()),
        "i": (BIGINT, -(2**63), pa.int64()),
        "h": (HUGEINT, 10**37, pa.decimal128(38, 0)),
        "d": (decimal(9, 2), Decimal("1.50"), pa.decimal128(9, 2)),
        "x": (DOUBLE, 0.5, pa.float64()),
        "f": (BOOLEAN, True, pa.bool_()),
        "v": (VARCHAR, "ä", pa.string()),
        "e": (enum(("x", "y")), "y", pa.string()),
        "day": (DATE, 1, pa.date32()),
        "ts_": (TIMESTAMP, 1, pa.timestamp("us", "UTC")),
        "long": (INTERVAL, 90, pa.duration("us")),
        "none": (NULL, None, pa.null()),
    }
    made = query("q1", TIMESTAMP, **{name: kind for name, (kind, _, _) in kinds.items()})
    row: Row = (*(value for _, value, _ in kinds.values()), 5_000_000)
    nulls: Row = (None,) * len(kinds) + (5_000_000,)
    path = written(tmp_path / "out.parquet", made, changes=[(5_000_000, [(row, 1), (nulls, -2)])])
    table = pq.read_table(path)
    assert table.schema == pa.schema(
        [
            ("op", pa.string()), ("n", pa.int64()), ("at", pa.timestamp("us", "UTC")),
            *((name, arrow) for name, (_, _, arrow) in kinds.items()),
            ("ts", pa.timestamp("us", "UTC")),
        ]
    )  # fmt: skip
    first, second = table.to_pylist()
    assert (first["op"], first["n"], first["v"]) == ("-", 2, None)
    assert (second["op"], second["h"], second["d"], second["long"].microseconds) == (
        "+", 10**37, Decimal("1.50"), 90,
    )  # fmt: skip
    assert str(second["at"]) == "1970-01-01 00:00:05+00:00"


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_answers_and_last_answers_are_tables_too(tmp_path: Path, ending: str) -> None:
    answer: dict[Row, int] = {(2, "y"): 1, (None, "x"): 3}
    found = {}
    for emit in ("answers", "final"):
        path = tmp_path / f"{emit}.{ending}"
        sink = open_sink(str(path), [AB], emit)
        teller = sink.teller(AB, False)
        if emit == "answers":
            sink.write([teller.answer(4, answer), teller.answer(5, {})])
        else:
            sink.write(teller.final(answer))
        sink.close()
        if ending == "csv":
            found[emit] = path.read_text().splitlines()
        else:
            table = pq.read_table(path)
            found[emit] = [
                ",".join(table.schema.names),
                *(
                    ",".join("" if each is None else str(each) for each in row.values())
                    for row in table.to_pylist()
                ),
            ]
    assert found == {
        "answers": ["n,at,a,b", "3,4,,x", "1,4,2,y"],
        "final": ["n,a,b", "3,,x", "1,2,y"],
    }


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_run_without_output_is_a_table_without_rows(tmp_path: Path, ending: str) -> None:
    path = written(tmp_path / f"out.{ending}", AB, changes=[])
    if ending == "csv":
        assert path.read_text() == "op,n,at,a,b\n"
    else:
        assert pq.read_table(path).num_rows == 0


def test_many_rows_are_several_row_groups(tmp_path: Path) -> None:
    changes = [(at, [((at, None), 1)]) for at in range(70_000)]
    path = written(tmp_path / "out.parquet", AB, changes=changes)
    with pq.ParquetFile(path) as file:
        assert file.num_row_groups == 2
        assert file.read()["a"].to_pylist() == list(range(70_000))


def test_queries_with_the_same_columns_share_a_table(tmp_path: Path) -> None:
    two = [AB, query("q2", a=INT, b=VARCHAR)]
    lines = written(tmp_path / "out.csv", *two).read_text().splitlines()
    assert lines[0] == "query,op,n,at,a,b"
    assert sum(each.startswith("q2,") for each in lines) == 5


def test_queries_with_different_columns_do_not(tmp_path: Path) -> None:
    for other in (query("q2", a=INT), query("q2", a=INT, b=INT), query("q2", BIGINT, a=INT)):
        code, said = refused(lambda other=other: open_sink(str(tmp_path / "x.csv"), [AB, other]))
        assert (code, "q1 and q2 have different columns" in said) == ("MP403", True)
    assert list(tmp_path.iterdir()) == []


def test_a_column_that_is_called_like_one_of_the_sink_is_refused(tmp_path: Path) -> None:
    named = query(N=INT)
    code, said = refused(lambda: open_sink(str(tmp_path / "x.parquet"), [named]))
    assert (code, "`N`" in said) == ("MP403", True)
    open_sink(str(tmp_path / "x.jsonl"), [named]).close()


def test_a_number_that_parquet_does_not_hold_ends_the_run(tmp_path: Path) -> None:
    path = tmp_path / "out.parquet"
    sink = open_sink(str(path), [query(a=HUGEINT)])
    write(sink, [query(a=HUGEINT)], [(1, [((10**38,), 1)])])
    code, said = refused(sink.close)
    assert (code, "column `a`" in said) == ("MP406", True)
    sink.abandon()
    assert list(tmp_path.iterdir()) == []


ROWS = st.lists(
    st.tuples(
        st.none() | st.integers(-(2**31), 2**31 - 1),
        st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
        st.none() | st.floats(allow_nan=False, allow_infinity=False),
        st.none() | st.integers(-(10**10), 10**10),
    ),
    max_size=6,
)


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_what_a_sink_has_written_a_source_reads(tmp_path: Path, ending: str) -> None:
    made = query(a=INT, b=VARCHAR, x=DOUBLE, t=TIMESTAMP)
    columns = (Column("n", BIGINT), *made.streams[0].columns)
    catalog = Catalog()
    catalog.add(Stream("again", columns))
    (again,) = catalog
    path = tmp_path / f"out.{ending}"

    @settings(max_examples=40, deadline=None, database=None)
    @given(rows=ROWS)
    def same(rows: list[Row]) -> None:
        answer: dict[Row, int] = dict.fromkeys(rows, 2)
        sink = open_sink(str(path), [made], "final")
        sink.write(sink.teller(made, False).final(answer))
        sink.close()
        if ending == "jsonl":
            flat = path.read_text().replace('{"row": {', "{").replace('}, "n"', ', "n"')
            path.write_text(flat)
        pieces = rows_of_source(catalog, again, str(path), 10)
        events = [each for piece in pieces for each in piece]
        assert all(isinstance(each, Event) for each in events)
        assert {each.row for each in events if isinstance(each, Event)} == {
            (2, *row) for row in answer
        }

    same()


# Whole or not at all ----------------------------------------------------------------------------

ENDINGS = ["jsonl", "csv", "parquet"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_file_is_there_when_the_run_has_ended(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"out.{ending}"
    path.write_text("before")
    sink = open_sink(str(path), [AB])
    write(sink, [AB])
    assert path.read_text() == "before"
    sink.close()
    assert path.read_bytes() != b"before"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_run_that_fails_leaves_what_was_there(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"out.{ending}"
    path.write_text("before")
    sink = open_sink(str(path), [AB])
    write(sink, [AB])
    sink.abandon()
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_pipe_is_written_to_as_rows_come(tmp_path: Path) -> None:
    path = tmp_path / "pipe.jsonl"
    os.mkfifo(path)
    out = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    sink = open_sink(str(path), [AB])
    write(sink, [AB])
    sink.close()
    assert os.read(out, 1 << 16).count(b"\n") == 5
    os.close(out)


@pytest.fixture
def full() -> str:
    """A name in a folder, of a device that is always full."""
    if not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full")
    return "/dev/full"


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_full_disk_is_said(tmp_path: Path, full: str, ending: str) -> None:
    path = tmp_path / f"out.{ending}"
    path.symlink_to(full)

    def run() -> None:
        sink = open_sink(str(path), [AB])
        try:
            for _ in range(5000):
                write(sink, [AB])
            sink.close()
        except UserError:
            sink.abandon()
            raise

    code, said = refused(run)
    assert (code, "cannot write" in said, "No space left" in said) == ("MP406", True, True)


@pytest.mark.parametrize("name", ["no/such/x.jsonl", "no/such/x.csv", "file/x", "file/x.parquet"])
def test_a_place_that_cannot_be_written_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    code, said = refused(lambda: open_sink(str(tmp_path / name), [AB]))
    assert (code, "cannot write" in said) == ("MP406", True)
