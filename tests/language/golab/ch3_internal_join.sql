-- Golab, sections 3.3.2 and 3.4: the window [RANGE 1 min INTERNAL]; a join of internal windows is
-- monotonic, so that Istream may be left out.
CREATE STREAM S1 (a INT, b INT, ts BIGINT) WITH (time = 'ts', unit = 'second');
CREATE STREAM S2 (a INT, c INT, ts BIGINT) WITH (time = 'ts', unit = 'second');

SELECT *
FROM S1 [RANGE 1 min INTERNAL], S2 [RANGE 1 min INTERNAL]
WHERE S1.a = S2.a;
