"""Nodes of the parsed tree that SQL has no words for: windows, streams of changes, declarations.

They are sqlglot's expressions like all others, so that walking a tree finds them.  Each has the
place of its text in `meta`: `start`, and `end`, which is that of the last character.  On sqlglot's
own nodes they hang as `args["pond_window"]` (of what they stand behind), `args["pond_changes"]`
(of a SELECT) and `args["pond_emit"]` (of the query that they end).  `args["pond_comma"]` says of a
join that it is a comma; `args["pond_stream"]` and `args["pond_watermark"]` stand on a table of
FROM that is read as a stream, or has its watermark there, `args["pond_columns"]` on a query whose
columns are named before it.
"""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp

STREAM_OPERATORS = ("ISTREAM", "DSTREAM", "RSTREAM", "WSTREAM")


class Length(exp.Expression):
    """A length of time, or a number of rows: `this` is the text of the number, `unit` the user's
    word.  A text with its units inside, such as `1 hour 30 minutes`, has no `unit`."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "unit": False}


class WindowClause(exp.Expression):
    """`[PARTITION BY a ROWS 5 SLIDE 2 INTERNAL]`; `extent` is RANGE, ROWS, UNBOUNDED or NOW, and
    the lengths are `Length`."""

    arg_types: ClassVar[dict[str, bool]] = {
        "extent": True,
        "size": False,
        "slide": False,
        "partition": False,
        "internal": False,
    }


class ChangesClause(exp.Expression):
    """ISTREAM, DSTREAM, RSTREAM or WSTREAM before the columns of a SELECT."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "restore": False, "window": False}


class ChangesOf(exp.Expression):
    """`ISTREAM(SELECT ...)`: a query whose answers are made a stream of."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "kind": True,
        "restore": False,
        "with_": False,
        "pond_emit": False,
    }


class EmitClause(exp.Expression):
    """`EMIT CHANGES`, `EMIT FINAL`, or CLOSE for `EMIT ON WINDOW CLOSE`."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}


class WindowTable(exp.Expression):
    """`TUMBLE(TABLE s, DESCRIPTOR(ts), lengths)`, HOP and SESSION; `this` is the stream."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "kind": True,
        "column": False,
        "lengths": False,
        "partition": False,
    }


class Declaration(exp.Expression):
    """`CREATE kind this (expressions) clauses`: columns, `Watermark`s, `TimeColumn`s, `Option`s."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "kind": True,
        "expressions": False,
        "clauses": False,
    }


class Alteration(exp.Expression):
    """`ALTER kind this ADD CHECK (expression)`."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "kind": True, "expression": True}


class AggregateDeclaration(exp.Expression):
    """`CREATE AGGREGATE this (expressions) RETURNS returns LANGUAGE language AS code` and the
    `Option`s behind it."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "expressions": True,
        "returns": True,
        "language": False,
        "code": False,
        "options": False,
    }


class Computed(exp.Expression):
    """`AS this` behind a column: it is computed from the others of its row."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}


class StreamMark(exp.Expression):
    """STREAM before a table's name in FROM: it is read as rows that only come."""

    arg_types: ClassVar[dict[str, bool]] = {}


class Watermark(exp.Expression):
    """`WATERMARK FOR column AS expression`; in FROM, `WATERMARK column DELAY OF ...`."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "expression": False}


class TimeColumn(exp.Expression):
    """`TIMESTAMP BY column`."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}


class Option(exp.Expression):
    """`key = value` out of WITH; `this` is an identifier."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "expression": True}
