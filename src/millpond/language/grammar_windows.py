"""The grammar of windows: CQL's in brackets, and TUMBLE, HOP and SESSION in FROM.

A window stands behind what it is a window of, before the alias or after it, and is kept there as
`args["pond_window"]`: of a stream, of a subquery, and of a call such as `WSTREAM(...) [ROWS 10]`.
"""

from __future__ import annotations

from collections.abc import Collection

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from millpond.language.grammar import Tree, UnbuiltError
from millpond.language.grammar_clauses import ClauseGrammar
from millpond.language.tree import Length, WindowClause, WindowTable
from millpond.language.units import is_unit

_ASSIGNED = ("TUMBLE", "HOP", "SESSION")
_OPENINGS = ("RANGE", "WINDOW", "ROWS", "PARTITION", "PARTITION BY", "NOW", "UNBOUNDED")
_EXAMPLE = "write `[RANGE 10]`, `[ROWS 10]`, `[NOW]` or `[UNBOUNDED]`"
_LENGTH = "a length, such as `10`, `1 minute` or `INTERVAL '1' MINUTE`,"


class WindowGrammar(ClauseGrammar):
    """Reads windows where streams are read."""

    # Where windows stand ---------------------------------------------------------------------

    def _parse_table(
        self,
        schema: bool = False,
        joins: bool = False,
        alias_tokens: Collection[TokenType] | None = None,
        parse_bracket: bool = False,
        is_db_reference: bool = False,
        parse_partition: bool = False,
        consume_pipe: bool = False,
    ) -> exp.Expr | None:
        tree = super()._parse_table(
            schema=schema,
            joins=joins,
            alias_tokens=alias_tokens,
            parse_bracket=parse_bracket,
            is_db_reference=is_db_reference,
            parse_partition=parse_partition,
            consume_pipe=consume_pipe,
        )
        return self._windowed(tree)

    def _parse_table_parts(
        self,
        schema: bool = False,
        is_db_reference: bool = False,
        wildcard: bool = False,
        fast: bool = False,
    ) -> exp.Table | exp.Dot | None:
        tree = super()._parse_table_parts(schema, is_db_reference, wildcard, fast)
        return tree if schema else self._windowed(tree)

    def _parse_subquery(
        self, this: exp.Expr | None, parse_alias: bool = True
    ) -> exp.Subquery | None:
        if this is None or not parse_alias:
            return super()._parse_subquery(this, parse_alias)
        window = self._window_in_brackets()
        tree = super()._parse_subquery(this, parse_alias)
        if tree is not None and window is not None:
            tree.set("pond_window", window)
        return self._windowed(tree)

    def _parse_bracket(self, this: exp.Expr | None = None) -> exp.Expr | None:
        """Behind a call a window may stand; all else in brackets is an array's."""
        if self._curr.token_type not in self.BRACKETS:
            return this
        if isinstance(this, exp.Anonymous) and self._next.text.upper() in _OPENINGS:
            return self._windowed(this)
        if isinstance(this, exp.Table):
            self._expect(None)
        raise UnbuiltError(
            "arrays and subscripts",
            self._curr,
            self._curr,
            "a window stands behind a stream in FROM: `FROM s [RANGE 10]`",
        )

    def _windowed(self, tree: Tree) -> Tree:
        """A tree with the window that stands behind it, if one does."""
        if tree is None or self._curr.token_type is not TokenType.L_BRACKET:
            return tree
        if "pond_window" in tree.args:
            self._expect(None, "one window is enough: the inner one of a subquery comes first")
        tree.set("pond_window", self._window_in_brackets())
        if "end" in tree.meta:
            tree.meta["end"] = self._prev.end
        return tree

    # Windows in brackets ---------------------------------------------------------------------

    def _window_in_brackets(self) -> WindowClause | None:
        first = self._curr
        if not self._match(TokenType.L_BRACKET):
            return None
        clause = self._extent()
        if clause.args["extent"] != "NOW":
            self._slide_and_internal(clause)
        elif self._match_text_seq("INTERNAL"):
            clause.set("internal", True)
        if not self._match(TokenType.R_BRACKET):
            self._expect("`]`")
        return self._placed(clause, first)

    def _extent(self) -> WindowClause:
        if self._match_text_seq("NOW"):
            return WindowClause(extent="NOW")
        if self._match_text_seq("UNBOUNDED"):
            return WindowClause(extent="UNBOUNDED")
        partition = self._partition() if self._partition_ahead() else None
        if self._match_text_seq("ROWS"):
            if partition is None and self._match_text_seq("UNBOUNDED"):
                return WindowClause(extent="UNBOUNDED")
            return WindowClause(extent="ROWS", size=self._rows(), partition=partition)
        if partition is not None:
            self._expect("`ROWS`", "a partition has a number of rows: `[PARTITION BY a ROWS 10]`")
        if self._match_text_seq("RANGE") or self._match_text_seq("WINDOW"):
            if self._match_text_seq("UNBOUNDED"):
                return WindowClause(extent="UNBOUNDED")
            return WindowClause(extent="RANGE", size=self._time())
        return self._expect("RANGE, ROWS, NOW, UNBOUNDED or PARTITION BY", _EXAMPLE)

    def _slide_and_internal(self, clause: WindowClause) -> None:
        """SLIDE and INTERNAL in any order, each once."""
        while True:
            if "slide" not in clause.args and self._match_text_seq("SLIDE"):
                rows = clause.args["extent"] == "ROWS"
                clause.set("slide", self._rows() if rows else self._time())
            elif "internal" not in clause.args and self._match_text_seq("INTERNAL"):
                clause.set("internal", True)
            else:
                return

    def _partition_ahead(self) -> bool:
        return self._curr.token_type is TokenType.PARTITION_BY or (
            self._match_text_seq("PARTITION", "BY", advance=False)
        )

    def _partition(self) -> list[exp.Expr]:
        """The columns of PARTITION BY, in parentheses or not."""
        if not self._match(TokenType.PARTITION_BY):
            self._match_text_seq("PARTITION", "BY")
        wrapped = self._match(TokenType.L_PAREN)
        columns = [self._needed(self._partition_column, "a column")]
        while self._more_columns(wrapped):
            self._advance()
            columns.append(self._needed(self._partition_column, "a column"))
        if wrapped:
            self._match_r_paren()
        return columns

    def _partition_column(self) -> exp.Expr | None:
        """A column, not followed by a window of its own."""
        if self._match_texts(("ROWS", "RANGE", "DESCRIPTOR"), advance=False):
            return None
        name = self._parse_id_var(any_token=False)
        if name is None or not self._match(TokenType.DOT):
            return None if name is None else self.expression(exp.Column(this=name))
        column = self._needed(self._parse_id_var)
        return self.expression(exp.Column(this=column, table=name))

    def _more_columns(self, wrapped: bool) -> bool:
        """In SESSION a comma also ends the columns, before DESCRIPTOR or a length."""
        if self._curr.token_type is not TokenType.COMMA:
            return False
        return bool(wrapped) or not (
            self._next.text.upper() == "DESCRIPTOR"
            or self._next.token_type in (TokenType.NUMBER, TokenType.INTERVAL)
        )

    def _rows(self) -> Length:
        """A number of rows."""
        first = self._curr
        if first.token_type is not TokenType.NUMBER or not first.text.isdecimal():
            self._expect("a whole number of rows", last=self._signed())
        self._advance()
        if is_unit(self._curr.text):
            self._expect("`]`", "a length of time goes with RANGE: `[RANGE 5 min]`")
        return self._placed(Length(this=first.text), first)

    def _time(self) -> Length:
        """A length in time."""
        length = self._parse_length()
        if length is None:
            self._expect(_LENGTH, last=self._signed())
        return length

    def _signed(self) -> Token:
        """The number behind a sign, for what is said of both."""
        return self._next if self._next.token_type is TokenType.NUMBER else self._curr

    # TUMBLE, HOP and SESSION -----------------------------------------------------------------

    def _parse_table_part(self, schema: bool = False) -> exp.Expr | None:
        if schema:
            return super()._parse_table_part(schema)
        if self._match_text_seq("TABLE", "(", advance=False):
            self._advance(2)
            table: exp.Expr = self._needed(self._window_table, "TUMBLE, HOP or SESSION")
            self._match_r_paren()
            return table
        return self._window_table() or super()._parse_table_part(schema)

    def _window_table(self) -> WindowTable | None:
        first, word = self._curr, self._curr.text.upper()
        if self._next.token_type is not TokenType.L_PAREN:
            return None
        if word == "CUMULATE":
            raise UnbuiltError("windows by CUMULATE", first, first, "use TUMBLE or HOP")
        if word not in _ASSIGNED or first.token_type is TokenType.IDENTIFIER:
            return None
        self._advance(2)
        self._argument_name()
        self._match_text_seq("TABLE")
        name = self._needed(lambda: self._parse_id_var(any_token=False), "the name of a stream")
        partition = self._partition() if self._partition_ahead() else None
        column: exp.Expr | None = None
        lengths: list[Length] = []
        named: list[str] = []
        while self._match(TokenType.COMMA):
            named.append(self._argument_name())
            if column is None and not lengths:
                column = self._descriptor()
                if column is not None:
                    continue
            lengths.append(self._time())
        self._match_r_paren()
        if len(lengths) == 2 and named[-2:] == ["SIZE", "SLIDE"]:
            lengths.reverse()
        tree = WindowTable(
            this=self.expression(exp.Table(this=name)),
            kind=word,
            column=column,
            lengths=lengths,
            partition=partition,
        )
        return self._placed(tree, first)

    def _argument_name(self) -> str:
        """The name before `=>`, in upper case; nothing where an argument has none."""
        if not self._next or self._next.token_type is not TokenType.FARROW:
            return ""
        self._advance(2)
        return str(self._tokens[self._index - 2].text.upper())

    def _descriptor(self) -> exp.Expr | None:
        """`DESCRIPTOR(ts)`, or `ts` alone as RisingWave has it."""
        if self._match_text_seq("DESCRIPTOR", "("):
            column: exp.Expr = self._needed(self._partition_column, "the time column")
            self._match_r_paren()
            return column
        if self._curr.token_type in (TokenType.NUMBER, TokenType.INTERVAL, TokenType.DASH):
            return None
        return self._partition_column()
