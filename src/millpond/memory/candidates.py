"""The edits that are tried on a query, one by one and together.

- DISTINCT on the answer, or UNION for its UNION ALL;
- a column of the answer less, in every branch of a union;
- a window on an input;
- a range, or one end of one, on a column without a bound; a list where a range is no bound;
- the same as a CHECK of the column's stream;
- `b < e` where `b < d` and `c < e` are asked for: with `c < d` one of the joins is redundant
  whatever the order of b and c (Arasu, from Q5 to Q6 of Table I).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from millpond.language.outline import Outline, Part, Select
from millpond.memory.aggregate import aggregate_parts
from millpond.memory.attribute import Attribute
from millpond.memory.edit import Condition, Drop, Edit, Kind, Patch, Relation
from millpond.memory.flatten import NotFlatError
from millpond.memory.normal_form import normal_forms
from millpond.memory.ranges import WIDTH, Open, Place, bases, open_columns, place_of
from millpond.memory.spj import SpjQuery
from millpond.plan import Changes, Distinct, Node, Operator, Query, Scan, Window, nodes
from millpond.schema import INTEGER_TYPES, Stream
from millpond.schema import Kind as TypeKind

ROWS = 1000
"""How many rows a window of ours holds."""
TICKS = 1000
"""How long one is, in units of a time column of whole numbers."""


@dataclass(frozen=True)
class Asked:
    """A query as its parts have it."""

    parts: tuple[SpjQuery, ...]
    grouped: bool
    """Whether its answer is made of aggregates."""

    @property
    def satisfiable(self) -> bool:
        return any(each.satisfiable for each in self.parts)


def asked(query: Query) -> Asked | None:
    """The parts of a query; None if it has no such form."""
    try:
        grouped = aggregate_parts(query)
        if grouped is not None:
            return Asked(tuple(each.query for each in grouped), True)
        return Asked(tuple(each.query for each in normal_forms(query)), False)
    except NotFlatError:
        return None


class Candidates:
    """The edits of one query."""

    def __init__(self, query: Query, parts: Asked, dialect: str) -> None:
        self._query = query
        self._parts = parts
        self._dialect = dialect
        self._start = query.span.start
        self._outline = Outline(query.text, dialect, query.span.source.text)

    def edits(self, width: int = WIDTH) -> list[Edit]:
        """All of them, in the same order for every width of ranges."""
        return [
            *self._distinct(),
            *self._dropped(),
            *self._windows(),
            *(each for one in self.open for each in self._ranges(one, width)),
            *self._comparisons(),
            *self._checks(width),
        ]

    def bounding(self, place: Place, width: int) -> Edit | None:
        """A range on a column, whole, or the CHECK of one whose input is named elsewhere."""
        column = next((each for each in self.open if each.place == place), None)
        if column is None:
            return None
        edits = (*self._ranges(column, width), *self._checks(width, (column,)))
        return next((each for each in edits if each.strongest), None)

    @cached_property
    def open(self) -> list[Open]:
        """The columns without a bound."""
        return open_columns(self._parts.parts)

    def places(self, name: str) -> Iterator[Place]:
        """The columns that a verdict may call so."""
        for part in self._parts.parts:
            for each in part.columns:
                place = place_of(part, each)
                if str(each) == name and place is not None:
                    yield place

    def component(self, stream: str, column: str) -> Hashable:
        """Of the columns that comparisons connect, one that stands for all; the same column of
        one stream is one, however often the stream is read."""
        return self._components.get((stream, column), (stream, column))

    def compared(self, edit: Edit) -> bool:
        """Whether comparisons connect the columns of an edit with others."""
        connected = Counter(self._components.values())
        return any(connected[each] > 1 for each in edit.touches or ())

    # One by one ------------------------------------------------------------------------------

    def _distinct(self) -> Iterator[Edit]:
        root = self._query.root
        if self._parts.grouped or any(isinstance(each, Distinct) for each in _above(root)):
            return
        answers, all_ = self._outline.answers, self._outline.unites
        if all_ is not None:
            patch, said = Patch(_with_space(self._query.text, all_)), "UNION without ALL"
        elif len(answers) == 1:
            patch, said = Patch(Part(answers[0].head, answers[0].head), " DISTINCT"), _REMOVED
        else:
            return
        yield Edit(Kind.DISTINCT, (), said, Relation.FEWER_DUPLICATES, "distinct", patches=(patch,))

    def _dropped(self) -> Iterator[Edit]:
        answers = self._outline.answers
        fields = self._query.fields
        width = len(fields)
        if width < 2 or any(len(each.items) != width or each.by_place for each in answers):
            return
        kept = not any(isinstance(each, Distinct) for each in _above(self._query.root))
        for place, field in enumerate(fields):
            yield Edit(
                Kind.DROP,
                (f"the column `{field.name}`",),
                field.name,
                Relation.SAME if kept else Relation.FEWER_DUPLICATES,
                ("drop", place),
                touches=self._shown(place),
                drops=tuple(Drop(each, place) for each in answers),
            )

    def _windows(self) -> Iterator[Edit]:
        if self._dialect != "cql":
            return
        windowed = {
            each.input.span
            for each in nodes(self._query.root)
            if isinstance(each, Window) and isinstance(each.input, Scan)
        }
        found = []
        for start, scan in self._scans.items():
            size = None if scan.span in windowed else _size(scan.stream)
            if size is None or scan.span is None or not scan.stream.is_stream:
                continue
            end = scan.span.end - self._start
            found.append(
                Edit(
                    Kind.WINDOW,
                    (self._called(start),),
                    f"{scan.stream.name} [{size}]",
                    Relation.RECENT_ONLY,
                    ("window", start),
                    patches=(Patch(Part(end, end), f" [{size}]"),),
                )
            )
        yield from found
        yield from _together(found)

    def _ranges(self, column: Open, width: int) -> Iterator[Edit]:
        select = self._select(column.place)
        if select is None or column.place[0] not in self._scans:
            return
        name = self._name(column.place)
        for limits in (column.limits(width), *column.halves(width)):
            shown = f"{self._called(column.place[0])}.{column.column.name}"
            yield Edit(
                Kind.RANGE,
                (shown,),
                f"{shown} {limits}",
                self._narrowed,
                ("range", column.place),
                strongest=limits == column.limits(width),
                touches=self._touched(column),
                conditions=(Condition(select, f"{name} {limits}"),),
            )

    def _checks(self, width: int, columns: Sequence[Open] | None = None) -> Iterator[Edit]:
        word = "STREAM" if self._dialect == "cql" else "TABLE"
        by_stream: dict[tuple[str, str], list[Open]] = {}
        for each in self.open if columns is None else columns:
            by_stream.setdefault((each.stream, each.column.name), []).append(each)
        for (stream, name), uses in by_stream.items():
            same = uses[0] if len({(each.low, each.high) for each in uses}) == 1 else None
            wide = same or replace(uses[0], low=None, high=None)
            condition = f"{self._outline.spelled(name)} {wide.limits(width)}"
            weaker = self._read_once(uses[0])
            yield Edit(
                Kind.CHECK,
                (f"{stream}.{name}",),
                f"CHECK ({condition})",
                Relation.NARROWER_INPUT,
                ("range", uses[0].place) if weaker else ("check", stream, name),
                strongest=not weaker,
                touches=self._touched(uses[0]),
                statement=(
                    f"ALTER {word} {self._outline.spelled(stream)} ADD CHECK ({condition});"
                ),
            )

    def _read_once(self, column: Open) -> bool:
        """Whether a range in the text does all that a CHECK of the column does."""
        names = [each.stream.name for each in self._query.scans]
        return names.count(column.stream) == 1 and column.place[0] in self._scans

    def _comparisons(self) -> Iterator[Edit]:
        if self._parts.grouped:
            return
        found: dict[str, Edit] = {}
        for part in self._parts.parts:
            for left, right, operator in _crossing(part):
                edit = self._compared(part, left, right, operator)
                if edit is not None:
                    found.setdefault(edit.said, edit)
        yield from found.values()
        yield from _together(list(found.values()))

    def _compared(
        self, part: SpjQuery, left: Attribute, right: Attribute, operator: Operator
    ) -> Edit | None:
        places = [place_of(part, each) for each in (left, right)]
        known = [each for each in places if each is not None and each[0] in self._scans]
        selects = [self._select(each) for each in known]
        if len(known) < 2 or selects[0] is None or selects[0] != selects[1]:
            return None
        names = [self._name(each) for each in known]
        shown = [f"{self._called(each[0])}.{each[1]}" for each in known]
        return Edit(
            Kind.COMPARISON,
            tuple(shown),
            f"{shown[0]} {operator} {shown[1]}",
            Relation.SUBSET,
            ("comparison", *known),
            conditions=(Condition(selects[0], f"{names[0]} {operator} {names[1]}"),),
        )

    # Names and places ------------------------------------------------------------------------

    @cached_property
    def _scans(self) -> dict[int, Scan]:
        """The inputs that the query's text names, by where it does."""
        span = self._query.span
        return {
            each.span.start: each
            for each in self._query.scans
            if each.span is not None and span.start <= each.span.start < span.end
        }

    @property
    def _narrowed(self) -> Relation:
        return Relation.NARROWER_INPUT if self._parts.grouped else Relation.SUBSET

    def _select(self, place: Place) -> Select | None:
        return self._outline.select_at(place[0] - self._start)

    def _called(self, start: int) -> str:
        """What the query calls an input."""
        scan = self._scans[start]
        assert scan.span is not None
        return self._outline.alias_behind(scan.span.end - self._start, scan.alias)

    def _name(self, place: Place) -> str:
        """A column as the text would name it: by itself, where that is clear and the text does."""
        name, select = self._outline.spelled(place[1]), self._select(place)
        if select is not None and not select.qualifies:
            beside = [x for at, x in self._scans.items() if self._select((at, "")) == select]
            clear = sum(x.stream.column(place[1]) is not None for x in beside) == 1
            if clear and len(beside) == select.inputs:
                return name
        return f"{self._outline.spelled(self._called(place[0]))}.{name}"

    def _touched(self, column: Open) -> frozenset[Hashable]:
        return frozenset({self.component(column.stream, column.column.name)})

    def _shown(self, place: int) -> frozenset[Hashable] | None:
        """The columns that a column of the answer is made of."""
        if self._parts.grouped:
            return None
        return frozenset(
            self.component(dict(part.streams)[base.alias].name, base.column)
            for part in self._parts.parts
            for each in part.projection[place].attributes
            for base in bases(each)
        )

    @cached_property
    def _components(self) -> Mapping[tuple[str, str], Hashable]:
        """Columns of streams, connected by what conditions and computed columns name together."""
        found: dict[tuple[str, str], set[tuple[str, str]]] = {}
        for part in self._parts.parts:
            streams = {alias: stream.name for alias, stream in part.streams}
            groups = [each.columns for each in part.conditions]
            groups += [each.attributes for each in part.projection]
            for group in groups:
                named = {(streams[x.alias], x.column) for one in group for x in bases(one)}
                for each in [*named]:
                    named |= found.get(each, set())
                found |= dict.fromkeys(named, named)
        return {each: min(group) for each, group in found.items()}


