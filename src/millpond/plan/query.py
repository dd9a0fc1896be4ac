"""A named query, and a file of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from millpond.diagnostic import Diagnostic, Source, Span
from millpond.plan.node import Field, Node, Scan, Window, nodes, scans, stream_valued
from millpond.schema import Catalog, Stream, Type


@dataclass(frozen=True)
class Query:
    """A plan with its name and the text that it was read from."""

    name: str
    root: Node
    span: Span

    @cached_property
    def scans(self) -> tuple[Scan, ...]:
        return tuple(scans(self.root))

    @cached_property
    def sources(self) -> tuple[Stream, ...]:
        """The streams and tables read, each once, in the order of FROM."""
        return tuple({each.stream.name: each.stream for each in self.scans}.values())

    @property
    def streams(self) -> tuple[Stream, ...]:
        """The streams among them."""
        return tuple(each for each in self.sources if each.is_stream)

    @property
    def tables(self) -> tuple[Stream, ...]:
        """The tables among them."""
        return tuple(each for each in self.sources if not each.is_stream)

    @cached_property
    def time_type(self) -> Type | None:
        """The type of its instants; None where they are counted."""
        return next((each.time_type for each in self.streams), None)

    @property
    def delay(self) -> int:
        """The largest delay that one of its streams declares."""
        return max((each.time.delay for each in self.streams if each.time is not None), default=0)

    @cached_property
    def stream_valued(self) -> bool:
        """Whether it gives rows at instants, rather than having an answer at each."""
        return stream_valued(self.root) and not isinstance(self.root, Scan)

    @cached_property
    def sliding(self) -> bool:
        """Whether it changes at slide boundaries only: every stream is read through a SLIDE."""
        windows = [each for each in nodes(self.root) if isinstance(each, Window)]
        through = [
            each.input.stream.name
            for each in windows
            if each.spec.slide is not None and isinstance(each.input, Scan)
        ]
        read = [each for each in self.scans if each.stream.is_stream]
        return bool(windows) and len(through) == len(read)

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
    notes: tuple[Diagnostic, ...] = ()
    """What was passed over or taken for something else, of which a reader should know."""
