"""Grouping and aggregation (Arasu, section 8.2): Theorems 8.3 to 8.6, with what they leave out.

An aggregate query keeps its answer, so the grouping columns have to be bounded.  What has to be
kept of the streams is asked of a *characteristic query*: the same join, projected on the groups.
Aggregates that count (SUM, COUNT, AVG, VAR, MEDIAN) ask it with duplicates, the others without.
Holistic ones (COUNT DISTINCT, MEDIAN) have to know the distribution of their column, MIN and MAX
only the best value of it: but then no other column of its stream may ask for a best value on its
own (C3), and, beyond the printed theorem, none may ask for the opposite extreme either.

Beyond the paper: an aggregate whose column has one value alone counts nothing (SUM of 0, AVG of a
constant) or up to two (VAR of a sample), and AVG and MEDIAN do not change when all rows come k
times, so that of streams that no join connects with theirs only the presence of rows matters.

Of users' aggregates only what is declared is known (Theorems 8.3 and 8.4): which groups there are
has to be kept all the same, but no other condition that fails means that there is no bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto

from millpond.diagnostic import Span
from millpond.memory.arasu import Violation, violations
from millpond.memory.lto import Closure, joins, lto_queries, max_ref, min_ref
from millpond.memory.normal_form import Piece, parts_of
from millpond.memory.spj import Attribute, Projected, SpjQuery
from millpond.plan import (
    COMPARISONS,
    Aggregate,
    AggregateCall,
    ColumnRef,
    Comparison,
    Distinct,
    Expression,
    Field,
    Filter,
    Is,
    Item,
    Literal,
    Node,
    Not,
    Operator,
    Project,
    Query,
    columns_of,
    integer,
)
from millpond.plan.rewrite import with_columns
from millpond.schema import AggregateClass, Value


class Sort(Enum):
    """What an aggregate function asks of the rows of a group."""

    COUNTS = auto()
    """How often each comes; sums of it are enough."""
    SCALELESS = auto()
    """How often each comes beside the others; sums are enough (AVG)."""
    MEDIAN = auto()
    """The distribution, up to a factor."""
    VALUES = auto()
    """Which values there are."""
    BEST = auto()
    """The least or the greatest."""
    DECLARED = auto()
    """What is declared of a user's function: a state of so many units, or all values."""


_SORTS = {
    "COUNT": Sort.COUNTS,
    "SUM": Sort.COUNTS,
    "VAR_SAMP": Sort.COUNTS,
    "STDDEV_SAMP": Sort.COUNTS,
    "AVG": Sort.SCALELESS,
    "VAR_POP": Sort.SCALELESS,
    "STDDEV_POP": Sort.SCALELESS,
    "MEDIAN": Sort.MEDIAN,
    "MIN": Sort.BEST,
    "MAX": Sort.BEST,
    "BOOL_AND": Sort.BEST,
    "BOOL_OR": Sort.BEST,
}


@dataclass(frozen=True)
class Asked:
    """An aggregate of a query over one of its parts."""

    call: AggregateCall
    sort: Sort
    argument: Projected | None
    condition: Projected | None
    twice: bool = False
    """Whether it asks if a row comes once or more often (VAR of a sample of a constant)."""

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """The columns that it is computed from."""
        parts = [each for each in (self.argument, self.condition) if each is not None]
        return tuple(dict.fromkeys(x for each in parts for x in each.attributes))

    @property
    def known(self) -> tuple[Attribute, ...]:
        """The columns whose values a holistic one has to know where there is no join: what FILTER
        asks of a row is asked when it comes."""
        return self.argument.attributes if self.argument is not None else ()

    @property
    def of_rows(self) -> bool:
        """Whether it counts rows, whatever they hold."""
        argument = self.argument
        some = argument is None or (not argument.attributes and argument.value is not None)
        return (
            self.call.function == "COUNT" and some and self.condition is None and not self.holistic
        )

    @property
    def constant(self) -> bool:
        """Whether it is of one value, the same in all rows."""
        return self.argument is not None and not self.argument.attributes

    @property
    def aliases(self) -> set[str]:
        return {each.alias for each in self.attributes}

    @property
    def column(self) -> Attribute | None:
        """The one column that it is the best value of."""
        if self.condition is None and self.argument is not None and self.argument.as_it_is:
            return self.argument.value if isinstance(self.argument.value, Attribute) else None
        return None

    @property
    def counts(self) -> bool:
        """Whether it depends on how often a row comes."""
        return not _insensitive(self.call, self.sort)

    @property
    def holistic(self) -> bool:
        declared = self.call.declared
        if self.sort is Sort.DECLARED and declared is not None:
            every_value = self.call.distinct and declared.sensitive
            return declared.kind is AggregateClass.HOLISTIC or every_value
        return self.sort in (Sort.MEDIAN, Sort.VALUES)

    @property
    def span(self) -> Span | None:
        return self.call.span


