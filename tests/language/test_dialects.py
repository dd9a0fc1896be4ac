"""Files as users of Spark, Flink, RisingWave and Materialize have them: what is read of each, in
which form, and what is said of the rest.

A file of theirs means what its counterpart in our own words means: the plans of both are compared.
"""

from __future__ import annotations

import random
import re

import pytest
from tests.language.marked import marked, unmarked

from millpond.diagnostic import Severity, UserError
from millpond.language import read_script
from millpond.plan import Script, to_sql

KAFKA = "WITH ('connector' = 'kafka', 'topic' = 't', 'format' = 'json')"
RISING = "WITH (connector = 'kafka', topic = 't') FORMAT PLAIN ENCODE JSON"
FROM_KAFKA = "FROM KAFKA CONNECTION k (TOPIC 't') FORMAT JSON"
OURS = "CREATE STREAM s (a BIGINT, b VARCHAR, ts TIMESTAMP, WATERMARK FOR ts AS ts - 5000000);"
UNTIMED = "CREATE STREAM s (a BIGINT, b VARCHAR);"
FLINK = f"""CREATE TABLE s (a BIGINT, b STRING, ts TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) {KAFKA};"""
SPARK = "CREATE TABLE s (a BIGINT, b STRING, ts TIMESTAMP) USING delta;"
MARK = "STREAM s WATERMARK ts DELAY OF INTERVAL 5 SECONDS"
WAVE = f"CREATE SOURCE s (a BIGINT, b VARCHAR) {RISING};"
MATERIALIZE = f"CREATE SOURCE s (a BIGINT, b TEXT) {FROM_KAFKA};"
ON_TIME = "CREATE STREAM s (a BIGINT, b VARCHAR, ts TIMESTAMP, TIMESTAMP BY ts);"

