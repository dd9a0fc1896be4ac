"""The grammar of CREATE: streams, tables, aggregates and named queries; and of ALTER, which adds a
CHECK.

What is declared comes out as a `Declaration` that says everything as it was written; what it means
is for `declare.py` to say.  The words of other engines are read in `grammar_sources.py` and
`grammar_foreign.py`, where their dialects are asked for.
"""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from millpond.language.grammar_changes import QUERY_STARTS, ChangesGrammar
from millpond.language.tree import (
    AggregateDeclaration,
    Alteration,
    Declaration,
    Length,
    Option,
    TimeColumn,
    Watermark,
)

DECLARED = {
    "STREAM": ("STREAM",),
    "FINITE STREAM": ("FINITE", "STREAM"),
    "TABLE": ("TABLE",),
    "STATIC TABLE": ("STATIC", "TABLE"),
    "SOURCE": ("SOURCE",),
    "AGGREGATE": ("AGGREGATE",),
}
"""What CREATE declares, by the words for it."""
ALTERED = ("STREAM", "TABLE")
"""What ALTER adds a CHECK to."""
ASKED = {
    "QUERY": ("QUERY",),
    "MATERIALIZED VIEW": ("MATERIALIZED", "VIEW"),
    "VIEW": ("VIEW",),
}
"""What CREATE names a query with."""


