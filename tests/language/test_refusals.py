"""What cannot be read, or is not built: each text has a code, a place and a hint.

The texts stand in `refusals/`, by kind, each with the expected span marked; a text without a mark
is blamed as a whole.  Each is read behind the same declarations.
"""

from __future__ import annotations

import re

import pytest
from tests.language.marked import marked, spans, unmarked
from tests.language.refusals.aggregates import AGGREGATES
from tests.language.refusals.declarations import DECLARATIONS
from tests.language.refusals.names import NAMES
from tests.language.refusals.queries import QUERIES
from tests.language.refusals.syntax import SYNTAX
from tests.language.refusals.values import VALUES
from tests.language.refusals.windows import WINDOWS

from millpond.diagnostic import Diagnostic, NotBuiltError, UserError
from millpond.language import read_script

DECLARED = """CREATE STREAM s (a INT, b BIGINT, kind VARCHAR, ts BIGINT, TIMESTAMP BY ts);
CREATE STREAM t (a INT, d SMALLINT, ts BIGINT, WATERMARK FOR ts AS ts - 2);
CREATE STREAM p (b INT, at TIMESTAMP, TIMESTAMP BY at);
CREATE STREAM m (b INT, ts BIGINT) WITH (time = 'ts', unit = 'minute');
CREATE STREAM u (a INT, e DOUBLE);
CREATE TABLE r (k INT, name VARCHAR);
CREATE TABLE n (k INT, name VARCHAR) WITH (retroactive = false);
"""

REFUSED = [*SYNTAX, *DECLARATIONS, *AGGREGATES, *NAMES, *VALUES, *WINDOWS, *QUERIES]

INTERNALS = r"sqlglot|<class|<Token|TokenType|keyword: '|\bNone\b|\bexp\.|Anonymous|Expression"
"""What a message says only when a part of the parser shows."""


def errors(text: str) -> tuple[UserError, list[Diagnostic]]:
    with pytest.raises(UserError) as caught:
        read_script(text, "file.sql")
    return caught.value, list(caught.value.diagnostics)


@pytest.mark.parametrize(("text", "code", "message", "hint"), REFUSED)
def test_a_wrong_text_is_refused_with_a_place_and_a_hint(
    text: str, code: str, message: str, hint: str
) -> None:
    error, (found,) = errors(DECLARED + unmarked(text))
    assert found.code == code, found
    assert message in found.message
    assert hint in " ".join(found.helps)
    assert isinstance(error, NotBuiltError) is (code == "MP110")
    assert found.span is not None
    shift = len(DECLARED)
    place = (found.span.start - shift, found.span.end - shift)
    (expected,) = spans(text) or [(0, len(text))]
    assert marked(unmarked(text), place) == marked(unmarked(text), expected)


@pytest.mark.parametrize(("text", "code", "message", "hint"), REFUSED)
def test_messages_speak_of_the_text_and_not_of_the_parser(
    text: str, code: str, message: str, hint: str
) -> None:
    _, found = errors(DECLARED + unmarked(text))
    for said in [each for one in found for each in (one.message, *one.notes, *one.helps)]:
        assert not re.search(INTERNALS, said), said
        assert len(said) < 200


def test_there_are_many_and_no_two_are_the_same() -> None:
    texts = [text for text, *_ in REFUSED]
    assert len(set(texts)) == len(texts) > 100


def test_refusing_says_nothing_on_the_side(caplog: pytest.LogCaptureFixture) -> None:
    for text, *_ in REFUSED:
        errors(DECLARED + unmarked(text))
    assert not caplog.records


# Several errors ---------------------------------------------------------------------------------

SEVERAL = {
    "every statement is read": """
        SELECT b FORM «s»; SELECT «x» FROM s; «DELETE FROM s»; SELECT a FROM «zz»
    """,
    "every part of a query is looked at": """
        SELECT «x», b, «s.y» FROM s WHERE «z» > 1 AND a > «'1'» AND a BETWEEN «w» AND «q»
    """,
    "every clause of a query is looked at": """
        SELECT SUM(«x») FROM s WHERE «y» > 1 GROUP BY «z» HAVING COUNT(«w») > 1
    """,
    "every input of FROM is looked at": """
        SELECT s.a FROM «zz», s, «s», «yy»
    """,
    "every branch of a union is looked at": """
        SELECT «x» FROM s UNION ALL SELECT «y» FROM t UNION ALL SELECT «z» FROM s
    """,
    "a subquery is looked at, and the query around it": """
        SELECT «x» FROM s WHERE a IN (SELECT «y» FROM t) AND EXISTS (SELECT 1 FROM t WHERE «z» = 1)
    """,
    "an unknown stream does not blame its columns": """
        SELECT a, zz.b, «s.x» FROM s, «zz» WHERE zz.c = s.a AND d > 1
    """,
    "an unknown column does not blame what is made of it": """
        SELECT SUM(«x» + 1) AS n FROM s GROUP BY kind HAVING ABS(«x») > 1
    """,
    "every column is looked at": """
        CREATE STREAM x (a «ITN», b INT CHECK («c > 1»), d INT, «D» INT, «e»)
    """,
    "every option is looked at": """
        CREATE STREAM x (a INT, ts INT) WITH (time = «'tz'», «untl» = 5, unit = «'moon'»)
    """,
    "clauses that are refused come together": """
        SELECT b FROM s «ORDER BY a» «LIMIT 1» «OFFSET 2»
    """,
    "a join that fails does not blame the columns behind it": """
        SELECT b, «x» FROM s, t «LEFT JOIN r» WHERE k > 1 AND «y» > 1
    """,
    "what HAVING asks is looked at, column by column": """
        SELECT kind, SUM(a) FROM s GROUP BY kind HAVING «b» > 1 AND «ts» > 2
    """,
    "a declaration that fails does not blame its queries": """
        CREATE STREAM x (a «ITN»); SELECT a FROM x; SELECT b FORM «s»
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
    _, found = errors(DECLARED + unmarked(text))
    places = [(each.span.start, each.span.end) for each in found if each.span is not None]
    assert len(places) == len(found)
    assert marked(DECLARED + unmarked(text), *places) == DECLARED + text
    assert places == sorted(places), "in the order of the text"


def test_not_built_is_said_only_when_nothing_else_is_wrong() -> None:
    error, _ = errors(DECLARED + "SELECT DISTINCT ON (a) b FROM s; SELECT x FROM s")
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
