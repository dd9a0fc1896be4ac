-- Golab, section 7.2.1 and Figure 7.2: two sums over one attribute, sum1 over six sub-windows and
-- sum2 over ten, each sub-window a minute long. The thesis gives them in words.
CREATE STREAM packets (source VARCHAR, size INT, ts TIMESTAMP) TIMESTAMP BY ts;

CREATE QUERY sum1 AS SELECT SUM(size) FROM packets [WINDOW 6 min SLIDE 1 min];
CREATE QUERY sum2 AS SELECT SUM(size) FROM packets [WINDOW 10 min SLIDE 1 min];
