"""Aggregate queries over columns of every type, and rows for them."""

from __future__ import annotations

import random
from collections.abc import Iterable
from decimal import Decimal
from itertools import pairwise

from millpond.plan import Query, Script
from millpond.program import Batch, laws
from millpond.program.grouping import GroupedProgram
from millpond.program.lowered import Lowered
from millpond.run import Arrivals, DefinitionRun
from millpond.schema import Column, Kind, Row, Value

Change = tuple[int, Row, int]

DDL = """
CREATE STREAM s (
    k VARCHAR CHECK (k IN ('x', 'y', 'zz')), f BOOLEAN,
    p DECIMAL(8, 2) CHECK (p BETWEEN 0.00 AND 0.05),
    q DECIMAL(20, 3), w DOUBLE, d DATE CHECK (d BETWEEN DATE '2020-01-01' AND DATE '2020-01-04'),
    dd DATE, ts TIMESTAMP, n BIGINT, m INT CHECK (m IN (1, 3, 7)), v VARCHAR
);
CREATE STREAM t (
    k VARCHAR CHECK (k IN ('x', 'y')), w DOUBLE, n BIGINT, m INT CHECK (m BETWEEN 0 AND 5),
    p DECIMAL(8, 2) CHECK (p BETWEEN 0.00 AND 0.05), q DECIMAL(20, 3)
);
"""

ONE_STREAM = (
    "k, COUNT(*), SUM(q), AVG(q), MIN(q), MAX(q) FROM s GROUP BY k",
    "f, SUM(w), AVG(w), MIN(w), MAX(w) FROM s GROUP BY f",
    "p, VAR(w), STDDEV(q), COUNT(v) FROM s GROUP BY p",
    "d, MIN(dd), MAX(ts), MIN(f), BOOL_AND(f), BOOL_OR(f), COUNT(DISTINCT k) FROM s GROUP BY d",
    "m, MEDIAN(p), COUNT(DISTINCT p), SUM(DISTINCT p), AVG(DISTINCT p), VAR(DISTINCT p) "
    "FROM s GROUP BY m",
    "m, k, SUM(n), VAR_POP(n), STDDEV_POP(n) FROM s GROUP BY m, k",
    "k, v, COUNT(*) FROM s WHERE v IN ('a', 'x') GROUP BY k, v",
    "SUM(m), AVG(m), VAR(m), MEDIAN(m) FROM s WHERE m = 3",
)
JOINED = (
    "s.k, SUM(s.w), COUNT(*), AVG(t.w) FROM s, t WHERE s.k = t.k GROUP BY s.k",
    "s.k, SUM(s.q), MAX(s.w), MIN(t.n) FROM s, t WHERE s.k = t.k AND s.p = t.p GROUP BY s.k",
    "s.m, t.m, SUM(s.n), VAR(t.n) FROM s, t WHERE s.m >= t.m GROUP BY s.m, t.m",
    "MAX(s.w) FROM s, t WHERE s.w > t.w",
    "MIN(s.q) FROM s, t WHERE s.q < t.q",
    "s.k, MEDIAN(s.m), COUNT(DISTINCT t.p), SUM(DISTINCT s.m) FROM s, t "
    "WHERE s.k = t.k GROUP BY s.k",
    "COUNT(*) FROM s, s AS r WHERE s.k = r.k",
)
COMPUTED = (
    "n % 3, COUNT(*) FROM s GROUP BY n % 3",
    "m + 1, COUNT(*) FROM s GROUP BY m + 1",
    "m, SUM(n + 1), SUM(w * 2), COUNT(*) FILTER (WHERE w > 0), SUM(q) FILTER (WHERE f) "
    "FROM s GROUP BY m",
    "m, COUNT(DISTINCT k) FILTER (WHERE w > 0), MEDIAN(p) FILTER (WHERE f) FROM s GROUP BY m",
    "m, COUNT(DISTINCT m % 2), MEDIAN(m + 1) FROM s GROUP BY m",
    "s.k, SUM(3), COUNT(*) FILTER (WHERE s.f), MEDIAN(s.m) FILTER (WHERE s.f), "
    "COUNT(DISTINCT t.m) FILTER (WHERE t.w > 0) FROM s, t WHERE s.k = t.k GROUP BY s.k",
    "k, SUM(1), COUNT(1), MAX(2), AVG(3), COUNT(NULL), SUM(NULL), MIN('a') FROM s GROUP BY k",
    "COUNT(DISTINCT 3), MEDIAN(2.5), AVG(1.5e0), SUM(5) FILTER (WHERE f) FROM s",
)
SEVERAL = (
    "k, COUNT(*), SUM(n), MEDIAN(m) FROM s WHERE m = 1 OR f GROUP BY k",
    "COUNT(*), MAX(q) FROM s WHERE m <> 3 OR k = 'x'",
    "f, AVG(m), VAR(m) FROM s WHERE k = 'x' OR m = 1 GROUP BY f",
    "x, SUM(y), COUNT(DISTINCT x) "
    "FROM (SELECT m AS x, n AS y FROM s UNION ALL SELECT m, n FROM t) AS u GROUP BY x",
    "k, x, COUNT(*) FROM (SELECT k, 1 AS x FROM s UNION ALL SELECT k, 2 FROM t) AS u GROUP BY k, x",
    "s.k, COUNT(*), SUM(t.n) FROM s, t WHERE s.k = t.k AND (s.m < t.m OR s.p = t.p) GROUP BY s.k",
)
BEST = (
    "MAX(s.q) FROM s, t WHERE s.q > t.p",
    "MAX(s.n), MIN(t.w) FROM s, t WHERE s.n > t.w",
    "MIN(s.m), MAX(t.q) FROM s, t WHERE s.m < t.q",
    "MIN(s.v) FROM s, t WHERE s.v < t.k",
    "s.f, MIN(s.n) FROM s, t WHERE s.n < t.n AND t.n <= 3 GROUP BY s.f",
    "MIN(s.n) FROM s, t WHERE s.n < t.n AND t.n >= 3 AND t.m < 4",
)
TOGETHER = (
    "SUM(s.m * t.m), MAX(s.m * t.m), COUNT(*) FILTER (WHERE s.m > t.m), AVG(s.p * t.m), "
    "MIN(CASE WHEN s.m > t.m THEN s.m END) FROM s, t WHERE s.k = t.k",
    "s.k, COUNT(*), SUM(s.n) FROM s, t WHERE s.k || t.k = 'xx' GROUP BY s.k",
)
ODD = (
    "s.k, MIN(t.m), COUNT(*) FROM s, t WHERE s.k = t.k AND t.m IS NULL GROUP BY s.k",
    "w, COUNT(*) FROM s WHERE w IN (0.1, 1.5, 3.14) OR w = 2 GROUP BY w",
    "MEDIAN(w) FROM s WHERE w IN (0.1, 1.5, 3.14)",
)
TEXTS = (
    "MIN(v), MAX(v), COUNT(v) FROM s",
    "s.m, MIN(s.v), MAX(t.k), COUNT(s.v) FROM s, t WHERE s.m = t.m GROUP BY s.m",
)
ABOVE = (
    "COUNT(*) FROM s HAVING COUNT(*) > 3",
    "m FROM s GROUP BY m HAVING SUM(n) > 100 AND MIN(w) < 0",
    "k, CASE WHEN COUNT(*) > 2 THEN 'many' ELSE 'few' END FROM s GROUP BY k",
    "DISTINCT COUNT(*) > 2 FROM s GROUP BY k",
    "COUNT(*) + 1, m * 2 FROM s GROUP BY m",
    "k FROM s GROUP BY k",
    "COUNT(*) FROM s GROUP BY k",
    "COUNT(*), SUM(n) FROM s WHERE 1 = 0",
    "k, COUNT(*) FROM s WHERE 1 = 0 GROUP BY k",
    "COUNT(*) FROM s HAVING 1 = 0",
)
FORMS = (*ONE_STREAM, *JOINED, *COMPUTED, *SEVERAL, *BEST, *TOGETHER, *ODD, *TEXTS, *ABOVE)

