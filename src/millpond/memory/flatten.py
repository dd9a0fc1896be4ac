"""A plan as alternatives of one form: rows of a product of streams that pass some conditions.

Subqueries in FROM are taken into the query around them, a union is several alternatives whose
answers add up, and where duplicates are removed in the end, EXISTS and IN are joins and
a DISTINCT inside changes nothing.  What has no such form is `NotFlatError`, with its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from millpond.diagnostic import Span
from millpond.plan import (
    Aggregate,
    Alias,
    Assign,
    Changes,
    ColumnRef,
    Cross,
    Difference,
    Distinct,
    Expression,
    Extent,
    Filter,
    Intersect,
    Join,
    Node,
    Project,
    Results,
    Scan,
    SemiJoin,
    Union,
    Window,
    columns_of,
)
from millpond.plan.rewrite import with_columns
from millpond.schema import Form


class NotFlatError(Exception):
    """A part of a plan that the criterion does not cover."""

    def __init__(self, what: str, span: Span | None) -> None:
        super().__init__(what)
        self.what = what
        self.span = span


@dataclass(frozen=True)
class Flat:
    """The rows of a product of inputs that pass the predicates, with what each column shows."""

    inputs: tuple[Scan, ...]
    predicates: tuple[Expression, ...]
    columns: tuple[Expression, ...]


def flatten(
    node: Node, *, distinct: bool, timed: bool = False, passed_on: bool = False
) -> list[Flat]:
    """The alternatives of a plan; with `distinct`, duplicates do not matter.

    With `timed` conditions and answers may name time columns, and streams may end; with `passed_on`
    those of one input may, whose rows are looked at once and let go.
    """
    found = _Flattener(distinct, timed=timed).of(node)
    for each in found:
        if not (timed or (passed_on and len(each.inputs) == 1)):
            _without_time(each)
    return [_named_apart(each) for each in found]


def matched(node: Join | SemiJoin) -> list[Flat]:
    """The alternatives of the rows that an outer join, EXISTS or IN finds to match; of the inputs
    those of the left come first."""
    return [_named_apart(each) for each in _Flattener(distinct=False, timed=True).matched(node)]


class _Flattener:
    def __init__(self, distinct: bool, *, timed: bool) -> None:
        self._distinct = distinct
        self._timed = timed

    def of(self, node: Node) -> list[Flat]:
        match node:
            case Scan():
                return [self._scan(node)]
            case Alias():
                return self.of(node.input)
            case Window() if node.spec.extent is Extent.UNBOUNDED and node.spec.slide is None:
                return self.of(node.input)
            case Filter():
                return [self._filtered(node, node.predicates, each) for each in self.of(node.input)]
            case Project():
                return [self._projected(node, each) for each in self.of(node.input)]
            case Cross():
                return list(self._joined(node.inputs))
            case Union():
                return [each for one in node.inputs for each in self.of(one)]
            case Distinct() if self._distinct:
                return self.of(node.input)
            case SemiJoin() if self._distinct and not node.anti:
                width = len(node.left.fields)
                return [replace(x, columns=x.columns[:width]) for x in self.matched(node)]
        raise NotFlatError(_WHY[type(node)](node), node.span)

    def matched(self, node: Join | SemiJoin) -> list[Flat]:
        return [
            self._over(node.inputs, node.predicates, each) for each in self._joined(node.inputs)
        ]

    def _scan(self, scan: Scan) -> Flat:
        ends = self._timed and scan.stream.form is Form.FINITE
        if scan.stream.form is not Form.STREAM and not ends:
            raise NotFlatError(_FORMS[scan.stream.form].format(scan.stream.name), scan.span)
        columns = (ColumnRef(f.alias, f.name, f.type, f.nullable, scan.span) for f in scan.fields)
        return Flat((scan,), (), tuple(columns))

    def _filtered(self, node: Filter, predicates: Sequence[Expression], flat: Flat) -> Flat:
        return self._over((node.input,), predicates, flat)

    def _over(self, inputs: Iterable[Node], predicates: Sequence[Expression], flat: Flat) -> Flat:
        shown = _shown(inputs, flat)
        more = (with_columns(each, shown) for each in predicates)
        return replace(flat, predicates=(*flat.predicates, *more))

    def _projected(self, node: Project, flat: Flat) -> Flat:
        shown = _shown((node.input,), flat)
        return replace(
            flat, columns=tuple(with_columns(each.expression, shown) for each in node.items)
        )

    def _joined(self, inputs: Iterable[Node]) -> Iterator[Flat]:
        for parts in product(*(self.of(each) for each in inputs)):
            apart = _apart(parts)
            yield Flat(
                tuple(scan for each in apart for scan in each.inputs),
                tuple(one for each in apart for one in each.predicates),
                tuple(one for each in apart for one in each.columns),
            )


def _shown(inputs: Iterable[Node], flat: Flat) -> Callable[[ColumnRef], Expression]:
    """What a column of nodes shows, where it is named from outside."""
    fields = [field for each in inputs for field in each.fields]
    known: Mapping[tuple[str | None, str], Expression] = {
        (field.alias, field.name): shown for field, shown in zip(fields, flat.columns, strict=True)
    }

    def of(column: ColumnRef) -> Expression:
        found = known[column.alias, column.name]
        return replace(found, span=column.span)

    return of


def _apart(parts: Sequence[Flat]) -> list[Flat]:
    """The same, inputs of different parts under different names."""
    taken: set[str] = set()
    found = []
    for part in parts:
        names: dict[str, str] = {}
        for scan in part.inputs:
            name, count = scan.alias, 1
            while name.lower() in taken:
                count += 1
                name = f"{scan.alias}_{count}"
            taken.add(name.lower())
            names[scan.alias] = name
        found.append(_renamed(part, names))
    return found


def _named_apart(flat: Flat) -> Flat:
    return _apart([flat])[0]


def _renamed(flat: Flat, names: Mapping[str, str]) -> Flat:
    if all(name == other for name, other in names.items()):
        return flat

    def of(column: ColumnRef) -> Expression:
        return replace(column, alias=names[column.alias or ""])

    return Flat(
        tuple(replace(each, alias=names[each.alias]) for each in flat.inputs),
        tuple(with_columns(each, of) for each in flat.predicates),
        tuple(with_columns(each, of) for each in flat.columns),
    )


def _without_time(flat: Flat) -> None:
    """Conditions on time and timestamps in the answer are another criterion's."""
    times = {
        (scan.alias, scan.stream.time.column)
        for scan in flat.inputs
        if scan.stream.time is not None
    }
    for each in (*flat.predicates, *flat.columns):
        for column in columns_of(each):
            if (column.alias, column.name) in times:
                raise NotFlatError(
                    f"`{column}` is a time column, and this criterion knows nothing of time",
                    column.span,
                )


_FORMS = {
    Form.FINITE: "`{}` is a finite stream, and this criterion knows nothing of ends",
    Form.TABLE: "`{}` is a table, whose rows come and go",
    Form.STATIC: "`{}` is a table, and what it holds is not known here",
}

_WHY: Mapping[type, Callable[[Node], str]] = {
    Window: lambda _: "windows have bounds of another kind",
    Assign: lambda _: "windows have bounds of another kind",
    Join: lambda _: "an outer join takes answers back",
    SemiJoin: lambda node: (
        "NOT EXISTS and NOT IN take answers back"
        if isinstance(node, SemiJoin) and node.anti
        else "EXISTS and IN keep the rows that wait for a match, each as often as it came"
    ),
    Difference: lambda _: "EXCEPT takes answers back",
    Intersect: lambda _: "INTERSECT counts rows on both sides",
    Distinct: lambda _: "duplicates are removed below something that counts them",
    Aggregate: lambda _: "an aggregate stands below something else",
    Changes: lambda _: "a stream of changes has a past of its own",
    Results: lambda _: "a stream of results has a past of its own",
}
