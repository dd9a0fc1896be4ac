-- Golab, section 3.3.2 and Figure 3.3: a join of three internal windows; new S3-tuples must not
-- meet old results of S1 and S2, whose tuples have left their windows.
CREATE STREAM S1 (a INT, ts BIGINT) WITH (time = 'ts', unit = 'second');
CREATE STREAM S2 (a INT, ts BIGINT) WITH (time = 'ts', unit = 'second');
CREATE STREAM S3 (a INT, ts BIGINT) WITH (time = 'ts', unit = 'second');

SELECT S1.ts AS one, S2.ts AS two, S3.ts AS three
FROM S1 [RANGE 1 min INTERNAL], S2 [RANGE 1 min INTERNAL], S3 [RANGE 1 min INTERNAL]
WHERE S1.a = S2.a AND S2.a = S3.a;
