"""The grammar of streams of changes (ISTREAM and its kin) and of EMIT.

`SELECT ISTREAM a, b`, `SELECT ISTREAM(a, b)` and `ISTREAM(SELECT ...)` say the same.  A column that
is really called `istream` stays one: what follows it ends a column.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from millpond.language.grammar_windows import WindowGrammar
from millpond.language.tree import STREAM_OPERATORS, ChangesClause, ChangesOf, EmitClause

_RESTORE = "_RESTORE"
QUERY_STARTS = (TokenType.SELECT, TokenType.WITH, TokenType.L_PAREN)
"""What a query can start with, but for ISTREAM and its kin."""

AnyTree = TypeVar("AnyTree", bound=exp.Expr)


@dataclass(frozen=True)
class _Word:
    """ISTREAM and the like, in `tokens` tokens."""

    kind: str
    restore: bool
    tokens: int


class ChangesGrammar(WindowGrammar):
    """Reads streams of changes where queries are read."""

    SET_OP_MODIFIERS: ClassVar[set[str]] = {*WindowGrammar.SET_OP_MODIFIERS, "pond_emit"}

    # ISTREAM ---------------------------------------------------------------------------------

    def _changes_word(self) -> _Word | None:
        """The word that the parser stands at, if it is ISTREAM or one of its kin."""
        word = self._word(0)
        if word.removesuffix(_RESTORE) in STREAM_OPERATORS:
            kind = word.removesuffix(_RESTORE)
            if kind == word and self._kind(1) is TokenType.DASH and self._word(2) == "RESTORE":
                return _Word(kind, True, 3)
            return _Word(kind, kind != word, 1)
        return None

    def _ahead(self, step: int) -> Token | None:
        place = self._index + step
        return self._tokens[place] if place < len(self._tokens) else None

    def _kind(self, step: int) -> TokenType | None:
        token = self._ahead(step)
        return None if token is None else token.token_type

    def _word(self, step: int) -> str:
        """A word that is not quoted, in upper case."""
        token = self._ahead(step)
        quoted = token is None or token.token_type in (TokenType.IDENTIFIER, TokenType.STRING)
        return "" if token is None or quoted else token.text.upper()

    def _parse_projections(self) -> tuple[list[exp.Expr], list[exp.Expr] | None]:
        first, word = self._curr, self._changes_word()
        if word is None or not self._before_columns(word):
            return super()._parse_projections()
        wrapped = self._wraps_all(word.tokens)
        self._advance(word.tokens)
        clause = self._placed(ChangesClause(this=word.kind, restore=word.restore), first)
        clause.meta["word"] = (first.start, self._prev.end)
        wrapped = wrapped and self._match(TokenType.L_PAREN)
        clause.set("distinct", self._match(TokenType.DISTINCT))
        if wrapped:
            items, excluded = self._parse_expressions(), None
            if not items:
                self._expect("a column")
            self._match_r_paren()
            clause.set("window", self._window_in_brackets())
        else:
            items, excluded = super()._parse_projections()
        clause.set("expressions", items)
        return [clause], excluded

    def expression(
        self, instance: AnyTree, token: Token | None = None, comments: list[str] | None = None
    ) -> AnyTree:
        """A SELECT gets its clause out of the list of columns, where it was read."""
        items = instance.expressions if isinstance(instance, exp.Select) else []
        if not items or not isinstance(items[0], ChangesClause):
            return super().expression(instance, token, comments)
        clause = items[0]
        columns, distinct = clause.args.pop("expressions"), clause.args.pop("distinct")
        instance.set("expressions", columns)
        tree = super().expression(instance, token, comments)
        tree.set("pond_changes", clause)
        if distinct and not tree.args.get("distinct"):
            tree.set("distinct", exp.Distinct())
        return tree

    def _before_columns(self, word: _Word) -> bool:
        """Whether columns follow, rather than what ends a column of that name."""
        kind = self._kind(word.tokens)
        if kind is TokenType.STAR:
            ends = (TokenType.FROM, TokenType.COMMA, TokenType.R_PAREN, None)
            return self._kind(word.tokens + 1) in ends
        starts = (TokenType.L_PAREN, TokenType.DISTINCT, TokenType.CASE, TokenType.NOT)
        if kind in starts or kind in self.PRIMARY_PARSERS:
            return True
        stops = (TokenType.FROM, TokenType.ALIAS, TokenType.DOT, TokenType.COMMA)
        named = kind in self.ID_VAR_TOKENS or kind in self.FUNC_TOKENS
        return named and kind not in stops

    def _wraps_all(self, start: int) -> bool:
        """Whether parentheses hold all columns: what follows them is FROM, a window, or the end."""
        if self._kind(start) is not TokenType.L_PAREN:
            return False
        depth, step = 0, start
        while (kind := self._kind(step)) is not None:
            depth += (kind is TokenType.L_PAREN) - (kind is TokenType.R_PAREN)
            step += 1
            if depth == 0:
                break
        behind = self._kind(step)
        return behind in (TokenType.FROM, TokenType.L_BRACKET, TokenType.R_PAREN, None)

    # ISTREAM(SELECT ...) ---------------------------------------------------------------------

    def _changes_of_ahead(self) -> _Word | None:
        word = self._changes_word()
        if word is None or self._kind(word.tokens) is not TokenType.L_PAREN:
            return None
        inner = self._kind(word.tokens + 1)
        nested = self._word(word.tokens + 1).removesuffix(_RESTORE) in STREAM_OPERATORS
        return word if inner in QUERY_STARTS or nested else None

    def _parse_statement(self) -> exp.Expr | None:
        return self._parse_select() if self._changes_of_ahead() else super()._parse_statement()

    def _parse_select_query(
        self,
        nested: bool = False,
        table: bool = False,
        parse_subquery_alias: bool = True,
        parse_set_operation: bool = True,
    ) -> exp.Expr | None:
        first, word = self._curr, self._changes_of_ahead()
        if word is None:
            return super()._parse_select_query(
                nested, table, parse_subquery_alias, parse_set_operation
            )
        self._advance(word.tokens)
        end = self._prev.end
        self._match(TokenType.L_PAREN)
        inner = self._needed(self._parse_statement, "a SELECT")
        self._match_r_paren()
        tree: exp.Expr = ChangesOf(this=inner, kind=word.kind, restore=word.restore)
        tree = self._placed(tree, first)
        tree.meta["word"] = (first.start, end)
        if table:
            return self._parse_subquery(tree)
        return self._parse_set_operations(tree) if parse_set_operation else self._emitting(tree)

    # EMIT ------------------------------------------------------------------------------------

    def _emit_ahead(self) -> bool:
        """Whether EMIT comes, rather than an alias of that name, behind which no name stands."""
        follows = self._kind(1)
        return self._word(0) == "EMIT" and (
            self._word(1) in ("CHANGES", "FINAL")
            or follows is TokenType.VAR
            or (follows is TokenType.ON and self._word(2) == "WINDOW")
        )

    def _emitting(self, tree: AnyTree) -> AnyTree:
        """A query with the EMIT that ends it, if one does."""
        first = self._curr
        if not isinstance(tree, exp.Query | ChangesOf) or not self._emit_ahead():
            return tree
        if tree.args.get("pond_emit"):
            self._expect(None)
        self._advance()
        if self._match_text_seq("ON", "WINDOW", "CLOSE"):
            said = "CLOSE"
        elif self._match_texts(("CHANGES", "FINAL")):
            said = self._prev.text.upper()
        else:
            self._expect(
                "CHANGES, FINAL or ON WINDOW CLOSE", "write EMIT CHANGES or EMIT ON WINDOW CLOSE"
            )
        tree.set("pond_emit", self._placed(EmitClause(this=said), first))
        return tree

    def _parse_query_modifiers(self, this: Any) -> Any:
        tree = super()._parse_query_modifiers(this)
        return tree if tree is None else self._emitting(tree)

    def _parse_set_operations(self, this: exp.Expr | None) -> exp.Expr | None:
        tree = super()._parse_set_operations(this)
        return tree if tree is None else self._emitting(tree)

    def _parse_alias(self, this: exp.Expr | None, explicit: bool = False) -> exp.Expr | None:
        return this if self._emit_ahead() else super()._parse_alias(this, explicit)

    def _parse_table_alias(self, alias_tokens: Any | None = None) -> exp.TableAlias | None:
        return None if self._emit_ahead() else super()._parse_table_alias(alias_tokens)