@dataclass(frozen=True)
class Above:
    """What the query says of its groups: conditions of HAVING, and the columns of the answer."""

    calls: tuple[AggregateCall, ...]
    fields: tuple[Field, ...]
    """The columns of the groups and of the calls, which the rest is about."""
    having: tuple[Expression, ...]
    columns: tuple[Expression, ...]
    distinct: bool


@dataclass(frozen=True)
class Grouped:
    """A part of an aggregate query: its groups, and what is asked of each."""

    query: SpjQuery
    alone: bool
    groups: tuple[Projected, ...]
    asked: tuple[Asked, ...]
    width: int
    """How many columns a row of the answer has."""
    hidden: str | None
    """What stands above the aggregates and may hide what they say."""
    above: Above


def aggregate_parts(query: Query) -> tuple[Grouped, ...] | None:
    """The parts of an aggregate query; None if it is none."""
    node: Node = query.root
    distinct = isinstance(node, Distinct)
    if isinstance(node, Distinct):
        node = node.input
    if not isinstance(node, Project):
        return None
    shown, node = node, node.input
    having: list[Expression] = []
    while isinstance(node, Filter):
        having += node.predicates
        node = node.input
    if not isinstance(node, Aggregate):
        return None
    below, above = _pushed(node, having)
    used = {
        each.name
        for one in (*(i.expression for i in shown.items), *above)
        for each in columns_of(one)
    }
    calls = [each for each in node.calls if each.name in used]
    body = Filter(node.input, tuple(below)) if below else node.input
    columns = tuple(each.expression for each in shown.items)
    said = Above(node.calls, node.fields, tuple(having), columns, distinct)
    return tuple(
        _grouped(piece, node, calls, said, above) for piece in _pieces(query, node, body, calls)
    )


def _pushed(
    node: Aggregate, having: Sequence[Expression]
) -> tuple[list[Expression], list[Expression]]:
    """The conditions of HAVING about groups alone, which are filters of the rows, and the rest."""
    groups = {each.name: each.expression for each in node.groups}

    def of(column: ColumnRef) -> Expression:
        return groups[column.name]

    below = [each for each in having if {x.name for x in columns_of(each)} <= set(groups)]
    return [with_columns(each, of) for each in below], [x for x in having if x not in below]


def _pieces(
    query: Query, node: Aggregate, body: Node, calls: Sequence[AggregateCall]
) -> tuple[Piece, ...]:
    items = [Item(each.expression, f"group {place}") for place, each in enumerate(node.groups)]
    for place, call in enumerate(calls):
        if call.argument is not None:
            items.append(Item(call.argument, f"argument {place}"))
        if call.filter is not None:
            items.append(Item(call.filter, f"filter {place}"))
    insensitive = all(_insensitive(each, _sort(each)) for each in calls)
    plan = Project(body, tuple(items) or (Item(integer(1), "nothing"),))
    return parts_of(query, plan, [each.name for each in plan.items], distinct=insensitive)


def _insensitive(call: AggregateCall, sort: Sort) -> bool:
    """Whether it does not matter how often a row comes."""
    if sort is Sort.DECLARED and call.declared is not None:
        return call.distinct or not call.declared.sensitive
    return sort in (Sort.BEST, Sort.VALUES)


def as_asked(asked: Asked) -> Asked:
    """An aggregate as any column has it, whatever is known of its own."""
    return replace(asked, sort=_sort(asked.call), twice=False)


def _sort(call: AggregateCall) -> Sort:
    if call.declared is not None:
        return Sort.DECLARED
    sort = _SORTS[call.function]
    return Sort.VALUES if call.distinct and sort is not Sort.BEST else sort


def _grouped(
    piece: Piece,
    node: Aggregate,
    calls: Sequence[AggregateCall],
    said: Above,
    above: Sequence[Expression],
) -> Grouped:
    found = {each.name: each for each in piece.query.projection}
    groups = tuple(
        replace(found[f"group {place}"], name=each.name) for place, each in enumerate(node.groups)
    )
    asked = tuple(
        _forced(
            piece.query,
            groups,
            Asked(call, _sort(call), found.get(f"argument {place}"), found.get(f"filter {place}")),
        )
        for place, call in enumerate(calls)
    )
    hidden = "DISTINCT above the aggregates" if said.distinct else None
    by_name = {each.call.name: each for each in asked}
    if any(not _leaves_open(piece.query, each, by_name) for each in above):
        hidden = "HAVING"
    beside = tuple(dict.fromkeys(x for each in asked for x in each.attributes))
    return Grouped(
        replace(piece.query, projection=groups, distinct=False, beside=beside),
        piece.alone,
        groups,
        asked,
        len(said.columns),
        hidden,
        said,
    )


