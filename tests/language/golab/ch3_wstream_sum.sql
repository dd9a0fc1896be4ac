-- Golab, section 3.4: the nested sum once more, with Wstream instead of a sub-query.
CREATE STREAM Stream1 (a INT, ts BIGINT) WITH (time = 'ts', unit = 'second');

SELECT SUM(Wstream(SUM(a))[ROWS 10])
FROM Stream1[RANGE 6 sec SLIDE 6 sec];
