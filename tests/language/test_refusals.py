"""What cannot be read, or is not built: each text has a code, a place and a hint.

The expected span is marked; a statement without a mark is blamed as a whole.
"""

from __future__ import annotations

import re

import pytest
from tests.language.marked import marked, spans, unmarked

from millpond.diagnostic import Diagnostic, NotBuiltError, UserError
from millpond.language import read_script

STREAMS = """CREATE STREAM s (a INT, b BIGINT);
CREATE STREAM t (a INT, d SMALLINT);
"""

CONJUNCTION = "a conjunction (AND) of comparisons"
PAGE = "check --explain MP001"
STATEMENTS = "a file holds CREATE STREAM"

REFUSED: list[tuple[str, str, str, str]] = [
    # What is no SQL, or is cut off.
    ("SELECT b FRM «s»", "MP001", "`s` is not expected here", "did you mean `FROM`?"),
    ("SELECT b FORM «s»", "MP001", "`s` is not expected here", "did you mean `FROM`?"),
    ("SELECT b FROM s WHER «a» > 1", "MP001", "`a` is not expected", "did you mean `WHERE`?"),
    ("SELECT b x «y» FROM s", "MP001", "`y` is not expected here", PAGE),
    ("SELECT b FROM s extra «stuff»", "MP001", "`stuff` is not expected here", PAGE),
    ("SELECT b FROM s «SELECT» a FROM s", "MP001", "`SELECT` is not expected", "with `;`"),
    ("«SELECT»", "MP001", "ends too early, after `SELECT`", PAGE),
    ("«SELECT FROM» s", "MP001", "missing between `SELECT` and `FROM`", PAGE),
    ("SELECT b «FROM»", "MP001", "ends too early, after `FROM`", PAGE),
    ("SELECT b FROM s «WHERE»", "MP001", "ends too early, after `WHERE`", PAGE),
    ("SELECT b FROM s WHERE a «>»", "MP001", "ends too early, after `>`", PAGE),
    ("SELECT b FROM s «WHERE AND» a > 1", "MP001", "between `WHERE` and `AND`", PAGE),
    ("SELECT b FROM s «WHERE >» 1", "MP001", "between `WHERE` and `>`", PAGE),
    ("SELECT b FROM s WHERE a > 1 «AND»", "MP001", "ends too early, after `AND`", PAGE),
    ("SELECT b FROM s WHERE (a > «1»", "MP001", "expected `)` after `1`", PAGE),
    ("SELECT b FROM s WHERE a > 1«)»", "MP001", "`)` is not expected here", PAGE),
    ("SELECT b«, FROM» s", "MP001", "missing between `,` and `FROM`", PAGE),
    ("SELECT a«,,» b FROM s", "MP001", "missing between `,` and `,`", PAGE),
    ("SELECT b FROM s«,»", "MP001", "ends too early, after `,`", PAGE),
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
    # Names.
    ("SELECT b FROM «r»", "MP101", "unknown stream `r`", "there is `s`, `t`"),
    ("SELECT «x.a» FROM s", "MP101", "the query reads no `x`", "there is `s`"),
    ("SELECT «x.*» FROM s", "MP101", "the query reads no `x`", "there is `s`"),
    ("SELECT «s.a» FROM s AS x", "MP101", "the query reads no `s`", "there is `x`"),
    ("SELECT «c» FROM s", "MP102", "has a column `c`", "there is `a`, `b`"),
    ("SELECT «s.d» FROM s, t", "MP102", "`s` has no column `d`", "there is `a`, `b`"),
    ("SELECT «$1» FROM s", "MP102", "has a column `$1`", "there is `a`"),
    ("SELECT b FROM s, t WHERE «a» > 1", "MP103", "`a` is ambiguous", "write `s.a` or `t.a`"),
    ("SELECT «b» FROM s x, s y", "MP103", "`b` is ambiguous", "write `x.b` or `y.b`"),
    ("SELECT b FROM s, «s»", "MP104", "`s` stands twice in FROM", "`s AS s2`"),
    ("SELECT b FROM s AS x, «t AS X»", "MP104", "`X` stands twice in FROM", "`t AS t2`"),
    # Types.
    ("SELECT b FROM s WHERE a > «'x'»", "MP105", "not `'x'`", "columns of this version"),
    ("SELECT b FROM s WHERE a > «1.5»", "MP105", "not `1.5`", "columns of this version"),
    ("SELECT b FROM s WHERE a > «1e3»", "MP105", "not `1e3`", "columns of this version"),
    # Parts of a query that are legal and not built.
    ("SELECT b FROM s WHERE «a > 1 OR a < 0»", "MP110", "`a > 1 OR a < 0`", CONJUNCTION),
    ("SELECT b FROM s WHERE NOT «a > 1»", "MP110", "`NOT a > 1`", CONJUNCTION),
    ("SELECT b FROM s WHERE «a <> 1»", "MP110", "`a <> 1`", CONJUNCTION),
    ("SELECT b FROM s WHERE «a IN (1, 2)»", "MP110", "`a IN (1, 2)`", CONJUNCTION),
    ("SELECT b FROM s WHERE «a» IS NULL", "MP110", "`a IS NULL`", CONJUNCTION),
    ("SELECT b FROM s WHERE «a»", "MP110", "the condition `a`", CONJUNCTION),
    ("SELECT b FROM s WHERE «a NOT BETWEEN 1 AND 2»", "MP110", "BETWEEN", CONJUNCTION),
    ("SELECT b FROM s WHERE «a BETWEEN SYMMETRIC 2 AND 1»", "MP110", "BETWEEN", CONJUNCTION),
    ("SELECT b FROM s WHERE EXISTS (SELECT «1 FROM t»)", "MP110", "EXISTS", CONJUNCTION),
    ("SELECT b FROM s WHERE «a + 1» > 2", "MP110", "the expression `a + 1`", "a column or an"),
    ("SELECT b FROM s WHERE a > «10 / 2»", "MP110", "`10 / 2`", "a column or an integer"),
    ("SELECT «COUNT(*)» FROM s", "MP110", "the expression `COUNT(*)`", "a column or an"),
    ("SELECT CAST(«a» AS BIGINT) FROM s", "MP110", "`CAST(a AS BIGINT)`", "a column or an"),
    ("SELECT «SUM(a) OVER (ORDER BY b)» FROM s", "MP110", "OVER (ORDER BY b)`", ""),
    ("SELECT «x.s.a» FROM s", "MP110", "the reference `x.s.a`", ""),
    ("SELECT «* EXCEPT (a)» FROM s", "MP110", "EXCEPT and REPLACE behind *", ""),
    ("SELECT DISTINCT ON (a) b FROM s", "MP110", "DISTINCT ON", ""),
    ("SELECT b FROM s GROUP BY «b»", "MP110", "GROUP BY", ""),
    ("SELECT b FROM s HAVING «b > 1»", "MP110", "HAVING", ""),
    ("SELECT b FROM s ORDER BY «b»", "MP110", "ORDER BY", "leave it out"),
    ("SELECT b FROM s LIMIT «5»", "MP110", "LIMIT", "bound a column"),
    ("SELECT b FROM s LEFT JOIN «t ON b = d»", "MP110", "LEFT joins", ""),
    ("SELECT b FROM s FULL OUTER JOIN «t ON b = d»", "MP110", "FULL OUTER joins", ""),
    ("SELECT b FROM s NATURAL JOIN «t»", "MP110", "NATURAL joins", ""),
    ("SELECT b FROM s SEMI JOIN «t ON b = d»", "MP110", "SEMI joins", ""),
    ("SELECT b FROM s JOIN t USING («a»)", "MP110", "joins with USING", ""),
    ("SELECT b FROM «(SELECT b FROM s) AS x»", "MP110", "subqueries and functions in FROM", ""),
    ("SELECT b FROM («s»)", "MP110", "subqueries and functions in FROM", ""),
    ("SELECT b FROM «s AS x(c, d)»", "MP110", "column lists behind an alias", ""),
    ("SELECT b FROM «db».s", "MP110", "names with a dot in FROM", ""),
    ("SELECT b FROM s TABLESAMPLE («10» PERCENT)", "MP110", "TABLESAMPLE", ""),
    ("SELECT b FROM s FOR UPDATE", "MP110", "FOR UPDATE", ""),
    ("SELECT b INTO «x» FROM s", "MP110", "INTO", ""),
    ("SELECT /*+ fast */ b FROM s", "MP110", "hints", ""),
    ("WITH «x AS (SELECT b FROM s)» SELECT b FROM x", "MP110", "WITH", ""),
    ("(SELECT b FROM s)", "MP110", "queries in parentheses", "leave the parentheses out"),
    ("SELECT b FROM s UNION ALL SELECT d FROM t", "MP110", "UNION", ""),
    ("SELECT b FROM s EXCEPT SELECT d FROM t", "MP110", "EXCEPT", ""),
    ("SELECT b FROM s INTERSECT SELECT d FROM t", "MP110", "INTERSECT", ""),
    # Parts of the language that only millpond's readers know.
    ("SELECT b FROM s «[RANGE 1 MINUTE]»", "MP110", "`[RANGE 1 MINUTE]`", ""),
    ("SELECT b FROM s «[ROWS 5]», t", "MP110", "`[ROWS 5]`", ""),
    ("SELECT b FROM s «[PARTITION BY a ROWS 5]» x", "MP110", "`[PARTITION BY a ROWS 5]`", ""),
    ("SELECT «ISTREAM» b FROM s", "MP110", "ISTREAM", ""),
    ("SELECT «Rstream»(*) FROM s", "MP110", "RSTREAM", ""),
    ("SELECT DISTINCT «DSTREAM_RESTORE» b FROM s", "MP110", "DSTREAM_RESTORE", ""),
    ("ISTREAM(SELECT b FROM s)", "MP110", "ISTREAM", ""),
    ("SELECT b FROM s «EMIT CHANGES»", "MP110", "EMIT CHANGES", ""),
    ("SELECT b FROM s «emit ON» WINDOW CLOSE", "MP110", "emit ON", ""),
    ("SELECT b FROM «TUMBLE(TABLE s, DESCRIPTOR(a), 5)»", "MP110", "TUMBLE, HOP and SESSION", ""),
    ("CREATE TABLE r (k INT)", "MP110", "CREATE TABLE", "reads CREATE STREAM and CREATE QUERY"),
    ("CREATE STATIC TABLE r (k INT)", "MP110", "CREATE STATIC TABLE", "reads CREATE STREAM"),
    ("CREATE FINITE STREAM f (a INT)", "MP110", "CREATE FINITE STREAM", "reads CREATE STREAM"),
    ("CREATE STREAM x (a INT, «WATERMARK FOR» a AS a - 2)", "MP110", "watermarks", ""),
    ("CREATE STREAM x (a INT, «TIMESTAMP BY» a)", "MP110", "time columns", ""),
    ("CREATE STREAM x (a INT) «WITH (time = 'a')»", "MP110", "`WITH (time = 'a')`", ""),
    # Declarations.
    ("CREATE «STREAM»", "MP001", "expected the name of the stream after `STREAM`", PAGE),
    ("CREATE STREAM «x»", "MP001", "expected the columns of the stream in paren", PAGE),
    ("CREATE STREAM «x» ()", "MP001", "a stream needs a column", ""),
    ("CREATE STREAM x («a»)", "MP001", "column `a` has no type", "write `a INT`"),
    ("CREATE STREAM x (a INT«,)»", "MP001", "missing between `,` and `)`", PAGE),
    ("CREATE STREAM x (a «INT»", "MP001", "expected `)` after `INT`", PAGE),
    ("CREATE STREAM x (a INT «b» INT)", "MP001", "`b` is not expected here", PAGE),
    ("CREATE STREAM x (a INT) «garbage»", "MP001", "`garbage` is not expected here", PAGE),
    ("CREATE STREAM «db.x» (a INT)", "MP001", "has no schema before it", ""),
    ("CREATE STREAM x (a INT, «A» INT)", "MP104", "column `A` is declared twice", ""),
    ("CREATE STREAM «S» (a INT)", "MP104", "stream `S` is declared twice", ""),
    ("CREATE STREAM x (a «ITN»)", "MP105", "unknown type `ITN`", "did you mean `INT`?"),
    ("CREATE STREAM x (a «INT8»)", "MP105", "unknown type `INT8`", "`INT` or `BIGINT`"),
    ("CREATE STREAM x (a «JSON»)", "MP105", "unknown type `JSON`", "there is `BIGINT`"),
    ("CREATE STREAM x (a «INT» UNSIGNED)", "MP110", "columns of type UINT", ""),
    ("CREATE STREAM x (a «INT»(5))", "MP110", "columns of type INT(5)", ""),
    ("CREATE STREAM x (a «VARCHAR»)", "MP110", "columns of type VARCHAR", ""),
    ("CREATE STREAM x (a «TIMESTAMP»)", "MP110", "columns of type TIMESTAMP", ""),
    ("CREATE STREAM x (a «DECIMAL»(9, 2))", "MP110", "columns of type DECIMAL", ""),
    ("CREATE STREAM x («a» INT PRIMARY KEY)", "MP110", "the constraint `PRIMARY KEY`", ""),
    ("CREATE STREAM x (a INT DEFAULT «5»)", "MP110", "the constraint `DEFAULT 5`", ""),
    ("CREATE STREAM x (a INT, CHECK («a > 0»))", "MP110", "of a whole stream", "its column"),
    ("CREATE STREAM x (a INT CHECK («a IN (1, 2)»))", "MP110", "`a IN (1, 2)`", "BETWEEN low"),
    ("CREATE STREAM x (a INT CHECK («a > 0 OR a < 5»))", "MP110", " OR ", "BETWEEN low AND high"),
    ("CREATE STREAM x (a INT CHECK («a BETWEEN SYMMETRIC 9 AND 0»))", "MP110", "CHECK", ""),
    ("CREATE STREAM x (a INT CHECK («b > 0»), b INT)", "MP106", "about `a`", "BETWEEN low"),
    ("CREATE STREAM x (a INT CHECK («1 > 0»))", "MP106", "about `a`", "BETWEEN low"),
    ("CREATE STREAM x (a INT CHECK («a > 'x'»))", "MP105", "not `'x'`", ""),
    ("CREATE STREAM x (a INT CHECK («a > a»))", "MP105", "not `a`", ""),
    ("CREATE STREAM x («a INT CHECK (a BETWEEN 9 AND 0)»)", "MP106", "no INT value passes", ""),
    ("CREATE STREAM x («a INT CHECK (a > 5) CHECK (a < 3)»)", "MP106", "no INT value", ""),
    ("CREATE STREAM x («a TINYINT CHECK (a > 127)»)", "MP106", "no TINYINT value passes", ""),
    # Named queries.
    ("CREATE QUERY «AS» SELECT b FROM s", "MP001", "the name of the query before `AS`", PAGE),
    ("CREATE QUERY q «SELECT» b FROM s", "MP001", "expected `AS` before `SELECT`", ""),
    ("CREATE QUERY q «AS»", "MP001", "expected a SELECT after `AS`", PAGE),
    ("CREATE QUERY q AS «FROM» s", "MP001", "expected a SELECT before `FROM`", PAGE),
    ("CREATE QUERY q«.»r AS SELECT b FROM s", "MP001", "expected `AS` before `.`", PAGE),
    ("CREATE QUERY q AS SELECT b FROM s ORDER BY «b»", "MP110", "ORDER BY", "leave it out"),
]  # fmt: skip