SAME = {
    "flink: a table with a connector": (
        "flink", FLINK + "SELECT a FROM s", OURS + "SELECT a FROM s",
    ),
    "flink: INSERT INTO asks": (
        "flink",
        FLINK + f"CREATE TABLE k (a BIGINT) {KAFKA}; INSERT INTO k SELECT DISTINCT a FROM s",
        OURS + "CREATE STREAM k (a BIGINT); CREATE QUERY k AS SELECT DISTINCT a FROM s",
    ),
    "flink: INSERT INTO names columns": (
        "flink",
        FLINK + f"CREATE TABLE k (a BIGINT, c INT) {KAFKA}; INSERT INTO k (a) SELECT a FROM s",
        OURS + "CREATE STREAM k (a BIGINT, c INT); CREATE QUERY k AS SELECT a FROM s",
    ),
    "flink: statements of one job": (
        "flink",
        FLINK + f"CREATE TABLE k (a BIGINT) {KAFKA}; EXECUTE STATEMENT SET BEGIN "
        "INSERT INTO k SELECT a FROM s; INSERT INTO k SELECT a + 1 FROM s; END;",
        OURS + "CREATE STREAM k (a BIGINT); CREATE QUERY k AS SELECT a FROM s;"
        "CREATE QUERY k_2 AS SELECT a + 1 FROM s",
    ),
    "flink: TUMBLE in TABLE(...)": (
        "flink",
        FLINK + "SELECT window_start, COUNT(*) AS n FROM TABLE(TUMBLE(TABLE s, DESCRIPTOR(ts), "
        "INTERVAL '1' MINUTE)) GROUP BY window_start, window_end",
        OURS + "SELECT window_start, COUNT(*) AS n FROM TUMBLE(TABLE s, DESCRIPTOR(ts), 1 minute) "
        "GROUP BY window_start, window_end",
    ),
    "flink: HOP with named arguments": (
        "flink",
        FLINK + "SELECT COUNT(*) AS n FROM TABLE(HOP(DATA => TABLE s, TIMECOL => DESCRIPTOR(ts), "
        "SIZE => INTERVAL '2' MINUTE, SLIDE => INTERVAL '1' MINUTE))",
        OURS + "SELECT COUNT(*) AS n FROM HOP(TABLE s, DESCRIPTOR(ts), 1 minute, 2 minutes)",
    ),
    "flink: GROUP BY TUMBLE(...)": (
        "flink",
        FLINK + "SELECT b, TUMBLE_END(ts, INTERVAL '1' MINUTE) AS till, COUNT(*) AS n FROM s "
        "GROUP BY TUMBLE(ts, INTERVAL '1' MINUTE), b",
        OURS + "SELECT b, window_end AS till, COUNT(*) AS n FROM TUMBLE(TABLE s, DESCRIPTOR(ts), "
        "1 minute) GROUP BY window_start, window_end, b",
    ),
    "flink: a computed column": (
        "flink",
        f"CREATE TABLE s (a BIGINT, c AS a * 2) {KAFKA}; SELECT c FROM s",
        "CREATE STREAM s (a BIGINT); SELECT c FROM (SELECT a, a * 2 AS c FROM s) AS s",
    ),
    "flink: a view": (
        "flink",
        FLINK + "CREATE VIEW v AS SELECT a FROM s WHERE a > 3; SELECT DISTINCT a FROM v",
        OURS + "SELECT DISTINCT a FROM (SELECT a FROM s WHERE a > 3) AS v",
    ),
    "flink: a view that names its columns": (
        "flink",
        FLINK + "CREATE VIEW v (x, y) AS SELECT a, b AS z FROM s; SELECT DISTINCT x FROM v",
        OURS + "SELECT DISTINCT x FROM (SELECT a AS x, b AS y FROM s) AS v",
    ),
    "flink: TUMBLE of a view": (
        "flink",
        FLINK + "CREATE VIEW v AS SELECT a, ts AS t FROM s WHERE a > 3; SELECT "
        "window_end, COUNT(*) AS n FROM TUMBLE(TABLE v, DESCRIPTOR(t), INTERVAL '1' MINUTE) "
        "GROUP BY window_end",
        OURS + "SELECT window_end, COUNT(*) AS n FROM (SELECT a, ts AS t, window_start, window_end "
        "FROM TUMBLE(TABLE s, DESCRIPTOR(ts), 1 minute) WHERE a > 3) AS v GROUP BY window_end",
    ),
    "spark: STREAM t": ("spark", SPARK + "SELECT a FROM STREAM s",
        "CREATE STREAM s (a BIGINT, b VARCHAR, ts TIMESTAMP); SELECT a FROM s"),
    "spark: STREAM(t) of a schema, in backticks": (
        "spark",
        "CREATE TABLE x.`my s` (a BIGINT); SELECT a FROM STREAM(x.`my s`) AS u",
        'CREATE STREAM "my s" (a BIGINT); SELECT a FROM "my s" AS u',
    ),
    "spark: a watermark": ("spark", SPARK + f"SELECT u.a FROM {MARK} AS u",
        OURS + "SELECT u.a FROM s AS u"),
    "spark: window": (
        "spark",
        SPARK + f"SELECT window.end AS till, COUNT(*) AS n FROM {MARK} "
        "GROUP BY window(ts, '1 minute')",
        OURS + "SELECT window_end AS till, COUNT(*) AS n FROM TUMBLE(TABLE s, DESCRIPTOR(ts), "
        "1 minute) GROUP BY window_start, window_end",
    ),
    "spark: window with a slide, as a whole": (
        "spark",
        SPARK + f"SELECT window(ts, '2 minutes', '1 minute') AS w, COUNT(*) AS n FROM {MARK} "
        "GROUP BY window(ts, '2 minutes', '1 minute')",
        OURS + "SELECT window_start AS w_start, window_end AS w_end, COUNT(*) AS n "
        "FROM HOP(TABLE s, DESCRIPTOR(ts), 1 minute, 2 minutes) GROUP BY window_start, window_end",
    ),
    "spark: session_window": (
        "spark",
        SPARK + f"SELECT b, COUNT(*) AS n FROM {MARK} GROUP BY session_window(ts, '1 minute'), b",
        OURS + "SELECT b, COUNT(*) AS n FROM SESSION(TABLE s PARTITION BY b, DESCRIPTOR(ts), "
        "1 minute) GROUP BY window_start, window_end, b",
    ),
    "spark: a flow": (
        "spark",
        SPARK + "CREATE STREAMING TABLE k; CREATE FLOW f AS INSERT INTO k BY NAME SELECT a FROM "
        "STREAM(s); CREATE STREAMING TABLE j AS SELECT DISTINCT a FROM STREAM(k)",
        "CREATE STREAM s (a BIGINT, b VARCHAR, ts TIMESTAMP); CREATE QUERY k AS SELECT a FROM s;"
        "CREATE QUERY j AS SELECT DISTINCT a FROM (SELECT a FROM s) AS k",
    ),
    "risingwave: a view of a view": (
        "risingwave",
        WAVE + "CREATE MATERIALIZED VIEW m AS SELECT a FROM s; "
        "CREATE MATERIALIZED VIEW n AS SELECT DISTINCT a FROM m",
        UNTIMED + "CREATE QUERY m AS SELECT a FROM s;"
        "CREATE QUERY n AS SELECT DISTINCT a FROM (SELECT a FROM s) AS m",
    ),
    "risingwave: a sink": (
        "risingwave",
        WAVE + "CREATE SINK k AS SELECT DISTINCT a FROM s WITH (connector = 'kafka')",
        UNTIMED + "CREATE QUERY k AS SELECT DISTINCT a FROM s",
    ),
    "risingwave: windows are said as they grow": (
        "risingwave",
        "CREATE TABLE s (a BIGINT, b VARCHAR, ts TIMESTAMP, "
        "WATERMARK FOR ts AS ts - INTERVAL '5 seconds') APPEND ONLY;"
        "SELECT COUNT(*) AS n FROM TUMBLE(s, ts, INTERVAL '1 minute')",
        OURS + "SELECT COUNT(*) AS n FROM TUMBLE(TABLE s, DESCRIPTOR(ts), 1 minute) EMIT CHANGES",
    ),
    "risingwave: a temporal filter": (
        "risingwave",
        f"CREATE SOURCE s (a BIGINT, b VARCHAR, ts TIMESTAMP) {RISING};"
        "SELECT a FROM s WHERE ts > NOW() - INTERVAL '1 minute' AND a > 3",
        ON_TIME + "SELECT a FROM s [RANGE 1 minute] WHERE a > 3",
    ),
    "materialize: a temporal filter": (
        "materialize",
        f"CREATE SOURCE s (a BIGINT, b TEXT, ts TIMESTAMP) {FROM_KAFKA};"
        "SELECT a FROM s WHERE mz_now() <= ts + INTERVAL '1 minute'",
        ON_TIME + "SELECT a FROM s [RANGE 60000001]",
    ),
    "materialize: a temporal filter with both ends": (
        "materialize",
        f"CREATE SOURCE s (a BIGINT, ts BIGINT) {FROM_KAFKA};"
        "SELECT a FROM s WHERE mz_now() BETWEEN ts AND ts + 9",
        "CREATE STREAM s (a BIGINT, ts BIGINT, TIMESTAMP BY ts); SELECT a FROM s [RANGE 10]",
    ),
    "materialize: SUBSCRIBE": (
        "materialize",
        MATERIALIZE + "COPY (SUBSCRIBE (SELECT DISTINCT a FROM s)) TO STDOUT",
        UNTIMED + "SELECT DISTINCT a FROM s",
    ),
    "materialize: a generator": (
        "materialize",
        "CREATE SOURCE h FROM LOAD GENERATOR AUCTION (TICK INTERVAL '1s');"
        "CREATE TABLE bids FROM SOURCE h (REFERENCE auction.bids); SELECT buyer FROM bids",
        "CREATE STREAM bids (id BIGINT NOT NULL, buyer BIGINT NOT NULL, auction_id BIGINT NOT NULL,"
        " amount INT NOT NULL, bid_time TIMESTAMP NOT NULL); SELECT buyer FROM bids",
    ),
}  # fmt: skip


