-- Golab, section 8.4.3: the seven queries of group G1, each computing MAX over the same window, of
-- which the thesis prints the WINDOW and SLIDE parameters.
CREATE STREAM S (a INT, ts BIGINT) WITH (time = 'ts', unit = 'minute');

CREATE QUERY Q1 AS SELECT MAX(a) FROM S [WINDOW 10 min SLIDE 2 min];
CREATE QUERY Q2 AS SELECT MAX(a) FROM S [WINDOW 5 min SLIDE 2 min];
CREATE QUERY Q3 AS SELECT MAX(a) FROM S [WINDOW 6 min SLIDE 2 min];
CREATE QUERY Q4 AS SELECT MAX(a) FROM S [WINDOW 15 min SLIDE 3 min];
CREATE QUERY Q5 AS SELECT MAX(a) FROM S [WINDOW 12 min SLIDE 3 min];
CREATE QUERY Q6 AS SELECT MAX(a) FROM S [WINDOW 20 min SLIDE 5 min];
CREATE QUERY Q7 AS SELECT MAX(a) FROM S [WINDOW 30 min SLIDE 5 min];