def constants_of(grouped: Grouped) -> tuple[Value, ...] | None:
    """The constants that decide which groups show, and what of them; None if all of them do."""
    above = grouped.above
    if not (above.having or above.distinct):
        return None
    parts: list[Expression] = [*above.having, *above.columns]
    for call in above.calls:
        parts += [each for each in (call.argument, call.filter) if each is not None]
    found: dict[Value, None] = {}
    while parts:
        part = parts.pop()
        parts += part.inputs
        if isinstance(part, Literal) and part.value is not None:
            found[part.value] = None
    return tuple(found)


def _leaves_open(query: SpjQuery, having: Expression, asked: Mapping[str, Asked]) -> bool:
    """Whether a condition of HAVING lets every group through for some rows of it: a limit of a
    count, or of an aggregate of a column that gets past it whatever the others have; or that there
    is a value at all."""
    if isinstance(having, Not) and isinstance(having.operand, Is) and having.operand.value is None:
        tested = having.operand.operand
        of = asked.get(tested.name) if isinstance(tested, ColumnRef) else None
        return of is not None and of.column is not None and of.column not in query.void
    if not isinstance(having, Comparison):
        return False
    left, op, right = having.left, having.op, having.right
    if isinstance(left, Literal):
        left, op, right = right, op.flipped, left
    if not isinstance(left, ColumnRef) or not isinstance(right, Literal) or right.value is None:
        return False
    found = asked.get(left.name)
    if found is None or isinstance(right.value, str) or found.sort is Sort.DECLARED:
        return False
    if found.call.function == "COUNT":
        return (
            COMPARISONS[op](1, right.value)
            or op in (Operator.GT, Operator.GE, Operator.NE)
            or (op is Operator.EQ and right.value >= 1 and right.value == int(right.value))
        )
    column = found.column
    free = column is not None and not any(column in each.columns for each in query.pairs)
    if column is None or column.derived is not None or not free or op not in _LIMITS:
        return False  # what is computed may have an end that is not known, as x * x
    interval = query.predicate.interval(column)
    return (interval.high if op in (Operator.GT, Operator.GE) else interval.low) is None


_LIMITS = (Operator.LT, Operator.LE, Operator.GE, Operator.GT)


def _forced(query: SpjQuery, groups: Sequence[Projected], asked: Asked) -> Asked:
    """An aggregate of a column that has one value alone, in each group at least, does not count
    where the value says it."""
    argument = asked.argument
    if asked.sort is Sort.DECLARED:
        return asked
    if argument is None or not asked.counts or asked.call.function == "COUNT":
        return asked
    zero = argument.value == 0 and not isinstance(argument.value, str)
    constant = not isinstance(argument.value, Attribute) and not argument.made_of
    if isinstance(argument.value, Attribute):
        if argument.value in query.void:
            return replace(asked, sort=Sort.VALUES)
        values = query.predicate.values(argument.value)
        zero = values.size == 1 and values.hull.low == 0 and argument.as_it_is
        constant = values.size == 1 or any(
            isinstance(each.value, Attribute) and _tells(query, each.value, argument.value)
            for each in groups
        )
    if asked.call.function in ("VAR_SAMP", "STDDEV_SAMP") and constant:
        return replace(asked, sort=Sort.VALUES, twice=True)
    if (asked.call.function == "SUM" and zero) or (
        asked.sort in (Sort.SCALELESS, Sort.MEDIAN) and constant
    ):
        return replace(asked, sort=Sort.VALUES)
    return asked


def _tells(query: SpjQuery, group: Attribute, column: Attribute) -> bool:
    """Whether a group has one value of a column."""
    if group == column:
        return True
    known = group in query.relevant and column in query.relevant
    return (
        known
        and not (query.nullable(group) or query.nullable(column))
        and query.predicate.offset(group, column) is not None
    )


# The criterion ----------------------------------------------------------------------------------


def failures(grouped: Grouped) -> list[Violation]:
    """Which conditions fail; none iff the part is bounded."""
    query = grouped.query
    if not query.satisfiable:
        return []
    present = violations(replace(query, distinct=True))
    found = [each for each in present if each.condition == "C1"] if _streams(query) == 1 else []
    counted = [] if _streams(query) == 1 else violations(query)
    for asked in grouped.asked or (None,):
        if asked is not None and asked.sort is Sort.DECLARED:
            # An answer with groups shows which of them there are; one without may show nothing.
            found += present if query.projection and _streams(query) > 1 else []
            found += _of_declared(query, asked)
            continue
        if _streams(query) == 1:
            pass
        elif asked is None or not asked.counts:
            found += present
        elif asked.sort is Sort.COUNTS:
            found += counted
        else:
            near = connected(query, asked.aliases)
            found += [each for each in counted if _of(each) & near]
            found += [each for each in present if not _of(each) & near]
        if asked is not None:
            found += _own(query, asked)
    return list(dict.fromkeys(found))


