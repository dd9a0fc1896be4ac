"""Measured figures against DuckDB over the same files; and what a run refuses is refused."""

from __future__ import annotations

import datetime as dt
import json
import random
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.parquet as pq
import pytest

from millpond.diagnostic import MillpondError
from millpond.language import read_script
from millpond.run import measure
from millpond.run.event import Reject
from millpond.run.measure import Sample, measured
from millpond.run.sources import rows_of_source
from millpond.run.suggest import rounded_range, suggestions
from millpond.schema import Check

COLUMNS = {
    "i": ("INT", pa.int32()),
    "b": ("BIGINT", pa.int64()),
    "x": ("DOUBLE", pa.float64()),
    "k": ("VARCHAR", pa.string()),
    "p": ("BOOLEAN", pa.bool_()),
    "m": ("DECIMAL(9, 2)", pa.decimal128(9, 2)),
    "d": ("DATE", pa.date32()),
    "ts": ("TIMESTAMP", pa.timestamp("us", "UTC")),
}
DDL = f"CREATE STREAM s ({', '.join(f'{n} {t}' for n, (t, _) in COLUMNS.items())}, TIMESTAMP BY ts)"
FORMATS = ("parquet", "json", "csv")


def rows_from(rng: random.Random) -> list[dict[str, Any]]:
    """Random rows, some columns with few values, some with NULLs, times out of order."""
    nulls = {each: rng.choice([0.0, 0.0, 0.3]) for each in COLUMNS if each != "ts"}
    width = rng.choice([2, 40, 10_000])
    start = dt.datetime(2024, 2, 28, tzinfo=dt.UTC)
    rows = []
    for number in range(rng.choice([1, 7, 60, 400])):
        late = rng.choice([0, 0, rng.randrange(3000)])
        row = {
            "i": rng.randrange(-width, width),
            "b": rng.randrange(width) * 10**12,
            "x": rng.choice([0.0, -0.0, 1.5, rng.random() * width]),
            "k": rng.choice("abcde") * rng.randrange(3) + str(rng.randrange(width)),
            "p": rng.random() < 0.5,
            "m": Decimal(rng.randrange(-width, width)) / 100,
            "d": dt.date(2024, 1, 1) + dt.timedelta(days=rng.randrange(width % 700)),
            "ts": start + dt.timedelta(seconds=number // 2 * 60 - late),
        }
        rows.append({n: None if rng.random() < nulls.get(n, 0) else v for n, v in row.items()})
    return rows


def written(rows: list[dict[str, Any]], folder: Path, kind: str) -> Path:
    """A folder of two files."""
    schema = pa.schema([(name, type_) for name, (_, type_) in COLUMNS.items()])
    half = len(rows) // 2
    for number, part in enumerate((rows[:half], rows[half:])):
        path = folder / f"{number}.{kind}"
        table = pa.Table.from_pylist(part, schema=schema)
        if kind == "parquet":
            pq.write_table(table, path)
        elif kind == "json":
            path.write_text("".join(json.dumps(row, default=_said) + "\n" for row in part))
        else:
            plain = [pa.string() if pa.types.is_timestamp(t) else t for t in schema.types]
            texts = [None if r["ts"] is None else _said(r["ts"]) for r in part]
            table = table.set_column(7, "ts", pa.array(texts, plain[7]))
            pcsv.write_csv(table, path)
    return folder


def _said(value: Any) -> str:
    if isinstance(value, dt.datetime):
        return value.strftime("%Y-%m-%dT%H:%M:%SZ")
    return str(value) if isinstance(value, Decimal) else value.isoformat()


def table_of(folder: Path, kind: str) -> str:
    """The files as DuckDB reads them."""
    types = ", ".join(
        f"'{n}': '{'TIMESTAMPTZ' if t == 'TIMESTAMP' else t}'" for n, (t, _) in COLUMNS.items()
    )
    match kind:
        case "parquet":
            files = f"read_parquet('{folder}/*.parquet')"
        case "json":
            files = f"read_json('{folder}/*.json', columns={{{types}}}, format='nd')"
        case _:
            files = f"read_csv('{folder}/*.csv', columns={{{types}}}, header=true)"
    return f"(SELECT * REPLACE (epoch_us(ts) AS ts) FROM {files})"


def plain(value: Any) -> Any:
    """A value of DuckDB as ours is held."""
    return (value - dt.date(1970, 1, 1)).days if isinstance(value, dt.date) else value


@pytest.fixture
def db() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        yield connection


def sample_of(ddl: str, uri: Path) -> Sample:
    (stream,) = (catalog := read_script(ddl).catalog)
    return measured(catalog, stream, str(uri))


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("seed", range(6))
def test_figures_are_those_of_duckdb(
    seed: int, kind: str, tmp_path: Path, db: duckdb.DuckDBPyConnection, monkeypatch: Any
) -> None:
    if seed % 2:
        monkeypatch.setattr(measure, "_MANY", 0)  # every column is counted by sorting
    table = table_of(written(rows_from(random.Random(seed)), tmp_path, kind), kind)
    sample = sample_of(DDL, tmp_path)
    for each in sample.columns:
        name = each.column.name
        figures = db.execute(
            f"SELECT count(*), count(*) - count({name}), count(DISTINCT {name}), min({name}), "
            f"max({name}) FROM {table}"
        ).fetchone()
        assert figures is not None
        found = (sample.rows, each.nulls, each.distinct, each.low, each.high)
        assert found == tuple(map(plain, figures)), name
        values = db.execute(f"SELECT DISTINCT {name} FROM {table} WHERE {name} IS NOT NULL")
        listed = sorted(plain(value) for (value,) in values.fetchall())
        assert each.values == (tuple(listed) if len(listed) <= measure.FEW else None)
    for names in (["i", "k"], ["p"], ["x", "m", "d"]):
        (distinct,) = db.execute(
            f"SELECT count(*) FROM (SELECT DISTINCT {', '.join(names)} FROM {table})"
        ).fetchone() or (0,)
        share = sample.share(names)
        assert share is not None
        assert share * sample.rows == distinct


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("seed", range(20, 26))
def test_times_are_those_of_duckdb(
    seed: int, kind: str, tmp_path: Path, db: duckdb.DuckDBPyConnection, monkeypatch: Any
) -> None:
    if seed % 2:
        monkeypatch.setattr(measure, "_MANY", 0)
    table = table_of(written(rows_from(random.Random(seed)), tmp_path, kind), kind)
    time = sample_of(DDL, tmp_path).time
    assert time is not None
    counts = db.execute(f"SELECT ts, count(*) FROM {table} GROUP BY ts ORDER BY ts").fetchall()
    assert (time.first, time.last) == (plain(counts[0][0]), plain(counts[-1][0]))
    assert (time.instants, time.rows_per_instant) == (len(counts), max(n for _, n in counts))
    largest, delay = time.first, 0
    for (at,) in db.execute(f"SELECT ts FROM {table}").fetchall():
        largest = max(largest, plain(at))
        delay = max(delay, largest - plain(at))
    assert time.delay == delay


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("seed", range(12, 19))
def test_every_suggested_check_holds_on_the_data(seed: int, kind: str, tmp_path: Path) -> None:
    written(rows_from(random.Random(seed)), tmp_path, kind)
    sample = sample_of(DDL, tmp_path)
    declared = [each.sql for each in suggestions(sample) if each.check is not None]
    (stream,) = (catalog := read_script(DDL + ";" + " ".join(map(str, declared))).catalog)
    changed = [each for each in stream.columns if each.check != Check()]
    assert len(changed) == len(declared)
    pieces = rows_of_source(catalog, stream, str(tmp_path), 1000)
    assert not [each for piece in pieces for each in piece if isinstance(each, Reject)]


def test_few_values_that_come_often_are_worth_a_check(tmp_path: Path) -> None:
    rows = [{"a": n % 7, "k": "xy"[n % 2], "u": n, "w": n % 300 * 33} for n in range(3000)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "s.parquet")
    sample = sample_of("CREATE STREAM s (a BIGINT, k VARCHAR, u BIGINT, w BIGINT)", tmp_path)
    found = suggestions(sample)
    assert [each.text for each in found if each.kind == "check"] == [
        "a BETWEEN 0 AND 6", "k IN ('x', 'y')", "w BETWEEN 0 AND 10000",
    ]  # fmt: skip
    assert [each.column for each in found if each.kind == "key"] == ["u"]
    assert [each.column for each in found if each.kind == "not null"] == ["a", "k", "u", "w"]


def test_rounded_ranges_hold_what_they_round() -> None:
    rng = random.Random(1)
    for _ in range(2000):
        low = rng.randrange(-(10 ** rng.randrange(1, 12)), 10 ** rng.randrange(1, 12))
        high = low + rng.randrange(10 ** rng.randrange(1, 12))
        round_low, round_high = rounded_range(low, high)
        assert round_low <= low <= high <= round_high
        assert round_high - round_low <= 3 * (high - low)


def times(*seconds: int) -> list[dict[str, Any]]:
    start = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
    return [{"ts": start + dt.timedelta(seconds=each)} for each in seconds]


@pytest.mark.parametrize(
    ("ddl", "said"),
    [
        ("CREATE STREAM s (ts TIMESTAMP)", "WATERMARK FOR ts AS ts - INTERVAL '2' MINUTE"),
        ("CREATE STREAM s (ts TIMESTAMP, TIMESTAMP BY ts)",
         "WATERMARK FOR ts AS ts - INTERVAL '2' MINUTE"),
        ("CREATE STREAM s (ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL '1' HOUR)", None),
        ("CREATE STREAM s (ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL '90' SECOND)", None),
    ],
)  # fmt: skip
def test_a_delay_is_suggested_that_no_row_exceeds(
    ddl: str, said: str | None, tmp_path: Path
) -> None:
    rows = times(*(60 * each for each in range(200)), 199 * 60 - 90, 12_000)
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "s.parquet")
    found = [
        each.text for each in suggestions(sample_of(ddl, tmp_path)) if each.kind == "watermark"
    ]
    assert found == ([] if said is None else [said])


