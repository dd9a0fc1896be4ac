"""Wrong rows and wrong files of `--source`: each is said with file, line and hint, and no row near
it is lost."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.cli.harness import millpond

TEXT = """
CREATE STREAM s (a TINYINT CHECK (a BETWEEN 0 AND 9), b BIGINT NOT NULL, c DOUBLE, v VARCHAR(9));
SELECT a FROM s
"""
LONG = b"x" * 300_000


@pytest.fixture
def query(tmp_path: Path) -> Path:
    path = tmp_path / "q.sql"
    path.write_text(TEXT)
    return path


# Rows -------------------------------------------------------------------------------------------

WRONG_ROWS = [
    ("csv", b"1,2,3", "MP303", "the row has 3 fields, and the header 4", "an empty field"),
    ("csv", b"1", "MP303", "the row has 1 field, and the header 4", "an empty field"),
    ("csv", b"1,2,3,x,y", "MP303", "the row has 5 fields, and the header 4", "an empty field"),
    ("csv", b"x,2,3,x", "MP304", '`s.a` is TINYINT, and the row has "x"', "write an integer"),
    ("csv", b"1.0,2,3,x", "MP304", '`s.a` is TINYINT, and the row has "1.0"', "point"),
    ("csv", b"1e0,2,3,x", "MP304", '`s.a` is TINYINT, and the row has "1e0"', "exponent"),
    ("csv", b"128,2,3,x", "MP305", "128 does not fit in `s.a`", "TINYINT holds -128..127"),
    ("csv", b"10,2,3,x", "MP306", "10 is outside the CHECK of `s.a`", "the CHECK allows 0..9"),
    ("csv", b"1,,3,x", "MP306", "`s.b` is NOT NULL", "give a value"),
    ("csv", b"1,9223372036854775808,3,x", "MP305", "does not fit in `s.b`", "BIGINT holds"),
    ("csv", b"1," + b"9" * 5000 + b",3,x", "MP304", "`s.b` is BIGINT", "write an integer"),
    ("csv", b"1,2,NaN,x", "MP304", '`s.c` is DOUBLE, and the row has "NaN"', "write a number"),
    ("csv", b"1,2,-inf,x", "MP304", '`s.c` is DOUBLE, and the row has "-inf"', "write a number"),
    ("csv", b"1,2,1e400,x", "MP305", "1e400 does not fit in `s.c`", "DOUBLE holds numbers up"),
    ("csv", b"1,2,3," + LONG, "MP305", "does not fit in `s.v`", "at most 9 characters"),
    ("csv", b"1,2,3,\xff", "MP307", "not UTF-8", "save the file as UTF-8"),
    ("csv", b'1,2,3,"x"y', "MP301", "not a record of csv: ',' expected", "stands in quotes"),
    ("json", b'{"a": 1, "b": 2', "MP301", "not a JSON object", 'a row looks like {"a": 1}'),
    ("json", b"1,2,3,x", "MP301", "not a JSON object", "a row looks like"),
    ("json", b"[1, 2, 3]", "MP301", "an event is an object", "a row looks like"),
    ("json", b'{"a": 1, "b": 2, "c": 3}', "MP303", "lacks column `v`", "write NULL as null"),
    ("json", b'{"s": {"a": 1, "b": 2}}', "MP303", "has no column `s`", "there is `a`"),
    ("json", b'{"a": "1", "b": 2, "c": 3, "v": "x"}', "MP304", "`s.a` is TINYINT", "quotes"),
    ("json", b'{"a": 1, "b": 2, "c": NaN, "v": "x"}', "MP304", "NaN is no value", "write null"),
    ("json", b'{"a": 1, "a": 2, "b": 2, "c": 3, "v": ""}', "MP303", "`a` stands twice", "once"),
    ("json", b'{"a": 10, "b": 2, "c": 3, "v": ""}', "MP306", "outside the CHECK", "0..9"),
    ("json", b'{"a": 1, "b": ' + b"9" * 9000 + b"}", "MP305", "thousands of digits", "19"),
    ("json", b"[" * 100_000, "MP301", "nested too deeply", "a row looks like"),
    ("json", b'{"v": "\xe9"}', "MP307", "not UTF-8", "save the file as UTF-8"),
]  # fmt: skip
GOOD = {"csv": b"1,2,3,x", "json": b'{"a": 1, "b": 2, "c": 3, "v": "x"}'}
HEADER = {"csv": [b"a,b,c,v"], "json": []}


def file_of(kind: str, line: bytes, folder: Path, end: bytes = b"\r\n") -> tuple[Path, int]:
    """A file with a mark, a good row, a wrong one and a good one; and the wrong one's line."""
    path = folder / f"rows.{kind}"
    lines = [*HEADER[kind], GOOD[kind], line, GOOD[kind]]
    path.write_bytes(b"\xef\xbb\xbf" + end.join(lines) + end)
    return path, len(lines) - 1


