-- Golab, section 2.1.2: "select from a stream of e-mail messages all those messages that have not
-- yet received a reply", the section's example of a query that is not monotonic.
CREATE STREAM messages (id INT, sender VARCHAR);
CREATE STREAM replies (id INT);

SELECT id, sender
FROM messages
WHERE NOT EXISTS (SELECT * FROM replies WHERE replies.id = messages.id);
