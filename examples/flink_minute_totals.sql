-- Flink: what each shop took in a minute, over a view that computes a column.
-- millpond check --dialect flink flink_minute_totals.sql
CREATE TABLE sales (
  shop STRING,
  price DECIMAL(10, 2),
  quantity INT,
  total AS price * quantity,
  sold TIMESTAMP(3),
  WATERMARK FOR sold AS sold - INTERVAL '2' SECOND
) WITH ('connector' = 'kafka', 'topic' = 'sales', 'format' = 'json');

CREATE VIEW real_sales AS SELECT shop, total, sold FROM sales WHERE quantity > 0;

SELECT shop, window_start, window_end, SUM(total) AS taken
FROM TABLE(TUMBLE(TABLE real_sales, DESCRIPTOR(sold), INTERVAL '1' MINUTE))
GROUP BY shop, window_start, window_end;
