-- Spark: a pipeline of streaming tables. Each visitor is let through once, so that all are kept.
-- millpond check --dialect spark spark_first_visits.sql
CREATE TABLE visits (visitor BIGINT, `landing page` STRING) USING delta
TBLPROPERTIES (delta.appendOnly = 'true');

CREATE STREAMING TABLE clean COMMENT 'visits of people'
AS SELECT visitor, `landing page` AS page FROM STREAM(visits) WHERE visitor > 0;

CREATE STREAMING TABLE visitors AS SELECT DISTINCT visitor FROM STREAM(clean);
