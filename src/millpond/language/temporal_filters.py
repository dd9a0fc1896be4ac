"""Temporal filters, `WHERE mz_now() <= ts + INTERVAL '5 minutes'`, as the windows that they are.

A row is in the answer while the clock is below its timestamp and a length: that is `[RANGE length]`
of its stream, whose time column is the one compared with the clock.  Materialize and RisingWave
have no other way to say so.  A filter that makes rows appear late has no window, and is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from millpond.diagnostic import Diagnostic, Severity, Span
from millpond.language.constants import integer_of, not_built
from millpond.language.select import conjuncts
from millpond.language.spans import Places
from millpond.language.tree import Length, WindowClause
from millpond.schema import Catalog, Kind, Stream

_CLOCKS = {"materialize": ("MZ_NOW",), "risingwave": ("NOW",)}
_MIRRORED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
}
_SPELLED = "write the clock below a timestamp and a length: mz_now() < ts + INTERVAL '5 minutes'"


@dataclass(frozen=True)
class Clocked:
    """A stream whose time column a filter names, and where."""

    stream: str
    column: str
    note: Diagnostic


@dataclass(frozen=True)
class _Bound:
    """What the clock is compared with: `column` and a length, None for 0."""

    column: exp.Column
    length: Length | None
    backwards: bool = False
    """Whether the length is taken off."""


def windows_of_filters(tree: exp.Expr, catalog: Catalog, places: Places) -> Iterator[Clocked]:
    """Changes every SELECT of a statement that compares the clock with a column."""
    clocks = _CLOCKS.get(places.dialect, ())
    for select in list(tree.find_all(exp.Select)) if clocks else ():
        where = select.args.get("where")
        read = select.args.get("from_") is not None
        if where is None or not read or not any(_is_clock(each, clocks) for each in where.walk()):
            continue
        yield from _Filtered(select, catalog, places, clocks).rewrite()


def _is_clock(tree: exp.Expr, clocks: tuple[str, ...]) -> bool:
    return isinstance(tree, exp.Anonymous) and tree.name.upper() in clocks


class _Filtered:
    def __init__(
        self, select: exp.Select, catalog: Catalog, places: Places, clocks: tuple[str, ...]
    ) -> None:
        self._select, self._catalog = select, catalog
        self._places, self._clocks = places, clocks

    def rewrite(self) -> Iterator[Clocked]:
        """WHERE without the filters, and their windows in FROM."""
        kept: list[exp.Expr] = []
        for each in conjuncts(self._select.args["where"].this):
            if not any(_is_clock(node, self._clocks) for node in each.walk()):
                kept.append(each)
                continue
            for part in _halves(each):
                yield from self._filter(part)
        if kept:
            self._select.args["where"].set("this", exp.and_(*kept, copy=False, wrap=False))
        else:
            self._select.set("where", None)

    def _filter(self, condition: exp.Expr) -> Iterator[Clocked]:
        """One comparison of the clock with a column and a length."""
        op, bound = self._compared(condition)
        if op in (exp.GT, exp.GTE):
            if op is exp.GTE and bound.length is None:
                return  # a row is there from its own timestamp on
            raise self._refused(condition)
        if bound.length is None or bound.backwards:
            raise self._refused(condition)
        table, stream = self._input(bound.column)
        if table.args.get("pond_window") is not None:
            raise self._refused(condition)
        size = bound.length.copy()
        if op is exp.LTE:
            size = self._one_more(size, stream, bound.column, condition)
        window = WindowClause(extent="RANGE", size=size)
        table.set("pond_window", window)
        span = self._places.of(condition)
        yield self._clocked(stream, bound.column.name, span)

    def _clocked(self, stream: Stream, column: str, span: Span) -> Clocked:
        said = f"`{column}` is taken as the time of `{stream.name}`, and its rows come in order"
        note = Diagnostic("MP113", said, span, severity=Severity.NOTE)
        return Clocked(stream.name, column, note)

    def _one_more(
        self, size: Length, stream: Stream, column: exp.Column, condition: exp.Expr
    ) -> Length:
        """`<=` lasts one unit of the column longer than `<`."""
        known = stream.column(column.name)
        if known is None or known.type.kind is Kind.INTEGER:
            number = integer_of(exp.Literal.number(str(size.this)))
            if number is None:
                raise self._refused(condition)
            made = Length(this=str(number + 1), unit=None)
        else:
            unit = size.args.get("unit")
            text = f"{size.this} {unit}" if unit else str(size.this)
            made = Length(this=f"{text} 1 microsecond", unit=None)
        made.meta.update(size.meta)
        return made

    def _compared(self, condition: exp.Expr) -> tuple[type[exp.Expr], _Bound]:
        """The comparison with the clock on its left."""
        op = type(condition)
        if op not in _MIRRORED:
            raise self._refused(condition)
        assert isinstance(condition, exp.Binary)
        left, right = condition.left, condition.right
        if self._clock_of(right) is not None:
            left, right, op = right, left, _MIRRORED[op]
        shift = self._clock_of(left)
        bound = self._bound(right)
        if shift is None or bound is None or (shift[0] is not None and bound.length is not None):
            raise self._refused(condition)
        length, negative = shift
        if length is None:
            return op, bound
        return op, _Bound(bound.column, length, backwards=not negative)

    def _clock_of(self, tree: exp.Expr) -> tuple[Length | None, bool] | None:
        """The clock, and what is added to it or, if True, taken off it."""
        if _is_clock(tree, self._clocks):
            return None, False
        if not isinstance(tree, exp.Add | exp.Sub) or not _is_clock(tree.left, self._clocks):
            return None
        length = _length(tree.right)
        return None if length is None else (length, isinstance(tree, exp.Sub))

    def _bound(self, tree: exp.Expr) -> _Bound | None:
        if isinstance(tree, exp.Column):
            return _Bound(tree, None)
        if isinstance(tree, exp.Add | exp.Sub) and isinstance(tree.left, exp.Column):
            length = _length(tree.right)
            if length is not None:
                return _Bound(tree.left, length, backwards=isinstance(tree, exp.Sub))
        return None

    def _input(self, column: exp.Column) -> tuple[exp.Table, Stream]:
        """The one stream of FROM that has the column."""
        joins = self._select.args.get("joins") or ()
        if any(each.side or each.kind in ("SEMI", "ANTI") for each in joins):
            raise not_built(
                "a temporal filter behind an outer join",
                self._places.of(column),
                "filter the stream in a subquery, before it is joined",
            )
        trees = [self._select.args["from_"].this, *(each.this for each in joins)]
        found = []
        for tree in trees:
            stream = self._catalog.get(tree.name) if isinstance(tree, exp.Table) else None
            named = not column.table or tree.alias_or_name.lower() == column.table.lower()
            if stream is not None and named and stream.column(column.name) is not None:
                found.append((tree, stream))
        if len(found) != 1 or not found[0][1].is_stream:
            raise not_built(
                "a temporal filter on what is not a stream",
                self._places.of(column),
                "filter the stream itself: a view's rows have no time",
            )
        return found[0]

    def _refused(self, condition: exp.Expr) -> Exception:
        return not_built("this temporal filter", self._places.of(condition), _SPELLED)


def _halves(tree: exp.Expr) -> list[exp.Expr]:
    """BETWEEN as its two comparisons."""
    if isinstance(tree, exp.Between) and not tree.args.get("symmetric"):
        low, high = tree.args["low"], tree.args["high"]
        return [
            exp.GTE(this=tree.this.copy(), expression=low),
            exp.LTE(this=tree.this.copy(), expression=high),
        ]
    return [tree]


def _length(tree: exp.Expr) -> Length | None:
    if isinstance(tree, Length):
        return tree
    number = integer_of(tree)
    if number is None:
        return None
    made = Length(this=str(number), unit=None)
    made.meta.update(tree.meta)
    return made
