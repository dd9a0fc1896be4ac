"""Edits of a query's text, what they do to its answers, and how large they are.

An edit is made of patches: words put in or taken out at places of the file, the rest left as the
user has it.  Conditions are apart, because where one goes depends on the others: behind WHERE, or
with AND behind what is there.  The size of an edit is the number of words put in and taken out.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from millpond.language.outline import Part, Select, words


class Relation(StrEnum):
    """What becomes of the answers."""

    SAME = "same"
    FEWER_DUPLICATES = "fewer duplicates"
    SUBSET = "subset"
    NARROWER_INPUT = "narrower input"
    RECENT_ONLY = "recent only"

    def then(self, other: Relation) -> Relation:
        """Of two edits together.  What is the same on a narrower input and then loses rows or
        duplicates is a part of the answers."""
        if Relation.RECENT_ONLY in (self, other):
            return Relation.RECENT_ONLY
        if Relation.NARROWER_INPUT in (self, other):
            plain = {self, other} <= {Relation.NARROWER_INPUT, Relation.SAME}
            return Relation.NARROWER_INPUT if plain else Relation.SUBSET
        return max(self, other, key=list(Relation).index)


class Kind(StrEnum):
    """What an edit does."""

    DISTINCT = "distinct"
    DROP = "drop"
    WINDOW = "window"
    RANGE = "range"
    COMPARISON = "comparison"
    CHECK = "check"


@dataclass(frozen=True)
class Condition:
    """What WHERE of a SELECT asks for beside what it asks already."""

    select: Select
    text: str


@dataclass(frozen=True)
class Drop:
    """A column that a SELECT leaves out, by its place."""

    select: Select
    place: int

    @property
    def words(self) -> int:
        """Those of the column, and a comma."""
        return self.select.items[self.place].words + 1


@dataclass(frozen=True)
class Patch:
    """Words of the query that go, and those that come in their place."""

    part: Part
    text: str = ""


@dataclass(frozen=True)
class Edit:
    """One change that may bound a query, or help to."""

    kind: Kind
    about: tuple[str, ...]
    """What it names: columns, inputs."""
    said: str
    relation: Relation
    family: Hashable
    """Edits of one family are about the same thing; the strongest of them does all that another
    one of them does."""
    strongest: bool = True
    touches: frozenset[Hashable] | None = None
    """The columns that it says something of; None if it may matter to any."""
    conditions: tuple[Condition, ...] = ()
    drops: tuple[Drop, ...] = ()
    patches: tuple[Patch, ...] = ()
    statement: str = ""
    """What stands before the query."""
    parts: tuple[Edit, ...] = ()
    """The edits that it is made of, if it is several."""


@dataclass(frozen=True)
class Edited:
    """A query's text after some edits."""

    sql: str
    tokens: int


def size(edits: Iterable[Edit], dialect: str) -> int:
    """How many words edits put in and take out together."""
    found, opened = 0, set()
    for edit in edits:
        found += words(edit.statement, dialect)
        found += sum(each.part.words + words(each.text, dialect) for each in edit.patches)
        found += sum(each.words for each in edit.drops)
        for each in edit.conditions:
            found += 1 + words(each.text, dialect)
            if each.select.alternatives and each.select not in opened:
                opened.add(each.select)
                found += 2
    return found


def edited(text: str, edits: Sequence[Edit], dialect: str) -> Edited:
    """The text of a query with edits made."""
    patches = [each for edit in edits for each in edit.patches]
    patches += [*_left_out(text, edits), *_asked(edits)]
    made, last = [], 0
    for patch in sorted(patches, key=lambda each: (each.part.start, each.part.end)):
        made += [text[last : patch.part.start], patch.text]
        last = patch.part.end
    made.append(text[last:])
    before = dict.fromkeys(each.statement + "\n" for each in edits if each.statement)
    return Edited("".join([*before, *made]), size(edits, dialect))


def _left_out(text: str, edits: Sequence[Edit]) -> Iterator[Patch]:
    """Columns with a comma each: that behind them, or, behind the first that stays, that before.
    Comments between them stay, whichever column they are about."""
    by_select: dict[Select, set[int]] = {}
    for edit in edits:
        for each in edit.drops:
            by_select.setdefault(each.select, set()).add(each.place)
    for select, gone in by_select.items():
        items = select.items
        first = min(place for place in range(len(items)) if place not in gone)
        for place in range(first):
            yield Patch(Part(items[place].start, items[place].end))
            yield _between(text, Part(items[place].end, items[place + 1].start))
        for place in sorted(each for each in gone if each > first):
            yield _between(text, Part(items[place - 1].end, items[place].start))
            yield Patch(Part(items[place].start, items[place].end))


def _between(text: str, part: Part) -> Patch:
    """What stands between two columns, without its comma, and gone if there is no comment."""
    gap = text[part.start : part.end]
    pieces = re.split(r"(--[^\n]*\n|/\*.*?\*/)", gap, flags=re.DOTALL)
    if len(pieces) == 1:
        return Patch(part)
    kept = [each if place % 2 else each.replace(",", "") for place, each in enumerate(pieces)]
    return Patch(part, "".join(kept))


def _asked(edits: Sequence[Edit]) -> Iterator[Patch]:
    """The conditions of each SELECT, all at once."""
    by_select: dict[Select, list[str]] = {}
    for edit in edits:
        for each in edit.conditions:
            by_select.setdefault(each.select, []).append(each.text)
    for select, asked in by_select.items():
        more = " AND ".join(asked)
        end = Part(select.rows, select.rows)
        if select.where is None:
            yield Patch(end, f" WHERE {more}")
        elif select.alternatives:
            yield Patch(Part(select.where, select.where), "(")
            yield Patch(end, f") AND {more}")
        else:
            yield Patch(end, f" AND {more}")


def relation(edits: Iterable[Edit]) -> Relation:
    """What edits do to the answers together."""
    found = Relation.SAME
    for each in edits:
        found = found.then(each.relation)
    return found


def description(edits: Sequence[Edit]) -> str:
    """What edits are, for the user: those of one kind in one phrase."""
    phrases = []
    for kind in Kind:
        mine = [each for each in edits if each.kind is kind]
        if mine:
            names = dict.fromkeys(name for each in mine for name in each.about)
            said = dict.fromkeys(each.said for each in mine)
            joined = " AND ".join(said) if kind in _CONDITIONS else ", ".join(said)
            phrases.append(_PHRASES[kind].format(" and ".join(names), joined))
    return "; ".join(phrases)


_CONDITIONS = (Kind.RANGE, Kind.COMPARISON)
_PHRASES = {
    Kind.DISTINCT: "remove duplicates: {1}",
    Kind.DROP: "leave out {0} (answers are those of the columns that stay)",
    Kind.WINDOW: "keep a window of {0}: {1}",
    Kind.RANGE: "bound {0}: {1}",
    Kind.COMPARISON: "make a join redundant: {1}",
    Kind.CHECK: "declare what {0} holds: {1}",
}
