-- Contract, "Language: SQL": a subquery in FROM that is a stream takes a window.
CREATE STREAM s (a INT);

CREATE QUERY of_call AS SELECT SUM(a) AS total FROM ISTREAM(SELECT a FROM s WHERE a > 1) [ROWS 2] AS y;
CREATE QUERY of_subquery AS
SELECT SUM(a) AS total FROM (SELECT ISTREAM a FROM s WHERE a > 1) [ROWS 2] AS y;
