-- RisingWave: views of each page in a minute, once the minute is over, and a sink.
-- millpond check --dialect risingwave risingwave_page_views.sql
CREATE SOURCE IF NOT EXISTS views (
  page VARCHAR,
  reader BIGINT,
  seen TIMESTAMP,
  WATERMARK FOR seen AS seen - INTERVAL '10 seconds'
) WITH (
  connector = 'kafka',
  topic = 'views',
  properties.bootstrap.server = 'kafka:9092'
) FORMAT PLAIN ENCODE JSON;

CREATE MATERIALIZED VIEW per_minute AS
SELECT page, window_start, COUNT(*) AS n
FROM TUMBLE(views, seen, INTERVAL '1 minute')
GROUP BY page, window_start
EMIT ON WINDOW CLOSE;

CREATE SINK to_kafka FROM per_minute
WITH (connector = 'kafka', topic = 'per_minute') FORMAT PLAIN ENCODE JSON;
