"""The SQL that millpond reads, as a dialect of sqlglot.

It adds `CREATE STREAM` and `CREATE QUERY`; everything else is sqlglot's own grammar, and what of
it millpond does not take is refused by the binder, by name.
"""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.parser import Parser as BaseParser
from sqlglot.tokens import TokenType


class Millpond(Dialect):
    """CQL and DDL for streams."""

    class Parser(BaseParser):
        STATEMENT_PARSERS: ClassVar[Any] = {
            **BaseParser.STATEMENT_PARSERS,
            TokenType.CREATE: lambda self: self._parse_create_in_pond(),
        }

        def _parse_create_in_pond(self) -> exp.Expression:
            if self._match_text_seq("STREAM"):
                return self._parse_create_stream()
            if self._match_text_seq("QUERY") or self._match_text_seq("MATERIALIZED", "VIEW"):
                return self._parse_create_query()
            return self._parse_create()  # type: ignore[no-any-return]

        def _parse_create_stream(self) -> exp.Expression:
            table = self._parse_table_parts(schema=True)
            schema = self._parse_schema(this=table)
            if not isinstance(schema, exp.Schema):
                self.raise_error("Expected the columns of the stream in parentheses")
            return self.expression(exp.Create(this=schema, kind="STREAM"))  # type: ignore[no-any-return]

        def _parse_create_query(self) -> exp.Expression:
            name = self._parse_id_var()
            if name is None:
                self.raise_error("Expected the name of the query")
            if not self._match_text_seq("AS"):
                self.raise_error("Expected AS")
            select = self._parse_select()
            if select is None:
                self.raise_error("Expected a SELECT")
            return self.expression(  # type: ignore[no-any-return]
                exp.Create(this=name, kind="QUERY", expression=select)
            )