# What is refused --------------------------------------------------------------------------------

BAD = [
    ("a INT", {"a": [1, 2**40]}),
    ("a INT NOT NULL", {"a": [1, None]}),
    ("a INT CHECK (a < 3)", {"a": [1, 3]}),
    ("a INT CHECK (a IN (1, 9))", {"a": [1, 5, 9]}),
    ("a VARCHAR(2)", {"a": ["ab", "abc"]}),
    ("a ENUM('x', 'y')", {"a": ["x", "z"]}),
    ("a VARCHAR CHECK (a IN ('x', 'y'))", {"a": ["x", "z"]}),
    ("a DOUBLE", {"a": [1.0, float("nan")]}),
    ("a DOUBLE", {"a": [1.0, float("inf")]}),
    ("a DECIMAL(4, 1)", {"a": [Decimal("1.5"), Decimal("1.25")]}),
    ("a DECIMAL(4, 1)", {"a": [1, 1000]}),
    ("a BIGINT, WATERMARK FOR a AS a", {"a": [1, None]}),
    ("a DATE CHECK (a < DATE '2024-01-02')", {"a": [dt.date(2024, 1, 1), dt.date(2024, 1, 2)]}),
    ("a VARCHAR", {"a": [1, 2]}),
    ("a INT, b INT", {"a": [1, 2]}),
    ("a BIGINT", {"a": pa.array([1, 2**63], pa.uint64())}),
    ("a TIMESTAMP", {"a": pa.array([1, 1001], pa.timestamp("ns"))}),
]


