"""The grammar of statements that others have: INSERT INTO, sinks, views, streaming tables, flows,
SUBSCRIBE, and `STREAM t WATERMARK ts DELAY OF ...` in FROM.

Each that asks something comes out as an `exp.Create` that names a query.  Its `kind` is VIEW where
the query stands for its rows, INSERT where the rows go into what it names.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from millpond.language.grammar import UnbuiltError
from millpond.language.grammar_changes import QUERY_STARTS
from millpond.language.grammar_declarations import DECLARED
from millpond.language.grammar_sources import SourceGrammar
from millpond.language.tree import StreamMark, Watermark

_T = TokenType
PREFIXES = ("OR", "REPLACE", "REFRESH", "TEMPORARY", "TEMP", "PRIVATE", "GLOBAL")
"""What may stand between CREATE and what it makes."""
_AFTER_STREAM = (_T.L_PAREN, _T.VAR, _T.IDENTIFIER)
_NO_STREAM = ("AS", "JOIN", "WHERE", "GROUP", "WATERMARK", "INNER", "LEFT", "RIGHT", "FULL", "ON")
_OF_ROWS = "declare the table, and write FROM {} t"


class ForeignParser(SourceGrammar):
    """The whole grammar, with the statements of others, to be mixed into a dialect's parser."""

    STATEMENT_PARSERS: ClassVar[Any] = {
        **SourceGrammar.STATEMENT_PARSERS,
        _T.INSERT: lambda self: self._parse_insert_into(),
        _T.COPY: lambda self: self._parse_subscribe(),
    }

    # CREATE ----------------------------------------------------------------------------------

    def _parse_create_in_pond(self) -> exp.Expr:
        while self._match_texts(PREFIXES):
            pass
        if self._match_text_seq("FLOW"):
            return self._parse_flow()
        if self._match_text_seq("SINK"):
            return self._parse_sink()
        if self._names_a_query():
            return self._parse_named("QUERY")
        for kind, words in DECLARED.items():
            if kind != "AGGREGATE" and self._match_text_seq(*words):
                return self._parse_declaration(kind)
        if self._match_text_seq("AGGREGATE"):
            return self._parse_aggregate()
        if self._match_text_seq("LIVE", "VIEW") or self._match_text_seq("VIEW"):
            if _asks_behind(self._tokens[self._index :]):
                return self._parse_named("VIEW")
            return self._parse_declaration("TABLE")
        return self._expect(None)

    def _names_a_query(self) -> bool:
        """Whether `QUERY`, `MATERIALIZED VIEW`, `STREAMING TABLE` or `TABLE ... AS` comes, which
        is then behind the parser."""
        if self._match_text_seq("QUERY") or self._match_text_seq("MATERIALIZED", "VIEW"):
            return True
        start = self._index
        table = self._match_texts(("STREAMING", "LIVE")) or self._match(_T.TABLE, advance=False)
        self._match_text_seq("LIVE")
        if table and self._match_text_seq("TABLE") and _asks_behind(self._tokens[self._index :]):
            return True
        self._retreat(start)
        return False

    def _parse_named(self, kind: str) -> exp.Expr:
        """A name, columns and what else is said of how it is stored, AS, and the query."""
        self._match_text_seq("IF", "NOT", "EXISTS")
        table = self._needed(lambda: self._parse_table_parts(schema=True), "a name")
        columns: list[exp.Expr] = []
        if self._match(_T.L_PAREN):
            columns = self._parse_csv(self._parse_declared_item)
            self._match_r_paren()
        self._parse_storage()
        if not self._match(_T.ALIAS):
            self._expect("`AS`")
        query = self._asked()
        if self._match_text_seq("OPTIONS", "(", advance=False):
            self._advance()
            self._skip_brackets()
        return self._naming(table, kind, query, columns)

    def _naming(
        self, table: exp.Table, kind: str, query: exp.Expr, columns: list[exp.Expr]
    ) -> exp.Create:
        made = self.expression(exp.Create(this=table.this, kind=kind, expression=query))
        made.set("pond_columns", columns)
        return made

    def _parse_with(self, skip_with_token: bool = False) -> exp.With | None:
        first = self._curr
        if self._match_text_seq("WITH", "MUTUALLY"):
            raise UnbuiltError("WITH MUTUALLY RECURSIVE", first, self._prev)
        return super()._parse_with(skip_with_token)

    def _asked(self) -> exp.Expr:
        if not self._match_set(QUERY_STARTS, advance=False):
            self._expect("a SELECT")
        query: exp.Expr = self._needed(self._parse_statement)
        return query

    def _parse_sink(self) -> exp.Expr:
        """`CREATE SINK name [INTO table] AS SELECT ... WITH (...)`."""
        self._match_text_seq("IF", "NOT", "EXISTS")
        name = self._needed(lambda: self._parse_table_parts(schema=True), "the name of the sink")
        if self._match(_T.INTO) or self._match_text_seq("INTO"):
            self._needed(lambda: self._parse_table_parts(schema=True), "the name of a table")
        if not self._match(_T.ALIAS):
            self._expect("`AS`")
        query = self._asked()
        self._parse_storage()
        return self.expression(exp.Create(this=name.this, kind="QUERY", expression=query))

    def _parse_flow(self) -> exp.Expr:
        """`CREATE FLOW f AS INSERT INTO t BY NAME SELECT ...`."""
        self._needed(lambda: self._parse_table_parts(schema=True), "the name of the flow")
        if self._match_text_seq("COMMENT"):
            self._needed(self._parse_string, "a text")
        if not self._match(_T.ALIAS):
            self._expect("`AS`")
        if not self._match(_T.INSERT):
            self._expect("`INSERT INTO`", "write the changes as a query: SELECT ... FROM STREAM t")
        return self._parse_insert_into()

    def _parse_insert_into(self) -> exp.Expr:
        """`INSERT INTO sink [(a, b)] SELECT ...`."""
        if not self._match(_T.INTO):
            self._expect("`INTO`", "rows are added to what a query writes, and never replaced")
        self._match(_T.TABLE)
        table = self._needed(lambda: self._parse_table_parts(schema=True), "the name of a table")
        columns: list[exp.Expr] = []
        if self._match(_T.L_PAREN, advance=False) and self._next.token_type not in QUERY_STARTS:
            columns = self._parse_wrapped_csv(lambda: self._parse_id_var(any_token=False))
        self._match_text_seq("BY", "NAME")
        return self._naming(table, "INSERT", self._asked(), columns)

    # SUBSCRIBE -------------------------------------------------------------------------------

    def _parse_statement(self) -> exp.Expr | None:
        if self._match_text_seq("SUBSCRIBE", advance=False):
            return self._parse_subscribe()
        return super()._parse_statement()

    def _parse_subscribe(self) -> exp.Expr:
        """`SUBSCRIBE [TO] (SELECT ...)`, alone or in COPY: its answer, as its changes."""
        wrapped = self._match(_T.L_PAREN)
        if not self._match_text_seq("SUBSCRIBE"):
            self._expect("`SUBSCRIBE`")
        self._match_text_seq("TO")
        if not self._match(_T.L_PAREN):
            self._expect("a query in parentheses")
        query = self._asked()
        self._match_r_paren()
        if self._match_text_seq("WITH"):
            self._skip_brackets()
        if wrapped:
            self._match_r_paren()
            self._match_text_seq("TO", "STDOUT")
        return query

    # FROM ------------------------------------------------------------------------------------

    def _parse_table_parts(
        self,
        schema: bool = False,
        is_db_reference: bool = False,
        wildcard: bool = False,
        fast: bool = False,
    ) -> exp.Table | exp.Dot | None:
        if schema:
            return super()._parse_table_parts(schema, is_db_reference, wildcard, fast)
        first, streamed = self._curr, self._stream_ahead()
        wrapped = False
        if streamed:
            self._advance()
            wrapped = bool(self._match(_T.L_PAREN))
        tree = super()._parse_table_parts(schema, is_db_reference, wildcard, fast)
        if streamed and isinstance(tree, exp.Table):
            if isinstance(tree.this, exp.Anonymous):
                said = f"STREAM of {tree.this.name}"
                raise UnbuiltError(said, first, self._prev, _OF_ROWS.format("STREAM"))
            if wrapped:
                self._match_r_paren()
            tree.set("pond_stream", self._placed(StreamMark(), first))
        return self._marked(tree) if isinstance(tree, exp.Table) else tree

    def _stream_ahead(self) -> bool:
        """`STREAM t` or `STREAM(t)`, rather than an input of that name."""
        follows = self._next
        if self._curr.text.upper() != "STREAM" or self._curr.token_type is _T.IDENTIFIER:
            return False
        return bool(follows) and (
            follows.token_type in _AFTER_STREAM and follows.text.upper() not in _NO_STREAM
        )

    def _marked(self, tree: exp.Table) -> exp.Table:
        """A table with the WATERMARK that stands behind it, if one does."""
        first = self._curr
        if not self._match_text_seq("WATERMARK"):
            return tree
        said = self._needed(self._parse_disjunction, "a column")
        if not isinstance(said, exp.Column) or self._match(_T.ALIAS):
            raise UnbuiltError(
                "a watermark of a computed value",
                first,
                self._prev,
                "compute it where the rows come from, and declare a column for it",
            )
        if not self._match_text_seq("DELAY", "OF"):
            self._expect("`DELAY OF`", "write WATERMARK ts DELAY OF INTERVAL 10 MINUTES")
        delay = self._needed(self._parse_length, "a length, such as `INTERVAL 10 MINUTES`,")
        mark = Watermark(this=said.this, expression=exp.Sub(this=said.copy(), expression=delay))
        tree.set("pond_watermark", self._placed(mark, first))
        return tree


def _asks_behind(tokens: Any) -> bool:
    """Whether AS and a query follow, outside of all parentheses."""
    depth = 0
    for token, after in pairwise([*tokens, None]):
        depth += (token.token_type is _T.L_PAREN) - (token.token_type is _T.R_PAREN)
        if depth == 0 and token.token_type is _T.ALIAS and after is not None:
            return after.token_type in QUERY_STARTS
    return False
