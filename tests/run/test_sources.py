"""Sources of one stream each: formats, files and folders, and what cannot be read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from millpond.diagnostic import NotBuiltError, UserError
from millpond.language import read_script
from millpond.run import Event, Reject
from millpond.run.sources import local_path, rows_of_source, source_files

CATALOG = read_script('CREATE STREAM s (a INT, "b c" TINYINT CHECK ("b c" < 100))').catalog
(S,) = CATALOG


def rows(source: Path | str, size: int = 100) -> list[Any]:
    """The rows of a source; of a bad one the file, the line and the code."""
    found: list[Any] = []
    for piece in rows_of_source(CATALOG, S, str(source), size):
        for each in piece:
            if isinstance(each, Event):
                assert each.stream == "s"
                found.append(each.row)
            else:
                assert isinstance(each, Reject)
                name = Path(each.diagnostic.file or "").name
                found.append((name, each.line, each.diagnostic.code))
    return found


def parquet(path: Path, **columns: pa.Array) -> None:
    pq.write_table(
        pa.table({name.replace("_", " "): values for name, values in columns.items()}), path
    )


def refused(call: Callable[[], object]) -> tuple[str, str]:
    """Code and message of what is refused."""
    with pytest.raises(UserError) as caught:
        call()
    (found,) = caught.value.diagnostics
    return found.code, found.message


# Formats ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["json", "jsonl", "ndjson", "JSONL"])
def test_json_is_one_object_a_line(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"rows.{ending}"
    path.write_bytes(
        b'\xef\xbb\xbf{"a": 1, "b c": 2}\r\n\r\n{"b c": null, "a": 3}\n{"a": 1.0, "b c": 2}\n'
        b'{"a": 1}\n{"a": 1, "b c": 2, "d": 3}\nx\n{"a": 1, "b c": 100}\n{"a": 4, "b c": 5}'
    )
    assert rows(path) == [
        (1, 2), (3, None), (path.name, 4, "MP304"), (path.name, 5, "MP303"),
        (path.name, 6, "MP303"), (path.name, 7, "MP301"), (path.name, 8, "MP306"), (4, 5),
    ]  # fmt: skip


def test_csv_has_a_header_and_an_empty_field_is_null(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(
        b'\xef\xbb\xbfb c,a\r\n2,1\r\n\r\n ,"3"\r\n+2 , -1\r\n2,1.5\r\n2,x\r\n2\r\n2,1,0\r\n'
        b"100,1\r\n2,99999999999\r\n\xff,1\r\n5,4"
    )
    assert rows(path) == [
        (1, 2), (3, None), (-1, 2), *(("rows.csv", line, "MP304") for line in (6, 7)),
        ("rows.csv", 8, "MP303"), ("rows.csv", 9, "MP303"), ("rows.csv", 10, "MP306"),
        ("rows.csv", 11, "MP305"), ("rows.csv", 12, "MP304"), (4, 5),
    ]  # fmt: skip


def test_a_quoted_field_over_several_lines_is_one_row(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text('a,b c\n"1\n",2\n3,4\nx,5\n')
    assert rows(path) == [(1, 2), (3, 4), ("rows.csv", 5, "MP304")]


def test_parquet_has_the_columns_as_integers_and_may_have_more(tmp_path: Path) -> None:
    for number, kind in enumerate((pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint64())):
        parquet(
            tmp_path / f"{number}.parquet",
            b_c=pa.array([1, None, 100], kind),
            more=pa.array(["x", "y", "z"]),
            a=pa.array([7, 8, 9], kind),
        )
    assert rows(tmp_path) == [
        each
        for number in range(5)
        for each in ((7, 1), (8, None), (f"{number}.parquet", 3, "MP306"))
    ]


def test_numbers_too_large_for_the_column_are_bad_rows(tmp_path: Path) -> None:
    parquet(tmp_path / "x.parquet", a=pa.array([2**31, 1]), b_c=pa.array([1, 2**63 - 1]))
    assert rows(tmp_path) == [("x.parquet", 1, "MP305"), ("x.parquet", 2, "MP305")]


# Files and folders ------------------------------------------------------------------------------


def test_a_folder_is_its_files_in_order_of_name(tmp_path: Path) -> None:
    for name in ("b/2.jsonl", "b/10.jsonl", "a.jsonl", "c.json"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f'{{"a": {len(name)}, "b c": {ord(name[0])}}}\n')
    kind, files = source_files("s", str(tmp_path))
    assert kind == "json"
    assert [str(each.relative_to(tmp_path)) for each in files] == [
        "a.jsonl", "b/10.jsonl", "b/2.jsonl", "c.json",
    ]  # fmt: skip
    assert rows(tmp_path)[0] == (7, 97)


def test_hidden_and_unfinished_files_are_left_out(tmp_path: Path) -> None:
    for name in ("_temporary/1.jsonl", ".x.jsonl", "_SUCCESS", "notes.txt", "rows.jsonl"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text('{"a": 1, "b c": 2}\n')
    (tmp_path / "folder.jsonl").mkdir()
    assert rows(tmp_path) == [(1, 2)]


@pytest.mark.parametrize("size", [1, 2, 3, 100])
@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_pieces_have_the_size_asked_for(tmp_path: Path, size: int, ending: str) -> None:
    path = tmp_path / f"rows.{ending}"
    if ending == "csv":
        path.write_text("a,b c\n" + "".join(f"{number},0\n" for number in range(7)))
    elif ending == "jsonl":
        path.write_text("".join(f'{{"a": {number}, "b c": 0}}\n' for number in range(7)))
    else:
        parquet(path, a=pa.array(range(7)), b_c=pa.array([0] * 7))
    pieces = [len(each) for each in rows_of_source(CATALOG, S, str(path), size)]
    assert pieces == [size] * (7 // size) + [7 % size] * bool(7 % size)
    assert rows(path, size) == [(number, 0) for number in range(7)]


def test_a_source_may_be_a_uri(tmp_path: Path) -> None:
    path = tmp_path / "rows ä.jsonl"
    path.write_text('{"a": 1, "b c": 2}\n')
    assert rows(path.as_uri()) == [(1, 2)]
    assert local_path(path.as_uri()) == local_path(str(path)) == path


# What cannot be read ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("missing.csv", None, "there is no file"),
        ("rows.txt", b"1", "not all parquet, all json or all csv"),
        ("rows.csv", b"a,c\n1,2\n", "the header has `a`, `c`, and stream `s` has `a`, `b c`"),
        ("rows.csv", b"a\n1\n", "the header has `a`"),
        ("rows.csv", b"a,b c,d\n1,2,3\n", "the header has `a`, `b c`, `d`"),
        ("rows.csv", b"", "the header has no columns"),
        ("rows.csv", b"a,b c\n" + b"x" * 200_000, "line 2 is no csv"),
        ("rows.parquet", b"nonsense", "cannot read the source of `s`"),
        ("rows.parquet", b"", "cannot read the source of `s`"),
    ],
)
def test_a_source_that_cannot_be_read_is_named(
    tmp_path: Path, name: str, content: bytes | None, message: str
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    code, said = refused(lambda: rows(path))
    assert code == "MP404"
    assert message in said


def test_a_folder_of_several_formats_or_of_none_is_refused(tmp_path: Path) -> None:
    assert refused(lambda: rows(tmp_path))[1].endswith("no file of parquet, json or csv there")
    (tmp_path / "1.csv").touch()
    (tmp_path / "2.jsonl").touch()
    assert "not all parquet" in refused(lambda: rows(tmp_path))[1]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"a": pa.array([1])}, "has no column `b c`"),
        ({"A": pa.array([1]), "b_c": pa.array([1])}, "has no column `a`"),
        ({"a": pa.array([1.0]), "b_c": pa.array([1])}, "column `a` is double in the file"),
        ({"a": pa.array([True]), "b_c": pa.array([1])}, "column `a` is bool in the file"),
        ({"a": pa.array(["1"]), "b_c": pa.array([1])}, "column `a` is string in the file"),
    ],
)
def test_parquet_without_the_columns_is_refused(
    tmp_path: Path, columns: dict[str, pa.Array], message: str
) -> None:
    parquet(tmp_path / "rows.parquet", **columns)
    code, said = refused(lambda: rows(tmp_path))
    assert code == "MP404"
    assert message in said


def test_other_kinds_of_sources_are_not_built() -> None:
    with pytest.raises(NotBuiltError, match="`kafka:`"):
        rows("kafka://host/topic")
