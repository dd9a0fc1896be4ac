-- q1: once, before any input (∅)

-- s: at most 1 row, 1 unit
CREATE TABLE q1_s (b BIGINT);

-- t: at most 1 row, 1 unit
CREATE TABLE q1_t (d BIGINT);

-- the rows given so far: at most 1 row, 1 unit
CREATE TABLE q1_given (a INT);

-- q1: for each batch, whose rows stand in s_batch, t_batch (Δ)

-- Δ s: filters and clamps, then a row a bucket
CREATE OR REPLACE TEMPORARY VIEW q1_s_new AS
WITH kept AS (
  SELECT b
  FROM s_batch
  WHERE b IS NOT NULL
    AND a = 10
)
SELECT MIN(b) AS b
FROM kept
HAVING COUNT(*) > 0;

-- Δ t: filters and clamps, then a row a bucket
CREATE OR REPLACE TEMPORARY VIEW q1_t_new AS
WITH kept AS (
  SELECT d
  FROM t_batch
  WHERE d IS NOT NULL
)
SELECT MAX(d) AS d
FROM kept
HAVING COUNT(*) > 0;

-- what the batch adds: Δ of each input, joined with those before it as they are
-- after the batch, and with those behind it as they were; of that, what was not given yet
DROP TABLE IF EXISTS q1_changes;
CREATE TABLE q1_changes AS
WITH s_after AS (
  SELECT * FROM q1_s
  UNION ALL
  SELECT * FROM q1_s_new
),
made AS (
  SELECT 10 AS a
  FROM q1_s_new AS s, q1_t AS t
  WHERE s.b < t.d
  UNION ALL
  SELECT 10 AS a
  FROM s_after AS s, q1_t_new AS t
  WHERE s.b < t.d
),
fresh AS (
  SELECT a FROM made
  EXCEPT
  SELECT a FROM q1_given
)
SELECT a, 1 AS n
FROM fresh;

-- s and Δ s, merged
CREATE TABLE q1_s_next AS
SELECT MIN(b) AS b
FROM (
  SELECT * FROM q1_s
  UNION ALL
  SELECT * FROM q1_s_new
) AS parts
HAVING COUNT(*) > 0;
DROP TABLE q1_s;
ALTER TABLE q1_s_next RENAME TO q1_s;

-- t and Δ t, merged
CREATE TABLE q1_t_next AS
SELECT MAX(d) AS d
FROM (
  SELECT * FROM q1_t
  UNION ALL
  SELECT * FROM q1_t_new
) AS parts
HAVING COUNT(*) > 0;
DROP TABLE q1_t;
ALTER TABLE q1_t_next RENAME TO q1_t;

-- rows are given once
INSERT INTO q1_given
SELECT a
FROM q1_changes;

-- q1: the answer (Γ)

SELECT a
FROM q1_given;
