-- Materialize: how often each user failed to log in within the last minute, by a temporal filter.
-- millpond check --dialect materialize materialize_recent_logins.sql
CREATE CLUSTER compute (SIZE = '50cc');

CREATE SOURCE logins (username TEXT, ok BOOL, tried TIMESTAMP) IN CLUSTER compute
FROM KAFKA CONNECTION kafka (TOPIC 'logins') FORMAT JSON ENVELOPE NONE;

CREATE VIEW recent_failures AS
SELECT username FROM logins
WHERE NOT ok AND mz_now() < tried + INTERVAL '1 minute';

CREATE MATERIALIZED VIEW failures IN CLUSTER compute AS
SELECT username, COUNT(*) AS n FROM recent_failures GROUP BY username;

CREATE INDEX failures_by_user ON failures (username);
