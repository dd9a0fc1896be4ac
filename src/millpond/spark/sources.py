"""Tagged DataFrames: what the engine reads, out of files and folders.

A tagged DataFrame has a struct column for each stream, of 64-bit columns, NULL in rows of other
streams; and `@rejected`, the text (as JSON) of what could not be read as a row.  Values are taken
as they are: Spark's readers turn a missing column into NULL, 1.5 into 1 and 200 into -56 where
they can, so that each format is read loosely here and then looked at.  What types, CHECK and NOT
NULL say is tested by the reduction itself.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from millpond.diagnostic import Diagnostic, UserError
from millpond.plan import Script
from millpond.program.codec import write_file
from millpond.schema import Stream
from millpond.spark.lowering import REJECTED, TICK, column_of
from millpond.spark.sinks import hadoop_glob, path_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructType

_PACKED = ("", ".gz", ".bz2")
_ENDINGS = {
    "parquet": (".parquet",),
    "json": tuple(f"{kind}{pack}" for kind in (".json", ".jsonl", ".ndjson") for pack in _PACKED),
    "csv": tuple(f".csv{pack}" for pack in _PACKED),
}
"""How the names of files end, by format; all in lower or all in upper case."""

_FOREVER = "36500d"
"""Spark leaves out files that are a week older than the newest one it has seen, without a word."""


# Sources ----------------------------------------------------------------------------------------


def source_df(
    spark: SparkSession, stream: Stream, uri: str, max_files_per_batch: int | None = None
) -> DataFrame:
    """The rows of a file or a folder as a streaming, tagged DataFrame of one stream.

    parquet, json (one object a line) or csv (with a header), told by the names of the files.
    Raises `UserError` with MP404.
    """
    path = path_of(uri)
    kind, files = _found(path)
    reader = spark.readStream.option("maxFileAge", _FOREVER)
    if path.is_dir():
        # Otherwise Spark would take the names of folders for columns.
        reader = reader.option("recursiveFileLookup", "true")
        reader = reader.option("pathGlobFilter", _pattern(kind))
        where = hadoop_glob(path)
    else:
        # Spark streams folders, and what a pattern finds: this one finds one file.
        where = f"{hadoop_glob(path)[:-1]}[{path.name[-1]}]"
    if max_files_per_batch is not None:
        reader = reader.option("maxFilesPerTrigger", max_files_per_batch)
    match kind:
        case "json":
            return _json(stream, reader.text(where))
        case "csv":
            return _csv(stream, reader, where, files)
        case _:
            _parquet_fits(stream, files)
            return _row(stream, reader.schema(_struct(stream)).parquet(where), stream.names)


def union(frames: Sequence[DataFrame]) -> DataFrame:
    """Tagged DataFrames of several streams as one."""
    return reduce(lambda left, right: left.unionByName(right, allowMissingColumns=True), frames)


def tagged(frames: Mapping[str, DataFrame], streams: Iterable[Stream]) -> DataFrame:
    """Plain DataFrames, one for each stream, as one tagged DataFrame.

    Raises `UserError` with MP404 if one lacks a column, or has one that is no integer.
    """
    from pyspark.sql.types import IntegralType

    found = []
    for stream in streams:
        if stream.name not in frames:
            continue
        frame = frames[stream.name]
        types = {
            each.name: (each.dataType.simpleString(), isinstance(each.dataType, IntegralType))
            for each in frame.schema.fields
        }
        _columns_there(stream, types, f"the DataFrame of `{stream.name}`", None)
        found.append(_row(stream, frame, stream.names))
    return union(found)


def _found(path: Path) -> tuple[str, list[Path]]:
    """The format of a source and the files that are there now."""
    try:
        if path.is_dir():
            there = sorted(each for each in path.iterdir() if not _hidden(each.name))
            if inner := next((each.name for each in there if each.is_dir()), None):
                _unreadable(path, f"the folder has folders in it, among them {inner}")
            kinds = sorted({kind for each in there if (kind := _kind(each)) is not None})
            if len(kinds) != 1:
                found = f"files of several formats ({', '.join(kinds)})" if kinds else "no files"
                _unreadable(path, f"the folder has {found} that a source can have")
            if other := next((each.name for each in there if _kind(each) is None), None):
                _unreadable(path, f"the folder has other files too, among them {other}")
            return kinds[0], there
        with path.open("rb"):
            pass
    except OSError as error:
        _unreadable(path, f"the source cannot be read: {error.strerror}")
    kind = _kind(path)
    if kind is None or _hidden(path.name):
        _unreadable(path, "what a source holds is told by its name")
    return kind, [path]


def _kind(path: Path) -> str | None:
    for kind, endings in _ENDINGS.items():
        if path.name.endswith((*endings, *(each.upper() for each in endings))):
            return kind
    return None


def _pattern(kind: str) -> str:
    """What the names of all files of a format match."""
    endings = [*_ENDINGS[kind], *(each.upper() for each in _ENDINGS[kind])]
    return f"*{{{','.join(endings)}}}"


def _hidden(name: str) -> bool:
    """Spark does not see these."""
    return name.startswith(("_", "."))


# Formats ----------------------------------------------------------------------------------------


def _row(stream: Stream, frame: DataFrame, names: Sequence[str]) -> DataFrame:
    """Columns that are integers already, as the struct of the stream."""
    from pyspark.sql import functions as f

    columns = [
        column_of(name).cast("bigint").alias(column.name)
        for name, column in zip(names, stream.columns, strict=True)
    ]
    return frame.select(
        f.struct(*columns).alias(stream.name), f.lit(None).cast("string").alias(REJECTED)
    )


def _read(stream: Stream, frame: DataFrame, good: Column, text: Column, row: Column) -> DataFrame:
    """Rows where `good`, else the text that stood there."""
    from pyspark.sql import functions as f

    lost = f.to_json(f.struct(text.alias(stream.name)))
    return frame.select(f.when(good, row).alias(stream.name), f.when(~good, lost).alias(REJECTED))


def _json(stream: Stream, lines: DataFrame) -> DataFrame:
    from pyspark.sql import functions as f

    text = f.col("value")
    row = f.from_json(
        text,
        _struct(stream).add("@corrupt", "string"),
        {
            "mode": "PERMISSIVE",
            "columnNameOfCorruptRecord": "@corrupt",
            "allowSingleQuotes": "false",
            "allowNonNumericNumbers": "false",
        },
    )
    # from_json looks neither at what follows the object nor at missing and repeated keys. Objects
    # of integers have no braces but their own two.
    one_object = text.rlike(r"^\s*\{[^{}]*\}\s*$")
    keys = f.array_sort(f.json_object_keys(text))
    wanted = f.array(*(f.lit(each) for each in sorted(stream.names)))
    lines = lines.where(f.length(f.trim(text)) > 0).withColumn("row", row)
    row = f.col("row")
    good = one_object & (keys == f.array_sort(wanted)) & row.getField("@corrupt").isNull()
    columns = f.struct(*(row.getField(each).alias(each) for each in stream.names))
    return _read(stream, lines, f.coalesce(good, f.lit(False)), text, columns)


def _csv(stream: Stream, reader: Any, where: str, files: Sequence[Path]) -> DataFrame:
    from pyspark.sql import functions as f
    from pyspark.sql.types import StringType, StructType

    names = _header(stream, files)
    schema = StructType()
    for name in [*names, "@corrupt"]:
        schema = schema.add(name, StringType())
    frame = (
        reader.schema(schema)
        .option("header", "true")
        .option("enforceSchema", "false")
        .option("columnNameOfCorruptRecord", "@corrupt")
        .option("ignoreLeadingWhiteSpace", "true")
        .option("ignoreTrailingWhiteSpace", "true")
        .csv(where)
    )
    good = column_of("@corrupt").isNull()
    values = []
    for column in stream.columns:
        value = column_of(column.name)
        # Unlike a plain cast, this one never makes 1.5 a 1, and NULL of what does not fit.
        number = value.try_cast("bigint")
        good = good & (value.isNull() | number.isNotNull())
        values.append(number.alias(column.name))
    text = f.coalesce(column_of("@corrupt"), f.concat_ws(",", *map(column_of, names)))
    return _read(stream, frame, f.coalesce(good, f.lit(False)), text, f.struct(*values))


def _header(stream: Stream, files: Sequence[Path]) -> list[str]:
    """The columns of a csv source in the order in which its files have them."""
    import bz2
    import csv
    import gzip

    path = files[0]
    packers: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open}
    opened = packers.get(path.suffix.lower(), open)
    try:
        with opened(path, "rt", encoding="utf-8-sig", newline="") as file:
            said = [each.strip() for each in next(csv.reader(file), [])]
    except (OSError, EOFError, UnicodeDecodeError) as error:
        _unreadable(path, f"the source cannot be read: {error}")
    if sorted(said) != sorted(stream.names):
        _unreadable(
            path,
            f"the header has {_list(said)}, and stream `{stream.name}` has {_list(stream.names)}",
        )
    return said


def _parquet_fits(stream: Stream, files: Sequence[Path]) -> None:
    """Whether each file has the columns, as integers that Spark reads as 64-bit ones."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for path in files:
        try:
            schema = pq.read_schema(path)
        except (OSError, pa.ArrowException) as error:
            _unreadable(path, f"the source cannot be read: {str(error).splitlines()[0]}")
        fitting = (pa.int8(), pa.int16(), pa.int32(), pa.int64())
        types = {each.name: (str(each.type), each.type in fitting) for each in schema}
        _columns_there(stream, types, "the source", path)


