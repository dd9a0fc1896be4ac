-- Spark: readings of each kind of device, over five minutes.
-- millpond check --dialect spark spark_device_windows.sql
CREATE TABLE readings (device BIGINT, kind STRING, celsius DOUBLE, seen TIMESTAMP) USING delta;

CREATE OR REFRESH STREAMING TABLE by_kind AS
SELECT window.start AS start, kind, COUNT(*) AS n, MAX(celsius) AS hottest
FROM STREAM readings WATERMARK seen DELAY OF INTERVAL 1 MINUTE
GROUP BY window(seen, '5 minutes'), kind;
