"""Declarations, and statements that are right after them: what mutations start from."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]

DECLARED = """
CREATE STREAM s (a INT, b BIGINT, kind VARCHAR CHECK (kind IN ('x', 'y')), ts BIGINT,
                 WATERMARK FOR ts AS ts - 2);
CREATE STREAM t (d BIGINT CHECK (d BETWEEN 0 AND 9), e BIGINT, ts BIGINT) WITH (time = 'ts');
CREATE FINITE STREAM f (a INT, ts BIGINT) WITH (time = 'ts', until = 100);
CREATE STREAM p (b INT NOT NULL, ok BOOLEAN, c ENUM('x', 'y'), at TIMESTAMP, TIMESTAMP BY at);
CREATE STREAM u (a INT, e DOUBLE, m DECIMAL(9, 2), day DATE);
CREATE STREAM w (k TINYINT, v INT CHECK (v > 0 AND v <= 9));
CREATE TABLE r (k INT, name VARCHAR);
CREATE TABLE n (k INT, name VARCHAR) WITH (retroactive = false);
CREATE STATIC TABLE c (k INT, name VARCHAR(20));
"""

QUERIES = (
    "SELECT a, b + 1 AS c FROM s WHERE a > 10 AND NOT kind = 'x' OR b IS NULL",
    "SELECT DISTINCT s.a FROM s, t WHERE s.b < t.d AND s.a BETWEEN 1 AND 9",
    "SELECT kind, COUNT(*), SUM(a) AS total FROM s [RANGE 10] GROUP BY kind HAVING COUNT(*) > 2",
    "SELECT x.a, y.b FROM s [RANGE 10 SLIDE 2] AS x JOIN s [RANGE 10 SLIDE 2] y ON x.a = y.a",
    "SELECT a FROM s [PARTITION BY kind ROWS 5 SLIDE 2]",
    "SELECT a FROM s [NOW] UNION ALL SELECT d FROM t [UNBOUNDED]",
    "SELECT b FROM p [RANGE 1 min] UNION SELECT b FROM p [RANGE INTERVAL '1' HOUR]",
    "SELECT b FROM p [WINDOW 10 min SLIDE 2 min] WHERE c IN ('x', 'y') AND ok",
    "SELECT a FROM s EXCEPT ALL SELECT d FROM t",
    "SELECT a FROM s [ROWS 3] INTERSECT SELECT d FROM t [ROWS 3]",
    "SELECT s.a, r.name FROM s LEFT JOIN r ON s.a = r.k AND r.name LIKE 'm%'",
    "SELECT s.a, n.name FROM s, n WHERE s.a = n.k",
    "SELECT a FROM s [RANGE 5] WHERE NOT EXISTS (SELECT 1 FROM t [RANGE 5] WHERE t.d = s.a)",
    "SELECT a FROM s WHERE a NOT IN (SELECT d FROM t WHERE e > 1)",
    "SELECT x.total FROM (SELECT SUM(a) AS total FROM s GROUP BY kind) AS x WHERE x.total > 5",
    "SELECT ISTREAM a, b FROM s [RANGE 5]",
    "ISTREAM(SELECT a FROM s [RANGE 5])",
    "SELECT Rstream(*) FROM s [RANGE 5 SLIDE 5]",
    "SELECT ISTREAM_RESTORE a FROM s [RANGE 5 SLIDE 2]",
    "SELECT WSTREAM(*) [ROWS 10] FROM s [RANGE 5], t [RANGE 5] WHERE s.a = t.d",
    "SELECT SUM(Wstream(SUM(a)) [ROWS 10]) FROM s [RANGE 6 SLIDE 6]",
    "SELECT SUM(x.n) FROM (SELECT SUM(a) AS n FROM s [RANGE 6 SLIDE 6 INTERNAL]) [ROWS 10] AS x",
    "SELECT window_start, COUNT(*) FROM TUMBLE(TABLE s, DESCRIPTOR(ts), 10) "
    "GROUP BY window_start, window_end EMIT ON WINDOW CLOSE",
    "SELECT a, window_end FROM HOP(TABLE p, DESCRIPTOR(at), INTERVAL '1' MINUTE, "
    "INTERVAL '5' MINUTE) EMIT CHANGES".replace("a, window", "b, window"),
    "SELECT kind, COUNT(*) FROM SESSION(TABLE s PARTITION BY kind, DESCRIPTOR(ts), 5) "
    "GROUP BY kind, window_start, window_end",
    "CREATE QUERY late AS SELECT CASE WHEN a > 1 THEN 'x' ELSE 'y' END FROM s",
    "CREATE MATERIALIZED VIEW v AS SELECT COUNT(DISTINCT a) FILTER (WHERE b > 1) AS n FROM s",
    "WITH x AS (SELECT a FROM s) SELECT x.a FROM x, f WHERE x.a = f.a",
    "SELECT CAST(e AS INT), m * 2, COALESCE(a, 0) FROM u WHERE day > DATE '2026-01-31'",
    "SELECT k, v FROM w WHERE v <> 5",
)
"""Of every form of the language one at least."""


def files() -> list[Path]:
    """The statements of the examples, of the contract and of the literature, as files."""
    folders = (ROOT / "examples", ROOT / "tests" / "language")
    return sorted(each for folder in folders for each in folder.rglob("*.sql"))