def errors(text: str) -> tuple[UserError, list[Diagnostic]]:
    with pytest.raises(UserError) as caught:
        read_script(text, "file.sql")
    return caught.value, list(caught.value.diagnostics)


@pytest.mark.parametrize(("text", "code", "message", "hint"), REFUSED)
def test_a_wrong_text_is_refused_with_a_place_and_a_hint(
    text: str, code: str, message: str, hint: str
) -> None:
    error, (found,) = errors(STREAMS + unmarked(text))
    assert found.code == code, found
    assert message in found.message
    assert hint in " ".join(found.helps)
    assert isinstance(error, NotBuiltError) is (code == "MP110")
    assert found.span is not None
    shift = len(STREAMS)
    place = (found.span.start - shift, found.span.end - shift)
    (expected,) = spans(text) or [(0, len(text))]
    assert marked(unmarked(text), place) == marked(unmarked(text), expected)


@pytest.mark.parametrize(("text", "code", "message", "hint"), REFUSED)
def test_messages_speak_of_the_text_and_not_of_the_parser(
    text: str, code: str, message: str, hint: str
) -> None:
    _, found = errors(STREAMS + unmarked(text))
    for said in [each for one in found for each in (one.message, *one.notes, *one.helps)]:
        assert not re.search(r"sqlglot|<class|<Token|TokenType|keyword: '|None|exp\.", said), said
        assert len(said) < 200


