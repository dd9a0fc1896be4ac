"""Sources of one stream each: formats, files and folders, and what cannot be read."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from millpond.diagnostic import NotBuiltError, UserError
from millpond.run.event import Event, Reject
from millpond.run.ingest import TaggedReader
from millpond.run.promises import Promises
from millpond.run.sources import local_path, rows_of_source, source_files
from millpond.schema import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    TIMESTAMP,
    TINYINT,
    VARCHAR,
    Catalog,
    Check,
    Column,
    Form,
    Stream,
    Time,
    Type,
    decimal,
    enum,
)

S = Stream("s", (Column("a", INT), Column("b c", TINYINT, check=Check(high=100, high_open=True))))


def rows(source: Path | str, size: int = 100, of: Stream = S) -> list[Any]:
    """The rows of a source; of a bad one the file, the line and the code."""
    catalog = Catalog()
    catalog.add(of)
    found: list[Any] = []
    for piece in rows_of_source(catalog, of, str(source), size):
        for each in piece:
            if isinstance(each, Event):
                assert each.stream == of.name
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
        ("rows.csv", 11, "MP305"), ("rows.csv", 12, "MP307"), (4, 5),
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


# Types ------------------------------------------------------------------------------------------

SECOND = 1_000_000
TYPED = Stream(
    "s",
    (
        Column("i", BIGINT), Column("d", decimal(6, 2)), Column("x", DOUBLE),
        Column("b", BOOLEAN), Column("v", VARCHAR), Column("e", enum(("lo", "hi"))),
        Column("day", DATE), Column("ts", TIMESTAMP),
    ),
)  # fmt: skip
EXPECTED = [
    (1, Decimal("1.50"), 0.5, True, "a, b", "lo", 1, SECOND + 500_000),
    (None,) * 8,
    (-1, Decimal("0.00"), -1e300, False, "", "hi", -1, 0),
]


def test_csv_is_read_by_type_and_quotes_tell_empty_text_from_null(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(
        "ts,i,d,x,b,v,e,day\n"
        '1970-01-01T00:00:01.5Z,1,1.5, .5 ,TRUE,"a, b",lo,1970-01-02\n'
        '"",,"",,,,,\n'
        '0,-1,0,-1e300,false,"",hi,1969-12-31\n'
    )
    assert rows(path, of=TYPED) == EXPECTED


@pytest.mark.parametrize(
    ("field", "code"),
    [
        ("i", "x"), ("i", "1.0"), ("d", "x"), ("x", "nan"), ("x", "1_0"), ("b", "yes"),
        ("day", "2013-1-1"), ("ts", "now"),
    ],
)  # fmt: skip
def test_fields_of_csv_are_refused_like_values_of_json(
    tmp_path: Path, field: str, code: str
) -> None:
    path = tmp_path / "rows.csv"
    values = dict.fromkeys(TYPED.names, "") | {field: code}
    path.write_text(",".join(TYPED.names) + "\n" + ",".join(values.values()) + "\n")
    assert rows(path, of=TYPED) == [("rows.csv", 2, "MP304")]


@pytest.mark.parametrize(
    "line",
    ['""', '"",""', 'x,""', '"","x"', '"x""",', '"a\nb",""', '"""",""', ',"a,b"', '"",', ","],
)
def test_quotes_are_told_as_csv_has_them(tmp_path: Path, line: str) -> None:
    """Against the rule said in another way: a field is NULL if nothing stands there at all."""
    width = len(next(csv.reader(io.StringIO(line))))
    names = "pq"[:width]
    of = Stream("s", tuple(Column(name, VARCHAR) for name in names))
    path = tmp_path / "rows.csv"
    path.write_text(",".join(names) + "\n" + line + "\n")
    (found,) = rows(path, of=of)
    fields = next(csv.reader(io.StringIO(line)))
    spare = line.replace('""', "@") if width > 1 else line
    assert [each or "" for each in found] == fields
    nulls = [not each for each in next(csv.reader(io.StringIO(spare)))]
    assert [each is None for each in found] == ([False] if width == 1 else nulls)


def test_text_that_is_not_utf_8_is_refused_and_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(b"v\ncaf\xe9\n\xc3\xa9\n")
    of = Stream("s", (Column("v", VARCHAR),))
    assert rows(path, of=of) == [("rows.csv", 2, "MP307"), ("é",)]


def table(**columns: pa.Array) -> pa.Table:
    return pa.table(columns)


def test_parquet_types_that_lose_nothing_are_taken(tmp_path: Path) -> None:
    for unit, factor in (("s", 1), ("ms", 10**3), ("us", 10**6), ("ns", 10**9)):
        path = tmp_path / f"{unit}.parquet"
        half = factor // 2 if unit != "s" else 0
        pq.write_table(
            table(
                i=pa.array([1, None, -1], pa.int8()),
                d=pa.array([Decimal("1.5"), None, Decimal(0)], pa.decimal128(10, 1)),
                x=pa.array([0.5, None, -2.0], pa.float32()),
                b=pa.array([True, None, False]),
                v=pa.array(["a, b", None, ""], pa.large_string()),
                e=pa.array(["lo", None, "hi"]).dictionary_encode(),
                day=pa.array([1, None, -1], pa.int32()).cast(pa.date32()),
                ts=pa.array([factor + half, None, 0], pa.int64()).cast(
                    pa.timestamp(unit, tz="Asia/Tokyo")
                ),
            ),
            path,
        )
        found = rows(path, of=TYPED)
        assert found[1:] == [EXPECTED[1], (*EXPECTED[2][:2], -2.0, *EXPECTED[2][3:])]
        assert found[0][:-1] == EXPECTED[0][:-1]
        assert found[0][-1] == SECOND + (500_000 if half else 0)


LOSSY: list[tuple[Type, pa.DataType]] = [
    (BIGINT, pa.float64()), (BIGINT, pa.bool_()), (BIGINT, pa.string()), (BIGINT, pa.date32()),
    (DOUBLE, pa.int64()), (DOUBLE, pa.decimal128(5, 2)), (decimal(6, 2), pa.float64()),
    (decimal(6, 2), pa.string()), (BOOLEAN, pa.int8()), (VARCHAR, pa.binary()),
    (VARCHAR, pa.int8()), (DATE, pa.timestamp("us")),
    (TIMESTAMP, pa.int64()), (TIMESTAMP, pa.date32()), (TIMESTAMP, pa.time64("us")),
    (VARCHAR, pa.list_(pa.string())),
]  # fmt: skip


@pytest.mark.parametrize(("declared", "found"), LOSSY, ids=str)
def test_parquet_types_that_could_lose_something_are_refused_by_name(
    tmp_path: Path, declared: Type, found: pa.DataType
) -> None:
    pq.write_table(table(v=pa.array([], found)), tmp_path / "x.parquet")
    code, said = refused(lambda: rows(tmp_path, of=Stream("s", (Column("v", declared),))))
    assert code == "MP404"
    assert str(declared) in said
    assert "column `v` is" in said
    assert re.split(r"[\[<(]", str(found))[0] in said


def test_parts_of_a_microsecond_and_of_a_cent_are_bad_rows(tmp_path: Path) -> None:
    ns = pa.array([1_000, 1_001, None], pa.int64()).cast(pa.timestamp("ns"))
    cents = pa.array([Decimal("1.00"), None, Decimal("1.001")], pa.decimal128(10, 3))
    pq.write_table(table(ts=ns, d=cents), tmp_path / "x.parquet")
    of = Stream("s", (Column("ts", TIMESTAMP), Column("d", decimal(6, 2))))
    assert rows(tmp_path, of=of) == [
        (1, Decimal("1.00")), ("x.parquet", 2, "MP305"), ("x.parquet", 3, "MP305"),
    ]  # fmt: skip


def test_what_is_no_number_in_parquet_is_a_bad_row(tmp_path: Path) -> None:
    pq.write_table(table(x=pa.array([1.0, float("nan"), float("-inf")])), tmp_path / "x.parquet")
    assert rows(tmp_path, of=Stream("s", (Column("x", DOUBLE),))) == [
        (1.0,), ("x.parquet", 2, "MP304"), ("x.parquet", 3, "MP304"),
    ]  # fmt: skip


def test_promises_hold_over_all_files_of_a_source(tmp_path: Path) -> None:
    of = Stream(
        "f", (Column("ts", BIGINT),), form=Form.FINITE, time=Time("ts"), until=9,
        rows_per_instant=2,
    )  # fmt: skip
    for number, text in enumerate(["1\n1\n", "9\n1\n", "5\n10\n1\n"]):
        (tmp_path / f"{number}.csv").write_text("ts\n" + text)
    assert rows(tmp_path, of=of) == [
        (1,), (1,), (9,), ("1.csv", 3, "MP311"), (5,), ("2.csv", 3, "MP310"),
        ("2.csv", 4, "MP311"),
    ]  # fmt: skip


def test_a_table_is_a_source_like_a_stream(tmp_path: Path) -> None:
    of = Stream("r", (Column("k", INT),), form=Form.STATIC)
    (tmp_path / "r.jsonl").write_text('{"k": 1}\n{"k": 1}\n')
    assert rows(tmp_path / "r.jsonl", of=of) == [(1,), (1,)]
    (tmp_path / "r.csv").write_text("j\n1\n")
    assert "and table `r` has `k`" in refused(lambda: rows(tmp_path / "r.csv", of=of))[1]


def test_tagged_input_deletes_what_a_source_has_put_into_a_table(tmp_path: Path) -> None:
    of = Stream("r", (Column("k", INT),), form=Form.TABLE)
    catalog = Catalog()
    catalog.add(of)
    (tmp_path / "r.csv").write_text("k\n7\n")
    promises = Promises(catalog)
    assert len(list(rows_of_source(catalog, of, str(tmp_path), 10, promises))) == 1
    line = b'{"r": {"k": 7}, "@op": "delete"}\n'
    reader = TaggedReader(catalog, "rows", promises=promises)
    (found,) = reader.chunks(io.BytesIO(line * 2))
    assert [isinstance(each, Event) for each in found] == [True, False]


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
    catalog = Catalog()
    catalog.add(S)
    pieces = [len(each) for each in rows_of_source(catalog, S, str(path), size)]
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
        ("rows.csv", b'"a,b c\n1,2', "the header has no columns"),
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
