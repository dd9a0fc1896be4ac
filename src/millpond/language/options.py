"""The options of WITH (...): `time`, `unit`, `delay`, `until`, `rows_per_instant`, `retroactive`.

Any other is refused, and so is one that says nothing about what is declared.  In another's dialect
the options of connectors are passed over: keys with a dot, the few words that all share, and, where
a connector is named, all that are not ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from millpond.diagnostic import Diagnostic, Span, UserError, did_you_mean
from millpond.language.constants import constant_of, integer_of, moment_from, shown
from millpond.language.lengths import ticks
from millpond.language.spans import Places
from millpond.language.tree import Length, Option
from millpond.language.units import unit_of
from millpond.schema import Column, Form, Kind, Time, Type

_KNOWN = ("time", "unit", "delay", "until", "rows_per_instant", "retroactive")
_CONNECTORS = ("connector", "topic", "format", "properties", "append only", "appendonly")


def is_connector(option: Option) -> bool:
    """Whether an option says where another engine's rows come from."""
    key = option.name.lower()
    return "." in key or key in _CONNECTORS


class Options:
    """The options of one declaration; each method gives one of them, or None."""

    def __init__(self, options: Sequence[Option], places: Places) -> None:
        self._places = places
        self._given = list(options)
        if places.dialect != "cql":
            connected = any(is_connector(each) for each in options)
            self._given = [
                each
                for each in options
                if not (is_connector(each) or (connected and each.name.lower() not in _KNOWN))
            ]

    def wrong_keys(self) -> Iterator[UserError]:
        """Options that are unknown, or given twice."""
        seen: set[str] = set()
        for each in self._given:
            key = each.name.lower()
            if key not in _KNOWN:
                helps = did_you_mean(key, _KNOWN)
                yield self._refused(f"unknown option `{each.name}`", each.this, *helps)
            elif key in seen:
                span = self._places.of(each.this)
                yield UserError(Diagnostic("MP104", f"`{key}` is said twice", span))
            seen.add(key)

    def time(self) -> tuple[str, Span] | None:
        """The name of the time column."""
        return self._text("time", "write time = 'ts'")

    def unit(self, column: Column) -> str | None:
        """What an integer time column counts."""
        said = self.unit_said()
        if said is not None and column.type.kind is Kind.TIMESTAMP:
            message = f"`{column.name}` is a TIMESTAMP, which counts microseconds"
            raise UserError(Diagnostic("MP109", message, said[1], helps=("leave the unit out",)))
        return None if said is None else said[0]

    def unit_said(self) -> tuple[str, Span] | None:
        """The unit, whatever it is of."""
        said = self._text("unit", "write unit = 'second'")
        return None if said is None else (unit_of(said[0].strip(), said[1]), said[1])

    def delay(self, time: Time, time_type: Type) -> tuple[int, Span] | None:
        """How far behind a row may come."""
        option = self._option("delay")
        if option is None:
            return None
        value = option.expression
        found = integer_of(value)
        if isinstance(value, Length):
            found = ticks(value, time, time_type, self._places)
        if found is None or found < 0:
            raise self._wrong(option, "write delay = 2, or delay = INTERVAL '5' SECOND")
        return found, self._places.of(value)

    def until(self, form: Form, time_type: Type | None, name: Span) -> int | None:
        """The last timestamp, which a finite stream has and no other."""
        option = self._option("until")
        if option is None:
            if form is not Form.FINITE:
                return None
            message = "a finite stream says when it ends: `until` is missing"
            helps = ("write WITH (time = 'ts', until = 100)",)
            raise UserError(Diagnostic("MP109", message, name, helps=helps))
        if form is not Form.FINITE:
            message = "only a finite stream ends: `until` has no place here"
            raise self._refused(message, option.this, "declare it with CREATE FINITE STREAM")
        if time_type is None:
            raise self._timeless(option)
        return self._end(option, time_type)

    def _end(self, option: Option, time_type: Type) -> int:
        value, timed = option.expression, time_type.kind is Kind.TIMESTAMP
        if timed and isinstance(value, exp.Literal) and value.is_string:
            return moment_from(str(value.this), "TIMESTAMP", self._places.of(value))[0]
        number, constant = integer_of(value), constant_of(value, self._places)
        if number is None and timed and constant is not None and constant[1] == time_type:
            assert isinstance(constant[0], int)
            number = constant[0]
        if number is None:
            raise self._wrong(option, f"write the last {time_type} of the time column")
        return number

    def rows_per_instant(self, time: Time | None) -> int | None:
        """The largest number of rows with one timestamp."""
        option = self._option("rows_per_instant")
        if option is None:
            return None
        if time is None:
            raise self._timeless(option)
        number = integer_of(option.expression)
        if number is None or number < 1:
            raise self._wrong(option, "write a number from 1 on")
        return number

    def retroactive(self, form: Form) -> bool:
        """Whether a table's changes touch rows of streams that came before."""
        option = self._option("retroactive")
        if option is None:
            return True
        if form is not Form.TABLE:
            said = "a stream has no" if form.is_stream else "a static table has no"
            message = f"`retroactive` says how changes of a table work, and {said} such changes"
            raise self._refused(message, option.this, "declare it with CREATE TABLE")
        if not isinstance(option.expression, exp.Boolean):
            raise self._wrong(option, "write retroactive = false")
        return bool(option.expression.this)

    def without_time(self, key: str) -> UserError | None:
        """What is wrong with an option that is about time where there is none."""
        option = self._option(key)
        return None if option is None else self._timeless(option)

    def key_span(self, key: str) -> Span | None:
        option = self._option(key)
        return None if option is None else self._places.of(option.this)

    # -----------------------------------------------------------------------------------------

    def _option(self, key: str) -> Option | None:
        return next((each for each in self._given if each.name.lower() == key), None)

    def _text(self, key: str, example: str) -> tuple[str, Span] | None:
        """A name, quoted or not."""
        option = self._option(key)
        if option is None:
            return None
        value = option.expression
        if isinstance(value, exp.Column) or (isinstance(value, exp.Literal) and value.is_string):
            return value.name, self._places.of(value)
        raise self._wrong(option, example)

    def _timeless(self, option: Option) -> UserError:
        message = f"`{option.name}` needs a time column"
        return self._refused(message, option.this, "name it as well: time = 'ts'")

    def _wrong(self, option: Option, help_: str) -> UserError:
        message = f"`{option.name}` cannot be {shown(option.expression)}"
        return self._refused(message, option.expression, help_)

    def _refused(self, message: str, tree: exp.Expr, *helps: str) -> UserError:
        return UserError(Diagnostic("MP109", message, self._places.of(tree), helps=helps))