@pytest.mark.parametrize(
    ("kind", "line", "code", "message", "hint"), WRONG_ROWS, ids=range(len(WRONG_ROWS))
)
def test_a_wrong_row_stops_the_run_or_is_rejected_with_its_line(
    query: Path, tmp_path: Path, kind: str, line: bytes, code: str, message: str, hint: str
) -> None:
    path, number = file_of(kind, line, tmp_path)
    source = ("run", query, "--engine", "definition", "--source", f"s={path}")
    done = millpond(*source)
    assert (done.code, done.codes) == (2, [code])
    assert message in done.err
    assert f"--> {path}:{number}:1" in done.err
    assert hint in done.err.partition("help: ")[2]
    assert len(done.err) < 1000
    assert [each["at"] for each in done.lines] == [1]
    rejects = tmp_path / "rejects.jsonl"
    done = millpond(*source, "--on-error", "skip", "--rejects", rejects)
    assert (done.code, [each["at"] for each in done.lines]) == (0, [1, 2])
    (kept,) = [json.loads(each) for each in rejects.read_text(encoding="utf-8").splitlines()]
    assert (kept["line"], kept["code"]) == (number, code)


def test_a_quote_that_is_not_closed_takes_no_row_silently(query: Path, tmp_path: Path) -> None:
    """It takes the rest of the file, which is said, at the line where it was opened."""
    path = tmp_path / "rows.csv"
    path.write_bytes(b'a,b,c,v\n1,2,3,x\n1,2,3,"x\n4,2,3,x\n5,2,3,x\n')
    source = ("run", query, "--engine", "definition", "--source", f"s={path}")
    done = millpond(*source)
    assert (done.code, done.codes) == (2, ["MP301"])
    assert "a quote is not closed" in done.err
    assert f"--> {path}:3:1" in done.err
    rejects = tmp_path / "rejects.jsonl"
    assert millpond(*source, "--on-error", "skip", "--rejects", rejects).code == 0
    (kept,) = [json.loads(each) for each in rejects.read_text().splitlines()]
    assert kept["text"] == '1,2,3,"x\n4,2,3,x\n5,2,3,x'


def test_a_long_text_is_a_value_like_any_other(tmp_path: Path) -> None:
    query, path = tmp_path / "q.sql", tmp_path / "rows.csv"
    query.write_text("CREATE STREAM s (v VARCHAR); SELECT LENGTH(v) AS n FROM s")
    path.write_bytes(b"v\n" + LONG + b"\n")
    done = millpond("run", query, "--engine", "definition", "--source", f"s={path}")
    assert [each["row"] for each in done.lines] == [{"n": len(LONG)}]


# Files ------------------------------------------------------------------------------------------

