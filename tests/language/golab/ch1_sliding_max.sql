-- Golab, section 1.1, query Q2: the largest a-value over a sliding window of one minute; as in
-- Figure 1.1 the maximum changes when an item arrives and when one leaves.
CREATE STREAM S (a INT, ts BIGINT) WITH (time = 'ts', unit = 'second');

SELECT MAX(a) FROM S [RANGE 1 min];
