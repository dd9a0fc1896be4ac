"""What the declarations of other engines mean here.

Rows of a source only come, unless something says that they also go: a key, on which a later row
replaces an earlier one; a topic that is read as a table; the log of a database.  Such a source is a
table.  A column that is computed from others of its row becomes part of a view over the columns
that come in, so that a verdict knows what it is; one that says when a row came, or that the
watermark is of, is read from the input.  Columns of types that nothing here has are left out, and
`*` and their names are refused where they are asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from sqlglot import exp

from millpond.diagnostic import Diagnostic, Severity, Span
from millpond.language.declare import declare_stream
from millpond.language.dialect import STREAMING
from millpond.language.generators import generated, options_of
from millpond.language.spans import Places
from millpond.language.tree import Computed, Declaration, TimeColumn, Watermark
from millpond.schema import Form, Stream

_D = exp.DType
_OPAQUE = (
    _D.ARRAY, _D.BINARY, _D.INTERVAL, _D.JSON, _D.JSONB, _D.LIST, _D.MAP, _D.NESTED, _D.OBJECT,
    _D.STRUCT, _D.TIME, _D.TIMETZ, _D.VARBINARY, _D.VARIANT,
)  # fmt: skip
_OPAQUE_WORDS = (
    "BYTES", "LIST", "MAP", "MULTISET", "RAW", "RECORD", "ROW", "RW_INT256", "UINT2", "UINT4",
    "UINT8", "VARIANT",
)  # fmt: skip
_CHANGELOGS = ("UPSERT", "DEBEZIUM", "CANAL", "MAXWELL", "OGG")
"""Formats and envelopes in which a message can replace or delete what another one said."""
_DATABASES = ("CDC", "JDBC", "POSTGRES", "MYSQL", "SQL", "HBASE", "MONGODB")
_ARRIVALS = ("PROCTIME", "NOW", "CURRENT_TIMESTAMP", "LOCALTIMESTAMP", "CURRENT_ROW_TIMESTAMP")


@dataclass(frozen=True)
class Declared:
    """A stream or a table, the view that computes the rest of its columns, and what is noted."""

    stream: Stream
    view: exp.Select | None = None
    notes: tuple[Diagnostic, ...] = ()


def declare_foreign(tree: Declaration, places: Places) -> list[Declared]:
    """What one declaration makes; several only of a generator that has several streams."""
    made = generated(tree)
    if made is not None:
        return [Declared(replace(each, span=places.of(tree.this))) for each in made]
    reader = _Reader(tree, places)
    stream = declare_stream(reader.plain(), places, reader.form)
    stream = replace(stream, opaque=tuple(reader.opaque))
    return [Declared(stream, reader.view(stream), tuple(reader.notes))]


class _Reader:
    """Takes one declaration apart."""

    def __init__(self, tree: Declaration, places: Places) -> None:
        self._tree, self._places, self._said = tree, places, options_of(tree)
        self.notes: list[Diagnostic] = []
        self.opaque: list[str] = []
        self._computed: list[tuple[exp.Identifier, exp.Expr]] = []
        items = tree.expressions
        columns = [each for each in items if isinstance(each, exp.ColumnDef)]
        self._times = [each for each in self._clauses() if isinstance(each, Watermark | TimeColumn)]
        self._keyed = any(isinstance(each, exp.PrimaryKey) for each in items) or any(
            isinstance(each, exp.PrimaryKeyColumnConstraint)
            for column in columns
            for each in column.args.get("constraints") or ()
        )
        self.form = self._form()

    def plain(self) -> Declaration:
        """The declaration with what `declare.py` knows of."""
        items = [kept for each in self._tree.expressions for kept in self._item(each)]
        clauses: list[exp.Expr] = []
        for each in self._tree.args.get("clauses") or ():
            clauses += self._item(each) if isinstance(each, exp.ColumnDef) else [each]
        items += [each for each in clauses if isinstance(each, exp.ColumnDef)]
        clauses = [each for each in clauses if not isinstance(each, exp.ColumnDef)]
        if not self.form.is_stream and self._times:
            name = self._tree.this.name
            self._note(f"`{name}` is a table, so that its watermark says nothing", self._times[0])
            clauses = [each for each in clauses if not isinstance(each, Watermark | TimeColumn)]
            items = [each for each in items if not isinstance(each, Watermark | TimeColumn)]
        made = Declaration(
            this=self._tree.this, kind=self._tree.args["kind"], expressions=items, clauses=clauses
        )
        made.meta.update(self._tree.meta)
        return made

    def view(self, stream: Stream) -> exp.Select | None:
        """All columns, those that are computed among them."""
        if not self._computed:
            return None
        named: list[exp.Expr] = [exp.column(each.name, quoted=True) for each in stream.columns]
        named += [exp.alias_(value, name.copy()) for name, value in self._computed]
        table = exp.Table(this=self._tree.this.this.copy())
        return exp.Select(expressions=named, from_=exp.From(this=table))

    def _clauses(self) -> Iterator[exp.Expr]:
        yield from self._tree.expressions
        yield from self._tree.args.get("clauses") or ()

    # Forms -----------------------------------------------------------------------------------

    def _form(self) -> Form:
        """Whether rows only come."""
        kind, dialect = str(self._tree.args["kind"]), self._places.dialect
        changes = self._keyed or self._changelog()
        if kind == "SOURCE":
            return Form.TABLE if changes else Form.STREAM
        if kind != "TABLE" or changes:
            return Form(kind)
        appended = "append only" in self._said or self._said.get("appendonly") == "TRUE"
        connected = "connector" in self._said and dialect in STREAMING
        marked = any(isinstance(each, Watermark) for each in self._times)
        stream = appended or marked or dialect == "flink" or connected
        return Form.STREAM if stream else Form.TABLE

    def _changelog(self) -> bool:
        """Whether a message or a log of the source can replace or delete rows."""
        source = self._said.get("pond.connection", "").split()[:1]
        if source and source[0] in _DATABASES:
            return True
        texts = [
            text
            for key, text in self._said.items()
            if key in ("connector", "pond.envelope") or key.endswith("format")
        ]
        return any(word in text for text in texts for word in (*_CHANGELOGS, *_DATABASES))

    # Columns ---------------------------------------------------------------------------------

    def _item(self, item: exp.Expr) -> Iterator[exp.Expr]:
        """What is left of an item of the declaration."""
        if isinstance(item, exp.PrimaryKey):
            return
        if not isinstance(item, exp.ColumnDef):
            yield item
            return
        constraints = item.args.get("constraints") or []
        kept = [
            each
            for each in constraints
            if not isinstance(each, exp.PrimaryKeyColumnConstraint | Computed)
        ]
        computed = next((each for each in constraints if isinstance(each, Computed)), None)
        kind = item.args.get("kind")
        if computed is not None and not self._comes_in(item.name, computed):
            value = computed.this
            if isinstance(kind, exp.DataType):
                value = exp.Cast(this=value, to=kind)
            self._computed.append((item.this, value))
            return
        if isinstance(kind, exp.DataType) and _is_opaque(kind):
            self.opaque.append(item.name)
            said = f"column `{item.name}` is left out: no query can read its type"
            self._note(said, item)
            return
        if computed is not None and kind is None:
            kind = exp.DataType(this=exp.DType.TIMESTAMP)
        made = exp.ColumnDef(this=item.this, kind=kind, constraints=kept)
        made.meta.update(item.meta)
        yield made
        if computed is not None and self._is_arrival(computed) and not self._times:
            column = TimeColumn(this=item.this.copy())
            column.meta.update(item.meta)
            if self.form.is_stream:
                yield column

    def _comes_in(self, name: str, computed: Computed) -> bool:
        """Whether a computed column is read from the input: it is a time."""
        timed = any(each.this.name.lower() == name.lower() for each in self._times)
        if not (timed or self._is_arrival(computed)):
            return False
        self._note(f"`{name}` is read from the input, and not computed", computed)
        return True

    def _is_arrival(self, computed: Computed) -> bool:
        value = computed.this
        return isinstance(value, exp.Anonymous) and value.name.upper() in _ARRIVALS

    def _note(self, said: str, tree: exp.Expr) -> None:
        span: Span = self._places.of(tree)
        self.notes.append(Diagnostic("MP113", said, span, severity=Severity.NOTE))


def _is_opaque(kind: exp.DataType) -> bool:
    if kind.this is exp.DType.USERDEFINED:
        return str(kind.args.get("kind") or "").upper() in _OPAQUE_WORDS
    return kind.this in _OPAQUE
