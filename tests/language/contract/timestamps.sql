-- Contract, "Language: SQL": TIMESTAMP columns count in microseconds; lengths are INTERVALs.
CREATE STREAM s (x INT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL '2' SECOND);

SELECT x, ts FROM s [RANGE 1 MINUTE];
