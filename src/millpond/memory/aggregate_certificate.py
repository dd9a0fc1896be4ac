"""What is held for a bounded aggregate query: synopses with partial aggregates, and the answer.

Aggregates are pushed below the join where they can be (Arasu, Example 8.7): a bucket of a stream
holds the sum, or the best value, of a column of its rows, and a count only where something else of
the query asks how many rows there are.  A holistic aggregate has its column among the bucket's
keys, and a count or a flag for each of its values in the answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from millpond.memory.aggregate import Asked, Grouped, Sort, best_fails, connected
from millpond.memory.arasu import violations
from millpond.memory.certificate import (
    Certificate,
    bytes_by_key,
    held_by_key,
    plain_nouns,
    synopses,
)
from millpond.memory.condition import In, Opaque, Pair, Range
from millpond.memory.reachable import reachable
from millpond.memory.shape import Part, Shape, Side, answer_keys, shape_of
from millpond.memory.spj import Attribute, Projected, SpjQuery
from millpond.memory.verdict import StateEntry
from millpond.schema import Kind


def certificate_of(grouped: Grouped) -> Certificate:
    """The certificate of a part that meets the criterion."""
    query = grouped.query
    if not query.satisfiable:
        return Certificate((), 0)
    counted = any(each.counts for each in grouped.asked)
    if not counted or len(query.streams) == 1 or not violations(query):
        return _whole(query, grouped.groups, grouped.asked)
    found = Certificate((), 0)
    for asked in grouped.asked or ():
        found = found.plus(_apart(query, grouped.groups, asked))
    return found


def _apart(query: SpjQuery, groups: Sequence[Projected], asked: Asked) -> Certificate:
    """One aggregate where streams that are not joined with its own need no counts."""
    near = connected(query, asked.aliases) if asked.counts else {x for x, _ in query.streams}
    found = Certificate((), 0)
    left = {alias for alias, _ in query.streams}
    while left:
        together = near if near <= left else connected(query, {min(left)})
        left -= together
        mine = [each for each in groups if {x.alias for x in each.attributes} <= together]
        there = (asked,) if together is near else ()
        found = found.plus(_whole(_restricted(query, together), mine, there))
    return found


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


def _whole(query: SpjQuery, groups: Sequence[Projected], asked: Sequence[Asked]) -> Certificate:
    exact = [each for each in asked if not _pushed(query, each)]
    columns = [*groups, *(x for each in exact for x in _columns(each))]
    counted = any(each.counts for each in asked)
    pushed = frozenset(x for each in asked if each not in exact for x in each.aliases)
    shown = replace(query, projection=tuple(columns), distinct=not counted, keyed=pushed)
    state: list[StateEntry] = []
    size = 0
    if len(query.streams) > 1:
        shape = shape_of(shown)
        parts = _Nouns(asked, exact)
        state += synopses(shape, parts.of)
        size += sum(
            bytes_by_key(part.keys, part.buckets, parts.of(shape, stream.alias, part)[1])
            for stream in shape.streams
            for part in stream.parts
        )
    told = list(
        dict.fromkeys(noun for each in asked if not each.holistic for noun in _stored(each))
    )
    if told or not asked:
        kind = "answer" if told else "emitted"
        held = _answer(query, groups, told or ["row"], kind, _sizes(asked))
        state.append(held[0])
        size += held[1]
    for each in asked:
        if each.holistic:
            counted = each.counts or each.twice
            noun = f"{'count' if counted else 'flag'} of {_name(each)}"
            known = _columns(each) if len(query.streams) > 1 else _columns(each)[:1]
            held = _answer(query, [*groups, *known], [noun], "answer")
            state.append(held[0])
            size += held[1]
    return Certificate(tuple(state), size)


def _answer(
    query: SpjQuery,
    columns: Sequence[Projected],
    nouns: list[str],
    kind: str,
    sizes: Mapping[str, int] | None = None,
) -> tuple[StateEntry, int]:
    keys = answer_keys(replace(query, projection=tuple(columns), distinct=True))
    rows = reachable(keys, query.predicate)
    of = "emitted rows" if kind == "emitted" else "stored answer"
    sizes = sizes or {}
    entry = held_by_key(query, of, kind, keys, rows, nouns, sizes)
    return entry, bytes_by_key(keys, rows, nouns, sizes)


def _columns(asked: Asked) -> list[Projected]:
    return [each for each in (asked.argument, asked.condition) if each is not None]


def _pushed(query: SpjQuery, asked: Asked) -> bool:
    """Whether a value in each bucket of its stream serves, and the column needs not be a key."""
    if asked.holistic:
        return False
    if asked.sort is Sort.DECLARED:
        # Of a join its values have to be known one by one (Theorem 8.4).
        return len(query.streams) == 1
    if asked.sort is Sort.BEST:
        return len(asked.aliases) < 2 and (
            len(query.streams) == 1 or not best_fails(query, asked, bounded_too=True)
        )
    summed = asked.argument is not None and asked.argument.sum is not None
    return len(asked.aliases) < 2 or (summed and asked.condition is None)


@dataclass(frozen=True)
class _Nouns:
    """What a bucket holds beside its key."""

    asked: Sequence[Asked]
    exact: Sequence[Asked]

    def of(self, shape: Shape, alias: str, part: Part) -> tuple[str, list[str]]:
        pushed = [each for each in self.asked if each not in self.exact]
        mine = [each for each in pushed if alias in each.aliases]
        kind, held = plain_nouns(shape, alias, part)
        if shape.query.distinct:
            more = [
                _best(each) for each in mine if not _same(part, each.column, each.call.function)
            ]
            if not part.bests and more:
                held = []
            nouns = list(dict.fromkeys([*held, *more]))
            if any(each.twice for each in self.asked):
                nouns += [f"second {each}" for each in nouns]
            return ("aggregates" if more else kind), nouns
        nouns = [noun for each in mine for noun in _stored(each)]
        if not nouns or any(self._asks_count(each, alias) for each in self.asked):
            nouns.append("count")
        return ("aggregates" if nouns != ["count"] else kind), list(dict.fromkeys(nouns))

    def _asks_count(self, asked: Asked, alias: str) -> bool:
        """Whether how many rows a bucket has matters to an aggregate of something else."""
        if not asked.counts:
            return False
        return asked in self.exact or asked.aliases != {alias}


def _same(part: Part, column: Attribute | None, function: str) -> bool:
    """Whether a best value is kept for the join already."""
    side = Side.LOW if function in ("MIN", "BOOL_AND") else Side.HIGH
    return any(each.side is side and each.terms == ((column, 0),) for each in part.bests)


def _sizes(asked: Sequence[Asked]) -> dict[str, int]:
    """The units of the states of users' aggregates, which are declared."""
    declared = ((each, each.call.declared) for each in asked)
    return {_state(x): known.units for x, known in declared if known is not None and known.units}


def _state(asked: Asked) -> str:
    return f"state of {asked.call}"


def _stored(asked: Asked) -> list[str]:
    if asked.sort is Sort.DECLARED:
        return [_state(asked)]
    name = _name(asked)
    match asked.call.function:
        case "COUNT":
            return [f"count of {name}" if asked.attributes else "count"]
        case "SUM":
            return [f"sum of {name}"]
        case "AVG":
            return [f"sum of {name}", f"count of {name}"]
        case "MIN" | "MAX" | "BOOL_AND" | "BOOL_OR":
            return [_best(asked)]
    return [f"sum of {name}", f"sum of squares of {name}", f"count of {name}"]


def _best(asked: Asked) -> str:
    least = asked.call.function in ("MIN", "BOOL_AND")
    return f"{'minimum' if least else 'maximum'} of {_name(asked)}"


def _name(asked: Asked) -> str:
    if asked.column is not None:
        return asked.column.column
    call = asked.call
    name = "rows" if call.argument is None else str(call.argument)
    return name if call.filter is None else f"{name} where {call.filter}"
