-- Contract, "Language: SQL": rows_per_instant declares a largest number of rows with one
-- timestamp; a STATIC TABLE is loaded before the start.
CREATE STREAM s (a INT, ts BIGINT) WITH (time = 'ts', rows_per_instant = 2);
CREATE STATIC TABLE names (id INT, name VARCHAR);

SELECT s.a, names.name FROM s, names WHERE s.a = names.id;
