-- Golab, section 2.1.3: a join of two time-based windows of one minute each; Rstream gives the
-- whole relation at every instant.
CREATE STREAM S1 (a INT, b INT, ts BIGINT) WITH (time = 'ts', unit = 'second');
CREATE STREAM S2 (a INT, c INT, ts BIGINT) WITH (time = 'ts', unit = 'second');

SELECT Rstream(*)
FROM S1 [RANGE 1 min], S2 [RANGE 1 min]
WHERE S1.a = S2.a;
