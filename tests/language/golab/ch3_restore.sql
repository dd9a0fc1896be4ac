-- Golab, section 3.4: a periodically re-evaluated join of external windows with restore semantics,
-- and the same with Istream-restore. The pair of a = 1 is born at 60 and dies at 61, between two
-- refreshes. The thesis mixes Stream1 and S1; here the latter is an alias.
CREATE STREAM Stream1 (a INT, b INT, ts BIGINT) WITH (time = 'ts', unit = 'second');
CREATE STREAM Stream2 (a INT, c INT, ts BIGINT) WITH (time = 'ts', unit = 'second');

SELECT Rstream-restore(*)
FROM Stream1[RANGE 1 min SLIDE 10 sec] AS S1,
     Stream2[RANGE 1 min SLIDE 10 sec] AS S2
WHERE S1.a = S2.a;

CREATE QUERY appended AS
SELECT Istream-restore(*)
FROM Stream1[RANGE 1 min SLIDE 10 sec] AS S1,
     Stream2[RANGE 1 min SLIDE 10 sec] AS S2
WHERE S1.a = S2.a;

CREATE QUERY not_restored AS
SELECT Rstream(*)
FROM Stream1[RANGE 1 min SLIDE 10 sec] AS S1,
     Stream2[RANGE 1 min SLIDE 10 sec] AS S2
WHERE S1.a = S2.a;
