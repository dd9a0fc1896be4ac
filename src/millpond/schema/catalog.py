"""The streams and the aggregate functions that a file declares."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from millpond.diagnostic import Diagnostic, UserError
from millpond.schema.aggregate import UserAggregate
from millpond.schema.stream import Stream


class Catalog:
    """Streams by name, and aggregates by name; upper and lower case are the same."""

    def __init__(self) -> None:
        self._streams: dict[str, Stream] = {}
        self._aggregates: dict[str, UserAggregate] = {}

    def add(self, stream: Stream) -> None:
        if stream.name.lower() in self._streams:
            raise UserError(Diagnostic("MP104", f"`{stream.name}` is declared twice", stream.span))
        self._streams[stream.name.lower()] = stream

    def replace(self, stream: Stream) -> None:
        """Puts a stream in the place of the one of its name."""
        self._streams[stream.name.lower()] = stream

    def copy(self) -> Catalog:
        """A catalog that says what this one says at present."""
        found = Catalog()
        found._streams.update(self._streams)
        found._aggregates.update(self._aggregates)
        return found

    def completed(self, later: Catalog) -> Catalog:
        """With what another one has and this one has not."""
        found = later.copy()
        found._streams.update(self._streams)
        return found

    def untimed(self) -> Catalog:
        """With streams whose rows are instants of their own."""
        found = self.copy()
        for each in self:
            found.replace(replace(each, time=None, rows_per_instant=None))
        return found

    def add_aggregate(self, aggregate: UserAggregate) -> None:
        if aggregate.name.lower() in self._aggregates:
            said = f"the aggregate `{aggregate.name}` is declared twice"
            raise UserError(Diagnostic("MP104", said, aggregate.span))
        self._aggregates[aggregate.name.lower()] = aggregate

    def aggregate(self, name: str) -> UserAggregate | None:
        return self._aggregates.get(name.lower())

    @property
    def aggregates(self) -> tuple[UserAggregate, ...]:
        return tuple(self._aggregates.values())

    def get(self, name: str) -> Stream | None:
        return self._streams.get(name.lower())

    def __iter__(self) -> Iterator[Stream]:
        return iter(self._streams.values())

    def __len__(self) -> int:
        return len(self._streams)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(each.name for each in self)
