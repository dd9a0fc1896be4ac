"""The streams that a file declares."""

from __future__ import annotations

from collections.abc import Iterator

from millpond.diagnostic import Diagnostic, UserError
from millpond.schema.stream import Stream


class Catalog:
    """Streams by name; upper and lower case are the same."""

    def __init__(self) -> None:
        self._streams: dict[str, Stream] = {}

    def add(self, stream: Stream) -> None:
        if stream.name.lower() in self._streams:
            raise UserError(Diagnostic("MP104", f"`{stream.name}` is declared twice", stream.span))
        self._streams[stream.name.lower()] = stream

    def get(self, name: str) -> Stream | None:
        return self._streams.get(name.lower())

    def __iter__(self) -> Iterator[Stream]:
        return iter(self._streams.values())

    def __len__(self) -> int:
        return len(self._streams)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(each.name for each in self)