class PondParser(ChangesGrammar):
    """The whole grammar, to be mixed into the parser of a dialect."""

    STATEMENT_PARSERS: ClassVar[Any] = {
        **ChangesGrammar.STATEMENT_PARSERS,
        TokenType.CREATE: lambda self: self._parse_create_in_pond(),
        TokenType.ALTER: lambda self: self._parse_alteration(),
    }

    def _parse_create_in_pond(self) -> exp.Expr:
        for kind, words in DECLARED.items():
            if self._match_text_seq(*words):
                aggregate = kind == "AGGREGATE"
                return self._parse_aggregate() if aggregate else self._parse_declaration(kind)
        for words in ASKED.values():
            if self._match_text_seq(*words):
                return self._parse_named_query()
        return self._expect(None)

    # Queries ---------------------------------------------------------------------------------

    def _parse_named_query(self) -> exp.Expr:
        name = self._parse_id_var(any_token=False)
        if name is None:
            self._expect("the name of the query")
        if not self._match_text_seq("AS"):
            self._expect("`AS`")
        if not self._match_set(QUERY_STARTS, advance=False) and not self._changes_of_ahead():
            self._expect("a SELECT")
        query = self._needed(self._parse_statement)
        return self.expression(exp.Create(this=name, kind="QUERY", expression=query))

    # Streams and tables ----------------------------------------------------------------------

    def _parse_declaration(self, kind: str) -> exp.Expr:
        noun = "table" if kind.endswith("TABLE") else "stream"
        if not self._curr:
            self._expect(f"the name of the {noun}")
        table = self._parse_table_parts(schema=True)
        if not self._match(TokenType.L_PAREN):
            self._expect(f"the columns of the {noun} in parentheses")
        items = self._parse_csv(self._parse_declared_item)
        self._match_r_paren()
        clauses = self._parse_clauses()
        return self.expression(
            Declaration(this=table, kind=kind, expressions=items, clauses=clauses)
        )

    def _parse_alteration(self) -> exp.Expr:
        """`ALTER STREAM s ADD [CONSTRAINT name] CHECK (b > 0)`."""
        kind = self._curr.text.upper() if self._curr else ""
        if not self._match_texts(ALTERED):
            self._expect("`STREAM` or `TABLE`")
        name = self._needed(lambda: self._parse_id_var(any_token=False), f"a {kind.lower()}")
        if not self._match_text_seq("ADD"):
            self._expect("`ADD CHECK`", "only a CHECK can be added: ADD CHECK (a > 0)")
        if self._match_text_seq("CONSTRAINT"):
            self._needed(lambda: self._parse_id_var(any_token=False), "the name of the constraint")
        if not self._match_text_seq("CHECK"):
            self._expect("`CHECK`", "only a CHECK can be added: ADD CHECK (a > 0)")
        if not self._match(TokenType.L_PAREN):
            self._expect("a condition in parentheses")
        condition = self._needed(self._parse_disjunction, "a condition")
        self._match_r_paren()
        return self.expression(Alteration(this=name, kind=kind, expression=condition))

    def _parse_aggregate(self) -> exp.Expr:
        """`CREATE AGGREGATE [FUNCTION] f (x DOUBLE) RETURNS DOUBLE LANGUAGE python AS '...' WITH
        (...)`, what stands behind RETURNS in any order."""
        if self._next and self._next.token_type is not TokenType.L_PAREN:
            self._match_text_seq("FUNCTION")
        name = self._needed(
            lambda: self._parse_id_var(any_token=False), "the name of the aggregate"
        )
        if not self._match(TokenType.L_PAREN):
            self._expect("its argument in parentheses", "write `(x DOUBLE)`")
        arguments = self._parse_csv(self._parse_field_def)
        self._match_r_paren()
        if not self._match_text_seq("RETURNS"):
            self._expect("`RETURNS`", "write `RETURNS DOUBLE`")
        made = AggregateDeclaration(
            this=name, expressions=arguments, returns=self._needed_type(), options=[]
        )
        while self._parse_aggregate_clause(made):
            pass
        return self.expression(made)

    def _parse_aggregate_clause(self, made: AggregateDeclaration) -> bool:
        first = self._curr
        if self._match_text_seq("WITH", "("):
            made.args["options"] += self._parse_csv(self._parse_option)
            self._match_r_paren()
            return True
        if not made.args.get("language") and self._match_text_seq("LANGUAGE"):
            word = self._parse_var_or_string(True)
            made.set("language", self._placed(self._needed(lambda: word, "a language"), first))
            return True
        if not made.args.get("code") and self._match(TokenType.ALIAS):
            first = self._curr
            said = self._parse_string()
            if said is None:
                self._expect("a text", "write AS 'package.module:Name'")
            made.set("code", self._placed(said, first))
            return True
        return False

    def _needed_type(self) -> exp.Expr:
        """A type; a word that is none is one of the user's, which nothing knows."""
        first = self._curr
        found: exp.Expr = self._needed(self._parse_types, "a type")
        if isinstance(found, exp.DataType):
            return found
        unknown = exp.DataType(this=exp.DType.USERDEFINED, kind=found.name)
        return self._placed(unknown, first)

    def _parse_declared_item(self) -> exp.Expr | None:
        return self._parse_time_clause() or self._parse_constraint() or self._parse_field_def()

    def _parse_time_clause(self) -> exp.Expr | None:
        """`WATERMARK FOR ts AS ts - 2`, or `TIMESTAMP BY ts`."""
        first = self._curr
        if self._match_text_seq("WATERMARK", "FOR"):
            column = self._needed(lambda: self._parse_id_var(any_token=False), "a column")
            said = None
            if self._match(TokenType.ALIAS):
                said = self._needed(self._parse_disjunction, f"`{column.name}`")
            return self._placed(Watermark(this=column, expression=said), first)
        if self._match_text_seq("TIMESTAMP", "BY"):
            column = self._needed(lambda: self._parse_id_var(any_token=False), "a column")
            return self._placed(TimeColumn(this=column), first)
        return None

    def _parse_clauses(self) -> list[exp.Expr]:
        """What stands behind the columns."""
        clauses: list[exp.Expr] = []
        while True:
            clause = self._parse_time_clause()
            if clause is not None:
                clauses.append(clause)
            elif self._match_text_seq("WITH", "("):
                clauses += self._parse_csv(self._parse_option)
                self._match_r_paren()
            else:
                return clauses

    def _parse_option(self) -> exp.Expr:
        """`key = value`; a key may have dots and be quoted, as connectors' have."""
        first = self._curr
        name = ""
        while self._curr and self._curr.token_type not in (
            TokenType.EQ,
            TokenType.COMMA,
            TokenType.R_PAREN,
        ):
            name += self._curr.text
            self._advance()
        if not name:
            self._expect("an option")
        key = self._placed(exp.Identifier(this=name, quoted=False), first)
        if not self._match(TokenType.EQ):
            self._expect("`=`")
        first = self._curr
        value: exp.Expr = self._needed(self._option_value, "a value")
        return Option(this=key, expression=self._placed(value, first))

    def _option_value(self) -> exp.Expr | None:
        timed = self._curr.token_type is TokenType.INTERVAL or (
            self._curr.token_type is TokenType.NUMBER
            and self._next.token_type not in (TokenType.COMMA, TokenType.R_PAREN)
        )
        length: Length | None = self._parse_length() if timed else None
        return length or self._parse_unary()
