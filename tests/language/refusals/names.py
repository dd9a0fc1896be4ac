"""Names that stand for nothing, or for two things."""

from __future__ import annotations

NAMES: list[tuple[str, str, str, str]] = [
    # Streams.
    ("SELECT b FROM «strem»", "MP101", "unknown stream `strem`", "there is `m`, `n`"),
    ("SELECT b FROM «r2d2»", "MP101", "unknown stream `r2d2`", ""),
    ("SELECT b FROM s WHERE a IN (SELECT a FROM «tt»)", "MP101", "`tt`", ""),
    ("SELECT b FROM s, «s»", "MP104", "`s` stands twice in FROM", "`s AS s2`"),
    ("SELECT b FROM s AS x, «t AS X»", "MP104", "`X` stands twice in FROM", "`t AS t2`"),
    ("SELECT b FROM (SELECT b FROM s) AS x, «t AS x»", "MP104", "`x` stands twice in FROM", "`t"),
    ("SELECT q1.b FROM «q1»", "MP101", "unknown stream `q1`", ""),
    ("SELECT b FROM «db».s", "MP110", "names with a dot in FROM", ""),
    ("WITH x AS (SELECT b FROM s), «x» AS (SELECT a FROM s) SELECT b FROM x", "MP104", "`x`", ""),
    # Columns.
    ("SELECT «x.a» FROM s", "MP101", "the query reads no `x`", "there is `s`"),
    ("SELECT «x.*» FROM s", "MP101", "the query reads no `x`", "there is `s`"),
    ("SELECT «s.a» FROM s AS x", "MP101", "the query reads no `s`", "there is `x`"),
    ("SELECT «kid» FROM s", "MP102", "has a column `kid`", "did you mean `kind`?"),
    ("SELECT «c» FROM s", "MP102", "has a column `c`", "there is `a`, `b`"),
    ("SELECT «s.d» FROM s, t", "MP102", "`s` has no column `d`", "there is `a`, `b`"),
    ("SELECT «$1» FROM s", "MP102", "has a column `$1`", "there is `a`"),
    ("SELECT b FROM s WHERE «x» > 1", "MP102", "`x`", ""),
    ("SELECT b, COUNT(*) FROM s GROUP BY «x»", "MP102", "`x`", ""),
    ("SELECT b, COUNT(*) FROM s GROUP BY b HAVING «c» > 1", "MP102", "`c`", ""),
    ("SELECT b AS c FROM s WHERE «c» > 1", "MP102", "`c`", "SELECT's name"),
    ("SELECT «a» FROM (SELECT b FROM s) AS x", "MP102", "`a`", "there is `b`"),
    ("SELECT b FROM s [PARTITION BY «x» ROWS 2]", "MP102", "`x`", "there is `a`"),
    ("SELECT b FROM TUMBLE(TABLE s, DESCRIPTOR(«tz»), 5)", "MP102", "`tz`", "DESCRIPTOR(ts)"),
    ("SELECT «window_start» FROM s [RANGE 5]", "MP102", "window_start", "TUMBLE"),
    ("SELECT b FROM s, t WHERE «a» > 1", "MP103", "`a` is ambiguous", "write `s.a` or `t.a`"),
    ("SELECT «b» FROM s x, s y", "MP103", "`b` is ambiguous", "write `x.b` or `y.b`"),
    ("SELECT b FROM s WHERE EXISTS (SELECT 1 FROM t, r WHERE «k2» = 1)", "MP102", "`k2`", "`k`?"),
    # Functions.
    ("SELECT «CUONT»(b) FROM s", "MP131", "unknown function `CUONT`", "did you mean `COUNT`"),
    ("SELECT «lenght»(kind) FROM s", "MP131", "unknown function `lenght`", "`LENGTH`"),
    ("SELECT «frobnicate»(b) FROM s", "MP131", "unknown function `frobnicate`", ""),
    ("SELECT b FROM s WHERE ts < «NOW()»", "MP131", "`NOW`", ""),
    ("SELECT b FROM s WHERE ts < «CURRENT_TIMESTAMP»", "MP131", "`CURRENT_TIMESTAMP`", ""),
    ("SELECT «RANDOM()» FROM s", "MP131", "`RANDOM`", ""),
    ("SELECT DATE_TRUNC(«'fortnight'», at) FROM p", "MP107", "fortnight", "`DAY`"),
    # WITH.
    ("WITH x AS (SELECT «zz» FROM s) SELECT b FROM s", "MP102", "`zz`", "`a`"),
    ("WITH x AS (SELECT «zz» FROM s) SELECT b FROM x AS y, x", "MP102", "`zz`", "`a`"),
    # USING and NATURAL.
    ("SELECT s.b FROM s JOIN t USING («b»)", "MP102", "`t` has no column `b`", "`a`"),
    ("SELECT * FROM s «NATURAL JOIN r»", "MP102", "no column", "ON"),
    # Named queries.
    ("CREATE QUERY q AS SELECT a FROM s; «CREATE QUERY Q AS SELECT b FROM s»", "MP104", "`Q`", ""),
]  # fmt: skip