_REMOVED = "SELECT DISTINCT"


def _above(root: Node) -> Iterator[Node]:
    """The root, and what is below nodes that change nothing of its rows."""
    yield root
    if isinstance(root, Changes):
        yield root.input


def _with_space(text: str, part: Part) -> Part:
    """A word with the space before it."""
    start = part.start
    while start > 0 and text[start - 1] in " \t":
        start -= 1
    return replace(part, start=start)


def _size(stream: Stream) -> str | None:
    """The extent and the length of a window on a stream."""
    if stream.time is None:
        return f"ROWS {ROWS}"
    type_ = stream.time_type
    if type_ is None:
        return None
    if type_.name in INTEGER_TYPES and stream.time.unit is None:
        return f"RANGE {TICKS}"
    return "RANGE 7 DAY" if type_.kind is TypeKind.DATE else "RANGE 1 HOUR"


def _together(edits: Sequence[Edit]) -> Iterator[Edit]:
    """All of several as one."""
    if len(edits) < 2:
        return
    first = edits[0]
    yield Edit(
        first.kind,
        tuple(dict.fromkeys(name for each in edits for name in each.about)),
        (" AND " if first.conditions else ", ").join(each.said for each in edits),
        first.relation,
        (first.kind, "all"),
        conditions=tuple(x for each in edits for x in each.conditions),
        patches=tuple(x for each in edits for x in each.patches),
        drops=tuple(x for each in edits for x in each.drops),
        parts=tuple(edits),
    )


def _crossing(part: SpjQuery) -> Iterator[tuple[Attribute, Attribute, Operator]]:
    """Of the joins of two inputs by inequality, one's smaller side and another's larger one."""
    joins = [
        each
        for each in part.pairs
        if each.op in (Operator.LT, Operator.LE)
        and each.left.alias != each.right.alias
        and not each.offset
        and each.left.derived is None is each.right.derived
    ]
    there = {(each.left, each.right) for each in joins}
    for one in joins:
        for other in joins:
            inputs = (one.left.alias, one.right.alias)
            if inputs != (other.left.alias, other.right.alias):
                continue
            if (one.left, other.right) not in there:
                strict = Operator.LT in (one.op, other.op)
                yield one.left, other.right, Operator.LT if strict else Operator.LE
