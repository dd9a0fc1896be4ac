-- Each click with the impressions of the same ad that its visitor saw in the ten minutes before
-- it. [NOW] holds the clicks of this instant only; ISTREAM makes a stream of the pairs, so that
-- they are not taken back when they leave their windows.
CREATE STREAM impressions (ad INT, visitor VARCHAR, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM clicks (ad INT, visitor VARCHAR, ts TIMESTAMP) TIMESTAMP BY ts;

SELECT ISTREAM c.visitor, c.ad, i.ts AS seen, c.ts AS clicked
FROM clicks [NOW] AS c
JOIN impressions [RANGE 10 MINUTE] AS i ON i.ad = c.ad AND i.visitor = c.visitor;
