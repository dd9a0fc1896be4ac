-- Golab, section 3.4: the window [RANGE 1 min SLIDE 10 sec], which changes every ten seconds only.
CREATE STREAM Stream1 (a INT, ts BIGINT) WITH (time = 'ts', unit = 'second');

SELECT COUNT(a) FROM Stream1 [RANGE 1 min SLIDE 10 sec];
