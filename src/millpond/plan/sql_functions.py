"""The scalar functions of the language in the words of other engines.

A pattern is found by the function's name, with `/` and the number of arguments where that matters,
or, for signs, with the kinds of its arguments.  `{0}`, `{1}` stand for the arguments, `{all}` for
all of them.  A function that is not here has no word there that means the same.  Times are in UTC:
so has the engine's session to be.
"""

from __future__ import annotations

AS_IS = ("COALESCE", "GREATEST", "LEAST", "IF", "NVL2", "NULLIF", "ABS")
"""Functions whose results have the type of their arguments everywhere."""

_SAME = (
    "ABS", "SIGN", "FLOOR", "CEIL", "SQRT", "EXP", "LN", "LOG10", "POWER", "GREATEST", "LEAST",
    "COALESCE", "NULLIF", "LOWER", "UPPER", "LENGTH", "REVERSE", "REPLACE",
)  # fmt: skip
_COMMON = {
    **{name: f"{name}({{all}})" for name in _SAME},
    "IF/2": "CASE WHEN {0} THEN {1} END",
    "IF/3": "CASE WHEN {0} THEN {1} ELSE {2} END",
    "NVL2": "CASE WHEN ({0}) IS NOT NULL THEN {1} ELSE {2} END",
    "LOG": "LN({1}) / LN({0})",
    "LOG2": "LN({0}) / LN(2)",
    "TRUNC/1": "CASE WHEN ({0}) < 0 THEN CEIL({0}) ELSE FLOOR({0}) END",
    "+ DATE INTEGER": "{0} + CAST({1} AS INTEGER)",
    "+ INTEGER DATE": "{1} + CAST({0} AS INTEGER)",
    "- DATE INTEGER": "{0} - CAST({1} AS INTEGER)",
}

DUCKDB = {
    **_COMMON,
    **{
        name: f"{name}({{all}})"
        for name in (
            "ROUND", "LOG2", "SUBSTRING", "LEFT", "RIGHT", "TRIM", "LTRIM", "RTRIM", "CONCAT",
            "STARTS_WITH", "ENDS_WITH", "CONTAINS", "STRPOS", "YEAR", "QUARTER", "MONTH", "WEEK",
            "DAY", "DAYOFYEAR", "DAYOFWEEK", "ISODOW", "HOUR", "MINUTE", "SECOND", "MILLISECOND",
            "MICROSECOND", "EPOCH", "DATE_TRUNC",
        )
    },
    "POSITION": "STRPOS({1}, {0})",
}  # fmt: skip

SPARK = {
    **_COMMON,
    **{
        name: f"{name}({{all}})"
        for name in (
            "ROUND", "LOG2", "SUBSTRING", "CONTAINS", "YEAR", "QUARTER", "MONTH", "DAY",
            "DAYOFYEAR", "HOUR", "MINUTE", "SECOND", "DATE_TRUNC",
        )
    },
    "+ DATE INTEGER": "DATE_ADD({0}, CAST({1} AS INT))",
    "+ INTEGER DATE": "DATE_ADD({1}, CAST({0} AS INT))",
    "- DATE INTEGER": "DATE_SUB({0}, CAST({1} AS INT))",
    "- DATE DATE": "CAST(DATEDIFF({0}, {1}) AS BIGINT)",
    "LEFT": "CASE WHEN ({1}) < 0 THEN SUBSTRING({0}, 1, GREATEST(LENGTH({0}) + ({1}), 0)) "
    "ELSE LEFT({0}, {1}) END",
    "RIGHT": "CASE WHEN ({1}) < 0 THEN SUBSTRING({0}, 1 - ({1})) ELSE RIGHT({0}, {1}) END",
    "TRIM/1": "TRIM({0})",
    "TRIM/2": "TRIM(BOTH {1} FROM {0})",
    "LTRIM/1": "LTRIM({0})",
    "LTRIM/2": "TRIM(LEADING {1} FROM {0})",
    "RTRIM/1": "RTRIM({0})",
    "RTRIM/2": "TRIM(TRAILING {1} FROM {0})",
    "CONCAT": "CONCAT_WS('', {all})",
    "STARTS_WITH": "STARTSWITH({all})",
    "ENDS_WITH": "ENDSWITH({all})",
    "STRPOS": "LOCATE({1}, {0})",
    "POSITION": "LOCATE({0}, {1})",
    "WEEK": "WEEKOFYEAR({0})",
    "DAYOFWEEK": "DAYOFWEEK({0}) - 1",
    "ISODOW": "WEEKDAY({0}) + 1",
    "MILLISECOND": "FLOOR(EXTRACT(SECOND FROM {0}) * 1000)",
    "MICROSECOND": "EXTRACT(SECOND FROM {0}) * 1000000",
    "EPOCH": "CAST({0} AS DOUBLE)",
}  # fmt: skip


def _extracted(part: str) -> str:
    return f"FLOOR(EXTRACT({part} FROM {{0}}))"


POSTGRES = {
    **_COMMON,
    **{
        name: f"{name}({{all}})"
        for name in (
            "SUBSTRING", "LEFT", "RIGHT", "LTRIM", "RTRIM", "CONCAT", "STARTS_WITH", "STRPOS",
            "DATE_TRUNC",
        )
    },
    "ROUND": "ROUND(CAST({0} AS NUMERIC))",
    "ROUND/2": "ROUND(CAST({0} AS NUMERIC), CAST({1} AS INTEGER))",
    "TRUNC/2": "TRUNC(CAST({0} AS NUMERIC), CAST({1} AS INTEGER))",
    "TRIM": "BTRIM({all})",
    "ENDS_WITH": "RIGHT({0}, LENGTH({1})) = {1}",
    "CONTAINS": "STRPOS({0}, {1}) > 0",
    "POSITION": "STRPOS({1}, {0})",
    "DAYOFYEAR": _extracted("DOY"),
    "DAYOFWEEK": _extracted("DOW"),
    "MILLISECOND": _extracted("MILLISECONDS"),
    "MICROSECOND": _extracted("MICROSECONDS"),
    "EPOCH": "EXTRACT(EPOCH FROM {0})",
    **{
        part: _extracted(part)
        for part in ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "ISODOW", "HOUR", "MINUTE",
                     "SECOND")
    },
}  # fmt: skip
