-- Flink: orders meet their payments, whenever those come. Both sides are kept for ever.
-- millpond check --dialect flink flink_orders_payments.sql
SET 'pipeline.name' = 'orders and payments';

CREATE TABLE orders (
  order_id BIGINT,
  customer STRING,
  ordered TIMESTAMP(3),
  proctime AS PROCTIME(),
  WATERMARK FOR ordered AS ordered - INTERVAL '5' SECOND
) WITH (
  'connector' = 'kafka',
  'topic' = 'orders',
  'properties.bootstrap.servers' = 'kafka:9092',
  'format' = 'json'
);

CREATE TABLE payments (
  order_id BIGINT,
  amount DECIMAL(10, 2),
  `partition` INT METADATA VIRTUAL
) WITH ('connector' = 'kafka', 'topic' = 'payments', 'format' = 'json');

CREATE TABLE paid_orders (
  order_id BIGINT,
  customer STRING,
  amount DECIMAL(10, 2)
) WITH ('connector' = 'kafka', 'topic' = 'paid', 'format' = 'json');

INSERT INTO paid_orders
SELECT o.order_id, o.customer, p.amount
FROM orders AS o JOIN payments AS p ON o.order_id = p.order_id;
