-- Golab, section 3.3.2 and Figure 3.2: a SUM over four types of windows, unbounded or of five
-- rows, external or internal. With an internal window a sum that was reported stays.
CREATE STREAM S (a INT);

CREATE QUERY external_unbounded AS SELECT SUM(a) FROM S;
CREATE QUERY internal_unbounded AS SELECT SUM(a) FROM S [UNBOUNDED INTERNAL];
CREATE QUERY external_sliding AS SELECT SUM(a) FROM S [ROWS 5];
CREATE QUERY internal_sliding AS SELECT SUM(a) FROM S [ROWS 5 INTERNAL];
