-- Contract, "Language: SQL": JOIN ... ON, and LEFT, RIGHT and FULL joins.
CREATE STREAM l (k INT, x INT, ts BIGINT) TIMESTAMP BY ts;
CREATE STREAM r (k INT, y INT, ts BIGINT) TIMESTAMP BY ts;

CREATE QUERY inner_join AS SELECT x, y FROM l [RANGE 10] JOIN r [RANGE 10] ON l.k = r.k;
CREATE QUERY left_join AS SELECT l.k, x, y FROM l [RANGE 10] LEFT JOIN r [RANGE 10] ON l.k = r.k;
CREATE QUERY right_join AS SELECT x, r.k, y FROM l [RANGE 10] RIGHT JOIN r [RANGE 10] ON l.k = r.k;
CREATE QUERY full_join AS
SELECT l.k, x, r.k, y FROM l [RANGE 10] FULL OUTER JOIN r [RANGE 10] ON l.k = r.k;
