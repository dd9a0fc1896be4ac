"""A witness as tagged events: the contract's JSON, and a few lines of it for people."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from millpond.memory import Fed, Verdict, Witness
from millpond.run.output import tagged_line
from millpond.schema import Stream

_SHOWN = 3

CLAIM = (
    "Feed base; then for each i in order prefix[i].in or prefix[i].out, as a subset of the numbers "
    "says; then one probe. For any two different subsets there is a probe to which the query "
    "responds differently, so that any evaluator needs 2^n states."
)


def witness_dict(verdict: Verdict) -> dict[str, Any] | None:
    """The witness of a verdict as JSON-ready data."""
    witness = verdict.witness
    if witness is None:
        return None
    events = _Events(verdict)
    return {
        "n": witness.n,
        "base": events.parsed(witness.base),
        "prefix": [
            {"in": events.parsed(inside), "out": events.parsed(outside)}
            for inside, outside in witness.prefix
        ],
        "probes": [events.parsed(each) for each in witness.probes],
        "claim": CLAIM,
    }


def witness_lines(verdict: Verdict, witness: Witness) -> Iterator[str]:
    """What a subset feeds, and what asks for it, for the first few numbers."""
    events = _Events(verdict)
    single = all(len(inside) == 1 and not outside for inside, outside in witness.prefix)
    of = f"{witness.n} rows" if single else f"{witness.n} groups of rows"
    yield (
        f"witness: after any of the {2**witness.n} subsets of {of}, some probe gets an answer of "
        "its own"
    )
    for number, ((inside, outside), probe) in enumerate(
        zip(witness.prefix, witness.probes, strict=True), 1
    ):
        if number > _SHOWN:
            yield f"  ... and so on to {witness.n}; --json prints all of them"
            return
        yield f"  {number} in:    {events.line(inside)}"
        if outside:
            yield f"    out:   {events.line(outside)}"
        yield f"    probe: {events.line(probe)}"


class _Events:
    def __init__(self, verdict: Verdict) -> None:
        self._streams: dict[str, Stream] = {
            stream.name: stream for each in verdict.growing for _, stream in each.query.streams
        }

    def texts(self, fed: Sequence[Fed]) -> list[str]:
        return [tagged_line(self._streams[name], row) for name, row in fed]

    def parsed(self, fed: Sequence[Fed]) -> list[Any]:
        return [json.loads(each) for each in self.texts(fed)]

    def line(self, fed: Sequence[Fed]) -> str:
        """In one line: rows that come several times in a row once, of many only the first."""
        runs = [(text, len(list(same))) for text, same in groupby(self.texts(fed))]
        shown = [text if n == 1 else f"{n} x {text}" for text, n in runs[:_SHOWN]]
        more = len(runs) - len(shown)
        return "  ".join(shown + [f"... and {more} more"] * bool(more)) or "nothing"
