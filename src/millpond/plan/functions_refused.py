"""Functions that other engines have and a continuous query cannot: each with what to write.

An answer is a function of the rows read (Golab, Definition 3.1), so that nothing may look at the
clock of the machine, draw at random, or depend on an order that a bag does not have.
"""

from __future__ import annotations

_CLOCK = "an answer depends on the rows alone: compare with the time column, or use [RANGE ...]"
_RANDOM = "an answer depends on the rows alone: send the random value as a column"
_ORDER = "the rows of an answer have no order: use a window such as [PARTITION BY k ROWS 1]"
_RANKED = "the rows of an answer have no order: MIN, MAX and MEDIAN need none"
_APPROXIMATE = "answers are exact: use COUNT(DISTINCT x)"
_QUANTILE = "of the quantiles there is MEDIAN(x)"
_COLLECTED = "a value is not a collection: return the rows themselves"
_SPAN = "subtract: `ts1 - ts2` is an INTERVAL, of two DATEs the number of days"
_SHIFT = "add or subtract an INTERVAL: `ts + INTERVAL '5' MINUTE`"
_PART = "write EXTRACT(part FROM ts), or YEAR(ts), HOUR(ts), ..."
_CONDITIONAL = "write COUNT(*) FILTER (WHERE condition)"
_MATCH = "write LIKE with % and _, STARTS_WITH, ENDS_WITH or CONTAINS"
_WINDOWS = "write FROM {0}(TABLE s, DESCRIPTOR(ts), ...); windows are not grouped by a function"

_BY_REASON: dict[str, tuple[str, ...]] = {
    _CLOCK: (
        "NOW", "CURRENT_TIMESTAMP", "CURRENT_DATE", "CURRENT_TIME", "LOCALTIME", "LOCALTIMESTAMP",
        "TODAY", "GETDATE", "SYSDATE", "UNIX_TIMESTAMP", "CURRENT_TIMEZONE", "PROCTIME",
        "CURRENT_ROW_TIMESTAMP", "CLOCK_TIMESTAMP", "STATEMENT_TIMESTAMP", "TRANSACTION_TIMESTAMP",
        "CURRENT_WATERMARK", "MZ_NOW",
    ),
    _RANDOM: ("RANDOM", "RAND", "RANDN", "RAND_INTEGER", "UUID", "GEN_RANDOM_UUID", "SHUFFLE",
              "MONOTONICALLY_INCREASING_ID"),
    _ORDER: (
        "ROW_NUMBER", "LAG", "LEAD", "FIRST", "LAST", "FIRST_VALUE", "LAST_VALUE", "NTH_VALUE",
        "ANY_VALUE", "ARBITRARY", "ARG_MAX", "ARG_MIN", "ARGMAX", "ARGMIN", "MAX_BY", "MIN_BY",
    ),
    _RANKED: ("RANK", "DENSE_RANK", "PERCENT_RANK", "CUME_DIST", "NTILE", "MODE"),
    _APPROXIMATE: ("APPROX_COUNT_DISTINCT", "APPROX_DISTINCT", "HLL_COUNT_DISTINCT"),
    _QUANTILE: (
        "QUANTILE", "QUANTILE_CONT", "QUANTILE_DISC", "PERCENTILE", "PERCENTILE_CONT",
        "PERCENTILE_DISC", "APPROX_PERCENTILE", "PERCENTILE_APPROX", "APPROX_QUANTILE",
    ),
    _COLLECTED: (
        "ARRAY_AGG", "LIST", "COLLECT_LIST", "COLLECT_SET", "COLLECT", "STRING_AGG", "LISTAGG",
        "GROUP_CONCAT", "JSON_AGG", "JSONB_AGG", "EXPLODE", "UNNEST", "STRUCT", "ARRAY", "MAP",
    ),
    _SPAN: ("DATEDIFF", "DATE_DIFF", "TIMESTAMPDIFF", "TIMESTAMP_DIFF", "MONTHS_BETWEEN", "AGE"),
    _SHIFT: ("DATE_ADD", "DATE_SUB", "DATEADD", "TIMESTAMPADD", "ADD_MONTHS"),
    _PART: ("DATE_PART", "DATEPART", "DATE_FORMAT", "STRFTIME", "TO_CHAR"),
    _CONDITIONAL: ("COUNT_IF", "COUNTIF"),
    _MATCH: ("REGEXP", "RLIKE", "REGEXP_LIKE", "REGEXP_MATCHES", "SIMILAR_TO", "REGEXP_EXTRACT",
             "REGEXP_REPLACE"),
}  # fmt: skip

REFUSED_FUNCTIONS: dict[str, str] = {
    name: reason for reason, names in _BY_REASON.items() for name in names
}
"""What to write instead, by name in upper case."""

REFUSED_FUNCTIONS |= {name: _WINDOWS.format(name) for name in ("TUMBLE", "HOP", "SESSION")} | {
    "WINDOW": _WINDOWS.format("TUMBLE"),
    "SESSION_WINDOW": _WINDOWS.format("SESSION"),
    "TUMBLE_START": "select window_start",
    "TUMBLE_END": "select window_end",
    "HOP_START": "select window_start",
    "HOP_END": "select window_end",
    "SESSION_START": "select window_start",
    "SESSION_END": "select window_end",
    "TRY_CAST": "write CAST: a value that does not fit is an error",
}
