-- Golab, section 1.1, query Q1: the largest a-value over all the items seen so far.
CREATE STREAM S (a INT);

SELECT MAX(a) FROM S;
