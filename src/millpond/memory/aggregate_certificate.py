"""How many units are held for a bounded aggregate query, from its shape.

Where streams that no join connects with an aggregate's own need no counts, each aggregate has
synopses of its own, and each group of inputs that joins connect is counted on its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from millpond.memory.aggregate import Asked, Grouped, connected
from millpond.memory.aggregate_shape import (
    AggregateShape,
    Answer,
    Kept,
    distinct,
    name_of,
    whole_shape,
)
from millpond.memory.certificate import (
    Certificate,
    bytes_by_key,
    held_by_key,
    plain_nouns,
    synopses,
)
from millpond.memory.condition import In, Opaque, Pair, Range
from millpond.memory.shape import Part, Shape
from millpond.memory.spj import Projected, SpjQuery
from millpond.memory.verdict import StateEntry
from millpond.schema import Kind


def certificate_of(grouped: Grouped) -> Certificate:
    """The certificate of a part that meets the criterion."""
    query = grouped.query
    found = Certificate((), 0)
    if not query.satisfiable:
        return found
    shape = whole_shape(grouped)
    if shape is not None:
        return _whole(shape)
    for asked in grouped.asked or ():
        found = found.plus(_apart(grouped, asked))
    return found


def certificate_together(shapes: Sequence[AggregateShape]) -> Certificate:
    """The certificate of parts that change the same groups."""
    found = Certificate((), 0)
    for each in shapes:
        found = found.plus(_whole(each)) if each.query.satisfiable else found
    return found


def _apart(grouped: Grouped, asked: Asked) -> Certificate:
    """One aggregate where streams that are not joined with its own need no counts."""
    query = grouped.query
    near = connected(query, asked.aliases) if asked.counts else {x for x, _ in query.streams}
    found = Certificate((), 0)
    left = {alias for alias, _ in query.streams}
    while left:
        together = near if near <= left else connected(query, {min(left)})
        left -= together
        mine = [each for each in grouped.groups if {x.alias for x in each.attributes} <= together]
        there = (asked,) if together is near else ()
        found = found.plus(_of_some(grouped, together, mine, there))
    return found


def _of_some(
    grouped: Grouped, aliases: set[str], groups: Sequence[Projected], asked: tuple[Asked, ...]
) -> Certificate:
    query = _restricted(grouped.query, aliases)
    return _whole(AggregateShape(query, tuple(groups), asked, grouped))


def _restricted(query: SpjQuery, aliases: set[str]) -> SpjQuery:
    """The query over some inputs, with what the others imply for their columns."""
    implied = []
    unit = query.scale.unit
    for each in query.relevant:
        interval = query.predicate.interval(each)
        if each.alias not in aliases or query.columns[each].type.kind is Kind.VARCHAR:
            continue
        low = None if interval.low is None else Fraction(interval.low, unit)
        high = None if interval.high is None else Fraction(interval.high, unit)
        known = query.limits.get(each)
        said = In(each, (Range(low, high),), query.nullable(each))
        implied.append(said if known is None else known.meet(said))
    kept = (
        each
        for each in query.conditions
        if isinstance(each, Pair | Opaque) and {x.alias for x in each.columns} <= aliases
    )
    texts = (
        each
        for each in query.limits.values()
        if each.column.alias in aliases and query.columns[each.column].type.kind is Kind.VARCHAR
    )
    return replace(
        query,
        streams=tuple(each for each in query.streams if each[0] in aliases),
        conditions=(*implied, *texts, *kept),
    )


def _whole(shape: AggregateShape) -> Certificate:
    state: list[StateEntry] = []
    size = 0
    if shape.join is not None:
        parts = _Nouns(shape)
        state += synopses(shape.join, parts.of)
        size += sum(
            bytes_by_key(part.keys, part.buckets, parts.of(shape.join, stream.alias, part)[1])
            for stream in shape.join.streams
            for part in stream.parts
        )
    if shape.told is not None:
        told = shape.told
        nouns = [each.noun for each in told.kept]
        entry, bytes_ = _answer(shape, told, nouns or ["row"], "answer" if nouns else "emitted")
        state.append(entry)
        size += bytes_
    for each in shape.values:
        assert each.asked is not None
        noun = f"{'count' if each.counted else 'flag'} of {name_of(each.asked)}"
        entry, bytes_ = _answer(shape, each, [noun], "answer")
        state.append(entry)
        size += bytes_
    return Certificate(tuple(state), size)


def _answer(
    shape: AggregateShape, answer: Answer, nouns: list[str], kind: str
) -> tuple[StateEntry, int]:
    of = "emitted rows" if kind == "emitted" else "stored answer"
    sizes = {each.noun: units for each in answer.kept if (units := _units(each)) != 1}
    keys, rows = answer.keys, answer.rows
    entry = held_by_key(shape.query, of, kind, keys, rows, nouns, sizes)
    return entry, bytes_by_key(keys, rows, nouns, sizes)


def _units(kept: Kept) -> int:
    """The units of a number, or of the state of a user's aggregate, which is declared."""
    declared = kept.asked.call.declared if kept.fold is None and kept.asked is not None else None
    return 1 if declared is None else declared.units or 1


@dataclass(frozen=True)
class _Nouns:
    """What a bucket holds beside its key."""

    shape: AggregateShape

    def of(self, join: Shape, alias: str, part: Part) -> tuple[str, list[str]]:
        kind, plain = plain_nouns(join, alias, part)
        held = [each.noun for each in distinct(self.shape.held(alias, part))]
        if not self.shape.counted:
            nouns = [*(plain if part.bests or not held else ()), *held]
            if any(each.twice for each in self.shape.asked):
                nouns += [f"second {each}" for each in nouns]
            return ("aggregates" if held else kind), nouns
        if not held or self.shape.counts(alias):
            held.append("count")
        return ("aggregates" if held != ["count"] else kind), held