def _columns_there(
    stream: Stream, types: Mapping[str, tuple[str, bool]], what: str, path: Path | None
) -> None:
    """`types` says of each column its type and whether that will do."""
    for column in stream.columns:
        if column.name not in types:
            _unreadable(path, f"{what} lacks column `{column.name}`, it has {_list(types)}")
        said, fits = types[column.name]
        if not fits:
            _unreadable(
                path, f"column `{column.name}` of {what} is {said}, declared is {column.type}"
            )


def _struct(stream: Stream) -> StructType:
    from pyspark.sql.types import LongType, StructType

    schema = StructType()
    for name in stream.names:
        schema = schema.add(name, LongType())
    return schema


def _list(names: Iterable[str]) -> str:
    return ", ".join(f"`{each}`" for each in names) or "no columns"


def _unreadable(path: Path | None, what: str) -> NoReturn:
    raise UserError(
        Diagnostic(
            "MP404",
            what,
            file=None if path is None else str(path),
            helps=("a source is a file or a folder of .parquet, .json, .jsonl or .csv",),
        )
    )


# Tagged files -----------------------------------------------------------------------------------


def tagged_files(spark: SparkSession, script: Script, folder: Path) -> DataFrame:
    """Tagged JSON lines that were checked already, one file a batch, in the order of a `Spool`."""
    return _tagged(
        script,
        spark.readStream.option("maxFileAge", _FOREVER).option("maxFilesPerTrigger", 1),
        folder,
    )


