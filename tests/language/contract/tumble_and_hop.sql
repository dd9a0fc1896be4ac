-- Contract, "Language: SQL": TUMBLE and HOP, grouped by window_start and window_end, and EMIT.
CREATE STREAM s (k VARCHAR, v INT, ts BIGINT) TIMESTAMP BY ts;

CREATE QUERY tumbling AS
SELECT window_start, window_end, SUM(v) AS total
FROM TUMBLE(TABLE s, DESCRIPTOR(ts), 10) GROUP BY window_start, window_end;

CREATE QUERY on_close AS
SELECT window_start, window_end, SUM(v) AS total
FROM TUMBLE(TABLE s, DESCRIPTOR(ts), 10) GROUP BY window_start, window_end EMIT ON WINDOW CLOSE;

CREATE QUERY final AS
SELECT window_start, window_end, SUM(v) AS total
FROM TUMBLE(TABLE s, DESCRIPTOR(ts), 10) GROUP BY window_start, window_end EMIT FINAL;

CREATE QUERY changes AS
SELECT window_start, window_end, SUM(v) AS total
FROM TUMBLE(TABLE s, DESCRIPTOR(ts), 10) GROUP BY window_start, window_end EMIT CHANGES;

CREATE QUERY hopping AS
SELECT window_start, window_end, SUM(v) AS total
FROM HOP(TABLE s, DESCRIPTOR(ts), 5, 10) GROUP BY window_start, window_end;

CREATE QUERY ungrouped AS
SELECT v, window_start FROM TUMBLE(TABLE s, DESCRIPTOR(ts), 10);
