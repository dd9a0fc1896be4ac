"""The core of a query that removes duplicates: the fewest inputs that ask the same (Arasu, 8.1).

A *folding* maps every input to an input of the same stream, so that what the condition asks of the
inputs is implied by it of their images, and projected columns go to columns that equal them.  The
rows that match the images then match the whole query, with the same answer, so inputs that are no
image can go.  Definition 8.2 moves one input at a time; in `s1.b = s2.a AND s3.a = s3.b` the first
two fold onto the third only together.

A folding is followed until it leaves its images where they are.  Then the condition, carried
over by it, implies no less about the inputs that stay than it did through those that went.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from millpond.memory.condition import Condition, In, Pair, Range, conjunction
from millpond.memory.lto import Closure
from millpond.memory.spj import Attribute, Projected, SpjQuery
from millpond.order import ZERO, DifferenceBounds, Zero

Folding = Mapping[str, str]
"""For each input, the one that stands for it."""


def core(query: SpjQuery) -> SpjQuery:
    """An equivalent query with the fewest inputs that foldings reach.

    >>> from millpond.language import read_script
    >>> from millpond.memory.normal_form import normal_form
    >>> script = read_script('''CREATE STREAM s (a INT, b INT); SELECT DISTINCT 1
    ... FROM s AS s1, s AS s2, s AS s3 WHERE s1.b = s2.a AND s3.a = s3.b''')
    >>> [alias for alias, _ in core(normal_form(script.queries[0])).streams]
    ['s3']
    """
    if not (query.distinct and query.self_join and query.satisfiable and query.plain):
        return query
    while (folding := _smaller(query)) is not None:
        query = _folded(query, _settled(folding))
    return query


def every_column(query: SpjQuery) -> Closure:
    """P+ over the columns that matter of any input of the same stream, with their domains: a row
    read as one input may be looked at as another."""
    names: dict[str, dict[str, None]] = {stream.name: {} for _, stream in query.streams}
    streams = dict(query.streams)
    for each in query.relevant:
        names[streams[each.alias].name][each.column] = None
    wide: Closure = DifferenceBounds(
        Attribute(alias, column) for alias, stream in query.streams for column in names[stream.name]
    )
    wide = wide.with_bounds(query.predicate.atoms())
    for each in wide.elements:
        domain = query.columns[each].domain
        if domain.empty:
            continue  # then it is NULL, of which a bound would say too much
        if domain.low is not None:
            wide = wide.at_least(each, domain.low)
        if domain.high is not None:
            wide = wide.at_most(each, domain.high)
    return wide


# Looking for a folding --------------------------------------------------------------------------


def _smaller(query: SpjQuery) -> Folding | None:
    """A folding that leaves an input out."""
    search = _Search(query)
    for dropped in reversed(search.movable):
        found = search.without(dropped)
        if found is not None:
            return found
    return None


class _Search:
    """Backtracking over the inputs; whether two images fit together is asked once."""

    def __init__(self, query: SpjQuery) -> None:
        self._query = query
        self._closure = every_column(query)
        self._atoms: dict[tuple[str, str], list[tuple[str | None, str | None, int]]] = {}
        for x, y, c in query.predicate.atoms():
            one, other = _alias(x, y), _alias(y, x)
            self._atoms.setdefault((one, other), []).append((_column(x), _column(y), c))
        self._fits: dict[tuple[str, str, str, str], bool] = {}
        self._images = {
            alias: [
                to for to, of in query.streams if of.name == stream.name and self._alone(alias, to)
            ]
            for alias, stream in query.streams
        }

    @property
    def movable(self) -> list[str]:
        return [alias for alias, images in self._images.items() if images != [alias]]

    def without(self, dropped: str) -> Folding | None:
        """A folding of which `dropped` is no image; inputs stay where they are if they can."""
        images = {
            alias: sorted((to for to in found if to != dropped), key=lambda to: to != alias)
            for alias, found in self._images.items()
        }
        order = sorted(images, key=lambda alias: (alias != dropped, len(images[alias])))
        return next(self._extensions({}, order, images), None)

    def _extensions(
        self, known: dict[str, str], order: list[str], images: Mapping[str, list[str]]
    ) -> Iterator[Folding]:
        if len(known) == len(order):
            yield dict(known)
            return
        alias = order[len(known)]
        for to in images[alias]:
            if all(self._together(alias, to, other, where) for other, where in known.items()):
                yield from self._extensions({**known, alias: to}, order, images)

    def _alone(self, alias: str, to: str) -> bool:
        """Whether rows of `to` pass for rows of `alias`, as far as it alone is concerned."""
        return alias == to or (
            self._not_null(alias, to) and self._shown(alias, to) and self._fit(alias, to, alias, to)
        )

    def _not_null(self, alias: str, to: str) -> bool:
        """What is compared is no NULL in a match, and must be none there either."""
        return all(
            not self._query.nullable(Attribute(to, each.column))
            for each in self._query.compared
            if each.alias == alias
        )

    def _shown(self, alias: str, to: str) -> bool:
        """Whether the projected columns are equal, and not only where they are no NULL."""
        return all(
            not self._query.nullable(each)
            and not self._query.nullable(Attribute(to, each.column))
            and self._closure.offset(each, Attribute(to, each.column)) == 0
            for each in self._query.projected
            if each.alias == alias
        )

    def _together(self, one: str, to_one: str, other: str, to_other: str) -> bool:
        return self._fit(one, to_one, other, to_other) and self._fit(other, to_other, one, to_one)

    def _fit(self, one: str, to_one: str, other: str, to_other: str) -> bool:
        key = (one, to_one, other, to_other)
        if key not in self._fits:
            self._fits[key] = all(
                self._closure.implies(_there(to_one, x), _there(to_other, y), c)
                for x, y, c in self._atoms.get((one, other), ())
            )
        return self._fits[key]


def _alias(side: Attribute | Zero, other: Attribute | Zero) -> str:
    """The input that a side of an atom is about; a constant goes with the other side."""
    found = side if isinstance(side, Attribute) else other
    assert isinstance(found, Attribute)
    return found.alias


def _column(side: Attribute | Zero) -> str | None:
    return side.column if isinstance(side, Attribute) else None


def _there(alias: str, column: str | None) -> Attribute | Zero:
    return ZERO if column is None else Attribute(alias, column)


# Following it -----------------------------------------------------------------------------------


def _settled(folding: Folding) -> Folding:
    """The power of a folding that leaves its images where they are."""
    power = dict(folding)
    while any(power[to] != to for to in power.values()):
        power = {alias: folding[to] for alias, to in power.items()}
    return power


def _folded(query: SpjQuery, folding: Folding) -> SpjQuery:
    moved = [_moved(each, folding) for each in query.conditions]
    kept = set(folding.values())
    return replace(
        query,
        streams=tuple(each for each in query.streams if each[0] in kept),
        conditions=conjunction(moved),
        projection=tuple(_projected(each, folding) for each in query.projection),
    )


def _moved(condition: Condition, folding: Folding) -> Condition:
    """A condition on the images; a column compared with itself is one that is no NULL."""
    match condition:
        case In():
            return replace(condition, column=_image(condition.column, folding))
        case Pair():
            left, right = (_image(each, folding) for each in condition.columns)
            if left == right:
                return In(left, (Range(),), False, (condition.span,))
            return replace(condition, left=left, right=right)
    raise ValueError(f"{condition} has no image")


def _image(each: Attribute, folding: Folding) -> Attribute:
    return Attribute(folding[each.alias], each.column)


def _projected(each: Projected, folding: Folding) -> Projected:
    if isinstance(each.value, Attribute):
        return replace(each, value=_image(each.value, folding))
    return each
