-- Golab, section 1.3, query Q3: the largest a-value over an equi-join of two sliding windows.
CREATE STREAM S (a INT, b INT, ts BIGINT) WITH (time = 'ts', unit = 'second');
CREATE STREAM T (b INT, ts BIGINT) WITH (time = 'ts', unit = 'second');

SELECT MAX(a)
FROM S [RANGE 1 min], T [RANGE 1 min]
WHERE S.b = T.b;