def plans(script: Script) -> list[tuple[str, str]]:
    return [(each.name, to_sql(each)) for each in script.queries]


@pytest.mark.parametrize("name", SAME)
def test_a_file_means_what_it_means_in_our_words(name: str) -> None:
    dialect, theirs, ours = SAME[name]
    found, meant = read_script(theirs, dialect=dialect), read_script(ours)
    assert plans(found) == plans(meant)
    declared = {each.name: each for each in meant.catalog}
    assert {each.name: each for each in found.catalog} == declared


TABLES = (
    ("flink", "CREATE TABLE s (a INT, PRIMARY KEY (a) NOT ENFORCED) WITH ('connector' = 'faker')"),
    ("flink", "CREATE TABLE s (a INT PRIMARY KEY NOT ENFORCED) WITH ('connector' = 'kafka')"),
    ("flink", "CREATE TABLE s (a INT) WITH ('connector' = 'upsert-kafka')"),
    ("flink", "CREATE TABLE s (a INT) WITH ('connector' = 'kafka', 'format' = 'debezium-json')"),
    ("flink", "CREATE TABLE s (a INT) WITH ('connector' = 'kafka', 'value.format' = 'canal-json')"),
    ("flink", "CREATE TABLE s (a INT) WITH ('connector' = 'mysql-cdc', 'hostname' = 'h')"),
    ("flink", "CREATE TABLE s (a INT) WITH ('connector' = 'jdbc', 'url' = 'u')"),
    ("risingwave", "CREATE TABLE s (a INT)"),
    ("risingwave", "CREATE TABLE s (a INT, PRIMARY KEY (a)) APPEND ONLY"),
    ("risingwave", f"CREATE SOURCE s (a INT PRIMARY KEY) {RISING}"),
    ("risingwave", f"CREATE TABLE s (a INT) {RISING.replace('PLAIN', 'UPSERT')}"),
    ("risingwave", f"CREATE SOURCE s (a INT) {RISING.replace('PLAIN', 'DEBEZIUM')}"),
    ("risingwave", "CREATE TABLE s (a INT) FROM pg TABLE 'public.s'"),
    ("risingwave", "CREATE TABLE s (a INT) ON CONFLICT DO NOTHING"),
    ("materialize", "CREATE TABLE s (a INT)"),
    ("materialize", f"CREATE SOURCE s (a INT) {FROM_KAFKA} ENVELOPE UPSERT"),
    ("materialize", f"CREATE SOURCE s (a INT) {FROM_KAFKA} ENVELOPE DEBEZIUM"),
    ("materialize", "CREATE SOURCE s (a INT) FROM POSTGRES CONNECTION p (PUBLICATION 'x')"),
    ("materialize", "CREATE TABLE s (a INT) FROM SOURCE pg (REFERENCE public.s)"),
    ("spark", "CREATE TABLE s (a INT) USING delta"),
    ("spark", "CREATE TEMPORARY VIEW s (a INT) USING csv OPTIONS (path 'x')"),
)


