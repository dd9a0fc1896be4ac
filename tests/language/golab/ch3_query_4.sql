-- Golab, section 3.6.1, Query 4: a negation of two outgoing links on the source IP address, joined
-- with the ftp traffic of a third; the thesis gives it in words. Its two rewritings are those of
-- Figure 3.5: with the negation above the join, and below it.
CREATE STREAM Link1 (source_IP_address VARCHAR, protocol VARCHAR, size INT, ts BIGINT)
WITH (time = 'ts');
CREATE STREAM Link2 (source_IP_address VARCHAR, protocol VARCHAR, size INT, ts BIGINT)
WITH (time = 'ts');
CREATE STREAM Link3 (source_IP_address VARCHAR, protocol VARCHAR, size INT, ts BIGINT)
WITH (time = 'ts');

CREATE QUERY negation_above AS
SELECT Rstream(*)
FROM Link1 [RANGE 2000], Link3 [RANGE 2000]
WHERE Link1.source_IP_address = Link3.source_IP_address
AND Link3.protocol = 'ftp'
AND NOT EXISTS (
    SELECT Rstream(*)
    FROM Link2 [RANGE 2000]
    WHERE Link2.source_IP_address = Link1.source_IP_address);

CREATE QUERY negation_below AS
SELECT Rstream(*)
FROM (
    SELECT *
    FROM Link1 [RANGE 2000]
    WHERE NOT EXISTS (
        SELECT *
        FROM Link2 [RANGE 2000]
        WHERE Link2.source_IP_address = Link1.source_IP_address)
) AS alone, Link3 [RANGE 2000]
WHERE alone.source_IP_address = Link3.source_IP_address
AND Link3.protocol = 'ftp';
