"""How names, constants and types are spelled: in our own language, and in that of other engines.

A name is quoted when it is no plain word or when some SQL gives the word a meaning.  Numbers are
spelled so that they read back with the same type: 1.5 is a DECIMAL and 1.5e0 a DOUBLE.
"""

from __future__ import annotations

import re
from decimal import Decimal

from millpond.plan.error import PlanError
from millpond.plan.expression import Literal
from millpond.plan.lengths import units
from millpond.plan.moments import date_text, datetime_of
from millpond.schema import DOUBLE, DecimalType, IntegerType, Kind, Type, Value, VarcharType

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_WORDS = """
ALL ALTER ANALYZE AND ANTI ANY ARRAY AS ASC ASOF AT BEGIN BETWEEN BIGINT BOOLEAN BOTH BY CASE CAST
CHAR CHECK CLOSE COLLATE COLUMN COMMIT CONSTRAINT CREATE CROSS CURRENT CURRENT_CATALOG
CURRENT_DATE CURRENT_ROLE CURRENT_SCHEMA CURRENT_TIME CURRENT_TIMESTAMP CURRENT_USER DATE DATETIME
DECIMAL DEFAULT DELETE DESC DESCRIBE DESCRIPTOR DISTINCT DIV DO DOUBLE DROP DSTREAM ELSE EMIT END
ENUM ESCAPE EXCEPT EXECUTE EXISTS EXPLAIN EXTRACT FALSE FETCH FILTER FINAL FIRST FLOAT FOR FOREIGN
FROM FULL FUNCTION GLOB GLOBAL GRANT GROUP GROUPING HAVING HOP IF ILIKE IN INITIALLY INNER INSERT
INT INTEGER INTERNAL INTERSECT INTERVAL INTO IS ISNULL ISTREAM JOIN KILL LATERAL LEADING LEFT LIKE
LIMIT LOCALTIME LOCALTIMESTAMP LOCK MAP MATCH MERGE MINUS NATURAL NEXT NOT NOTNULL NOW NULL
NUMERIC OF OFFSET ON ONLY OPERATOR OR ORDER OUTER OVER OVERLAPS PARTITION PERCENT PIVOT PLACING
POSITION PRAGMA PRIMARY PROCEDURE QUALIFY QUERY RANGE REAL REFERENCES REFRESH RENAME REPLACE
RETURNING REVOKE RIGHT RLIKE ROLLBACK ROW ROWS RSTREAM SELECT SEMI SESSION SESSION_USER SET SHOW
SIMILAR SLIDE SMALLINT SOME SORT STRAIGHT STREAM STRUCT SUBSTRING SYMMETRIC TABLE TABLESAMPLE THEN
TIME TIMESTAMP TINYINT TO TOP TRAILING TRIM TRUE TRUNCATE TUMBLE UNBOUNDED UNION UNIQUE UNNEST
UNPIVOT UPDATE USE USER USING UUID VALUES VARCHAR VARIANT VIEW WATERMARK WHEN WHERE WINDOW WITH
WITHIN WITHOUT WSTREAM XML YEAR MONTH DAY HOUR MINUTE SECOND
"""
_RESERVED = frozenset(_WORDS.split())


