-- Golab, section 3.6.1, Query 1: tuples of two outgoing links joined on the source IP address,
-- with either protocol. Windows are 2000 time units, the shortest of the thesis, which writes the
-- protocol without quotes.
CREATE STREAM Link1 (source_IP_address VARCHAR, protocol VARCHAR, size INT, ts BIGINT)
WITH (time = 'ts');
CREATE STREAM Link2 (source_IP_address VARCHAR, protocol VARCHAR, size INT, ts BIGINT)
WITH (time = 'ts');

CREATE QUERY ftp AS
SELECT Rstream(*)
FROM Link1 [RANGE 2000], Link2 [RANGE 2000]
WHERE Link1.source_IP_address = Link2.source_IP_address
AND Link1.protocol = 'ftp'
AND Link2.protocol = 'ftp';

CREATE QUERY telnet AS
SELECT Rstream(*)
FROM Link1 [RANGE 2000], Link2 [RANGE 2000]
WHERE Link1.source_IP_address = Link2.source_IP_address
AND Link1.protocol = 'telnet'
AND Link2.protocol = 'telnet';
