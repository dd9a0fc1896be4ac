-- Golab, section 3.4: a sum over one minute, re-evaluated every six seconds, as the sum of the
-- last ten sums over six seconds. The outer query of the thesis asks for SUM(a), and so the inner
-- sum is called a here.
CREATE STREAM Stream1 (a INT, ts BIGINT) WITH (time = 'ts', unit = 'second');

SELECT SUM(a)
FROM (SELECT SUM(a) AS a FROM Stream1[RANGE 6 sec SLIDE 6 sec INTERNAL]) [ROWS 10];
