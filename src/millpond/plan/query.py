"""A named query, and a file of them."""

from __future__ import annotations

from dataclasses import dataclass

from millpond.diagnostic import Source, Span
from millpond.plan.node import Field, Node, Scan, scans
from millpond.schema import Catalog, Stream


@dataclass(frozen=True)
class Query:
    """A plan with its name and the text that it was read from."""

    name: str
    root: Node
    span: Span

    @property
    def scans(self) -> tuple[Scan, ...]:
        return tuple(scans(self.root))

    @property
    def streams(self) -> tuple[Stream, ...]:
        """The streams read, each once, in the order of FROM."""
        return tuple({each.stream.name: each.stream for each in self.scans}.values())

    @property
    def fields(self) -> tuple[Field, ...]:
        return self.root.fields

    @property
    def text(self) -> str:
        return self.span.text


@dataclass(frozen=True)
class Script:
    """What one file declares and asks."""

    source: Source
    catalog: Catalog
    queries: tuple[Query, ...]
