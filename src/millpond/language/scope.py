"""What the names of a query stand for: the columns in sight, and how they are found.

A scope holds the columns of one FROM in order.  Of a subquery in WHERE, `outer` is the scope around
it: a column that is not found inside is looked for there, one level up.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from millpond.diagnostic import Diagnostic, Span, UserError, did_you_mean
from millpond.language.tree import STREAM_OPERATORS
from millpond.plan import WINDOW_COLUMNS, ColumnRef, Expression, Field, Node, columns_of


@dataclass(frozen=True)
class Known:
    """A column in sight: the name of its input as the user writes it, and the column."""

    qualifier: str
    field: Field

    @property
    def ref(self) -> ColumnRef:
        return ColumnRef(
            self.field.alias, self.field.name, self.field.type, self.field.nullable, None
        )


@dataclass
class Scope:
    """The columns in sight."""

    columns: list[Known] = field(default_factory=list)
    outer: Scope | None = None
    merged: dict[str, Expression] = field(default_factory=dict)
    """Columns that USING made one of two, by name in lower case."""
    hidden: set[tuple[str | None, str]] = field(default_factory=set)
    """The right-hand columns of those, which `*` leaves out."""
    missing: dict[str, UserError] = field(default_factory=dict)
    """Inputs of which nothing is known, by name in lower case, and why: a column that may be one of
    theirs is not blamed for it."""
    items: frozenset[str] = frozenset()
    """What SELECT calls its columns, in lower case: WHERE and ON do not see them."""
    opaque: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """By the name of an input in lower case, its columns of types that no query can read."""
    beyond: Scope | None = None
    """Of a JOIN behind a comma, the inputs before the comma, which its ON does not see."""

    def add(self, qualifier: str, node: Node) -> None:
        """The columns of one more input."""
        self.columns += [Known(qualifier, each) for each in node.fields]

    def again(self, node: Node) -> None:
        """The same columns with the types that `node` gives them: an outer join makes some
        nullable."""
        found = {(each.alias, each.name): each for each in node.fields}
        self.columns = [
            replace(each, field=found.get((each.field.alias, each.field.name), each.field))
            for each in self.columns
        ]

    @property
    def qualifiers(self) -> tuple[str, ...]:
        """The names of the inputs, in the order of FROM."""
        return tuple(dict.fromkeys(each.qualifier for each in self.columns))

    def taken(self) -> Iterator[str]:
        """The aliases that inner inputs must not have."""
        for each in self.columns:
            if each.field.alias is not None:
                yield each.field.alias.lower()
        if self.outer is not None:
            yield from self.outer.taken()

    def part(self, start: int, end: int | None = None) -> Scope:
        """The columns of some neighbouring inputs, by place."""
        found = Scope(self.columns[start:end], self.outer, missing=self.missing, items=self.items)
        found.opaque = self.opaque
        found.beyond = Scope(self.columns[:start]) if start else None
        found.merged = {
            name: each
            for name, each in self.merged.items()
            if all(found.holds(ref) for ref in columns_of(each))
        }
        return found

    def holds(self, ref: ColumnRef) -> bool:
        """Whether a column is one of this scope, not of the one around it."""
        return any(
            each.field.alias == ref.alias and each.field.name == ref.name for each in self.columns
        )

    def find(self, table: str, name: str, span: Span) -> Expression:
        """The column of that name; raises if there is none, or more than one."""
        found = self._found(table, name, span)
        if found is None and self.outer is not None:
            found = self.outer._found(table, name, span)
        if found is not None:
            return found
        raise self._missing(table) or self._unknown(table, name, span)

    def _missing(self, table: str) -> UserError | None:
        """What is wrong with the input that a column may belong to."""
        scopes = (self,) if self.outer is None else (self, self.outer)
        known = {of.lower() for each in scopes for of in each.qualifiers}
        for each in scopes:
            if not table and each.missing:
                return next(iter(each.missing.values()))
            if table.lower() in each.missing and table.lower() not in known:
                return each.missing[table.lower()]
        return None

    def _found(self, table: str, name: str, span: Span) -> Expression | None:
        folded, of = name.lower(), table.lower()
        if not of and folded in self.merged:
            return _at(self.merged[folded], span)
        matches = [
            each
            for each in self.columns
            if each.field.name.lower() == folded and (not of or each.qualifier.lower() == of)
        ]
        if len(matches) > 1:
            choices = " or ".join(f"`{each.qualifier}.{each.field.name}`" for each in matches)
            raise UserError(
                Diagnostic(
                    "MP103", f"column `{name}` is ambiguous", span, helps=(f"write {choices}",)
                )
            )
        return replace(matches[0].ref, span=span) if matches else None

    def _unknown(self, table: str, name: str, span: Span) -> UserError:
        if self.beyond is not None and self.beyond._found(table, name, span) is not None:
            said = f"`{table}.{name}`" if table else f"`{name}`"
            return UserError(
                Diagnostic(
                    "MP101",
                    f"{said} is not in sight here: a comma binds looser than JOIN",
                    span,
                    helps=("write CROSS JOIN instead of the comma",),
                )
            )
        helps: tuple[str, ...]
        inside = table.lower() in self._left_out("") and table.lower() not in self.opaque
        if inside or name.lower() in self._left_out(table):
            said = f"not built yet: column `{table if inside else name}`: nothing has its type here"
            helps = ("take it apart where the rows come from, and declare a column for each part",)
            return UserError(Diagnostic("MP110", said, span, helps=helps))
        inputs = [*self.qualifiers, *(self.outer.qualifiers if self.outer else ())]
        if table and table.lower() not in {each.lower() for each in inputs}:
            return UserError(
                Diagnostic(
                    "MP101",
                    f"the query reads no `{table}`",
                    span,
                    helps=did_you_mean(table, inputs),
                )
            )
        known = [
            each.field.name
            for each in self.columns
            if not table or each.qualifier.lower() == table.lower()
        ]
        where = f"`{table}`" if table else "no input of the query"
        said = f"{where} has no column `{name}`" if table else f"{where} has a column `{name}`"
        helps = (() if table else self._instead(name)) or did_you_mean(name, known)
        return UserError(Diagnostic("MP102", said, span, helps=helps))

    def _left_out(self, table: str) -> tuple[str, ...]:
        """The columns that no query can read, of one input or of all."""
        inputs = [table.lower()] if table else list(self.opaque)
        return tuple(each.lower() for of in inputs for each in self.opaque.get(of, ()))

    def _instead(self, name: str) -> tuple[str, ...]:
        """What may be meant by a name that is no column's."""
        if name.lower() in WINDOW_COLUMNS:
            return ("windows of TUMBLE, HOP and SESSION have it: FROM TUMBLE(TABLE s, ...)",)
        if name.lower() in self.items:
            return (f"`{name}` is SELECT's name for a value, unknown here: write the value itself",)
        if name.upper() in STREAM_OPERATORS:
            return ("one stream operator stands before the columns, and around all of them",)
        near = difflib.get_close_matches(name.upper(), STREAM_OPERATORS, n=1, cutoff=0.8)
        return (f"did you mean `{near[0]}`?",) if near else ()

    def refuse_left_out(self, table: str, span: Span) -> None:
        """`*` would be fewer columns than there are."""
        if self._left_out(table):
            name = self._left_out(table)[0]
            said = f"not built yet: `*` with column `{name}`: nothing has its type here"
            helps = ("name the columns",)
            raise UserError(Diagnostic("MP110", said, span, helps=helps))

    def starred(self, table: str) -> list[Known]:
        """What `*` or `table.*` stands for."""
        return [
            each
            for each in self.columns
            if (not table and (each.field.alias, each.field.name) not in self.hidden)
            or (table and each.qualifier.lower() == table.lower())
        ]


def _at(expression: Expression, span: Span) -> Expression:
    return replace(expression, span=span)


def unique(name: str, taken: Iterable[str]) -> str:
    """The name, or the name with a number that makes it one of its own."""
    folded = {each.lower() for each in taken}
    found, number = name, 2
    while found.lower() in folded:
        found, number = f"{name}_{number}", number + 1
    return found