def of_declared(grouped: Grouped) -> list[Violation]:
    """What fails of users' aggregates beside the groups."""
    asked = (each for each in grouped.asked if each.sort is Sort.DECLARED)
    return [found for each in asked for found in _of_declared(grouped.query, each)]


def _of_declared(query: SpjQuery, asked: Asked) -> list[Violation]:
    """By Theorem 8.3 a holistic one has to be of bounded columns, by 8.4 the characteristic query,
    which has its columns, has to be bounded.  Failing proves nothing: the theorems say what is
    enough."""
    if _streams(query) == 1:
        own = [x for x in asked.known if _open_ended(query, x)] if asked.holistic else []
        return [Violation("holistic", tuple(own), asked.span, exact=False)] if own else []
    columns = [each for each in (asked.argument, asked.condition) if each is not None]
    projection = (*query.projection, *columns)
    characteristic = replace(query, projection=projection, distinct=not asked.counts)
    groups = {x for each in query.projection for x in each.attributes}
    found = []
    for each in violations(characteristic):
        if each.condition != "C1":
            found.append(replace(each, exact=False))
        elif not set(each.attributes) <= groups:
            found.append(replace(each, condition="holistic", span=asked.span, exact=False))
    return found


def _open_ended(query: SpjQuery, each: Attribute) -> bool:
    return each not in query.void and not query.predicate.bounded(each)


def _streams(query: SpjQuery) -> int:
    return len(query.streams)


def _of(violation: Violation) -> set[str]:
    return {each.alias for each in violation.attributes}


def connected(query: SpjQuery, aliases: set[str]) -> set[str]:
    """The inputs that joins connect with some, and themselves."""
    found = set(aliases)
    edges = [{x.alias, y.alias} for x, y, _ in joins(query.predicate)]
    edges += [{x.alias, y.alias} for x, y in _equal(query.predicate)]
    edges += [{each.alias for each in link.columns} for link in query.links]
    while True:
        more = {alias for edge in edges if edge & found for alias in edge}
        if more <= found:
            return found
        found |= more


def _equal(predicate: Closure) -> Iterator[tuple[Attribute, Attribute]]:
    for place, x in enumerate(predicate.elements):
        for y in predicate.elements[place + 1 :]:
            fixed = predicate.interval(x).size == 1
            if x.alias != y.alias and predicate.offset(x, y) is not None and not fixed:
                yield x, y


def _own(query: SpjQuery, asked: Asked) -> Iterator[Violation]:
    """C2 and C3: what an aggregate asks of its own column."""
    known = asked.known if asked.holistic and _streams(query) == 1 else asked.attributes
    open_ended = [each for each in known if _open_ended(query, each)]
    if not open_ended:
        return
    if asked.holistic:
        exact = asked.column is not None or (
            asked.argument is not None and isinstance(asked.argument.value, Attribute)
        )
        exact = exact and asked.condition is None
        yield Violation("holistic", tuple(open_ended), asked.span, exact=exact)
    elif asked.sort is Sort.BEST:
        yield from best_fails(query, asked)
    elif len(asked.aliases) > 1 and (asked.argument is None or asked.argument.sum is None):
        yield Violation("holistic", tuple(open_ended), asked.span, exact=False)


def best_fails(query: SpjQuery, asked: Asked, *, bounded_too: bool = False) -> list[Violation]:
    """C3 of Theorem 8.6, corrected: of the stream that MAX is taken of, no column may be in MinRef,
    and none in MaxRef but the column itself.

    It is asked of columns without bound; with `bounded_too` of all, because where it fails one best
    value is not enough, and a bounded column has to be kept as it is.
    """
    if _streams(query) == 1:
        return []
    column = asked.column
    for alias in asked.aliases:
        for x, y, _ in joins(query.predicate):
            mine = x if x.alias == alias else y
            if alias not in (x.alias, y.alias):
                continue
            together = {x, y} | ({column} if column is not None else set())
            ordered = tuple(each for each in query.predicate.elements if each in together)
            small = query.predicate.restrict(ordered)
            for derived in lto_queries(small, query.told_by, offsets=query.offsets):
                settled = column is not None and derived.bounded(column) and not bounded_too
                if not settled and _in_the_way(derived, alias, column, asked.call.function):
                    named = dict.fromkeys((mine,) if column is None else (column, mine))
                    exact = column is not None
                    return [Violation("best", tuple(named), asked.span, exact)]
    return []


def _in_the_way(derived: Closure, alias: str, column: Attribute | None, function: str) -> bool:
    same, other = max_ref(derived, alias), min_ref(derived, alias)
    if function in ("MIN", "BOOL_AND"):
        same, other = other, same
    if column is None:
        return bool(same or other)
    return bool(other) or any(derived.offset(each, column) is None for each in same)
