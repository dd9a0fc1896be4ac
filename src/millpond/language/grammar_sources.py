"""The grammar of what others declare: columns that are computed or filled in by a connector, keys,
and the clauses that say where rows come from.

What a connector needs to know is read and kept as `Option`s with a point in their keys, of which
`declare.py` hears those that say whether rows only come, or come and go: `pond.envelope` of Kafka
topics that are read as tables, `pond.connection` of databases whose changes are read.
"""

from __future__ import annotations

from typing import Any

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from millpond.language.generators import makes_its_own
from millpond.language.grammar import UnbuiltError, UnparsedError
from millpond.language.grammar_declarations import PondParser
from millpond.language.tree import Computed, Declaration, Option

_T = TokenType
_INCLUDED = {"TIMESTAMP": _T.TIMESTAMP, "PARTITION": _T.INT, "OFFSET": _T.BIGINT}
"""What a connector adds to each row, and its type; headers and keys have types of their own."""
_OPAQUE = "RECORD"
"""Names a type that nothing is known of."""
_SCHEMALESS = (
    "its columns are kept elsewhere: write them behind its name, as in `CREATE SOURCE s (a INT, "
    "b VARCHAR) ...`"
)


class SourceGrammar(PondParser):
    """Reads declarations as Flink, Spark, RisingWave and Materialize write them."""

    # A whole declaration ---------------------------------------------------------------------

    def _parse_declaration(self, kind: str) -> exp.Expr:
        """Columns may be missing where a generator has its own."""
        self._match_text_seq("IF", "NOT", "EXISTS")
        table = self._needed(lambda: self._parse_table_parts(schema=True), "a name")
        behind, items = self._curr, []
        if self._match_text_seq("LIKE", advance=False) or self._like_ahead():
            said = "a table like another one"
            raise UnbuiltError(said, behind, behind, "write its columns")
        if self._match(_T.L_PAREN) and not self._match(_T.STAR, advance=False):
            items = self._parse_csv(self._parse_declared_item)
            self._match_r_paren()
        elif self._match(_T.STAR):
            raise UnparsedError(self._prev, "the columns", _SCHEMALESS)
        clauses = self._parse_clauses()
        made = Declaration(this=table, kind=kind, expressions=items, clauses=clauses)
        if not items and not makes_its_own(made):
            raise UnparsedError(behind or None, "its columns in parentheses", _SCHEMALESS)
        return self.expression(made)

    def _like_ahead(self) -> bool:
        """`WITH (...) LIKE t`, without columns."""
        opens = self._curr and self._curr.token_type is not _T.L_PAREN
        return bool(opens) and any(
            each.token_type is _T.LIKE for each in self._tokens[self._index :]
        )

    # Columns ---------------------------------------------------------------------------------

    def _parse_declared_item(self) -> exp.Expr | None:
        if self._match_text_seq("CONSTRAINT", advance=False):
            self._expect_key_behind_constraint()
        key = self._table_key()
        return key or self._parse_time_clause() or self._foreign_column()

    def _expect_key_behind_constraint(self) -> None:
        """`CONSTRAINT name PRIMARY KEY (...)`; a pipeline's expectations drop rows, and are not
        built."""
        first = self._curr
        self._advance(2)
        if self._match_text_seq("EXPECT", advance=False):
            raise UnbuiltError(
                "expectations", first, self._curr, "write them as conditions of the query's WHERE"
            )

    def _table_key(self) -> exp.Expr | None:
        """`PRIMARY KEY (a, b) [NOT ENFORCED]`."""
        first = self._curr
        if not self._primary_key_word():
            return None
        columns = self._parse_wrapped_csv(lambda: self._parse_id_var(any_token=False))
        self._match_text_seq("NOT", "ENFORCED")
        return self._placed(exp.PrimaryKey(expressions=columns), first)

    def _primary_key_word(self) -> bool:
        if self._match(_T.PRIMARY_KEY):
            return True
        return bool(self._match_text_seq("PRIMARY", "KEY"))

    def _foreign_column(self) -> exp.Expr | None:
        first = self._curr
        name = self._parse_id_var(any_token=False)
        if name is None:
            return None
        column = exp.ColumnDef(this=name, constraints=[])
        if not self._match(_T.ALIAS, advance=False):
            self._match(_T.COLON)
            self._set_type(column)
        while self._column_clause(column):
            pass
        if column.args.get("kind") is None and not column.find(Computed):
            self._retreat(self._index)
        return self._placed(column, first)

    def _set_type(self, column: exp.ColumnDef) -> None:
        kind = self._curr
        found = self._opaque_type() or self._parse_types(schema=True)
        if isinstance(found, exp.Identifier):
            found = self._placed(exp.DataType(this=exp.DType.USERDEFINED, kind=found.name), kind)
        if isinstance(found, exp.DataType):
            local = self._match_text_seq("WITH", "LOCAL", "TIME", "ZONE")
            if local or self._match_text_seq("WITHOUT", "TIME", "ZONE"):
                self._placed(found, kind)
            column.set("kind", found)

    def _opaque_type(self) -> exp.Expr | None:
        """Types that sqlglot has no words for: `ROW<a INT>`, `INT LIST`, `MAP[TEXT => INT]`."""
        first, word = self._curr, self._curr.text.upper()
        if word in ("ROW", "MULTISET", "MAP", "LIST", "RAW", "VARIANT", _OPAQUE):
            self._advance()
            self._skip_brackets()
            return self._placed(exp.DataType(this=exp.DType.USERDEFINED, kind=word), first)
        if self._next and self._next.text.upper() == "LIST":
            self._advance(2)
            return self._placed(exp.DataType(this=exp.DType.USERDEFINED, kind="LIST"), first)
        return None

    def _column_clause(self, column: exp.ColumnDef) -> bool:
        """One of what stands behind a column's type."""
        first, said = self._curr, column.args["constraints"]
        if self._match_text_seq("COMMENT"):
            self._needed(self._parse_string, "a text")
        elif self._match_text_seq("METADATA"):
            if self._match(_T.FROM):
                self._needed(self._parse_string, "a text")
            self._match_text_seq("VIRTUAL")
        elif self._primary_key_word():
            self._match_text_seq("NOT", "ENFORCED")
            said.append(self._placed(exp.PrimaryKeyColumnConstraint(), first))
        elif self._match_text_seq("GENERATED", "ALWAYS") or self._match(_T.ALIAS, advance=False):
            if not self._match(_T.ALIAS):
                self._expect("`AS`")
            value = self._needed(self._parse_disjunction, "an expression")
            if not self._match_text_seq("STORED"):
                self._match_text_seq("VIRTUAL")
            said.append(self._placed(Computed(this=value), first))
        else:
            other = self._parse_column_constraint()
            if other is None:
                return False
            said.append(other)
        return True

    # Clauses behind the columns --------------------------------------------------------------

    def _parse_clauses(self) -> list[exp.Expr]:
        clauses: list[exp.Expr] = []
        while self._curr:
            before = self._index
            time = self._parse_time_clause()
            if time is not None:
                clauses.append(time)
            elif not self._parse_foreign_clause(clauses) or self._index == before:
                return clauses
        return clauses

    def _parse_foreign_clause(self, clauses: list[exp.Expr]) -> bool:
        first = self._curr
        if self._match_text_seq("APPEND", "ONLY"):
            clauses.append(self._noted("append only", "true", first))
        elif self._match_text_seq("ON", "CONFLICT"):
            self._while_words()
            clauses.append(self._noted("pond.envelope", "UPSERT", first))
        elif self._match_text_seq("WITH", "("):
            clauses += self._parse_csv(self._parse_option)
            self._match_r_paren()
        elif self._match_text_seq("FROM"):
            self._from_connection(clauses, first)
        elif self._match_text_seq("ENVELOPE"):
            word = self._word_here("NONE, UPSERT or DEBEZIUM")
            clauses.append(self._noted("pond.envelope", word, first))
            self._skip_brackets()
        elif self._match_text_seq("INCLUDE"):
            clauses += self._included()
        elif self._match_text_seq("ROW", "FORMAT"):
            self._format(clauses, first)
        elif self._match_texts(("KEY", "VALUE"), advance=False) and self._next.text.upper() in (
            "FORMAT",
        ):
            self._advance()
        elif self._match(_T.FORMAT) or self._match_text_seq("FORMAT"):
            self._format(clauses, first)
        else:
            return self._layout_clause()
        return True

    def _layout_clause(self) -> bool:
        """How another engine stores what is declared."""
        if self._match_texts(("COMMENT", "LOCATION")):
            self._needed(self._parse_string, "a text")
        elif self._match_text_seq("USING"):
            self._word_here("the name of a format")
        elif (
            self._match_text_seq("PARTITIONED", "BY")
            or self._match_set((_T.CLUSTER_BY, _T.PARTITION_BY))
            or self._match_text_seq("CLUSTER", "BY")
            or self._match_text_seq("DISTRIBUTED", "BY")
            or self._match_texts(("TBLPROPERTIES", "OPTIONS"))
        ):
            self._match_texts(("HASH", "AUTO"))
            self._skip_brackets()
        elif self._match_text_seq("IN", "CLUSTER"):
            self._word_here("the name of a cluster")
        elif self._match_text_seq("EXPOSE", "PROGRESS", "AS"):
            self._word_here("a name")
        elif self._match_text_seq("ENCODE"):
            self._word_here("an encoding")
            self._skip_brackets()
        else:
            return False
        return True

    def _from_connection(self, clauses: list[exp.Expr], first: Token) -> None:
        """`FROM KAFKA CONNECTION c (TOPIC 't')`, `FROM LOAD GENERATOR AUCTION (...)`, `FROM pg
        TABLE 'public.t'`, `FROM SOURCE s (REFERENCE t)`."""
        words = [self._word_here("where its rows come from").upper()]
        while self._curr and self._curr.token_type in (_T.VAR, _T.TABLE, _T.STRING, _T.IDENTIFIER):
            if self._curr.text.upper() in ("FORMAT", "ENVELOPE", "INCLUDE", "KEY", "EXPOSE"):
                break
            words.append(self._curr.text.upper())
            self._advance()
        clauses.append(self._noted("pond.connection", " ".join(words), first))
        opened = self._index
        self._skip_brackets()
        text = " ".join(each.text.upper() for each in self._tokens[opened : self._index])
        clauses.append(self._noted("pond.options", text, first))
        if self._match_text_seq("FOR", "ALL", "TABLES"):
            clauses.append(self._noted("pond.tables", "ALL", first))

    def _format(self, clauses: list[exp.Expr], first: Token) -> None:
        """`FORMAT PLAIN ENCODE JSON (...)`, `FORMAT AVRO USING CONFLUENT SCHEMA REGISTRY ...`."""
        word = self._word_here("a format")
        clauses.append(self._noted("pond.format", word, first))
        if self._match_text_seq("USING"):
            self._while_words()
            self._skip_brackets()
        elif self._match_text_seq("WITH"):
            self._match_text_seq("HEADER")
            self._skip_brackets()
            if self._match(_T.NUMBER):
                self._match_text_seq("COLUMNS")
        elif self._match_text_seq("ENCODE"):
            self._word_here("an encoding")
        self._skip_brackets()

    def _included(self) -> list[exp.Expr]:
        """`INCLUDE TIMESTAMP AS ts, PARTITION`, as columns."""
        found = [self._one_included()]
        while self._match(_T.COMMA):
            found.append(self._one_included())
        return found

    def _one_included(self) -> exp.Expr:
        first = self._curr
        word = self._word_here("what is included").upper()
        token = _INCLUDED.get(word)
        if self._curr and self._curr.token_type is _T.STRING:
            self._advance()
        name: Any = exp.Identifier(this=word.lower(), quoted=False)
        self._placed(name, first)
        if self._match(_T.ALIAS):
            name = self._needed(lambda: self._parse_id_var(any_token=False), "a name")
            self._match_text_seq("BYTES")
        kind = (
            exp.DataType(this=exp.DType[token.name])
            if token is not None
            else exp.DataType(this=exp.DType.USERDEFINED, kind=_OPAQUE)
        )
        return self._placed(exp.ColumnDef(this=name, kind=self._placed(kind, first)), first)

    def _parse_storage(self) -> None:
        """What is said of how the rows of a query are stored."""
        while self._curr:
            before = self._index
            if self._match_text_seq("WITH", "(", "REFRESH", advance=False):
                said = "answers that are refreshed now and then"
                helps = "leave it out: an answer is that of each instant"
                raise UnbuiltError(said, self._curr, self._curr, helps)
            if self._match_text_seq("WITH", "(", advance=False):
                self._advance()
                self._skip_brackets()
            elif not self._parse_foreign_clause([]) or self._index == before:
                return

    # Words -----------------------------------------------------------------------------------

    def _noted(self, key: str, value: str, first: Token) -> Option:
        name = self._placed(exp.Identifier(this=key, quoted=False), first)
        text = self._placed(exp.Literal.string(value), first)
        return Option(this=name, expression=text)

    def _word_here(self, what: str) -> str:
        """The next word, whatever it is."""
        if not self._curr or self._curr.token_type in (_T.L_PAREN, _T.R_PAREN, _T.COMMA):
            self._expect(what)
        text = self._curr.text
        self._advance()
        while self._match(_T.DOT) or self._match(_T.DASH):
            text += self._prev.text + self._curr.text
            self._advance()
        return str(text)

    def _while_words(self) -> None:
        """Past words and names, up to a bracket, a comma, or what begins a clause."""
        stops = ("ENVELOPE", "INCLUDE", "WITH", "VALUE", "EXPOSE", "FORMAT", "APPEND")
        while self._curr and self._curr.token_type not in (_T.L_PAREN, _T.COMMA):
            if self._curr.text.upper() in stops:
                return
            self._advance()

    def _skip_brackets(self) -> None:
        """Past what a connector or a type has in brackets."""
        opening = (_T.L_PAREN, _T.LT, _T.L_BRACKET)
        closing = (_T.R_PAREN, _T.GT, _T.R_BRACKET)
        while self._curr and self._curr.token_type in opening:
            mine = opening.index(self._curr.token_type)
            depth = 0
            while self._curr:
                kind = self._curr.token_type
                depth += (kind is opening[mine]) - (kind is closing[mine])
                self._advance()
                if depth == 0:
                    break
