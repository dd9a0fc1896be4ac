"""Where the clauses of a query stand: from their first word to their last.

sqlglot notes the places of names and constants only.  What is said of a whole clause (that LIMIT
has no place here, that a JOIN has no condition) is said of all of its words, so that they are noted
as the clauses are read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.errors import TokenError
from sqlglot.parser import Parser
from sqlglot.tokenizer_core import TokenType

from millpond.language.grammar import Grammar, UnbuiltError

_Read = Callable[[Any], tuple[str, Any]]


def _noting_places(read: _Read) -> _Read:
    def placed(self: Any) -> tuple[str, Any]:
        first = self._curr
        key, clause = read(self)
        return key, self._placed(clause, first) if isinstance(clause, exp.Expr) else clause

    return placed


class ClauseGrammar(Grammar):
    """Reads clauses and notes their places."""

    QUERY_MODIFIER_PARSERS: ClassVar[Any] = {
        token: _noting_places(read) for token, read in Parser.QUERY_MODIFIER_PARSERS.items()
    }

    # A whole SELECT --------------------------------------------------------------------------

    def reset(self) -> None:
        super().reset()
        self._open_selects: list[Any] = []

    def _parse_select_query(
        self,
        nested: bool = False,
        table: bool = False,
        parse_subquery_alias: bool = True,
        parse_set_operation: bool = True,
    ) -> exp.Expr | None:
        self._open_selects.append(self._curr)
        try:
            return super()._parse_select_query(
                nested, table, parse_subquery_alias, parse_set_operation
            )
        finally:
            self._open_selects.pop()

    def _parse_query_modifiers(self, this: Any) -> Any:
        """A SELECT ends with them."""
        tree = super()._parse_query_modifiers(this)
        if isinstance(tree, exp.Select) and "start" not in tree.meta and self._open_selects:
            self._placed(tree, self._open_selects[-1])
        return tree

    def parse_set_operation(
        self, this: exp.Expr | None, consume_pipe: bool = False, intersect_only: bool = False
    ) -> exp.SetOperation | None:
        before = self._index
        tree = super().parse_set_operation(this, consume_pipe, intersect_only)
        if tree is not None and tree.args.get("by_name"):
            words = [each.text.upper() for each in self._tokens[before : self._index]]
            word = "BY" if "BY" in words else "CORRESPONDING"
            first = self._tokens[before + words.index(word)]
            last = self._tokens[before + words.index(word) + (word == "BY")]
            said = "BY NAME" if word == "BY" else word
            raise UnbuiltError(said, first, last, "name the columns in one order")
        return tree

    def _parse_using_identifiers(self) -> list[exp.Expr]:
        """The columns of USING; sqlglot would take the name before a point off."""
        return self._parse_wrapped_csv(self._using_column, optional=True)

    def _using_column(self) -> exp.Expr | None:
        start, column = self._index, self._parse_column()
        if column is None or (isinstance(column, exp.Column) and not column.table):
            return None if column is None else column.this
        last = self._prev
        self._retreat(start)
        return self._expect("the name of a column that both sides have", last=last)

    def _parse_hint(self) -> exp.Hint | None:
        """A hint is a text of its own, whose places are none of the file."""
        first = self._curr
        try:
            tree = super()._parse_hint()
        except TokenError:
            raise UnbuiltError("this hint", first, first, "leave it out") from None
        for each in () if tree is None else tree.walk():
            each.meta.clear()
        return self._placed(tree, first)

    # GROUP BY --------------------------------------------------------------------------------

    def _parse_cube_or_rollup(self, with_prefix: bool = False) -> exp.Cube | exp.Rollup | None:
        first = self._curr
        return self._placed(super()._parse_cube_or_rollup(with_prefix), first)

    def _parse_grouping_sets(self) -> exp.GroupingSets | None:
        first = self._curr
        return self._placed(super()._parse_grouping_sets(), first)

    # FROM ------------------------------------------------------------------------------------

    def _parse_stream(self) -> None:
        """STREAM before a table's name is another dialect's; here it may be a name."""

    def _parse_join(
        self,
        skip_join_token: bool = False,
        parse_bracket: bool = False,
        alias_tokens: Collection[TokenType] | None = None,
    ) -> exp.Join | None:
        """What follows a comma has to be readable: sqlglot would go back to before it."""
        first = self._curr
        if not self._match(TokenType.COMMA):
            tree = super()._parse_join(skip_join_token, parse_bracket, alias_tokens)
            return self._placed(tree, first)
        table = self._needed(lambda: self._parse_table(alias_tokens=alias_tokens))
        kind = "CROSS" if self.JOINS_HAVE_EQUAL_PRECEDENCE else None
        tree = self.expression(exp.Join(this=table, kind=kind))
        tree.set("pond_comma", True)
        return tree

    def _parse_lateral(self) -> exp.Lateral | None:
        first = self._curr
        return self._placed(super()._parse_lateral(), first)

    def _parse_unnest(self, with_alias: bool = True) -> exp.Unnest | None:
        first = self._curr
        return self._placed(super()._parse_unnest(with_alias), first)

    def _parse_pivot(self) -> exp.Pivot | None:
        first = self._curr
        return self._placed(super()._parse_pivot(), first)
