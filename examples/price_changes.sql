-- Revenue, when prices change. A change of a table is retroactive: `at_todays_prices` follows it
-- back to the first sale. A change of a table that is not retroactive touches later rows only:
-- `as_sold`.
CREATE STREAM sales (item INT, quantity INT, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE TABLE prices (item INT, price DECIMAL(8, 2));
CREATE TABLE price_list (item INT, price DECIMAL(8, 2)) WITH (retroactive = false);

CREATE QUERY at_todays_prices AS
SELECT SUM(s.quantity * p.price) AS revenue
FROM sales AS s, prices AS p
WHERE s.item = p.item;

CREATE QUERY as_sold AS
SELECT SUM(s.quantity * p.price) AS revenue
FROM sales AS s, price_list AS p
WHERE s.item = p.item;
