-- The hottest reading of each sensor in the last minute. A reading may come up to ten seconds
-- late; one that is later never changes an answer: `--late late.jsonl` keeps it.
CREATE STREAM readings (
    sensor INT,
    celsius DOUBLE,
    ts TIMESTAMP,
    WATERMARK FOR ts AS ts - INTERVAL '10' SECOND
);

SELECT sensor, MAX(celsius) AS hottest
FROM readings [RANGE 1 MINUTE]
GROUP BY sensor;
