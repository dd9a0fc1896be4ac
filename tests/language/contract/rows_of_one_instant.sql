-- Contract, "Language: SQL": a window of rows of a timed stream; rows of one instant are ordered
-- by arrival, and one that is pushed out within its own instant is never seen.
CREATE STREAM s (v INT, ts BIGINT, WATERMARK FOR ts AS ts - 5);

SELECT v FROM s [ROWS 2];
