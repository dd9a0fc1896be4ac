"""The dialects that millpond reads: its own, `cql`, and those of queries written for others.

Each is sqlglot's dialect of that name with millpond's grammar mixed into its parser, so that
streams and windows can be written in all of them.  Flink has no dialect there; its SQL is the
standard's with names in backticks.
"""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar

from sqlglot import tokens
from sqlglot.dialects.dialect import Dialect
from sqlglot.tokenizer_core import TokenType

from millpond.diagnostic import Diagnostic, UserError, did_you_mean
from millpond.language.grammar_declarations import PondParser
from millpond.language.grammar_foreign import ForeignParser

CQL = "cql"
STREAMING = ("flink", "risingwave", "materialize")
"""Dialects in which a table with a connector is a stream."""
DIALECTS = (
    CQL, "bigquery", "clickhouse", "databricks", "doris", "duckdb", "flink", "hive",
    "materialize", "mysql", "oracle", "postgres", "presto", "redshift", "risingwave", "snowflake",
    "spark", "starrocks", "trino",
)  # fmt: skip
"""The names of all dialects."""
_WINDOW_IS_A_FUNCTION = ("databricks", "spark")
"""Where `GROUP BY window(ts, '1 minute')` is no clause WINDOW."""


class Millpond(Dialect):
    """CQL and DDL for streams."""

    class Parser(PondParser):
        pass


class PondFlink(Dialect):
    """Flink's SQL."""

    class Tokenizer(tokens.Tokenizer):
        IDENTIFIERS: ClassVar[list[str | tuple[str, str]]] = ["`"]
        COMMANDS: ClassVar[set[TokenType]] = set()

    class Parser(ForeignParser):
        pass


@cache
def dialect_named(name: str) -> Dialect:
    """The dialect of that name; upper and lower case are the same.

    >>> type(dialect_named("cql")).__name__
    'Millpond'
    """
    folded = name.lower()
    if folded not in DIALECTS:
        raise UserError(
            Diagnostic("MP403", f"unknown dialect `{name}`", helps=did_you_mean(folded, DIALECTS))
        )
    if folded == CQL:
        return Millpond()
    if folded == "flink":
        return PondFlink()
    base = Dialect.get_or_raise(folded)
    parts: dict[str, Any] = {"Parser": type("Parser", (ForeignParser, type(base.parser())), {})}
    if folded in _WINDOW_IS_A_FUNCTION:
        words = {
            key: kind for key, kind in base.tokenizer_class.KEYWORDS.items() if key != "WINDOW"
        }
        parts["Tokenizer"] = type("Tokenizer", (base.tokenizer_class,), {"KEYWORDS": words})
    made: Dialect = type(f"Pond{type(base).__name__}", (type(base),), parts)()
    return made
