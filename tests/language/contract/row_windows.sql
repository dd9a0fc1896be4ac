-- Contract, "Language: SQL": CQL windows that count rows; SLIDE of a partitioned window counts the
-- rows of the partition, and NULL is a partition.
CREATE STREAM s (k VARCHAR, v INT);

CREATE QUERY last_two AS SELECT v FROM s [ROWS 2];
CREATE QUERY last_of_each AS SELECT k, v FROM s [PARTITION BY k ROWS 1];
CREATE QUERY all_rows AS SELECT COUNT(*) AS n FROM s [UNBOUNDED];
CREATE QUERY every_two AS SELECT v FROM s [ROWS 3 SLIDE 2];
CREATE QUERY every_two_of_each AS SELECT k, v FROM s [PARTITION BY k ROWS 1 SLIDE 2];
