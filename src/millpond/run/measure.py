"""What rows of a source are like: ranges, distinct values and NULLs of each column, rows at one
instant, and how far out of order rows come.

Whatever the format, the rows measured are those that a run would accept.  JSON and CSV go row by
row through the readers of a run and lie in a temporary parquet file; parquet is measured as it is,
and read row by row only if something in it breaks a type or a CHECK: then the first bad row is said
as a run would say it.  Polars goes over a file once for each figure, without holding its rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any
from weakref import finalize

import polars as pl

from millpond.diagnostic import InputError
from millpond.plan.moments import DATES
from millpond.run.event import Reject
from millpond.run.parquet_rows import fits
from millpond.run.sources import rows_of_source, source_files
from millpond.run.values import BadRowError, taker
from millpond.schema import (
    Catalog,
    Column,
    DecimalType,
    EnumType,
    IntegerType,
    Kind,
    Stream,
    Value,
    VarcharType,
)

FEW = 16
"""So many distinct values are listed."""
_TURN = 65_536
_MANY = 1_000_000


@dataclass(frozen=True)
class MeasuredColumn:
    """The values of a column; `low` and `high` are None where there are none."""

    column: Column
    nulls: int
    distinct: int
    low: Value
    high: Value
    values: tuple[Value, ...] | None
    """All of them in order, where they are few."""


@dataclass(frozen=True)
class MeasuredTime:
    """The times of the rows, in the order in which they come."""

    column: Column
    first: int
    last: int
    instants: int
    rows_per_instant: int
    """The most rows with one time."""
    delay: int
    """The furthest that a row comes behind the largest time before it."""

    @property
    def length(self) -> int:
        return self.last - self.first


class _Spool:
    """A temporary folder, gone with whoever holds it."""

    def __init__(self) -> None:
        self.path = Path(mkdtemp(prefix="millpond-sample-"))
        finalize(self, rmtree, self.path, ignore_errors=True)


@dataclass(frozen=True)
class Sample:
    """What the rows of a source are like."""

    stream: Stream
    rows: int
    columns: tuple[MeasuredColumn, ...]
    time: MeasuredTime | None
    """Of the time column; or, where none is declared, of the first TIMESTAMP column."""
    _frame: pl.LazyFrame = field(compare=False, repr=False)
    _spool: _Spool | None = field(compare=False, repr=False)

    def column(self, name: str) -> MeasuredColumn:
        return next(each for each in self.columns if each.column.name == name)

    def share(self, names: Sequence[str]) -> Fraction | None:
        """Which share of the rows has values in these columns that no other row before it has."""
        if not self.rows:
            return None
        if len(names) == 1:
            found = self.column(names[0])
            return Fraction(found.distinct + bool(found.nulls), self.rows)
        return Fraction(_one(self._frame.select(names).unique().select(pl.len())), self.rows)


def measured(catalog: Catalog, stream: Stream, uri: str) -> Sample:
    """Measures the source of a stream; raises what a run would raise for a file or a row that is
    wrong."""
    kind, files = source_files(stream.name, uri)
    spool = None
    if kind == "parquet":
        for file in files:
            fits(stream, file)
        frame = pl.concat(_canonical(stream, file) for file in files)
    else:
        spool = _Spool()
        frame = _spooled(catalog, stream, uri, spool.path)
    try:
        columns, rows = _columns(stream, frame)
        time = _time(stream, frame, rows)
    except (pl.exceptions.PolarsError, OverflowError):
        _say_first_bad(catalog, stream, uri)
        raise
    if kind == "parquet" and not _accepted(stream, columns, rows, time, frame, files):
        _say_first_bad(catalog, stream, uri)
    return Sample(stream, rows, columns, time, frame, spool)


def _say_first_bad(catalog: Catalog, stream: Stream, uri: str) -> None:
    for piece in rows_of_source(catalog, stream, uri, _TURN):
        for each in piece:
            if isinstance(each, Reject):
                raise InputError(each.diagnostic)


# Rows as a run has them -------------------------------------------------------------------------


def _canonical(stream: Stream, file: Path) -> pl.LazyFrame:
    """The declared columns of a parquet file, each as its kind is held: times as integers."""
    frame = pl.scan_parquet(file, glob=False)
    found = frame.collect_schema()
    return frame.select(
        _held(pl.col(each.name), found[each.name], each).alias(each.name) for each in stream.columns
    )


def _held(expression: pl.Expr, found: pl.DataType, column: Column) -> pl.Expr:
    match column.type.kind:
        case Kind.INTEGER:
            return expression.cast(_integer(column.type))
        case Kind.DECIMAL:
            return expression.cast(pl.Decimal(38, _scale(column, found)))
        case Kind.DOUBLE:
            return expression.cast(pl.Float64) + 0.0
        case Kind.DATE:
            return expression.cast(pl.Date).cast(pl.Int64)
        case Kind.TIMESTAMP | Kind.INTERVAL:
            return _microseconds(expression, found)
        case Kind.BOOLEAN:
            return expression.cast(pl.Boolean)
    return expression.cast(pl.String)


def _integer(kind: Any) -> type[pl.DataType]:
    return pl.Int128 if isinstance(kind, IntegerType) and kind.bits is None else pl.Int64


def _scale(column: Column, found: pl.DataType) -> int:
    declared = column.type.scale if isinstance(column.type, DecimalType) else 0
    return max(declared, (found.scale or 0) if isinstance(found, pl.Decimal) else 0)


def _microseconds(expression: pl.Expr, found: pl.DataType) -> pl.Expr:
    factor = {"ms": 1000, "us": 1}
    unit = getattr(found, "time_unit", None) or "us"
    whole = expression.cast(pl.Int64)
    return whole // 1000 if unit == "ns" else whole * factor[unit]


def _spooled(catalog: Catalog, stream: Stream, uri: str, folder: Path) -> pl.LazyFrame:
    """The rows in a parquet file for each piece, as a run reads them."""
    schema = {each.name: _stored(each) for each in stream.columns}
    pl.DataFrame(schema=schema).write_parquet(folder / "none.parquet")
    for number, piece in enumerate(rows_of_source(catalog, stream, uri, _TURN)):
        rows = []
        for each in piece:
            if isinstance(each, Reject):
                raise InputError(each.diagnostic)
            rows.append(each.row)
        path = folder / f"{number:09d}.parquet"
        pl.DataFrame(rows, schema=schema, orient="row").write_parquet(path)
    return pl.scan_parquet([*sorted(folder.glob("0*.parquet")), folder / "none.parquet"])


def _stored(column: Column) -> pl.DataType:
    match column.type.kind:
        case Kind.INTEGER:
            return _integer(column.type)()
        case Kind.DECIMAL:
            return pl.Decimal(38, _scale(column, pl.Null()))
        case Kind.DOUBLE:
            return pl.Float64()
        case Kind.BOOLEAN:
            return pl.Boolean()
        case Kind.DATE | Kind.TIMESTAMP | Kind.INTERVAL:
            return pl.Int64()
    return pl.String()


# Figures ----------------------------------------------------------------------------------------


def _columns(stream: Stream, frame: pl.LazyFrame) -> tuple[tuple[MeasuredColumn, ...], int]:
    ends = frame.select(
        pl.len().alias("rows"),
        *(
            figure
            for place, each in enumerate(stream.columns)
            for figure in (
                pl.col(each.name).null_count().alias(f"nulls {place}"),
                pl.col(each.name).min().alias(f"low {place}"),
                pl.col(each.name).max().alias(f"high {place}"),
                pl.col(each.name).approx_n_unique().alias(f"about {place}"),
            )
        ),
    )
    (found,) = _collected(ends).iter_rows(named=True)
    columns = []
    for place, each in enumerate(stream.columns):
        about = found[f"about {place}"]
        distinct = 0 if found["rows"] == found[f"nulls {place}"] else _distinct(frame, each, about)
        few = _values(frame, each) if distinct <= FEW else None
        nulls = found[f"nulls {place}"]
        low, high = found[f"low {place}"], found[f"high {place}"]
        columns.append(MeasuredColumn(each, nulls, distinct, low, high, few))
    return tuple(columns), found["rows"]


def _values(frame: pl.LazyFrame, column: Column) -> tuple[Value, ...]:
    """The distinct values in order."""
    found = _collected(frame.select(pl.col(column.name).drop_nulls().unique()))
    return tuple(sorted(found.to_series().to_list()))


def _distinct(frame: pl.LazyFrame, column: Column, about: int) -> int:
    """How many distinct values there are; many are sorted, which takes less memory than a table of
    them."""
    values = frame.select(pl.col(column.name).drop_nulls())
    if about <= _MANY:
        return int(_one(values.unique().select(pl.len())))
    ordered = _collected(values.select(pl.col(column.name).sort())).to_series()
    return 1 + int((ordered != ordered.shift(1)).sum())


def _most_frequent(frame: pl.LazyFrame, column: Column, about: int) -> int:
    """How often the value comes that comes most often; none is NULL."""
    values = frame.select(column.name)
    if about <= _MANY:
        counted = values.group_by(column.name).agg(pl.len().alias("times it comes"))
        return int(_one(counted.select(pl.col("times it comes").max())))
    ordered = _collected(values.select(pl.col(column.name).sort())).to_series()
    many, starts = len(ordered), (ordered != ordered.shift(1)).fill_null(True).arg_true()
    del ordered
    longest: Any = starts.diff().max()  # None of one value alone
    return max(longest or 0, many - int(starts[-1]))


def _time(stream: Stream, frame: pl.LazyFrame, rows: int) -> MeasuredTime | None:
    column = time_column(stream)
    if column is None or not rows:
        return None
    at = pl.col(column.name)
    if _one(frame.select(at.null_count())):
        return None
    first, last, about = _collected(
        frame.select(at.min().alias("first"), at.max().alias("last"), at.approx_n_unique())
    ).row(0)
    count, most = _distinct(frame, column, about), _most_frequent(frame, column, about)
    delay = int(_one(frame.select((at.cum_max() - at).max())))
    return MeasuredTime(column, first, last, count, most, delay)


def time_column(stream: Stream) -> Column | None:
    """The declared time column, or else the first that could be one."""
    if stream.time is not None:
        return stream.column(stream.time.column)
    return next((each for each in stream.columns if each.type.kind is Kind.TIMESTAMP), None)


def _collected(frame: pl.LazyFrame) -> pl.DataFrame:
    return frame.collect(engine="streaming")


def _one(frame: pl.LazyFrame) -> Any:
    return _collected(frame).item()


# Whether a run would accept all of it -----------------------------------------------------------


def _accepted(
    stream: Stream,
    columns: Sequence[MeasuredColumn],
    rows: int,
    time: MeasuredTime | None,
    frame: pl.LazyFrame,
    files: Sequence[Path],
) -> bool:
    """Whether no row breaks a type, a CHECK or a promise; a doubt counts as no."""
    if stream.until is not None or any(_may_lose(stream, each) for each in files):
        return False
    if stream.time is not None and time is None and rows:  # a time is NULL
        return False
    most = stream.rows_per_instant
    if most is not None and (time is None or time.rows_per_instant > most):
        return False
    return all(_passes(each, frame) for each in columns)


def _may_lose(stream: Stream, file: Path) -> bool:
    """Whether a file has finer values than the columns hold."""
    found = pl.scan_parquet(file, glob=False).collect_schema()
    return any(
        getattr(found[each.name], "time_unit", None) == "ns"
        or (each.type.kind is Kind.DECIMAL and found[each.name].is_float())
        or (isinstance(each.type, DecimalType) and _scale(each, found[each.name]) > each.type.scale)
        for each in stream.columns
    )


def _passes(measured: MeasuredColumn, frame: pl.LazyFrame) -> bool:
    """What a type or a range admits lies between its ends, so that the ends tell; of a list every
    value has to be looked at."""
    column = measured.column
    if measured.nulls and not column.nullable:
        return False
    ends: tuple[Value, ...] = (measured.low, measured.high)
    listed = column.check.among is not None or isinstance(column.type, EnumType)
    if listed and measured.values is None:
        ends = tuple(
            _collected(frame.select(pl.col(column.name).drop_nulls().unique())).to_series()
        )
    elif listed:
        ends = measured.values or ()
    if column.type.kind is Kind.DOUBLE:
        odd = pl.col(column.name).is_nan() | pl.col(column.name).is_infinite()
        if _one(frame.select(odd.any())):
            return False
    if isinstance(column.type, VarcharType) and column.type.length is not None:
        longest = _one(frame.select(pl.col(column.name).str.len_chars().max()))
        if (longest or 0) > column.type.length:
            return False
    return all(_admitted(column, each) for each in ends if each is not None)


def _admitted(column: Column, value: Any) -> bool:
    if column.type.kind is Kind.DATE:  # which arrives as text
        return value in DATES and column.check.admits(value)
    try:
        taker(column.name, column)(value)
    except BadRowError:
        return False
    return True
