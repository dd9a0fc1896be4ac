"""What is no SQL, is cut off, or is no statement of the language."""

from __future__ import annotations

PAGE = "check --explain MP001"
STATEMENTS = "a file holds CREATE STREAM"

SYNTAX: list[tuple[str, str, str, str]] = [
    # Slips and leftovers.
    ("SELECT b FRM «s»", "MP001", "`s` is not expected here", "did you mean `FROM`?"),
    ("SELECT b FORM «s»", "MP001", "`s` is not expected here", "did you mean `FROM`?"),
    ("SELECT b FROM s WHER «a» > 1", "MP001", "`a` is not expected", "did you mean `WHERE`?"),
    ("SELECT COUNT(*) FROM s GRUOP «BY» b", "MP001", "`BY` is not expected", "`GROUP`?"),
    ("SELECT b, COUNT(*) FROM s GROUP BY b «HAVNG» b > 1", "MP001", "`HAVNG` is not", "`HAVING`?"),
    ("SELECT b FROM s UNOIN «ALL» SELECT d FROM t", "MP001", "`ALL` is not", "`UNION`?"),
    ("SELECT b x «y» FROM s", "MP001", "`y` is not expected here", PAGE),
    ("SELECT b FROM s extra «stuff»", "MP001", "`stuff` is not expected here", PAGE),
    ("SELECT b FROM s «SELECT» a FROM s", "MP001", "`SELECT` is not expected", "with `;`"),
    # What ends too early, or has a hole.
    ("«SELECT»", "MP001", "ends too early, after `SELECT`", PAGE),
    ("«SELECT FROM» s", "MP001", "missing between `SELECT` and `FROM`", PAGE),
    ("«SELECT DISTINCT FROM s»", "MP001", "SELECT names no column", "SELECT DISTINCT a"),
    ("SELECT b «FROM»", "MP001", "ends too early, after `FROM`", PAGE),
    ("SELECT b FROM s «WHERE»", "MP001", "ends too early, after `WHERE`", PAGE),
    ("SELECT b FROM s WHERE a «>»", "MP001", "ends too early, after `>`", PAGE),
    ("SELECT b FROM s «WHERE AND» a > 1", "MP001", "between `WHERE` and `AND`", PAGE),
    ("SELECT b FROM s «WHERE >» 1", "MP001", "between `WHERE` and `>`", PAGE),
    ("SELECT b FROM s WHERE a > 1 «AND»", "MP001", "ends too early, after `AND`", PAGE),
    ("SELECT b FROM s «UNION»", "MP001", "ends too early, after `UNION`", PAGE),
    ("SELECT b, COUNT(*) FROM s GROUP «BY»", "MP001", "ends too early, after `BY`", PAGE),
    ("SELECT CASE WHEN a > 1 THEN 2 «FROM» s", "MP001", "before `FROM`", PAGE),
    ("SELECT b FROM s WHERE (a > «1»", "MP001", "expected `)` after `1`", PAGE),
    ("SELECT b FROM s WHERE a > 1«)»", "MP001", "`)` is not expected here", PAGE),
    ("SELECT b«, FROM» s", "MP001", "missing between `,` and `FROM`", PAGE),
    ("SELECT a«,,» b FROM s", "MP001", "missing between `,` and `,`", PAGE),
    ("SELECT b FROM s«,»", "MP001", "ends too early, after `,`", PAGE),
    # Signs that are none, and what is not closed.
    ("SELECT b FROM s WHERE a > «#»", "MP001", "`#` is not expected here", PAGE),
    ("SELECT b FROM s WHERE a > 0«x10»", "MP001", "`x10` is not expected here", PAGE),
    ("SELECT `b«`» FROM s", "MP001", "is not expected here", PAGE),
    ("SELECT b FROM s WHERE a > «'»x", "MP001", "this quote is not closed", PAGE),
    ("SELECT b FROM s «/*» and so on", "MP001", "this comment is not closed", PAGE),
    ('SELECT b FROM s -- it\'s\nWHERE «"»a > 1', "MP001", "this quote is not closed", PAGE),
    ("SELECT 1", "MP001", "the query reads no stream", "SELECT ... FROM stream"),
    ("SELECT b FROM s WHERE " + "(" * 999 + "a > 1" + ")" * 999, "MP001", "too deeply", PAGE),
    ("SELECT b FROM s WHERE a > " + "1 + " * 2000 + "1", "MP001", "nested too deeply", ""),
    # Statements that are none.
    ("hello", "MP002", "`hello` is no statement", STATEMENTS),
    ("SLECT b FROM s", "MP002", "`SLECT` is no statement", "did you mean `SELECT`?"),
    ("DROP TABLE s", "MP002", "`DROP` is no statement", STATEMENTS),
    ("INSERT INTO s VALUES (1)", "MP002", "`INSERT` is no statement", STATEMENTS),
    ("SHOW TABLES", "MP002", "`SHOW` is no statement", STATEMENTS),
    ("FROM s", "MP002", "`FROM` is no statement", STATEMENTS),
    ("CREATE INDEX i ON s (a)", "MP002", "`CREATE INDEX` is no statement", STATEMENTS),
    ("CREATE OR REPLACE STREAM x (a INT)", "MP002", "`CREATE OR REPLACE` is no", STATEMENTS),
    ("CREATE", "MP001", "`CREATE` alone says nothing", PAGE),
    # Named queries.
    ("CREATE QUERY «AS» SELECT b FROM s", "MP001", "the name of the query before `AS`", PAGE),
    ("CREATE QUERY q «SELECT» b FROM s", "MP001", "expected `AS` before `SELECT`", ""),
    ("CREATE QUERY q «AS»", "MP001", "expected a SELECT after `AS`", PAGE),
    ("CREATE QUERY q AS «FROM» s", "MP001", "expected a SELECT before `FROM`", PAGE),
    ("CREATE QUERY q«.»r AS SELECT b FROM s", "MP001", "expected `AS` before `.`", PAGE),
]  # fmt: skip