@pytest.mark.parametrize(("columns", "values"), BAD, ids=[each for each, _ in BAD])
def test_what_a_run_refuses_is_refused_with_the_same_words(
    columns: str, values: dict[str, Any], tmp_path: Path
) -> None:
    pq.write_table(pa.table(values), tmp_path / "s.parquet")
    (stream,) = (catalog := read_script(f"CREATE STREAM s ({columns})").catalog)
    with pytest.raises(MillpondError) as caught:
        measured(catalog, stream, str(tmp_path))
    try:
        pieces = rows_of_source(catalog, stream, str(tmp_path), 10)
        rejects = [each for piece in pieces for each in piece if isinstance(each, Reject)]
        wanted = rejects[0].diagnostic
    except MillpondError as error:
        wanted = error.diagnostics[0]
    assert caught.value.diagnostics[0] == wanted


@pytest.mark.parametrize("kind", FORMATS)
def test_a_file_without_rows_has_figures_and_no_suggestions(kind: str, tmp_path: Path) -> None:
    written([], tmp_path, kind)
    sample = sample_of(DDL, tmp_path)
    assert (sample.rows, sample.time) == (0, None)
    assert [(each.nulls, each.distinct, each.low) for each in sample.columns] == [(0, 0, None)] * 8
    assert suggestions(sample) == ()
