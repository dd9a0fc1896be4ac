-- The latest reading of every device, with the room that it stands in if one is known.
CREATE STREAM readings (device INT, celsius DOUBLE);
CREATE STATIC TABLE rooms (device INT, room VARCHAR);

SELECT l.device, r.room, l.celsius
FROM readings [PARTITION BY device ROWS 1] AS l
LEFT JOIN rooms AS r ON r.device = l.device;
