-- Page views per minute. Rows may come up to five seconds late; each minute is printed once, when
-- it is over (EMIT ON WINDOW CLOSE is the default of TUMBLE).
CREATE STREAM views (
    page VARCHAR,
    ts TIMESTAMP,
    WATERMARK FOR ts AS ts - INTERVAL '5' SECOND
);

SELECT window_start, page, COUNT(*) AS views
FROM TUMBLE(TABLE views, DESCRIPTOR(ts), INTERVAL '1' MINUTE)
GROUP BY window_start, window_end, page;
