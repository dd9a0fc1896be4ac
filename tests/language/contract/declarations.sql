-- Contract, "Language: SQL": the declarations as printed.
CREATE STREAM s (a INT, b BIGINT, kind VARCHAR CHECK (kind IN ('x','y')), ts BIGINT, WATERMARK FOR ts AS ts - 2);
CREATE STREAM t (d BIGINT CHECK (d BETWEEN 0 AND 9), e BIGINT);
CREATE FINITE STREAM f (a INT, ts BIGINT) WITH (time = 'ts', until = 100);   -- Schiff: has a last timestamp
CREATE TABLE r (k INT, name VARCHAR);                                   -- relation: changes are retroactive
CREATE TABLE n (k INT, name VARCHAR) WITH (retroactive = false);        -- NRR: changes touch later rows only

CREATE QUERY retroactive AS SELECT s.a, r.name FROM s, r WHERE s.a = r.k;
CREATE QUERY later_only AS SELECT s.a, n.name FROM s, n WHERE s.a = n.k;
CREATE QUERY finite AS SELECT a, ts FROM f;
