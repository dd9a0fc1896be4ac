-- Contract, "Language: SQL": [NOT] EXISTS, [NOT] IN, subqueries in FROM, self-joins by alias.
CREATE STREAM s (a INT, b INT);
CREATE STREAM t (d INT);

CREATE QUERY in_t AS SELECT a FROM s WHERE EXISTS (SELECT 1 FROM t WHERE t.d = s.a);
CREATE QUERY not_in_t AS SELECT a FROM s WHERE NOT EXISTS (SELECT 1 FROM t WHERE t.d = s.a);
CREATE QUERY listed AS SELECT a FROM s WHERE a IN (SELECT d FROM t);
CREATE QUERY unlisted AS SELECT a FROM s WHERE a NOT IN (SELECT d FROM t);
CREATE QUERY nested AS SELECT x + 1 AS y FROM (SELECT a AS x FROM s WHERE b > 0) AS p WHERE x < 5;
CREATE QUERY pairs AS SELECT p.a, q.b FROM s AS p, s AS q WHERE p.a = q.a AND p.b < q.b;
