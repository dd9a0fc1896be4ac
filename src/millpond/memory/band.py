"""Joins of streams whose times are held together: a row waits only for a span of time.

Rows come in the order of their times, so that after an instant only later ones are to come.  Where
a condition bounds the difference of two times from above, `t.ts - s.ts <= c`, no later row of `t`
meets a row of `s` once that is c instants old; where there is such a bound for every other input,
a row of `s` is let go at the greatest of them.  The bounds are read off the closure of the
predicate, so that they may follow through a third input, or from ranges of the times themselves.
A condition that holds `s.ts` and `t.ts` together from both sides is a *band*.

The rows that wait are enough for a join that keeps duplicates.  A left row of an outer join, of
EXISTS and of NOT EXISTS matches while it waits or never, and remembers whether it has.  DISTINCT
remembers what it has given: finitely many rows, or, where a time is among their columns, those that
may be given again, whose time is one of a row that waits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from millpond.diagnostic import Span
from millpond.memory.amount import NOTHING, Amount
from millpond.memory.attribute import Attribute
from millpond.memory.flatten import NotFlatError
from millpond.memory.kept import Kept, Many, many_rows
from millpond.memory.materialised import materialised
from millpond.memory.normal_form import matching_forms, timed_forms
from millpond.memory.spj import SpjQuery
from millpond.memory.verdict import MemoryClass, Reason, SideUnits, Verdict
from millpond.memory.window_rows import Lasting
from millpond.plan import Alias, Filter, Join, Node, Project, Query, SemiJoin, Side
from millpond.schema import Kind, Stream

Conjunctions = Sequence[SpjQuery]
"""Of the same inputs: rows of them meet where one of these holds."""


@dataclass(frozen=True)
class Wait:
    """For how long a row of one input may still meet later rows: so many instants, its own among
    them."""

    alias: str
    stream: Stream
    instants: int

    @property
    def lasting(self) -> Lasting:
        """That time; of microseconds so many more that it is a length with a name."""
        length, type_ = self.instants, self.stream.time_type
        if type_ is not None and type_.kind is Kind.TIMESTAMP and (length + 1) % 1000 == 0:
            length += 1
        return Lasting(self.stream, length)

    @property
    def rows(self) -> Amount:
        return self.lasting.rows if self.instants > 0 else NOTHING


def waits(found: Conjunctions) -> tuple[Wait, ...]:
    """How long rows of each input wait; NotFlatError where some may have to wait for ever."""
    streams = found[0].streams
    return tuple(
        Wait(alias, stream, max(0, *(_latest(each, alias) for each in found)))
        for alias, stream in streams
    )


def _latest(query: SpjQuery, alias: str) -> int:
    """How far behind a row of an input the last row can be that it meets."""
    found = 0
    for other, _ in query.streams:
        if other != alias:
            distance = ahead(query, other, alias)
            if distance is None:
                raise _endless(query, alias, other)
            found = max(found, distance)
    return found


def ahead(query: SpjQuery, one: str, other: str) -> int | None:
    """The most by which the time of a row of `one` is after that of a row of `other` where they
    meet, in instants; it may be less than 0, and None is no bound."""
    if not query.satisfiable:
        return 0
    first, second = _time(query, one), _time(query, other)
    if first not in query.relevant or second not in query.relevant:
        return None
    found = query.predicate.bound(first, second)
    return None if found is None else found // query.scale.unit


def _time(query: SpjQuery, alias: str) -> Attribute:
    time = dict(query.streams)[alias].time
    assert time is not None  # a query is over timed streams, or over others
    return Attribute(alias, time.column)


def _endless(query: SpjQuery, alias: str, other: str) -> NotFlatError:
    mine, theirs = _time(query, alias), _time(query, other)
    why = (
        f"no condition bounds `{theirs} - {mine}` from above, so that a row of `{alias}` may meet "
        f"rows of `{other}` that come at any later time"
    )
    return NotFlatError(why, _place(query, {mine, theirs}) or dict(query.places).get(alias))


def _place(query: SpjQuery, times: set[Attribute]) -> Span | None:
    """Where two times are compared."""
    return next((each.span for each in query.pairs if set(each.columns) == times), None)


# Verdicts ---------------------------------------------------------------------------------------


def banded(query: Query, buffer: SideUnits, budget: int) -> Verdict | None:
    """The verdict on a query over timed streams by how long their rows wait; None where it is about
    something else, NotFlatError where times do not bound it."""
    if query.time_type is None:
        return None
    outer = _matching(query.root)
    try:
        found = timed_forms(query) if outer is None else matching_forms(query, outer)
    except NotFlatError:
        return None
    kept = _Kept()
    if outer is None:
        kept.joins(found)
        answer = _materialised([one for each in found for one in each])
    elif len(found) == 1 and _compares_times(found[0]):
        kept.matches(found[0], outer)
        answer = SideUnits(MemoryClass.LINEAR, None)
    else:
        return None
    verdict = kept.verdict(query, kept.reason(query), answer, buffer, budget)
    return replace(verdict, waits=tuple(kept.waits))


def _matching(node: Node) -> Join | SemiJoin | None:
    """The outer join, EXISTS or NOT EXISTS whose rows a query filters and shows."""
    while isinstance(node, Alias | Filter | Project):
        node = node.input
    return node if isinstance(node, Join | SemiJoin) else None


def _compares_times(found: Conjunctions) -> bool:
    """Whether there are two inputs whose times are compared."""
    times = {_time(found[0], alias) for alias, _ in found[0].streams}
    pairs = (each for one in found for each in one.pairs)
    return len(times) == 2 and any(set(each.columns) == times for each in pairs)


def _materialised(parts: Conjunctions) -> SideUnits:
    found = [materialised(each) for each in parts]
    units = [each.units for each in found if each.units is not None]
    if len(units) < len(found):
        return SideUnits(MemoryClass.LINEAR, None)
    return SideUnits(MemoryClass.CONSTANT if sum(units) else MemoryClass.NONE, sum(units))


class _Kept(Kept):
    """Notes of the rows that wait, and of what is remembered beside them."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[tuple[Stream, int]] = []
        self._lengths: dict[str, str] = {}

    def joins(self, found: Sequence[Conjunctions]) -> None:
        """What the joins of a query keep, and the DISTINCT above them."""
        waiting = [waits(each) for each in found]
        for each in waiting:
            self._rows(each)
        if found[0][0].distinct:
            self._emitted(found, waiting)

    def matches(self, found: Conjunctions, node: Join | SemiJoin) -> None:
        """What an outer join, EXISTS or NOT EXISTS keeps."""
        waiting = waits(found)
        self._rows(waiting)
        for each, side in zip(waiting, (Side.LEFT, Side.RIGHT), strict=True):
            if _remembers(node, side) and each.instants:
                many = Many(each.rows, "row", "flags")
                self.note(f"matches of {each.alias}", ["whether a row has matched"], many, 1)

    def reason(self, query: Query) -> Reason:
        if not self.state:
            why = "no row meets rows that come later: each is looked at once and let go"
            return Reason("event time", "MP202", why, span=query.span)
        if not self._lengths:
            why = "no row meets rows that come later, and what is given can be remembered"
            return Reason("event time", "MP208", why, span=query.span)
        rows = ", ".join(f"{length} for those of `{x}`" for x, length in self._lengths.items())
        why = f"rows meet while their times are close, and wait no longer: {rows}"
        return Reason("event time", "MP208", why, span=query.span)

    def _rows(self, waiting: Iterable[Wait]) -> None:
        for each in waiting:
            if each.instants:
                self.waits.append((each.stream, each.instants))
                self._lengths[each.alias] = each.lasting.length
                self.give(each.lasting)
                keeps = [f"rows of the last {each.lasting.length.removeprefix('1 ')}"]
                self.note(each.alias, keeps, many_rows(each.rows), len(each.stream.columns))

    def _emitted(self, found: Sequence[Conjunctions], waiting: Sequence[Sequence[Wait]]) -> None:
        """What DISTINCT has given: as many rows as there are, or those that may come again."""
        parts = [each for one in found for each in one]
        answers = [materialised(each).units for each in parts]
        known = [each for each in answers if each is not None]
        if len(known) == len(parts):
            rows = Amount.of(sum(known) // len(parts[0].projection))
        else:
            rows = self._again(found, waiting)
        if rows.terms:
            names = [each.name for each in parts[0].projection]
            self.note("emitted rows", names, Many(rows, "row", "emitted"), 1 + len(names))

    def _again(self, found: Sequence[Conjunctions], waiting: Sequence[Sequence[Wait]]) -> Amount:
        """The rows given that a later row may give again.

        A column of them tells a time; while a row of that time waits, and no longer, they may come
        again, and all that it met is as near to it.
        """
        told = [_told(one[0], each) for one, each in zip(found, waiting, strict=True)]
        places = [each for each in told[0] if all(each in other for other in told)]
        if len(found) > 1:  # a row of one part may be given again by another
            places = [x for x in places if all(one[0].projection[x].as_it_is for one in found)]
        if not places:
            raise _repeats([each for one in found for each in one])
        instants, place = min((max(one[x].instants for one in told), x) for x in places)
        rows = NOTHING
        for one, times, each in zip(found, told, waiting, strict=True):
            for query in one if instants else ():
                near = list(_near(query, times[place].alias, instants, each))
                near = [x for x in near if x.alias in _shown(query) or x.instants <= 0]
                amount = reduce(Amount.times, (x.rows for x in near))
                rows = rows.plus(amount)
                for x in near if amount.terms else ():
                    self.give(x.lasting)
        return rows


def _told(query: SpjQuery, waiting: Iterable[Wait]) -> dict[int, Wait]:
    """The columns of an answer that tell the time of a row."""
    times = {_time(query, each.alias): each for each in waiting}
    return {
        place: times[each.value]
        for place, each in enumerate(query.projection)
        if isinstance(each.value, Attribute) and each.value in times
    }


def _shown(query: SpjQuery) -> set[str]:
    """The inputs whose columns tell rows of an answer apart."""
    return {each.alias for each in query.shown}


def _near(query: SpjQuery, first: str, instants: int, waiting: Iterable[Wait]) -> Iterator[Wait]:
    """From how long a time the rows are that those of one input have met in so many instants."""
    for each in waiting:
        before = 0 if each.alias == first else ahead(query, first, each.alias)
        assert before is not None  # every input has a bound to every other one
        yield Wait(each.alias, each.stream, instants + before)


def _remembers(node: Join | SemiJoin, side: Side) -> bool:
    if isinstance(node, SemiJoin):
        return side is Side.LEFT
    return node.side in (side, Side.FULL)


def _repeats(parts: Conjunctions) -> NotFlatError:
    for query in parts:
        unbounded = [each for each in query.shown if not query.predicate.bounded(each)]
        shown = [x for x in query.projection if set(x.attributes) & set(unbounded)]
        if unbounded:
            break
    names = ", ".join(f"`{each}`" for each in unbounded)
    has = "has" if len(unbounded) == 1 else "have"
    why = f"DISTINCT remembers what it has given: {names} {has} no bound, with no time beside"
    return NotFlatError(why, next((each.span for each in shown), None) or query.span)
