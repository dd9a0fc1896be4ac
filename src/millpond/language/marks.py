"""What the queries of a file say of the streams that they read: STREAM, a WATERMARK behind a name
in FROM, and the schema before it.

Spark declares tables, and each use says whether rows of one only come.  A stream has one time and
one form in a file, so that uses have to agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from sqlglot import exp

from millpond.diagnostic import Diagnostic, Span, UserError, did_you_mean
from millpond.language.constants import not_built
from millpond.language.options import Options
from millpond.language.spans import Places
from millpond.language.temporal_filters import Clocked
from millpond.language.times import TimeReader
from millpond.language.tree import StreamMark, Watermark
from millpond.schema import Catalog, Form, Stream, Time


@dataclass(frozen=True)
class _Use:
    """A name in FROM."""

    name: str
    span: Span
    places: Places
    streamed: bool
    watermark: Watermark | None


class Marks:
    """What is said of each declared name, in all of a file."""

    def __init__(self) -> None:
        self._uses: list[_Use] = []
        self._clocked: list[Clocked] = []

    def read(self, tree: exp.Expr, places: Places) -> None:
        """Takes in what one statement says."""
        for table in tree.find_all(exp.Table):
            if not isinstance(table.this, exp.Identifier):
                continue
            mark = table.args.get("pond_watermark")
            streamed = isinstance(table.args.get("pond_stream"), StreamMark)
            use = _Use(table.name, places.of(table.this), places, streamed, mark)
            self._uses.append(use)

    def clock(self, clocked: Iterable[Clocked]) -> list[Diagnostic]:
        """Takes in what temporal filters say; the notes of them."""
        found = list(clocked)
        self._clocked += found
        return [each.note for each in found]

    def applied(self, catalog: Catalog) -> Catalog:
        """The catalog with streams as they are read; raises where uses do not agree."""
        made = catalog.copy()
        for stream in catalog:
            uses = [each for each in self._uses if each.name.lower() == stream.name.lower()]
            found = self._timed(self._formed(stream, uses), uses)
            made.replace(self._by_the_clock(found))
        return made

    def _formed(self, stream: Stream, uses: list[_Use]) -> Stream:
        streamed = [each for each in uses if each.streamed]
        if stream.is_stream or not (streamed or any(each.watermark for each in uses)):
            return stream
        plain = next((each for each in uses if not each.streamed), None)
        if plain is not None:
            raise not_built(
                f"`{stream.name}` as a stream and as a table in one file",
                plain.span,
                "write STREAM here, too, or declare the table under another name",
            )
        return replace(stream, form=Form.STREAM, retroactive=True)

    def _timed(self, stream: Stream, uses: list[_Use]) -> Stream:
        said = [each for each in uses if each.watermark is not None]
        for each in said:
            reader = TimeReader(stream.columns, stream.form, Options((), each.places), each.places)
            time = reader.read([each.watermark] if each.watermark is not None else [])
            if stream.time is not None and stream.time != time:
                raise _two_times(stream, time, each.span)
            stream = replace(stream, time=time)
        return stream

    def _by_the_clock(self, stream: Stream) -> Stream:
        for each in self._clocked:
            if each.stream != stream.name:
                continue
            column = stream.column(each.column)
            assert column is not None
            if stream.time is not None and stream.time.column != column.name:
                raise _two_times(stream, Time(column.name), each.note.span)
            stream = replace(stream, time=stream.time or Time(column.name))
        return stream


def _two_times(stream: Stream, time: Time | None, span: Span | None) -> UserError:
    first = stream.time
    assert first is not None
    said = f"`{stream.name}` has the time `{first.column}` elsewhere in this file"
    if time is not None and time.column == first.column:
        said = f"the delay of `{stream.name}` is another one elsewhere in this file"
    return UserError(Diagnostic("MP108", said, span, helps=("say the same of it each time",)))


def unqualified(tree: exp.Expr, homes: dict[str, str], places: Places) -> Iterator[UserError]:
    """Takes the schemas off the names of a statement; `homes` has those of what is declared, by
    name in lower case.  A name of another schema is another thing, and unknown."""
    for table in tree.find_all(exp.Table):
        home = home_of(table)
        if not home:
            continue
        declared = homes.get(table.name.lower(), "")
        if declared and not (declared.endswith(home) or home.endswith(declared)):
            said = f"unknown stream `{home}.{table.name}`"
            helps = did_you_mean(f"{home}.{table.name}", [f"{declared}.{table.name}"])
            yield UserError(Diagnostic("MP101", said, places.of(table), helps=helps))
        for key in ("db", "catalog"):
            table.set(key, None)


def home_of(table: exp.Expr) -> str:
    """The schema before a name, in lower case."""
    parts = [table.args.get(key) for key in ("catalog", "db")]
    return ".".join(each.name.lower() for each in parts if isinstance(each, exp.Expr))
