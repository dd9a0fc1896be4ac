"""What a window in brackets says, checked: its extent, its sizes in units of time or rows."""

from __future__ import annotations

from millpond.diagnostic import Diagnostic, Span, UserError
from millpond.language.lengths import ticks
from millpond.language.spans import Places
from millpond.language.tree import Length, WindowClause
from millpond.plan import Extent, Node, Scan, WindowSpec, nodes
from millpond.schema import Stream, Type


def time_of(node: Node) -> Stream | None:
    """A timed stream that the instants of a plan come from."""
    return next(
        (
            each.stream
            for each in nodes(node)
            if isinstance(each, Scan) and each.stream.is_stream and each.stream.time is not None
        ),
        None,
    )


def window_spec(
    clause: WindowClause,
    stream: Stream | None,
    partition: tuple[str, ...],
    places: Places,
    of: str,
) -> WindowSpec:
    """What a window in brackets says; `stream` is where its time comes from, and `of` what it is a
    window of, in words."""
    extent = str(clause.args["extent"]).upper()
    rows = extent == "ROWS"

    def units(length: Length | None) -> int | None:
        if length is None:
            return None
        span = places.of(length)
        if rows:
            return positive(_rows(length, span), span)
        return (
            positive(ticks(length, stream.time, _time_type(stream), places), span)
            if (stream is not None)
            else None
        )

    timed = extent in ("RANGE", "NOW") or (extent == "UNBOUNDED" and clause.args.get("slide"))
    if timed and stream is None:
        raise no_time(of, places.of(clause), 1 if extent == "NOW" else 10)
    size = 1 if extent == "NOW" else units(clause.args.get("size"))
    return WindowSpec(
        Extent.RANGE if extent == "NOW" else Extent(extent),
        size,
        units(clause.args.get("slide")),
        partition,
        bool(clause.args.get("internal")),
    )


def _time_type(stream: Stream) -> Type:
    assert stream.time_type is not None
    return stream.time_type


def _rows(length: Length, span: Span) -> int:
    if length.args.get("unit") or not str(length.this).isdecimal():
        raise UserError(
            Diagnostic("MP105", "a number of rows is needed here", span, helps=("write [ROWS 10]",))
        )
    return int(str(length.this))


def positive(value: int, span: Span) -> int:
    """A size or a slide: at least 1."""
    if value < 1:
        said = f"a window's size and slide are at least 1, and this is {value}"
        raise UserError(Diagnostic("MP134", said, span, helps=("write [RANGE 10], or [ROWS 10]",)))
    return value


def no_time(of: str, span: Span, rows: int = 10) -> UserError:
    """Something that goes by time, of what has none."""
    return UserError(
        Diagnostic(
            "MP135",
            f"{of} has no time column, and windows of time go by one",
            span,
            helps=(f"declare one: TIMESTAMP BY ts; or count rows: [ROWS {rows}]",),
        )
    )


def no_window_of_table(stream: Stream, span: Span) -> UserError:
    """A window on what has no newest rows."""
    return UserError(
        Diagnostic(
            "MP134",
            f"`{stream.name}` is a table, and a window needs a stream",
            span,
            helps=(f"leave the window out, or declare `{stream.name}` with CREATE STREAM",),
        )
    )
