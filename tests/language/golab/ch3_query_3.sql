-- Golab, section 3.6.1, Query 3: a negation of two outgoing links on the source IP address. The
-- windows are 2000 time units.
CREATE STREAM Link1 (source_IP_address VARCHAR, protocol VARCHAR, size INT, ts BIGINT)
WITH (time = 'ts');
CREATE STREAM Link2 (source_IP_address VARCHAR, protocol VARCHAR, size INT, ts BIGINT)
WITH (time = 'ts');

SELECT Rstream(*)
FROM Link1 [RANGE 2000]
WHERE NOT EXISTS (
    SELECT Rstream(*)
    FROM Link2 [RANGE 2000]
    WHERE Link2.source_IP_address = Link1.source_IP_address);