def tagged_file(spark: SparkSession, script: Script, path: Path) -> DataFrame:
    """The same of one file or folder, all of it, as a DataFrame that is no stream."""
    return _tagged(script, spark.read, path)


def _tagged(script: Script, reader: Any, path: Path) -> DataFrame:
    from pyspark.sql.types import LongType, StringType, StructType

    schema = StructType()
    for stream in script.catalog:
        schema = schema.add(stream.name, _struct(stream))
    schema = schema.add(TICK, LongType()).add(REJECTED, StringType())
    frame: DataFrame = (
        reader.schema(schema)
        .option("mode", "PERMISSIVE")
        .option("columnNameOfCorruptRecord", REJECTED)
        .json(hadoop_glob(path))
    )
    return frame


class Spool:
    """Writes chunks of tagged lines where `tagged_files` reads them; goes on where one left off.

    Spark takes files by age, and those of one millisecond in no order: so each is made younger
    than the one before it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        there = sorted(folder.glob("chunk-*.jsonl"))
        self.lines = sum(each.read_bytes().count(b"\n") for each in there)
        """Events that earlier runs have put here."""
        self._number = itertools.count(len(there))
        self._age = 1_000_000_000  # Seconds; any time that has been will do.

    def put(self, lines: Iterable[str | Mapping[str, Any]]) -> None:
        """The next chunk; a line is text without its end, or an event."""
        number = next(self._number)
        said = (each if isinstance(each, str) else json.dumps(each) for each in lines)
        draft = self.folder / f".{number}"  # Spark does not see it before it has its name.
        write_file(draft, "".join(f"{each}\n" for each in said).encode())
        os.utime(draft, (self._age + number, self._age + number))
        os.replace(draft, self.folder / f"chunk-{number:012d}.jsonl")