WRONG_FILES = [
    ("rows.csv", b"", "MP404", ":1:1", "the header has no columns", "the first line"),
    ("rows.csv", b"a,b,c\n1,2,3\n", "MP404", ":1:1", "the header has `a`, `b`, `c`", "first line"),
    ("rows.csv", b"a,b,c,v,w\n", "MP404", ":1:1", "`v`, `w`, and stream `s` has", "first line"),
    ("rows.csv", b"a,a,b,c,v\n", "MP404", ":1:1", "the header has `a`, `a`", "first line"),
    ("rows.csv", b"a;b;c;v\n", "MP404", ":1:1", "the header has `a;b;c;v`", "first line"),
    ("rows.parquet", b"", "MP404", "", "cannot read the source of `s`", "a folder of parquet"),
    ("rows.parquet", b"PAR1", "MP404", "", "cannot read the source of `s`", "a folder of parquet"),
    ("rows.txt", b"1", "MP404", "", "not all parquet, all json or all csv", "a folder of parquet"),
]


@pytest.mark.parametrize(
    ("name", "content", "code", "line", "message", "hint"), WRONG_FILES, ids=range(len(WRONG_FILES))
)
def test_a_wrong_file_is_named_with_what_to_do(
    query: Path,
    tmp_path: Path,
    name: str,
    content: bytes,
    code: str,
    line: str,
    message: str,
    hint: str,
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    for on_error in ("stop", "skip"):
        done = millpond(
            "run", query, "--engine", "definition", "--source", f"s={path}", "--on-error", on_error
        )
        assert (done.code, done.codes, done.out) == (2, [code], "")
        assert message in done.err
        assert f"--> {path}{line}\n" in done.err
        assert hint in done.err.partition("help: ")[2]


@pytest.mark.parametrize(("name", "content"), [("rows.json", b""), ("rows.csv", b"a,b,c,v\r\n")])
def test_a_file_without_rows_has_no_instants(
    query: Path, tmp_path: Path, name: str, content: bytes
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    done = millpond("run", query, "--engine", "definition", "--source", f"s={path}")
    assert (done.code, done.out, done.err) == (0, "", "")


# Parquet ----------------------------------------------------------------------------------------

PARQUET: list[tuple[dict[str, pa.Array], str, str, str]] = [
    ({"a": pa.array([1, 128])}, "MP305", ":2:1", "TINYINT holds -128..127"),
    ({"a": pa.array([1, 10])}, "MP306", ":2:1", "the CHECK allows 0..9"),
    ({"b": pa.array([1, None])}, "MP306", ":2:1", "give a value"),
    ({"c": pa.array([1.0, float("nan")])}, "MP304", ":2:1", "write null"),
    ({"c": pa.array([1.0, float("-inf")])}, "MP304", ":2:1", "write null"),
    ({"v": pa.array(["x", "x" * 10])}, "MP305", ":2:1", "at most 9 characters"),
    ({"a": pa.array(["1", "2"])}, "MP404", "", "declare the column as the file has it"),
    ({"b": pa.array([1.0, 2.0])}, "MP404", "", "declare the column as the file has it"),
    ({"c": pa.array([1, 2])}, "MP404", "", "declare the column as the file has it"),
]


@pytest.mark.parametrize(
    ("columns", "code", "line", "hint"), PARQUET, ids=[next(iter(each[0])) for each in PARQUET]
)
def test_wrong_parquet_is_named_with_row_and_hint(
    query: Path,
    tmp_path: Path,
    columns: dict[str, pa.Array],
    code: str,
    line: str,
    hint: str,
) -> None:
    right = {"a": pa.array([1, 1]), "b": pa.array([2, 2]), "c": pa.array([0.5, 1.5])}
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({**right, "v": pa.array(["x", "y"]), **columns}), path)
    done = millpond("run", query, "--engine", "definition", "--source", f"s={path}")
    assert (done.code, done.codes) == (2, [code])
    assert f"--> {path}{line}\n" in done.err
    assert hint in done.err.partition("help: ")[2]
    assert [each["at"] for each in done.lines] == ([1] if line else [])


def test_parquet_without_a_column_says_which(query: Path, tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"a": [1], "b": [2], "c": [0.5], "w": ["x"]}), path)
    done = millpond("run", query, "--engine", "definition", "--source", f"s={path}")
    assert (done.code, done.codes) == (2, ["MP404"])
    assert "has no column `v`" in done.err
    assert "help: " in done.err
