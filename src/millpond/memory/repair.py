"""Edits that make an unbounded query bounded; each is read and checked again before it is offered.

Tried are the candidates one by one, then two together, the smaller first, where size is the number
of words put in and taken out; nothing smaller than the first repair is left untried, and nothing
smaller than the first that is no window.  Adding a
condition to a bounded query leaves it bounded, so that where the strongest edits about two columns
do not help, weaker ones about the same columns are not looked at.  Where two edits are not enough,
ranges are put on the columns that one verdict after the other names, and those that turn out not to
be needed are taken away again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from millpond.diagnostic import UserError
from millpond.memory.candidates import Candidates, asked
from millpond.memory.decide import verdict_of
from millpond.memory.edit import Edit, Kind, description, edited, relation, size
from millpond.memory.ranges import WIDTH, WIDTHS, Place, place_of
from millpond.memory.verdict import Fix, MemoryClass, Verdict
from millpond.plan import Query, Script

Reader = Callable[[str], Script]
"""Text to plans, handed in with the dialect and the options that the file is read with."""

OFFERED = 6
"""At most so many repairs are offered."""
_ALIKE = 2
"""And of one kind at most so many."""
_ENOUGH = 40
"""Behind the smallest repair, so many more pairs are tried for others."""
_MOST_PAIRS = 400
"""Of a query with very many columns no more pairs than these are tried."""
_RANGES = frozenset((Kind.RANGE,))
_REPAIRED = (MemoryClass.NONE, MemoryClass.CONSTANT, MemoryClass.WINDOW)


def repairs(
    script: Script,
    query: Query,
    verdict: Verdict,
    read: Reader,
    *,
    dialect: str = "cql",
    one_pass: bool = False,
) -> tuple[Fix, ...]:
    """The edits of `query` that make it bounded, smallest first."""
    if verdict.memory is not MemoryClass.LINEAR:
        return ()
    parts = asked(query)
    if parts is None:
        return ()
    checker = _Checker(script, query, read, dialect, one_pass)
    return _Search(checker, Candidates(query, parts, dialect), verdict).fixes()


@dataclass(frozen=True)
class _Checked:
    """A query after some edits: the verdict on it, and its parts."""

    verdict: Verdict
    query: Query

    @property
    def memory(self) -> MemoryClass:
        return self.verdict.memory

    @cached_property
    def repaired(self) -> bool:
        """Whether it has a bound, and answers that it can ever give."""
        if self.memory not in _REPAIRED:
            return False
        parts = asked(self.query)
        return parts is None or parts.satisfiable


class _Checker:
    """Reads and checks a query with edits made; other queries of the file are left out, if it can
    be read without them."""

    def __init__(
        self, script: Script, query: Query, read: Reader, dialect: str, one_pass: bool
    ) -> None:
        self._query, self._read = query, read
        self.dialect, self._one_pass = dialect, one_pass
        self._known: dict[str, _Checked | None] = {}
        others = [each for each in script.queries if each is not query]
        self._around(script.source.text, others)
        if others and self.checked([]) is None:
            self._around(script.source.text, [])
            self._known.clear()

    def _around(self, text: str, others: Sequence[Query]) -> None:
        """What stands before and behind the query, without some others."""
        self._before = _without(text, 0, self._query.span.start, others)
        self._behind = _without(text, self._query.span.end, len(text), others)

    def sql(self, edits: Sequence[Edit]) -> str:
        return edited(self._query.text, edits, self.dialect).sql

    def size(self, edits: Iterable[Edit]) -> int:
        return size(edits, self.dialect)

    def checked(self, edits: Sequence[Edit]) -> _Checked | None:
        """None if the text cannot be read so, or has no column left."""
        dropped = {each.place for edit in edits for each in edit.drops}
        if len(dropped) == len(self._query.fields):
            return None
        sql = self.sql(edits)
        if sql not in self._known:
            self._known[sql] = self._checked(sql, edits)
        return self._known[sql]

    def _checked(self, sql: str, edits: Sequence[Edit]) -> _Checked | None:
        try:
            queries = self._read(self._before + sql + self._behind).queries
        except UserError:
            return None
        named = [each for each in queries if len(queries) == 1 or each.name == self._query.name]
        if not named:
            return None
        query = named[0]
        if any(each.kind is Kind.DROP for each in edits) and not self._names_stay(query, edits):
            return None
        return _Checked(verdict_of(query, one_pass=self._one_pass, proving=False), query)

    def _names_stay(self, query: Query, edits: Sequence[Edit]) -> bool:
        """Whether the columns that stay are called as before."""
        gone = {each.said for each in edits if each.kind is Kind.DROP}
        stay = [each.name for each in self._query.fields if each.name not in gone]
        return [each.name for each in query.fields] == stay


def _without(text: str, start: int, end: int, queries: Iterable[Query]) -> str:
    """A part of a file without some queries."""
    found, last = [], start
    for each in sorted(queries, key=lambda one: one.span.start):
        if start <= each.span.start < end:
            found.append(text[last : each.span.start])
            last = each.span.end
    return "".join([*found, text[last:end]])


@dataclass(frozen=True)
class _Repair:
    """Edits that bound a query."""

    edits: tuple[Edit, ...]
    checked: _Checked
    tokens: int

    @property
    def rank(self) -> tuple[int, bool, int]:
        return self.tokens, Kind.WINDOW in self.kinds, self.checked.verdict.units or 0

    @property
    def single(self) -> frozenset[Edit]:
        """Its edits, those of one that is several apart."""
        return frozenset(x for each in self.edits for x in (each.parts or (each,)))

    @property
    def kinds(self) -> frozenset[Kind]:
        return frozenset(each.kind for each in self.edits)


class _Search:
    def __init__(self, checker: _Checker, candidates: Candidates, verdict: Verdict) -> None:
        self._checker = checker
        self._candidates = candidates
        self._verdict = verdict
        self._edits = candidates.edits()
        self._pairs: dict[frozenset[Hashable], bool] = {}

    def fixes(self) -> tuple[Fix, ...]:
        found = list(self._ones())
        found += self._twos(found)
        if all(each.kinds & {Kind.WINDOW, Kind.CHECK} for each in found):
            found += self._chased()
        return tuple(map(self._fix, _chosen(found)))

    def _fix(self, repair: _Repair) -> Fix:
        verdict = repair.checked.verdict
        return Fix(
            description(repair.edits),
            self._checker.sql(repair.edits),
            verdict.memory,
            verdict.units,
            relation(repair.edits),
            repair.tokens,
        )

    # One edit, and two -------------------------------------------------------------------------

    def _ones(self) -> Iterator[_Repair]:
        for edit in self._edits:
            strong = self._strongest(edit)
            if strong is edit or self._try([strong]) is not None:
                found = self._try([edit])
                if found is not None:
                    yield found

    def _twos(self, ones: Sequence[_Repair]) -> Iterator[_Repair]:
        """Pairs of edits that do not help alone: all that are smaller than the smallest repair,
        all without windows that are smaller than the smallest without, and some more."""
        alone = {each.edits[0] for each in ones}
        sizes = [each.tokens for each in ones]
        plain = [each.tokens for each in ones if Kind.WINDOW not in each.kinds]
        others = Counter(each.kinds for each in ones)
        left, tried = _ENOUGH, 0
        for tokens, pair in self._pairs_by_size(alone):
            kinds = frozenset(each.kind for each in pair)
            windowed = Kind.WINDOW in kinds
            more = tokens >= min(sizes if windowed else plain, default=tokens + 1)
            if more and (windowed or others[kinds] >= _ALIKE):
                continue
            if (more and (others[_RANGES] or not left)) or tried == _MOST_PAIRS:
                return
            if not self._possible(pair):
                continue
            tried += 1
            left -= more
            found = self._try(pair)
            if found is not None:
                sizes.append(tokens)
                plain += [] if windowed else [tokens]
                others[kinds] += 1
                yield found

    def _pairs_by_size(self, alone: Container[Edit]) -> list[tuple[int, tuple[Edit, Edit]]]:
        rest = [each for each in self._edits if each not in alone and not each.parts]
        pairs = [
            (self._checker.size(pair), pair)
            for pair in combinations(rest, 2)
            if pair[0].family != pair[1].family
        ]
        return sorted(pairs, key=lambda each: each[0])

    def _possible(self, pair: tuple[Edit, Edit]) -> bool:
        """Whether the strongest edits of both families help together."""
        key = frozenset(each.family for each in pair)
        if key not in self._pairs:
            strong = [self._strongest(each) for each in pair]
            near = all(self._reaches(one, other) for one, other in (strong, strong[::-1]))
            self._pairs[key] = near and self._try(strong) is not None
        return self._pairs[key]

    def _strongest(self, edit: Edit) -> Edit:
        return next(each for each in self._edits if each.family == edit.family and each.strongest)

    def _reaches(self, edit: Edit, other: Edit) -> bool:
        """Whether every condition that fails after one edit is about something that the other one
        says something of."""
        if other.touches is None:
            return True
        checked = self._checker.checked([edit])
        if checked is None or checked.memory is not MemoryClass.LINEAR:
            return True
        touched = other.touches
        return all(
            not (near := self._near(checked.verdict, reason.attributes)) or near & touched
            for reason in checked.verdict.because
        )

    def _near(self, verdict: Verdict, names: Sequence[str]) -> set[Hashable]:
        """The columns that comparisons connect with some that a verdict names."""
        streams = {(alias, s.name) for each in verdict.growing for alias, s in each.query.streams}
        columns = {x for each in verdict.growing for x in each.query.columns if str(x) in names}
        if any(each.derived is not None for each in columns):
            return set()
        return {
            self._candidates.component(stream, each.column)
            for each in columns
            for alias, stream in streams
            if alias == each.alias
        }

    def _try(self, edits: Sequence[Edit]) -> _Repair | None:
        """The edits, of the widest ranges that are practical; None if they do not help."""
        for width in WIDTHS:
            same = edits if width == WIDTH else [self._narrowed(each, width) for each in edits]
            checked = self._checker.checked(same)
            if checked is None:
                return None
            if checked.repaired:
                return _Repair(tuple(same), checked, self._checker.size(same))
            if checked.memory is not MemoryClass.IMPRACTICAL:
                return None
        return None

    def _narrowed(self, edit: Edit, width: int) -> Edit:
        """The same with a narrower range."""
        if edit not in self._edits:
            return edit
        return self._candidates.edits(width)[self._edits.index(edit)]

    # More than two -----------------------------------------------------------------------------

    def _chased(self) -> Iterator[_Repair]:
        """Ranges on the columns that the verdict names, then on those that the next one names."""
        distinct = [each for each in self._edits if each.kind is Kind.DISTINCT]
        for base in ([], distinct) if distinct else ([],):
            for width in WIDTHS:
                found = self._chase(base, width) or self._every(base, width)
                if found is not None:
                    yield self._least(found, width)
                    break

    def _chase(self, base: Sequence[Edit], width: int) -> _Repair | None:
        edits = list(base)
        checked = self._checker.checked(edits) if edits else None
        verdict = self._verdict if checked is None else checked.verdict
        while True:
            there = {each.family for each in edits}
            ranges = [self._candidates.bounding(each, width) for each in self._named(verdict)]
            more = [each for each in ranges if each is not None and each.family not in there]
            if not more:
                return None
            edits += dict.fromkeys(more)
            checked = self._checker.checked(edits)
            if checked is None or checked.memory is MemoryClass.IMPRACTICAL:
                return None
            if checked.repaired:
                return _Repair(tuple(edits), checked, self._checker.size(edits))
            verdict = checked.verdict

    def _every(self, base: Sequence[Edit], width: int) -> _Repair | None:
        """Ranges on all columns without a bound."""
        ranges = [self._candidates.bounding(each.place, width) for each in self._candidates.open]
        edits = [*base, *(each for each in ranges if each is not None)]
        checked = self._checker.checked(edits)
        if checked is None or not checked.repaired:
            return None
        return _Repair(tuple(edits), checked, self._checker.size(edits))

    def _named(self, verdict: Verdict) -> Iterator[Place]:
        """The columns that a verdict says are without a bound."""
        for part in verdict.growing:
            for each in part.attributes:
                place = place_of(part.query, each)
                if place is not None:
                    yield place
        if not verdict.growing:
            for reason in verdict.because:
                for name in reason.attributes:
                    yield from self._candidates.places(name)

    def _least(self, repair: _Repair, width: int) -> _Repair:
        """The same without edits that are not needed, and with one end of a range where that is
        enough."""
        at_width = self._candidates.edits(width)
        for edit in reversed(repair.edits):
            rest = tuple(each for each in repair.edits if each is not edit)
            weaker = [
                each
                for each in at_width
                if each.family == edit.family and each.kind is edit.kind and not each.strongest
            ]
            ends = weaker if self._candidates.compared(edit) else ()
            for edits in (rest, *((*rest, each) for each in ends)):
                checked = self._checker.checked(edits)
                if edits and checked is not None and checked.repaired:
                    repair = _Repair(edits, checked, self._checker.size(edits))
                    break
        return repair


def _chosen(found: Iterable[_Repair]) -> Iterator[_Repair]:
    """The best of every kind, none that contains another."""
    chosen: list[_Repair] = []
    for each in sorted(found, key=lambda one: one.rank):
        alike = [other for other in chosen if other.kinds == each.kinds]
        if len(chosen) == OFFERED or len(alike) >= _ALIKE:
            continue
        if not any(other.single <= each.single for other in chosen):
            chosen.append(each)
            yield each
