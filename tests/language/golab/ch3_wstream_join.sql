-- Golab, section 3.4: the last ten results of a time-based window join. The thesis names the
-- streams Stream1 and Stream2 in FROM and S1 and S2 in WHERE; here the latter are aliases.
CREATE STREAM Stream1 (a INT, b INT, ts BIGINT) WITH (time = 'ts', unit = 'second');
CREATE STREAM Stream2 (a INT, c INT, ts BIGINT) WITH (time = 'ts', unit = 'second');

SELECT Wstream(*)[ROWS 10]
FROM Stream1[RANGE 1 min] AS S1, Stream2[RANGE 1 min] AS S2
WHERE S1.a = S2.a;
