-- Golab, section 7.5: the 50th percentile over the total bandwidth consumed by distinct IP
-- addresses, and a simple aggregate over some of the source addresses. The thesis gives them in
-- words; its top-k queries would need ORDER BY and LIMIT, which a continuous query has not.
CREATE STREAM packets (source VARCHAR, size INT, ts BIGINT) WITH (time = 'ts', unit = 'second');

CREATE QUERY median_bandwidth AS
SELECT MEDIAN(bandwidth) AS median
FROM (SELECT source, SUM(size) AS bandwidth FROM packets [WINDOW 20 sec SLIDE 10 sec]
      GROUP BY source) AS per_source;

CREATE QUERY mean_of_some AS
SELECT COUNT(*) AS packets, AVG(size) AS mean
FROM packets [WINDOW 20 sec SLIDE 10 sec]
WHERE source IN ('a', 'c');
