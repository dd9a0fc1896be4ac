"""The set of rows already given, where the answer is that of several parts, or is computed.

Parts of one query give their rows to one set, so that a row that two of them have is held once.
Where all columns of the answer are integers, or constants, a row is told by its place; where they
are anything else, or are computed from several streams, the set holds the rows as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from millpond.memory.certificate import DENSE_SLOTS, Certificate, bytes_of, emitted, synopses
from millpond.memory.certificate import plain_nouns as nouns
from millpond.memory.shape import Shape
from millpond.memory.spj import Attribute, Projected, SpjQuery
from millpond.memory.verdict import StateEntry
from millpond.schema import Interval, Kind


@dataclass(frozen=True)
class AnswerKey:
    """A column of the answer that tells rows apart: its values, and whether it may be NULL."""

    name: str
    low: int
    high: int
    null: bool

    @property
    def size(self) -> int:
        return self.high - self.low + 1 + self.null


@dataclass(frozen=True)
class AnswerSet:
    """What is held of the rows given; without keys the rows as they are."""

    keys: tuple[AnswerKey, ...] | None
    width: int
    rows: int

    @property
    def dense(self) -> bool:
        """Whether a row's place says which it is."""
        return self.keys is not None and prod(each.size for each in self.keys) <= DENSE_SLOTS

    @property
    def units(self) -> int:
        """The most that it holds."""
        width = self.width if self.keys is None else len(self.keys)
        return self.rows * (1 if self.dense else 1 + width)

    @property
    def entry(self) -> StateEntry:
        if self.keys is None:
            return StateEntry(
                "emitted rows",
                ("rows",),
                "emitted",
                self.units,
                f"emitted: {self.rows} rows x (its {self.width} values + 1 row)",
            )
        shown = tuple(
            f"{each.name} in {Interval(each.low, each.high)}{' or NULL' if each.null else ''}"
            for each in self.keys
        )
        what = "1 row" if self.dense else "(its key + 1 row)"
        return StateEntry(
            "emitted rows",
            shown or ("whether the row is out",),
            "emitted",
            self.units,
            f"emitted: {self.rows} rows x {what}",
        )


def answer_set(shapes: Sequence[Shape]) -> AnswerSet | None:
    """The set that several parts share, or that computed rows need; None where the one part's own
    shape says what is held, and where duplicates are kept."""
    parts = [each for each in shapes if each.query.satisfiable]
    if not any(each.query.distinct for each in parts):
        return None
    if len(parts) == 1 and not computed(parts[0].query):
        return None
    rows = sum(each.emitted_rows for each in parts)
    width = len(parts[0].query.projection)
    columns = [
        [_column(each.query, each.query.projection[place]) for each in parts]
        for place in range(width)
    ]
    if any(computed(each.query) for each in parts) or any(None in each for each in columns):
        return AnswerSet(None, width, rows)
    keys = []
    for place, column in enumerate(columns):
        known = [each for each in column if each is not None]
        if len(set(known)) == 1 and known[0].size == 1:
            continue  # the same constant everywhere
        values = [each for each in known if each.low <= each.high]
        low = min((each.low for each in values), default=0)
        high = max((each.high for each in values), default=-1)
        name = parts[0].query.projection[place].name
        keys.append(AnswerKey(name, low, high, any(each.null for each in known)))
    most = prod(each.size for each in keys)
    return AnswerSet(tuple(keys), width, min(rows, most))


def computed(query: SpjQuery) -> bool:
    """Whether what is kept does not tell the rows of the answer apart: columns made of several
    attributes, and conditions that are looked at afterwards."""
    return bool(query.links) or any(each.made_of for each in query.projection)


def together(shapes: Sequence[Shape]) -> Certificate:
    """What is held for the parts of one query."""
    shared = answer_set(shapes)
    state = [entry for each in shapes for entry in synopses(each, nouns)]
    size = sum(bytes_of(each) for each in shapes)
    if shared is None:
        state += [entry for each in shapes for entry in emitted(each)]
    else:
        state.append(shared.entry)
    return Certificate(tuple(state), size)


def _column(query: SpjQuery, each: Projected) -> AnswerKey | None:
    """The values of a column of the answer, if they are integers as they are."""
    if each.made_of or not each.as_it_is:
        return None
    value = each.value
    if value is None:
        return AnswerKey("", 0, -1, True)
    if isinstance(value, int) and not isinstance(value, bool):
        return AnswerKey("", value, value, False)
    if not isinstance(value, Attribute) or value.derived is not None:
        return None
    if value in query.void:
        return AnswerKey("", 0, -1, True)
    if query.columns[value].type.kind is not Kind.INTEGER:
        return None
    interval, unit = query.predicate.interval(value), query.scale.unit
    if interval.low is None or interval.high is None:
        return None
    low, high = -(-interval.low // unit), interval.high // unit
    return AnswerKey("", low, high, query.nullable(value))
