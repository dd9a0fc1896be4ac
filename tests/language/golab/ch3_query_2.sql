-- Golab, section 3.6.1, Query 2: the distinct source IP addresses, and the distinct pairs of
-- source and destination, on an outgoing link. The windows are 2000 time units.
CREATE STREAM Link1 (source_IP_address VARCHAR, destination_IP_address VARCHAR, ts BIGINT)
WITH (time = 'ts');

CREATE QUERY sources AS
SELECT Rstream(DISTINCT source_IP_address)
FROM Link1 [RANGE 2000];

CREATE QUERY pairs AS
SELECT Rstream(DISTINCT source_IP_address, destination_IP_address)
FROM Link1 [RANGE 2000];
