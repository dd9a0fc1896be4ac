"""CREATE AGGREGATE that says too little, or something that cannot be."""

from __future__ import annotations

PAGE = "check --explain MP001"
OF = "CREATE AGGREGATE f (x DOUBLE) RETURNS DOUBLE AS 'm:F'"
MADE = f"{OF} WITH (class = 'distributive', duplicates = 'sensitive'); "

AGGREGATES: list[tuple[str, str, str, str]] = [
    # The form of it.
    ("CREATE «AGGREGATE»", "MP001", "expected the name of the aggregate after `AGGREGATE`", PAGE),
    ("CREATE AGGREGATE «f»", "MP001", "expected its argument in parentheses", "`(x DOUBLE)`"),
    ("CREATE AGGREGATE f (x DOUBLE«)»", "MP001", "expected `RETURNS` after `)`", "RETURNS DOUBLE"),
    ("CREATE AGGREGATE f (x DOUBLE) «RETURNS»", "MP001", "expected a type after `RETURNS`", PAGE),
    ("CREATE AGGREGATE f (x DOUBLE) RETURNS DOUBLE AS «m»", "MP001", "expected a text",
     "'package.module:Name'"),
    (f"{OF} «PARALLEL» safe", "MP001", "`PARALLEL` is not expected here", PAGE),
    (f"{OF} «AS» 'm:F'", "MP001", "`AS` is not expected here", PAGE),
    # Names, arguments and types.
    ("CREATE AGGREGATE «sum» (x INT) RETURNS INT AS 'm:F' WITH (class = holistic, "
     "duplicates = sensitive)", "MP112", "`sum` is a function already", "another name"),
    ("CREATE AGGREGATE «\"a b\"» (x INT) RETURNS INT AS 'm:F' WITH (class = holistic, "
     "duplicates = sensitive)", "MP112", "`a b`", "a plain word"),
    ("CREATE AGGREGATE f («double») RETURNS INT AS 'm:F' WITH (class = holistic, "
     "duplicates = sensitive)", "MP112", "`double` has no type", "`(x DOUBLE)`"),
    ("CREATE AGGREGATE f (x INT, «y INT») RETURNS INT AS 'm:F' WITH (class = holistic, "
     "duplicates = sensitive)", "MP112", "here are 2", "the one column"),
    ("CREATE AGGREGATE f («x INT» NOT NULL) RETURNS INT AS 'm:F' WITH (class = holistic, "
     "duplicates = sensitive)", "MP110", "constraints of an argument", ""),
    ("CREATE AGGREGATE f (x «ITN») RETURNS INT AS 'm:F' WITH (class = holistic, "
     "duplicates = sensitive)", "MP105", "unknown type `ITN`", "`INT`"),
    ("CREATE AGGREGATE f (x INT) RETURNS «ITN» AS 'm:F' WITH (class = holistic, "
     "duplicates = sensitive)", "MP105", "unknown type `ITN`", "`INT`"),
    # Code.
    ("CREATE AGGREGATE «f» (x INT) RETURNS INT WITH (class = holistic, duplicates = sensitive)",
     "MP112", "where its code is", "AS 'package.module:Name'"),
    ("CREATE AGGREGATE f (x INT) RETURNS INT AS «'m.F'» WITH (class = holistic, "
     "duplicates = sensitive)", "MP112", "names no module", "AS 'package.module:Name'"),
    ("CREATE AGGREGATE f (x INT) RETURNS INT «LANGUAGE java» AS 'm:F' WITH (class = holistic, "
     "duplicates = sensitive)", "MP112", "is in python", "LANGUAGE python"),
    # What verdicts go by.
    ("CREATE AGGREGATE «f» (x INT) RETURNS INT AS 'm:F' WITH (duplicates = 'sensitive')", "MP112",
     "`class`", "'holistic'"),
    ("CREATE AGGREGATE «f» (x INT) RETURNS INT AS 'm:F' WITH (class = 'holistic')", "MP112",
     "`duplicates`", "'insensitive'"),
    (f"{OF} WITH (class = «'holist'», duplicates = 'sensitive')", "MP112", "'holist'",
     "'holistic'"),
    (f"{OF} WITH (class = holistic, duplicates = «5»)", "MP112", "5", "'insensitive'"),
    (f"{OF} WITH (class = holistic, duplicates = sensitive, «unit» = 2)", "MP112", "`unit`",
     "`units`?"),
    (f"{OF} WITH (class = holistic, duplicates = sensitive, «class» = holistic)", "MP104",
     "`class`", ""),
    (f"{OF} WITH (class = holistic, duplicates = sensitive, «units» = 2)", "MP112", "holistic",
     "leave `units` out"),
    ("CREATE AGGREGATE «f» (x INT) RETURNS INT AS 'm:F' WITH (class = algebraic, "
     "duplicates = sensitive)", "MP112", "how many values", "units = 2"),
    (f"{OF} WITH (class = algebraic, duplicates = sensitive, units = «0»)", "MP112", "0",
     "from 1 on"),
    # Two of them, and calls.
    (f"{MADE}CREATE AGGREGATE «F» (x INT) RETURNS INT AS 'm:F' WITH (class = holistic, "
     "duplicates = sensitive)", "MP104", "`F` is declared twice", ""),
    (f"{MADE}SELECT «f(kind)» FROM s", "MP144", "f does not take VARCHAR", "f takes DOUBLE"),
    (f"{MADE}SELECT «f(*)» FROM s", "MP144", "f does not take `*`", "f takes one argument"),
    (f"{MADE}SELECT a FROM s WHERE «f(a)» > 1", "MP132", "in WHERE", "HAVING"),
    ("CREATE AGGREGATE geomean (x INT) RETURNS INT AS 'm:F' WITH (class = holistic, "
     "duplicates = sensitive); SELECT «geomaen»(a) FROM s", "MP131", "`geomaen`", "`geomean`?"),
]  # fmt: skip