def test_refusing_says_nothing_on_the_side(caplog: pytest.LogCaptureFixture) -> None:
    for text, *_ in REFUSED:
        errors(STREAMS + unmarked(text))
    assert not caplog.records


# Several errors ---------------------------------------------------------------------------------

SEVERAL = {
    "every statement is read": """
        SELECT b FORM «s»; SELECT «x» FROM s; «DELETE FROM s»; SELECT a FROM «r»
    """,
    "every part of a query is looked at": """
        SELECT «x», b, «s.y» FROM s WHERE «z» > 1 AND a > «'1'» AND a BETWEEN «p» AND «q»
    """,
    "every input of FROM is looked at": """
        SELECT a FROM «r», s, «s», «u»
    """,
    "every column is looked at": """
        CREATE STREAM x (a «ITN», b INT CHECK («c > 1»), d INT, «D» INT, «e»)
    """,
    "clauses that are not built come together": """
        SELECT b FROM s GROUP BY «b» ORDER BY «a» LIMIT «1» OFFSET «2»
    """,
    "a declaration that fails does not blame its queries": """
        CREATE STREAM x (a «ITN»); SELECT a FROM x; SELECT b FORM «s»
    """,
    "a table that is not built does not blame its queries": """
        «CREATE TABLE r (a INT)»; SELECT a FROM r
    """,
    "a declaration with a slip at its head does not blame its queries": """
        «CRATE STREAM x (a INT)»; SELECT a FROM x
    """,
    "two queries of one name": """
        CREATE QUERY q AS SELECT a FROM s; «CREATE QUERY Q AS SELECT b FROM s»; SELECT «x» FROM s
    """,
}


