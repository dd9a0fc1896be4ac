-- An aggregate of one's own, in Python beside this file: how much each fund grew in a year, on the
-- geometric mean.  A state of it is two values, so that the query runs in bounded memory.
CREATE STREAM years (fund VARCHAR CHECK (fund IN ('bonds', 'stocks')), factor DOUBLE);
CREATE AGGREGATE geomean (x DOUBLE) RETURNS DOUBLE LANGUAGE python AS 'geomean:GeoMean'
  WITH (class = 'algebraic', duplicates = 'sensitive', units = 2);

SELECT fund, geomean(factor) AS growth FROM years GROUP BY fund;
