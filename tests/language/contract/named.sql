-- Contract, "Language: SQL": a file may name its queries; CREATE MATERIALIZED VIEW is the same.
CREATE STREAM s (a INT);

CREATE QUERY q AS SELECT a FROM s WHERE a > 1;
CREATE MATERIALIZED VIEW v AS SELECT a FROM s WHERE a > 1;
SELECT a FROM s WHERE a > 2;