@pytest.mark.parametrize("case", SEVERAL)
def test_all_errors_of_a_file_come_in_one_go(case: str) -> None:
    text = SEVERAL[case]
    _, found = errors(STREAMS + unmarked(text))
    places = [(each.span.start, each.span.end) for each in found if each.span is not None]
    assert len(places) == len(found)
    assert marked(STREAMS + unmarked(text), *places) == STREAMS + text
    assert places == sorted(places), "in the order of the text"


def test_not_built_is_said_only_when_nothing_else_is_wrong() -> None:
    error, _ = errors(STREAMS + "SELECT b FROM s ORDER BY b; SELECT x FROM s")
    assert not isinstance(error, NotBuiltError)


# Positions --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("CREATE STREAM s (a INT);\nSELECT a,\n       «x»\nFROM s", 3, 8),
        ("CREATE STREAM s (a INT);\r\nSELECT a,\r\n\t«x»\r\nFROM s", 3, 2),
        ('CREATE STREAM s ("日本" INT);SELECT "日本", «x» FROM s', 1, 41),
        ('CREATE STREAM s ("😀" INT);SELECT "😀", «x» FROM s', 1, 39),
        ("-- 😀 é\n/* multi\nline */ CREATE STREAM s (a INT); SELECT «x» FROM s", 3, 41),
    ],
)
def test_places_are_lines_and_columns_of_characters(text: str, line: int, column: int) -> None:
    _, (found,) = errors(unmarked(text))
    assert found.span is not None
    assert (found.span.line, found.span.column) == (line, column)
    assert found.span.text == "x"
    assert found.place == ("file.sql", line, column)
