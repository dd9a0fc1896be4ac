"""Control lines of tagged input: `@tick`, `@time`, `@end`, `@punct`; and `@op`, `@at` of tables.

Which of them a file takes follows from its declarations: time can only be set where some stream
has a time column, and a tick is an instant only where some stream has none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millpond.diagnostic import did_you_mean
from millpond.run.event import Event, Op
from millpond.run.promises import Promises
from millpond.run.values import BadRowError, Convert, short, taker
from millpond.schema import BIGINT, Catalog, Column, Form, Kind, Stream, Type, Value

_NAMES = ("@tick", "@time", "@end", "@punct")


class Controls:
    """Reads what lines say apart from rows; raises BadRowError for what means nothing."""

    def __init__(
        self, catalog: Catalog, takers: Mapping[str, Mapping[str, Convert]], promises: Promises
    ) -> None:
        self._catalog = catalog
        self._takers = takers
        self._promises = promises
        streams = [each for each in catalog if each.is_stream]
        self._timed = any(each.time is not None for each in streams)
        self._untimed = not streams or any(each.time is None for each in streams)
        kinds = {each.time_type.kind: each.time_type for each in streams if each.time_type}
        self._times = {kind: _time_taker(kinds[kind]) for kind in sorted(kinds)}

    def line(self, said: dict[str, Any], number: int) -> Event:
        """The event of a line that has no row."""
        key, *others = said
        if others:
            raise BadRowError(
                "MP308", f"`{short(key)}` stands alone, not with `{short(others[0])}`"
            )
        match key:
            case "@tick":
                return self._tick(said[key], number)
            case "@time":
                return self._time(said[key], number)
            case "@end":
                return self._end(said[key], number)
            case "@punct":
                return self._punct(said[key], number)
        raise BadRowError(
            "MP308", f"unknown control line `{short(key)}`", *did_you_mean(key, _NAMES)
        )

    def of_table(self, table: Stream, name: str, said: dict[str, Any]) -> tuple[Op, int | None]:
        """What a line about a table says beside its row."""
        op, at = Op.INSERT, None
        for key, value in said.items():
            if key == "@op":
                if value not in ("insert", "delete"):
                    raise BadRowError(
                        "MP308", 'an `@op` is "insert" or "delete"', 'write "@op": "delete"'
                    )
                op = Op(value)
            elif key == "@at":
                at, _ = self._instant("@at", value)
            elif key != name:
                raise BadRowError(
                    "MP308",
                    f"a row of a table takes no `{short(key)}`",
                    *did_you_mean(key, ("@op", "@at")),
                )
        return op, at

    def _tick(self, value: Any, number: int) -> Event:
        if not self._untimed:
            raise BadRowError(
                "MP308",
                "`@tick` is about untimed streams, and those of this file have time columns",
                'write {"@time": 17} to set the clock',
            )
        if type(value) is not int or value != 1:
            raise BadRowError("MP308", "a tick is written as 1", 'write {"@tick": 1}')
        return Event(None, (), number, Op.TICK)

    def _time(self, value: Any, number: int) -> Event:
        at, kind = self._instant("@time", value)
        return Event(None, (), number, Op.TIME, at, kind)

    def _instant(self, key: str, value: Any) -> tuple[int, Kind | None]:
        """A time, and its kind where a file has several and only one can be meant."""
        if not self._timed:
            raise BadRowError(
                "MP308",
                f"`{key}` is about timed streams, and those of this file are untimed",
                'write {"@tick": 1} for an instant with no row',
            )
        found: dict[Kind, Value] = {}
        wrong: BadRowError | None = None
        for kind, take in self._times.items():
            try:
                found[kind] = take(value)
            except BadRowError as error:
                wrong = error
        if not found:
            assert wrong is not None
            raise BadRowError("MP308", f"`{key}`: {wrong.message}", *wrong.helps)
        at = next(iter(found.values()))
        assert isinstance(at, int)
        whole = len(found) == len(self._times)
        return at, None if whole else next(iter(found))

    def _end(self, value: Any, number: int) -> Event:
        stream = self._stream("@end", value)
        if stream.form is not Form.FINITE:
            finite = [each.name for each in self._catalog if each.form is Form.FINITE]
            raise BadRowError(
                "MP308",
                f"`@end` ends a finite stream, and `{stream.name}` is declared without an end",
                *(did_you_mean(stream.name, finite) or ("declare CREATE FINITE STREAM",)),
            )
        self._promises.end(stream)
        return Event(stream.name, (), number, Op.END, stream.until)

    def _punct(self, value: Any, number: int) -> Event:
        like = 'a promise looks like {"@punct": {"s": {"a": 1}}}'
        if not isinstance(value, dict) or not value:
            raise BadRowError("MP308", "`@punct` names a stream and values of its columns", like)
        found = []
        for name, values in value.items():
            stream = self._stream("@punct", name)
            if not stream.is_stream:
                raise BadRowError("MP308", f"`@punct` is about streams, and `{name}` is a table")
            if not isinstance(values, dict) or not values:
                raise BadRowError("MP308", f"`@punct` names values of columns of `{name}`", like)
            found.append((stream, self._values(stream, values)))
        for stream, promised in found:
            self._promises.promise(stream, promised)
        return Event(None, (), number, Op.PUNCT)

    def _stream(self, key: str, name: Any) -> Stream:
        if not isinstance(name, str):
            raise BadRowError("MP308", f"`{key}` names a stream", f'write {{"{key}": "name"}}')
        stream = next((each for each in self._catalog if each.name == name), None)
        if stream is None:
            raise BadRowError(
                "MP302",
                f"unknown stream `{short(name)}`",
                *did_you_mean(name, self._catalog.names),
            )
        return stream

    def _values(self, stream: Stream, values: Mapping[str, Any]) -> dict[int, Value]:
        takers = self._takers[stream.name]
        found: dict[int, Value] = {}
        for name, value in values.items():
            if name not in takers:
                raise BadRowError(
                    "MP303",
                    f"stream `{stream.name}` has no column `{short(name)}`",
                    *did_you_mean(name, stream.names),
                )
            place = stream.names.index(name)
            found[place] = None if value is None else takers[name](value)
        return found


def _time_taker(kind: Type) -> Convert:
    wide = BIGINT if kind.kind is Kind.INTEGER else kind
    return taker("the time", Column("time", wide))