@pytest.mark.parametrize(("dialect", "declaration"), TABLES)
def test_what_can_lose_rows_is_a_table(dialect: str, declaration: str) -> None:
    """A key, an upsert or a log of changes: a verdict on a stream would be a wrong one."""
    text = f"{declaration}; CREATE STREAM t (a INT); SELECT t.a FROM t, s WHERE t.a = s.a"
    script = read_script(text, dialect=dialect)
    (stream,) = (each for each in script.catalog if each.name == "s")
    assert not stream.is_stream


STREAMS = (
    ("flink", "CREATE TABLE s (a INT) WITH ('connector' = 'datagen', 'rows-per-second' = '9')"),
    ("flink", "CREATE TEMPORARY TABLE IF NOT EXISTS s (a INT COMMENT 'x') COMMENT 'y' "
     "PARTITIONED BY (a) WITH ('connector' = 'filesystem', 'path' = 'x')"),
    ("risingwave", "CREATE TABLE s (a INT) APPEND ONLY"),
    ("risingwave", "CREATE TABLE s (a INT) WITH (appendonly = 'true')"),
    ("risingwave", f"CREATE SOURCE s (a INT) INCLUDE timestamp AS at INCLUDE key {RISING}"),
    ("risingwave", "CREATE SOURCE s (a INT) WITH (connector = 'kafka') ROW FORMAT JSON"),
    ("materialize", f"CREATE SOURCE s (a INT) IN CLUSTER c {FROM_KAFKA} INCLUDE PARTITION "
     "ENVELOPE NONE WITH (SIZE = 'x')"),
    ("materialize", "CREATE SOURCE s FROM LOAD GENERATOR COUNTER (TICK INTERVAL '1s')"),
)  # fmt: skip


@pytest.mark.parametrize(("dialect", "declaration"), STREAMS)
def test_where_rows_only_come_is_a_stream(dialect: str, declaration: str) -> None:
    script = read_script(f"{declaration}; CREATE STREAM t (a INT)", dialect=dialect)
    assert [each.is_stream for each in script.catalog] == [True, True]


