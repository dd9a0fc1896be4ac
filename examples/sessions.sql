-- How many pages each visitor saw in a session, which ends after half an hour without a page.
CREATE STREAM views (visitor VARCHAR, page VARCHAR, ts TIMESTAMP) TIMESTAMP BY ts;

SELECT visitor, window_start, window_end, COUNT(*) AS pages
FROM SESSION(TABLE views PARTITION BY visitor, DESCRIPTOR(ts), INTERVAL '30' MINUTE)
GROUP BY visitor, window_start, window_end;
