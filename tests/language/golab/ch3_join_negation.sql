-- Golab, section 3.5.1, the query of Figure 3.5: a join and a negation. The thesis leaves the
-- window sizes out for clarity; here they are a minute each.
CREATE STREAM S1 (a INT, b INT, ts BIGINT) WITH (time = 'ts', unit = 'second');
CREATE STREAM S2 (a INT, c INT, ts BIGINT) WITH (time = 'ts', unit = 'second');
CREATE STREAM S3 (a INT, ts BIGINT) WITH (time = 'ts', unit = 'second');

SELECT Rstream(*)
FROM S1 [RANGE 1 min], S2 [RANGE 1 min]
WHERE S1.a = S2.a
AND NOT EXISTS (
    SELECT Rstream(*)
    FROM S3 [RANGE 1 min]
    WHERE S3.a = S1.a);
