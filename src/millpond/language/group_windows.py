"""GROUP BY window(ts, '10 minutes') of Spark and GROUP BY TUMBLE(ts, INTERVAL ...) of older Flink,
as the windows of FROM that they mean.

`GROUP BY window(ts, s)` over a stream is GROUP BY window_start, window_end over its windows.  What
they call its ends, `window.start`, `TUMBLE_END(...)`, are those columns; a window as a whole is
both.  Sessions are those of the other keys.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from millpond.language.constants import not_built
from millpond.language.spans import Places
from millpond.language.tree import Length, WindowTable
from millpond.plan import WINDOW_COLUMNS

_SPARK = {"WINDOW": "TUMBLE", "SESSION_WINDOW": "SESSION"}
_FLINK = {"TUMBLE": "TUMBLE", "HOP": "HOP", "SESSION": "SESSION"}
_BY_DIALECT = {"spark": _SPARK, "databricks": _SPARK, "flink": _FLINK}
_START, _END = WINDOW_COLUMNS
_ENDS = {"START": _START, "END": _END}


def windows_of_from(tree: exp.Expr, places: Places) -> None:
    """Changes every SELECT of a statement that groups by a window; the rest stays as it is."""
    known = _BY_DIALECT.get(places.dialect, {})
    for select in list(tree.find_all(exp.Select)) if known else ():
        group = select.args.get("group")
        calls = [] if group is None else [each for each in group.expressions if _is(each, known)]
        if calls:
            _Grouped(select, calls[0], known, places).rewrite()


def _is(tree: exp.Expr, known: dict[str, str]) -> bool:
    return isinstance(tree, exp.Anonymous) and tree.name.upper() in known


class _Grouped:
    """A SELECT that groups by a window."""

    def __init__(
        self, select: exp.Select, call: exp.Expr, known: dict[str, str], places: Places
    ) -> None:
        self._select, self._call, self._places = select, call, places
        self._word = call.name.upper()
        self._kind = known[self._word]

    def rewrite(self) -> None:
        """FROM with the windows, and everywhere else their two ends."""
        table = self._table()
        inner = exp.Table(this=table.this)
        for key in ("pond_stream", "pond_watermark"):
            inner.set(key, table.args.pop(key, None))
        table.set("this", self._windows(inner))
        group = self._select.args["group"]
        group.set("expressions", list(self._with_ends(group.expressions)))
        self._select.set("expressions", list(self._with_ends(self._select.expressions)))
        for part in (*self._select.expressions, self._select.args.get("having")):
            if part is not None:
                self._ends_inside(part)

    def _table(self) -> exp.Table:
        clause = self._select.args.get("from_")
        table = None if clause is None else clause.this
        joined = self._select.args.get("joins") or (table is not None and table.args.get("joins"))
        named = isinstance(table, exp.Table) and isinstance(table.this, exp.Identifier)
        if not named or joined:
            raise not_built(
                f"{self._word} over what is not one stream",
                self._places.of(self._call),
                "window a stream in FROM: FROM TUMBLE(TABLE s, DESCRIPTOR(ts), ...)",
            )
        assert isinstance(table, exp.Table)
        return table

    def _windows(self, inner: exp.Table) -> WindowTable:
        column, *rest = self._call.expressions
        lengths = [self._length(each) for each in rest]
        kind = self._kind
        if self._word == "WINDOW" and len(lengths) == 2:
            kind, lengths = "HOP", lengths[::-1]
        if not isinstance(column, exp.Column) or not 1 <= len(lengths) <= 2:
            raise not_built(
                f"this {self._word}",
                self._places.of(self._call),
                "name the time column, a size, and for windows that overlap how far apart they are",
            )
        made = WindowTable(
            this=inner,
            kind=kind,
            column=exp.Column(this=column.this.copy()),
            lengths=lengths,
            partition=self._keys() if kind == "SESSION" else None,
        )
        made.meta.update(self._call.meta)
        return made

    def _length(self, tree: exp.Expr) -> Length:
        if isinstance(tree, Length):
            return tree.copy()
        if not isinstance(tree, exp.Literal) or not tree.is_string:
            raise not_built("this length", self._places.of(tree), "write '10 minutes'")
        made = Length(this=str(tree.this).strip(), unit=None)
        made.meta.update(tree.meta)
        return made

    def _keys(self) -> list[exp.Expr]:
        """The columns that rows of one session agree on."""
        others = [each for each in self._select.args["group"].expressions if each is not self._call]
        for each in others:
            if not isinstance(each, exp.Column):
                raise not_built("sessions of a computed key", self._places.of(each))
        return [exp.Column(this=each.this.copy()) for each in others]

    # The ends --------------------------------------------------------------------------------

    def _with_ends(self, items: list[exp.Expr]) -> Iterator[exp.Expr]:
        """Items with both ends in the place of the whole window."""
        for item in items:
            value, alias = (item.this, item.alias) if isinstance(item, exp.Alias) else (item, "")
            whole = (
                isinstance(value, exp.Column)
                and not value.table
                and (value.name.upper() == self._word)
            )
            if value != self._call and not whole:
                yield item
                continue
            for name in WINDOW_COLUMNS:
                column = self._column(name, value)
                renamed = name.replace("window", alias, 1)
                yield exp.alias_(column, renamed) if alias else column

    def _ends_inside(self, part: exp.Expr) -> None:
        for node in list(part.walk()):
            name = self._end_of(node)
            if name is not None:
                column = self._column(name, node)
                aliased = isinstance(node.parent, exp.Select)
                node.replace(exp.alias_(column, node.name.lower()) if aliased else column)

    def _end_of(self, node: exp.Expr) -> str | None:
        """Which end of the window a tree is."""
        if isinstance(node, exp.Column) and node.table.upper() == self._word:
            return _ENDS.get(node.name.upper())
        if isinstance(node, exp.Dot) and node.this == self._call:
            return _ENDS.get(node.expression.name.upper())
        if isinstance(node, exp.Anonymous):
            word, _, end = node.name.upper().rpartition("_")
            same = word == self._word and node.expressions == self._call.expressions
            return _ENDS.get(end) if same else None
        return None

    def _column(self, name: str, like: exp.Expr) -> exp.Column:
        made = exp.Column(this=exp.Identifier(this=name, quoted=False))
        for each in like.walk():
            if "start" in each.meta:
                made.this.meta.update(each.meta)
                break
        return made
