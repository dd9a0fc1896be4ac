-- Contract, "Language: SQL": GROUP BY and HAVING; MEDIAN averages the middle two, VAR and STDDEV
-- are of a sample.
CREATE STREAM s (k VARCHAR, v INT, ts BIGINT) TIMESTAMP BY ts;

SELECT k, COUNT(*) AS n, SUM(v) AS total, AVG(v) AS mean, MIN(v) AS low, MAX(v) AS high
FROM s [RANGE 10]
GROUP BY k
HAVING COUNT(*) > 1;

SELECT MEDIAN(v), VAR(v), STDDEV(v), COUNT(DISTINCT v) FROM s [RANGE 10];