_DAY, _MOMENT = 18_262, 1_577_836_800_000_000
_DOUBLES = (0.0, -0.0, 1.5, -2.25, 1e20, -1e20, 0.1, 3.14, 1e-300)


def random_rows(rng: random.Random, script: Script, size: int) -> Arrivals:
    """Rows of the query's streams, an instant each, inside what the columns allow."""
    arrivals = Arrivals(script.catalog)
    for at in range(1, size + 1):
        stream = rng.choice(script.queries[0].streams)
        arrivals.add(stream.name, tuple(_value(rng, each) for each in stream.columns), at)
    return arrivals


def _value(rng: random.Random, column: Column) -> Value:
    if column.nullable and rng.random() < 0.1:
        return None
    while True:
        value = _any(rng, column)
        if column.check.admits(value):
            return value


def _any(rng: random.Random, column: Column) -> Value:
    match column.type.kind:
        case Kind.VARCHAR:
            return rng.choice(("x", "y", "zz", "a", "", "é"))
        case Kind.BOOLEAN:
            return rng.random() < 0.5
        case Kind.DECIMAL:
            digits = rng.choice((rng.randint(0, 6), rng.randint(-(10**9), 10**9)))
            return Decimal(digits).scaleb(-getattr(column.type, "scale", 0))
        case Kind.DOUBLE:
            return rng.choice((*_DOUBLES, rng.uniform(-5, 5)))
        case Kind.DATE:
            return _DAY + rng.randint(-1, 6)
        case Kind.TIMESTAMP:
            return _MOMENT + rng.randint(0, 3)
    wide = column.type.name == "BIGINT" and rng.random() < 0.5
    return rng.randint(-(2**62), 2**62) if wide else rng.randint(0, 8)


def by_definition(query: Query, arrivals: Arrivals) -> list[Change]:
    """The changes by running the plan from scratch after every instant, in order."""
    run = DefinitionRun(query)
    names = {each.name for each in query.streams}
    return ordered(
        (at, changed, n)
        for stream, row, at in arrivals
        if stream in names
        for changed, n in run.instant([(stream or "", row)])
    )


def ordered(changes: Iterable[Change]) -> list[Change]:
    """Changes in the order of the contract."""
    return sorted(
        changes, key=lambda each: (each[0], each[2] > 0, [(v is not None, v) for v in each[1]])
    )


def keeps_its_laws(
    program: GroupedProgram,
    lowerings: tuple[Lowered, ...],
    batch: Batch,
    cuts: list[int],
    expected: list[Change],
) -> None:
    """Every lowering gives the changes expected, whatever the chunks, and holds the same state."""
    for each in lowerings:
        assert ordered(laws.run(each, batch, cuts)) == expected, each
        laws.all_laws(each, batch, cuts)
    for one, other in pairwise(lowerings):
        laws.lowerings_agree(one, other, batch, cuts)