REFUSED = (
    ("flink", "MP140", FLINK + "SELECT a FROM (SELECT a, «ROW_NUMBER() OVER (PARTITION BY a "
     "ORDER BY ts DESC)» AS n FROM s) WHERE n = 1"),
    ("flink", "MP110", FLINK + "CREATE STREAM t (a BIGINT); SELECT t.a FROM t JOIN s FOR "
     "SYSTEM_TIME AS OF «t.a» ON t.a = s.a"),
    ("flink", "MP110", FLINK + "SELECT a FROM TABLE(«CUMULATE»(TABLE s, DESCRIPTOR(ts), "
     "INTERVAL '1' MINUTE, INTERVAL '2' MINUTE))"),
    ("flink", "MP110", FLINK + "SELECT «/*+ STATE_TTL('s' = '1d') */» a FROM s"),
    ("flink", "MP110", f"CREATE TABLE s (a INT, r ROW<x INT, y ARRAY<INT>>) {KAFKA};"
     "SELECT «r.x» FROM s"),
    ("flink", "MP110", f"CREATE TABLE s (a INT, m MAP<STRING, INT>) {KAFKA}; SELECT «*» FROM s"),
    ("flink", "MP110", f"CREATE TABLE k «WITH» ('connector' = 'print') LIKE s; {FLINK}"
     "SELECT a FROM s"),
    ("flink", "MP101", FLINK + "INSERT INTO «k» SELECT a FROM s"),
    ("flink", "MP138", FLINK + f"CREATE TABLE k (a INT) {KAFKA};"
     "INSERT INTO k «SELECT a, b FROM s»"),
    ("flink", "MP002", FLINK + "«DROP TABLE s»; SELECT a FROM s"),
    ("flink", "MP101", f"CREATE TABLE x.s (a INT) {KAFKA}; SELECT a FROM «y.s»"),
    ("flink", "MP131", f"CREATE TABLE s (a INT, c AS «nope»(a)) {KAFKA}; SELECT a FROM s"),
    ("flink", "MP110", FLINK + "CREATE VIEW v AS SELECT DISTINCT ts FROM s; SELECT COUNT(*) "
     "FROM TUMBLE(TABLE «v», DESCRIPTOR(ts), INTERVAL '1' MINUTE)"),
    ("flink", "MP139", "CREATE TABLE s (a INT PRIMARY KEY NOT ENFORCED) WITH ('connector' = 'x');"
     "SELECT a FROM «s»"),
    ("flink", "MP138", FLINK + "CREATE VIEW «v» (x) AS SELECT a, b FROM s"),
    ("spark", "MP110", SPARK + "CREATE STREAMING TABLE k («a INT») AS SELECT a FROM STREAM s"),
    ("spark", "MP110", SPARK + "SELECT x.a FROM STREAM s AS x JOIN «s» AS y ON x.a = y.a"),
    ("spark", "MP108", SPARK + f"SELECT a FROM {MARK};"
     "SELECT a FROM STREAM «s» WATERMARK ts DELAY OF INTERVAL 9 SECONDS"),
    ("spark", "MP110", SPARK + "SELECT a FROM STREAM s «WATERMARK to_date(b)» AS d DELAY OF "
     "INTERVAL 9 SECONDS"),
    ("spark", "MP110", SPARK + "CREATE STREAMING TABLE k («CONSTRAINT x EXPECT» (a > 0)) AS "
     "SELECT a FROM STREAM s"),
    ("spark", "MP110", SPARK + "SELECT COUNT(*) FROM STREAM s JOIN STREAM s AS u ON s.a = u.a "
     "GROUP BY «window(s.ts, '1 minute')»"),
    ("spark", "MP002", SPARK + "«APPLY CHANGES INTO t FROM STREAM(s) KEYS (a)»; SELECT a FROM s"),
    ("risingwave", "MP001", "CREATE SOURCE s «WITH» (connector = 'kafka') FORMAT PLAIN "
     "ENCODE AVRO; SELECT a FROM s"),
    ("materialize", "MP001", f"CREATE SOURCE s «FROM» {FROM_KAFKA[5:]}; SELECT a FROM s"),
    ("materialize", "MP110", f"CREATE SOURCE s (a INT, ts TIMESTAMP) {FROM_KAFKA};"
     "SELECT a FROM s WHERE «mz_now() >= ts + INTERVAL '1 day'»"),
    ("materialize", "MP110", f"CREATE SOURCE s (a INT, ts TIMESTAMP) {FROM_KAFKA};"
     "SELECT a FROM s WHERE «mz_now() = ts»"),
    ("materialize", "MP110", f"CREATE SOURCE s (a INT, ts TIMESTAMP) {FROM_KAFKA};"
     "SELECT x.a FROM s AS x LEFT JOIN s AS y ON x.a = y.a "
     "WHERE mz_now() < «y.ts» + INTERVAL '1 day'"),
    ("materialize", "MP110", MATERIALIZE + "CREATE MATERIALIZED VIEW m «WITH» (REFRESH EVERY "
     "'1 day') AS SELECT a FROM s"),
    ("materialize", "MP110", MATERIALIZE + "«WITH MUTUALLY» RECURSIVE r (a int) AS "
     "(SELECT a FROM s) SELECT a FROM r"),
)  # fmt: skip


