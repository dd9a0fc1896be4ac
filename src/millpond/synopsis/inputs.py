"""The columns that a program reads of each stream, collected while its operators are made."""

from __future__ import annotations

from collections.abc import Sequence

from millpond.program import ROW, InputStream, Place, Prepared
from millpond.schema import Stream


class Inputs:
    """Columns by stream; the same one is read once, whoever asks for it."""

    def __init__(self) -> None:
        self._streams: dict[str, Stream] = {}
        self._columns: dict[str, dict[str, tuple[Prepared | None, bool]]] = {}
        self._names: dict[tuple[str, Prepared], str] = {}
        self._parts = 0

    def part(self) -> int:
        """The number of one more part of the query that reads them."""
        self._parts += 1
        return self._parts - 1

    def stream(self, stream: Stream) -> int:
        """The number of a stream among the inputs."""
        self._streams.setdefault(stream.name, stream)
        self._columns.setdefault(stream.name, {})
        return list(self._streams).index(stream.name)

    def plain(self, stream: Stream, column: str, *, nullable: bool) -> str:
        """A column of integers, as it is."""
        self.stream(stream)
        known = self._columns[stream.name].get(column)
        self._columns[stream.name][column] = None, nullable or (known is not None and known[1])
        return column

    def prepared(self, stream: Stream, name: str, how: Prepared, *, nullable: bool) -> str:
        """A column that is computed before any step."""
        self.stream(stream)
        known = self._names.get((stream.name, how))
        if known is not None:
            return known
        columns = self._columns[stream.name]
        taken = {*columns, *stream.names}
        found, count = name if name not in taken else f"{name}'", 1
        while found in taken:
            count += 1
            found = f"{name}'{count}"
        columns[found] = how, nullable
        self._names[stream.name, how] = found
        return found

    def row(self, stream: Stream) -> str:
        """The column that says which row it is."""
        self.stream(stream)
        self._columns[stream.name][ROW] = Place(), False
        return ROW

    def streams(self, read: Sequence[Stream]) -> tuple[InputStream, ...]:
        """The inputs, those of `read` among them whether a column is read or not."""
        for each in read:
            self.stream(each)
        found = []
        for name, columns in self._columns.items():
            prepared = tuple(how for how, _ in columns.values())
            found.append(
                InputStream(
                    name,
                    tuple(columns),
                    tuple(nullable for _, nullable in columns.values()),
                    prepared if any(prepared) else (),
                )
            )
        return tuple(found)
