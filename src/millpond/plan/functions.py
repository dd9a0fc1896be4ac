"""The scalar and the aggregate functions of the language: names, types taken and given, meaning.

One table for everything: the binder asks it for a type, running by definition for a value, and
printers for a spelling.  A name that Spark, Flink, Postgres or DuckDB has for a function finds it
where it means the same there; the function's own name is the one in `name`.  Signs are functions,
`-` of one argument among them.
"""

from __future__ import annotations

from millpond.plan.aggregates import AGGREGATES, Grouped
from millpond.plan.conversion import (
    EvaluationError,
    cast_allowed,
    common_type,
    comparable,
    convert,
    converter,
    converts,
    fits,
    text_of,
)
from millpond.plan.functions_choice import CHOICES
from millpond.plan.functions_numbers import NUMBERS, SIGNS
from millpond.plan.functions_refused import REFUSED_FUNCTIONS
from millpond.plan.functions_text import TEXTS
from millpond.plan.functions_times import TIMES
from millpond.plan.signature import Scalar, Signature

__all__ = [
    "AGGREGATES",
    "REFUSED_FUNCTIONS",
    "SCALARS",
    "EvaluationError",
    "Grouped",
    "Scalar",
    "Signature",
    "cast_allowed",
    "common_type",
    "comparable",
    "convert",
    "converter",
    "converts",
    "fits",
    "text_of",
]

_ALIASES = {
    "MOD": "%",
    "CEILING": "CEIL",
    "POW": "POWER",
    "TRUNCATE": "TRUNC",
    "SIGNUM": "SIGN",
    "LCASE": "LOWER",
    "UCASE": "UPPER",
    "LEN": "LENGTH",
    "CHAR_LENGTH": "LENGTH",
    "CHARACTER_LENGTH": "LENGTH",
    "SUBSTR": "SUBSTRING",
    "MID": "SUBSTRING",
    "STARTSWITH": "STARTS_WITH",
    "PREFIX": "STARTS_WITH",
    "ENDSWITH": "ENDS_WITH",
    "SUFFIX": "ENDS_WITH",
    "INSTR": "STRPOS",
    "LOCATE": "POSITION",
    "CHARINDEX": "POSITION",
    "BTRIM": "TRIM",
    "IFNULL": "COALESCE",
    "NVL": "COALESCE",
    "IFF": "IF",
    "DAYOFMONTH": "DAY",
    "DOY": "DAYOFYEAR",
    "DOW": "DAYOFWEEK",
    "DAYOFWEEK_ISO": "ISODOW",
    "WEEKOFYEAR": "WEEK",
    "MILLISECONDS": "MILLISECOND",
    "MICROSECONDS": "MICROSECOND",
    "DATETRUNC": "DATE_TRUNC",
}

SCALARS: dict[str, Scalar] = {
    each.name: each for each in (*SIGNS, *NUMBERS, *TEXTS, *TIMES, *CHOICES)
}
"""By every name, in upper case."""
SCALARS |= {alias: SCALARS[name] for alias, name in _ALIASES.items()}
