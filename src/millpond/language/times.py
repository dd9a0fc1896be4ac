"""Which column of a stream is its time, and how far behind a row may come.

`WATERMARK FOR ts AS ts - 2`, `TIMESTAMP BY ts` and `WITH (time = 'ts')` name the column; they may
stand together if they agree.  The delay is in the unit of the column.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from millpond.diagnostic import Diagnostic, Span, UserError, did_you_mean
from millpond.language.constants import integer_of, shown
from millpond.language.lengths import ticks
from millpond.language.options import Options
from millpond.language.spans import Places
from millpond.language.tree import Length, TimeColumn, Watermark
from millpond.schema import Column, Form, Kind, Time

_EXAMPLE = "write `WATERMARK FOR {0} AS {0} - 2`, or `- INTERVAL '5' SECOND`"


class TimeReader:
    """Reads what a declaration says of time."""

    def __init__(
        self, columns: Sequence[Column], form: Form, options: Options, places: Places
    ) -> None:
        self._columns = columns
        self._form = form
        self._options = options
        self._places = places

    def read(self, clauses: Sequence[exp.Expr]) -> Time | None:
        """The time column, if one is declared."""
        named = [(each.this.name, self._places.of(each.this)) for each in clauses]
        option = self._options.time()
        if option is not None:
            named.append(option)
        if named and not self._form.is_stream:
            raise self._no_stream(clauses)
        if not named:
            for key in ("unit", "delay"):
                wrong = self._options.without_time(key)
                if wrong is not None:
                    raise wrong
            return None
        column = self._one_column(named)
        time = Time(column.name, 0, self._options.unit(column))
        delays = [self._watermark(each, time, column) for each in clauses]
        delays.append(self._options.delay(time, column.type))
        return Time(time.column, self._one_delay(delays), time.unit)

    def _no_stream(self, clauses: Sequence[exp.Expr]) -> UserError:
        return UserError(
            Diagnostic(
                "MP108",
                "a table has no time column: its rows are there until they are deleted",
                self._places.of(clauses[0]) if clauses else self._options.key_span("time"),
                helps=("declare a stream with CREATE STREAM, or leave the time out",),
            )
        )

    def _one_column(self, named: Sequence[tuple[str, Span]]) -> Column:
        found = [self._column(name, span) for name, span in named]
        for column, (_, span) in zip(found[1:], named[1:], strict=True):
            if column != found[0]:
                message = f"two time columns: `{found[0].name}` and `{column.name}`"
                raise UserError(Diagnostic("MP108", message, span, helps=("keep one of them",)))
        return found[0]

    def _column(self, name: str, span: Span) -> Column:
        column = next((each for each in self._columns if each.name.lower() == name.lower()), None)
        if column is None:
            known = [each.name for each in self._columns]
            raise UserError(
                Diagnostic(
                    "MP102", f"there is no column `{name}`", span, helps=did_you_mean(name, known)
                )
            )
        if column.type.kind not in (Kind.INTEGER, Kind.TIMESTAMP):
            raise UserError(
                Diagnostic(
                    "MP108",
                    f"`{column.name}` is {column.type}, which is no time",
                    span,
                    helps=("a time column is a TIMESTAMP, or an integer such as BIGINT",),
                )
            )
        return column

    # Delays ----------------------------------------------------------------------------------

    def _watermark(self, clause: exp.Expr, time: Time, column: Column) -> tuple[int, Span] | None:
        """The delay of `ts - 2`; of `ts` alone, 0."""
        said = clause.args.get("expression")
        if isinstance(clause, TimeColumn) or said is None:
            return None
        assert isinstance(clause, Watermark)
        base, late = (said.left, said.right) if isinstance(said, exp.Sub) else (said, None)
        own = isinstance(base, exp.Column) and not base.table
        if not own or base.name.lower() != column.name.lower():
            misnamed = isinstance(base, exp.Column)
            raise self._no_watermark(base if misnamed else said, column)
        span = self._places.of(said if late is None else late)
        return (0 if late is None else self._delay(late, said, time, column)), span

    def _delay(self, late: exp.Expr, said: exp.Expr, time: Time, column: Column) -> int:
        number = integer_of(late)
        if number is not None:
            found = number
        elif isinstance(late, Length):
            found = ticks(late, time, column.type, self._places)
        else:
            raise self._no_watermark(said, column)
        if found < 0:
            raise self._no_watermark(late, column)
        return found

    def _no_watermark(self, tree: exp.Expr, column: Column) -> UserError:
        return UserError(
            Diagnostic(
                "MP108",
                f"a watermark is its column less a delay, not {shown(tree)}",
                self._places.of(tree),
                helps=(_EXAMPLE.format(column.name),),
            )
        )

    def _one_delay(self, delays: Sequence[tuple[int, Span] | None]) -> int:
        said = [each for each in delays if each is not None]
        for delay, span in said[1:]:
            if delay != said[0][0]:
                message = f"two delays: {said[0][0]} and {delay}"
                raise UserError(Diagnostic("MP108", message, span, helps=("keep one of them",)))
        return said[0][0] if said else 0
