-- Contract, "Language: SQL": SESSION, with and without PARTITION BY.
CREATE STREAM s (k INT, ts BIGINT) TIMESTAMP BY ts;

CREATE QUERY closed AS
SELECT k, window_start, window_end, COUNT(*) AS n
FROM SESSION(TABLE s PARTITION BY k, DESCRIPTOR(ts), 10)
GROUP BY k, window_start, window_end;

CREATE QUERY changing AS
SELECT k, window_start, window_end, COUNT(*) AS n
FROM SESSION(TABLE s PARTITION BY k, DESCRIPTOR(ts), 10)
GROUP BY k, window_start, window_end EMIT CHANGES;

CREATE QUERY of_all AS
SELECT window_start, window_end, COUNT(*) AS n
FROM SESSION(TABLE s, DESCRIPTOR(ts), 10)
GROUP BY window_start, window_end;
