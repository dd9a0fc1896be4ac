-- Products of which a bid has ever reached an ask. There is no window, and yet it runs in bounded
-- memory: of each of the three products only the lowest ask and the highest bid matter.
CREATE STREAM asks (product INT, price BIGINT);
CREATE STREAM bids (product INT, price BIGINT);

SELECT DISTINCT a.product
FROM asks AS a, bids AS b
WHERE a.product = b.product AND a.price <= b.price AND a.product BETWEEN 1 AND 3;
