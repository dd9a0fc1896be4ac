-- The median latency of each service over five minutes, every minute.
CREATE STREAM requests (service VARCHAR, ms INT, ts TIMESTAMP) TIMESTAMP BY ts;

SELECT service, MEDIAN(ms) AS median, COUNT(*) AS requests
FROM requests [RANGE 5 MINUTE SLIDE 1 MINUTE]
GROUP BY service;
