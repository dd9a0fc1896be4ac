-- Golab, section 8.3.3, queries Q1 to Q6: aggregates with selection. The thesis leaves WINDOW and
-- SLIDE out for clarity and writes the constants without quotes.
CREATE STREAM S (length INT, protocol VARCHAR, user VARCHAR, ts BIGINT)
WITH (time = 'ts', unit = 'minute');

CREATE QUERY Q1 AS
SELECT SUM(length) FROM S [WINDOW 10 min SLIDE 5 min] WHERE protocol='TCP';
CREATE QUERY Q2 AS
SELECT SUM(length) FROM S [WINDOW 10 min SLIDE 5 min] WHERE protocol='UDP';
CREATE QUERY Q3 AS
SELECT SUM(length) FROM S [WINDOW 10 min SLIDE 5 min] WHERE protocol='TCP' OR protocol='UDP';
CREATE QUERY Q4 AS
SELECT MAX(length) FROM S [WINDOW 10 min SLIDE 5 min] WHERE protocol='TCP';
CREATE QUERY Q5 AS
SELECT MAX(length) FROM S [WINDOW 10 min SLIDE 5 min] WHERE user='U';
CREATE QUERY Q6 AS
SELECT MAX(length) FROM S [WINDOW 10 min SLIDE 5 min] WHERE protocol='TCP' OR user='U';
