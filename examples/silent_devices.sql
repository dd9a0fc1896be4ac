-- An alarm for devices that were heard of in the last ten minutes, but not in the last one. It
-- comes when time passes, without a row: `{"@time": ...}` lets the clock go on where no device
-- speaks.
CREATE STREAM heartbeats (device VARCHAR, ts TIMESTAMP) TIMESTAMP BY ts;

SELECT DISTINCT seen.device
FROM heartbeats [RANGE 10 MINUTE] AS seen
WHERE NOT EXISTS (
    SELECT * FROM heartbeats [RANGE 1 MINUTE] AS fresh WHERE fresh.device = seen.device
);
