-- Contract, "Language: SQL": a stream without time; CHECK lets NULL pass.
CREATE STREAM t (d BIGINT CHECK (d BETWEEN 0 AND 9), e BIGINT);

SELECT d, e FROM t WHERE d > 5;
SELECT COUNT(*) AS n FROM t;