class Spelling:
    """Our own language."""

    quote = '"'
    name_of_double = "DOUBLE"
    name_of_hugeint = "HUGEINT"

    def name(self, text: str) -> str:
        """A name, quoted where it has to be."""
        plain = _PLAIN.fullmatch(text) is not None and text.upper() not in _RESERVED
        return text if plain else self.quote + text.replace(self.quote, 2 * self.quote) + self.quote

    def names(self, texts: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(self.name(each) for each in texts)

    def text(self, value: str) -> str:
        """A text constant."""
        return "'" + value.replace("'", "''") + "'"

    def literal(self, literal: Literal) -> str:
        return self.value(literal.value, literal.type)

    def value(self, value: Value, type_: Type) -> str:
        """A constant of a type."""
        if value is None:
            return "NULL"
        if isinstance(value, bool):
            return "TRUE" if value else "FALSE"
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, float) or type_.kind is Kind.DOUBLE:
            return self.double(float(value))
        if isinstance(value, Decimal):
            return self.decimal(value)
        if type_.kind in (Kind.DATE, Kind.TIMESTAMP):
            return self.moment(value, type_)
        return self.interval(value) if type_.kind is Kind.INTERVAL else self.integer(value)

    def integer(self, value: int) -> str:
        return str(value)

    def double(self, value: float) -> str:
        if value in (float("inf"), float("-inf")) or value != value:
            raise PlanError(f"{value} is no constant of SQL")
        digits, _, exponent = repr(value).partition("e")
        return f"{digits}e{int(exponent or 0)}"

    def decimal(self, value: Decimal) -> str:
        text = f"{value:f}"
        return (
            text if "." in text else f"CAST({text} AS DECIMAL({max(len(text.lstrip('-')), 1)}, 0))"
        )

    def moment(self, value: int, type_: Type) -> str:
        """A DATE or a TIMESTAMP."""
        if type_.kind is Kind.DATE:
            return f"DATE '{date_text(value)}'"
        return f"TIMESTAMP '{datetime_of(value).isoformat(' ')}'"

    def interval(self, microseconds: int) -> str:
        count, word = units(microseconds)
        return f"INTERVAL '{count}' {word}"

    def type(self, type_: Type) -> str:
        """A type by its name; ENUM and limits of length are not what a CAST is for elsewhere."""
        return type_.name


class EngineSpelling(Spelling):
    """What other engines have in common: few types, and constants that are typed by a CAST."""

    name_of_text = "VARCHAR"
    name_of_decimal = "DECIMAL"

    def type(self, type_: Type) -> str:
        match type_:
            case IntegerType(bits=None):
                return self.name_of_hugeint
            case VarcharType(length=None):
                return self.name_of_text
            case DecimalType():
                return f"{self.name_of_decimal}({type_.precision}, {type_.scale})"
        if type_ == DOUBLE:
            return self.name_of_double
        return self.name_of_text if type_.kind is Kind.VARCHAR else type_.name

    def integer(self, value: int) -> str:
        if -(1 << 63) < value < 1 << 63:
            return str(value)
        return f"CAST({self.text(str(value))} AS {self.name_of_hugeint})"


class DuckDbSpelling(EngineSpelling):
    """DuckDB."""


class SparkSpelling(EngineSpelling):
    """Spark: backticks, backslashes in text, STRING, DECIMAL for the widest integers, and times
    that say their zone."""

    quote = "`"
    name_of_text = "STRING"
    name_of_hugeint = "DECIMAL(38, 0)"

    def text(self, value: str) -> str:
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"

    def moment(self, value: int, type_: Type) -> str:
        text = super().moment(value, type_)
        return text if type_.kind is Kind.DATE else f"{text[:-1]}Z'"

    def interval(self, microseconds: int) -> str:
        seconds = Decimal(microseconds).scaleb(-6)
        return f"INTERVAL '{seconds:f}' SECOND"


class PostgresSpelling(EngineSpelling):
    """PostgreSQL: names fold to lower case, NUMERIC for the widest integers."""

    name_of_double = "DOUBLE PRECISION"
    name_of_hugeint = "NUMERIC"
    name_of_decimal = "NUMERIC"

    def name(self, text: str) -> str:
        plain = super().name(text)
        return plain if text == text.lower() or plain != text else f'"{text}"'

    def type(self, type_: Type) -> str:
        tiny = isinstance(type_, IntegerType) and type_.bits == 8
        return "SMALLINT" if tiny else super().type(type_)

    def double(self, value: float) -> str:
        return f"CAST({super().double(value)} AS {self.name_of_double})"

    def interval(self, microseconds: int) -> str:
        return f"INTERVAL '{microseconds} microseconds'"
