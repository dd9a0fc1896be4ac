-- Contract, "Language: SQL": SELECT [DISTINCT] ... WHERE, with three-valued logic.
CREATE STREAM s (a INT, b BIGINT, c VARCHAR);

SELECT a + b, a / b AS ratio, -a AS minus FROM s WHERE a BETWEEN 1 AND 9 OR c LIKE 'x%';
SELECT DISTINCT c FROM s WHERE c IN ('x', 'xy') AND NOT a IS NULL;
SELECT CASE WHEN a > b THEN 'more' ELSE 'less' END AS what, COALESCE(c, 'none') FROM s;