@pytest.mark.parametrize(("dialect", "code", "text"), REFUSED)
def test_what_is_not_built_is_refused_where_it_stands(dialect: str, code: str, text: str) -> None:
    with pytest.raises(UserError) as raised:
        read_script(unmarked(text), dialect=dialect)
    found = raised.value.diagnostics[0]
    assert found.span is not None
    said = found.code, marked(unmarked(text), (found.span.start, found.span.end))
    assert said == (code, text)


NOTED = (
    ("flink", "SET 'table.exec.state.ttl' = '1 d'", Severity.WARNING),
    ("flink", "SET execution.checkpointing.interval = '3min'", Severity.NOTE),
    ("flink", "SET 'table.local-time-zone' = 'Europe/Berlin'", Severity.WARNING),
    ("flink", "USE CATALOG c", Severity.NOTE),
    ("flink", "DROP TABLE IF EXISTS other", Severity.NOTE),
    ("flink", "CREATE FUNCTION f AS 'com.example.F'", Severity.NOTE),
    ("flink", "INSERT INTO s VALUES (1)", Severity.NOTE),
    ("flink", "EXPLAIN SELECT a FROM s", Severity.NOTE),
    ("risingwave", "CREATE INDEX i ON s (a)", Severity.NOTE),
    ("risingwave", "FLUSH", Severity.NOTE),
    ("risingwave", "CREATE SINK k FROM q WITH (connector = 'blackhole')", Severity.NOTE),
    ("materialize", "CREATE CLUSTER c (SIZE = '50cc')", Severity.NOTE),
    ("materialize", "CREATE SECRET p AS 'x'", Severity.NOTE),
    ("materialize", "SUBSCRIBE TO q", Severity.NOTE),
    ("spark", "SET spark.sql.shuffle.partitions = 8", Severity.NOTE),
)


@pytest.mark.parametrize(("dialect", "statement", "severity"), NOTED)
def test_what_no_answer_depends_on_is_passed_over_with_a_note(
    dialect: str, statement: str, severity: Severity
) -> None:
    asked = "CREATE STREAM s (a INT); CREATE MATERIALIZED VIEW q AS SELECT a FROM s;"
    script = read_script(f"{asked}{statement};", dialect=dialect)
    (note,) = script.notes
    assert (note.code, note.severity, note.span and note.span.text) == (
        "MP113", severity, statement,
    )  # fmt: skip
    assert plans(script) == plans(read_script(asked))


def test_our_own_words_have_no_room_for_settings() -> None:
    with pytest.raises(UserError):
        read_script("SET x = 1; CREATE STREAM s (a INT); SELECT a FROM s")


def test_a_view_that_others_read_is_no_query_unless_an_index_keeps_it() -> None:
    text = MATERIALIZE + (
        "CREATE VIEW v AS SELECT a FROM s; CREATE MATERIALIZED VIEW m AS SELECT DISTINCT a FROM v;"
    )
    assert [each.name for each in read_script(text, dialect="materialize").queries] == ["m"]
    indexed = read_script(text + "CREATE INDEX i ON v (a);", dialect="materialize")
    assert [each.name for each in indexed.queries] == ["v", "m"]
    alone = read_script(MATERIALIZE + "CREATE VIEW v AS SELECT a FROM s", dialect="materialize")
    assert [each.name for each in alone.queries] == ["v"]


