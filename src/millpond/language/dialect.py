"""The SQL that millpond reads, as a dialect of sqlglot.

It adds `CREATE STREAM` and `CREATE QUERY`; everything else is sqlglot's own grammar, and what of
it millpond does not take is refused by the binder, by name.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar, Never

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError
from sqlglot.parser import Parser as BaseParser
from sqlglot.tokenizer_core import Token, TokenType

_EXPECTED = re.compile(r"Expect(?:ed|ing) ([A-Z]+|[^\w\s]+)(?: |$)")
"""What of sqlglot's own messages a user can read: a word or a sign that is missing."""


class UnparsedError(ParseError):
    """The parser stopped at `token`, None at the end; `expected` says what it waited for."""

    def __init__(self, token: Token | None, expected: str | None) -> None:
        super().__init__(f"expected {expected}", [{}])
        self.token = token
        self.expected = expected


class Millpond(Dialect):
    """CQL and DDL for streams."""

    class Parser(BaseParser):
        STATEMENT_PARSERS: ClassVar[Any] = {
            **BaseParser.STATEMENT_PARSERS,
            TokenType.CREATE: lambda self: self._parse_create_in_pond(),
        }

        def raise_error(self, message: str, token: Token | None = None) -> Never:
            found = _EXPECTED.match(message)
            raise UnparsedError(
                token or self._curr or None, f"`{found.group(1)}`" if found else None
            )

        def _expect(self, what: str) -> Never:
            raise UnparsedError(self._curr or None, what)

        def _parse_create_in_pond(self) -> exp.Expr:
            if self._match_text_seq("STREAM"):
                return self._parse_create_stream()
            if self._match_text_seq("QUERY") or self._match_text_seq("MATERIALIZED", "VIEW"):
                return self._parse_create_query()
            return self._parse_create()

        def _parse_create_stream(self) -> exp.Expr:
            if not self._curr:
                self._expect("the name of the stream")
            table = self._parse_table_parts(schema=True)
            schema = self._parse_schema(this=table)
            if not isinstance(schema, exp.Schema):
                self._expect("the columns of the stream in parentheses")
            return self.expression(exp.Create(this=schema, kind="STREAM"))

        def _parse_create_query(self) -> exp.Expr:
            name = self._parse_id_var(any_token=False)
            if name is None:
                self._expect("the name of the query")
            if not self._match_text_seq("AS"):
                self._expect("`AS`")
            if not self._match_set(QUERY_STARTS, advance=False):
                self._expect("a SELECT")
            query = self._parse_statement()
            return self.expression(exp.Create(this=name, kind="QUERY", expression=query))


QUERY_STARTS = (TokenType.SELECT, TokenType.WITH, TokenType.L_PAREN)
"""What a query can start with."""
