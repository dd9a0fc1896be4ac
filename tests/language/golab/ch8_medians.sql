-- Golab, section 8.1, queries Q1 and Q2: the median packet length over ten minutes every two, and
-- over fourteen minutes every three.
CREATE STREAM S (length INT, ts BIGINT) WITH (time = 'ts', unit = 'minute');

CREATE QUERY Q1 AS
SELECT MEDIAN(length)
FROM S [WINDOW 10 min SLIDE 2 min];

CREATE QUERY Q2 AS
SELECT MEDIAN(length)
FROM S [WINDOW 14 min SLIDE 3 min];
