-- q1: once, before any input (∅)

-- s: at most 9 rows, 9 units
CREATE TABLE q1_s (a BIGINT, n BIGINT);

-- t: at most 9 rows, 9 units
CREATE TABLE q1_t (d BIGINT, n BIGINT);

-- q1: for each batch, whose rows stand in s_batch, t_batch (Δ)

-- Δ s: filters and clamps, then a row a bucket
CREATE OR REPLACE TEMPORARY VIEW q1_s_new AS
WITH kept AS (
  SELECT a, 1 AS n
  FROM s_batch
  WHERE a >= 11
    AND a <= 19
)
SELECT a, SUM(n) AS n
FROM kept
GROUP BY a;

-- Δ t: filters and clamps, then a row a bucket
CREATE OR REPLACE TEMPORARY VIEW q1_t_new AS
WITH kept AS (
  SELECT d, 1 AS n
  FROM t_batch
  WHERE d >= 11
    AND d <= 19
)
SELECT d, SUM(n) AS n
FROM kept
GROUP BY d;

-- what the batch adds: Δ of each input, joined with those before it as they are
-- after the batch, and with those behind it as they were
DROP TABLE IF EXISTS q1_changes;
CREATE TABLE q1_changes AS
WITH s_after AS (
  SELECT * FROM q1_s
  UNION ALL
  SELECT * FROM q1_s_new
),
made AS (
  SELECT s.a AS a, s.n * t.n AS n
  FROM q1_s_new AS s, q1_t AS t
  WHERE s.a = t.d
  UNION ALL
  SELECT s.a AS a, s.n * t.n AS n
  FROM s_after AS s, q1_t_new AS t
  WHERE s.a = t.d
)
SELECT a, SUM(n) AS n
FROM made
GROUP BY a;

-- s and Δ s, merged
CREATE TABLE q1_s_next AS
SELECT a, SUM(n) AS n
FROM (
  SELECT * FROM q1_s
  UNION ALL
  SELECT * FROM q1_s_new
) AS parts
GROUP BY a;
DROP TABLE q1_s;
ALTER TABLE q1_s_next RENAME TO q1_s;

-- t and Δ t, merged
CREATE TABLE q1_t_next AS
SELECT d, SUM(n) AS n
FROM (
  SELECT * FROM q1_t
  UNION ALL
  SELECT * FROM q1_t_new
) AS parts
GROUP BY d;
DROP TABLE q1_t;
ALTER TABLE q1_t_next RENAME TO q1_t;

-- q1: the answer (Γ)

WITH made AS (
  SELECT s.a AS a, s.n * t.n AS n
  FROM q1_s AS s, q1_t AS t
  WHERE s.a = t.d
)
SELECT a, SUM(n) AS n
FROM made
GROUP BY a;