def test_a_query_over_tables_alone_is_left_out_beside_others_with_a_warning() -> None:
    text = WAVE + (
        "CREATE TABLE u (a BIGINT PRIMARY KEY); CREATE MATERIALIZED VIEW m AS SELECT a FROM u;"
        "CREATE MATERIALIZED VIEW n AS SELECT a FROM s"
    )
    script = read_script(text, dialect="risingwave")
    assert [each.name for each in script.queries] == ["n"]
    assert [each.severity for each in script.notes] == [Severity.WARNING]


def test_a_time_that_the_engine_computes_is_read_from_the_input() -> None:
    text = f"CREATE TABLE s (a INT, t AS PROCTIME()) {KAFKA}; SELECT a FROM s"
    script = read_script(text, dialect="flink")
    (stream,) = script.catalog
    assert stream.time is not None
    assert stream.time.column == "t"
    assert [each.code for each in script.notes] == ["MP113"]


def test_streams_with_time_and_without_are_joined_as_rows_come() -> None:
    join = "SELECT s.a FROM s JOIN t ON s.a = t.a"
    found = read_script(f"{FLINK}CREATE TABLE t (a BIGINT) {KAFKA}; {join}", dialect="flink")
    assert {each.stream.time for each in found.queries[0].scans} == {None}
    with pytest.raises(UserError):
        read_script(f"{OURS}CREATE STREAM t (a BIGINT); {join}")


def test_the_text_of_a_query_ends_with_it() -> None:
    """A repair adds conditions there, in front of where its rows go."""
    sink = "CREATE SINK k AS SELECT DISTINCT a FROM s WHERE b IS NOT NULL"
    script = read_script(f"{WAVE} {sink} WITH (connector = 'kafka');", dialect="risingwave")
    assert [each.text for each in script.queries] == [sink]


def test_what_is_wrong_in_a_view_is_said_once() -> None:
    text = FLINK + "CREATE VIEW v AS SELECT nope FROM s; SELECT nope FROM v; SELECT nope FROM v"
    with pytest.raises(UserError) as raised:
        read_script(text, dialect="flink")
    assert [each.code for each in raised.value.diagnostics] == ["MP102"]


# Slips --------------------------------------------------------------------------------------------

WORD = re.compile(r"\s+|\w+|'[^']*'|.")
RIGHT = [(dialect, theirs) for dialect, theirs, _ in SAME.values()] + [
    (dialect, unmarked(text)) for dialect, _, text in REFUSED
]


def slipped(text: str, rng: random.Random) -> str:
    """The text with a word too few, too many, or in another's place."""
    words = WORD.findall(text)
    for _ in range(rng.randint(1, 3)):
        place, other = rng.randrange(len(words)), rng.randrange(len(words))
        match rng.randrange(3):
            case 0:
                del words[place]
            case 1:
                words.insert(place, words[other])
            case _:
                words[place], words[other] = words[other], words[place]
    return "".join(words)


def read_or_refused(dialect: str, text: str) -> None:
    try:
        read_script(text, dialect=dialect)
    except UserError as error:
        placed = [each.span is not None for each in error.diagnostics]
    else:
        placed = []
    assert all(placed), text


@pytest.mark.parametrize("seed", range(4))
def test_a_slip_is_refused_with_its_place_or_read(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(250):
        dialect, text = rng.choice(RIGHT)
        read_or_refused(dialect, slipped(text, rng))


SLIPS = (
    ("spark", "CREATE TABLE ;x.s (a INT); SELECT a FROM s"),
    ("materialize", MATERIALIZE + "SELECT a s WHERE mz_now() <= ts + INTERVAL '5 minutes'"),
    ("risingwave", "CREATE TABLE t (ts TIMESTAMP WATERMARK FOR ts AS ts - INTERVAL '5' SECOND)"),
    ("flink", FLINK + "SELECT /*+ TTL('s')'*/ a FROM s"),
)


@pytest.mark.parametrize(("dialect", "text"), SLIPS)
def test_slips_that_were_once_tracebacks(dialect: str, text: str) -> None:
    with pytest.raises(UserError):
        read_script(text, dialect=dialect)
