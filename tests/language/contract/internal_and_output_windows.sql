-- Contract, "Language: SQL": INTERNAL windows, whose results stay, and WSTREAM with a window of
-- time.
CREATE STREAM s (a INT, ts BIGINT) TIMESTAMP BY ts;
CREATE STREAM t (a INT, ts BIGINT) TIMESTAMP BY ts;

CREATE QUERY internal AS
SELECT s.a FROM s [RANGE 5 INTERNAL], t [RANGE 5 INTERNAL] WHERE s.a = t.a;

CREATE QUERY windowed AS
SELECT WSTREAM(s.a)[RANGE 3] FROM s [RANGE 5], t [RANGE 5] WHERE s.a = t.a;
