"""The parts of a query's text, told by its words and brackets."""

from __future__ import annotations

import pytest

from millpond.language.outline import Outline, Select, words


@pytest.mark.parametrize(
    ("text", "answers", "others"),
    [
        ("SELECT f(a, b) FROM s WHERE a = 1 GROUP BY a", ["SELECT f(a, b) FROM s WHERE a = 1"], 0),
        ("SELECT a FROM s HAVING 1 = 1", ["SELECT a FROM s"], 0),
        ("SELECT a FROM s EMIT CHANGES", ["SELECT a FROM s"], 0),
        ("SELECT a FROM s AS emit", ["SELECT a FROM s AS emit"], 0),
        ("(SELECT a FROM s) UNION SELECT d FROM t", ["SELECT a FROM s", "SELECT d FROM t"], 0),
        ("ISTREAM(SELECT a FROM s)", ["SELECT a FROM s"], 0),
        ("CREATE QUERY q AS (SELECT a FROM s)", ["SELECT a FROM s"], 0),
        ("WITH x AS (SELECT a FROM s) SELECT a FROM x", ["SELECT a FROM x"], 1),
        ("SELECT a FROM (SELECT a FROM s) AS x", ["SELECT a FROM (SELECT a FROM s) AS x"], 1),
        (
            "SELECT 1 FROM s WHERE a IN (SELECT 1) -- OR",
            ["SELECT 1 FROM s WHERE a IN (SELECT 1)"],
            1,
        ),
        ("SELECT EXTRACT(DAY FROM ts) FROM s", ["SELECT EXTRACT(DAY FROM ts) FROM s"], 0),
    ],
)
def test_selects(text: str, answers: list[str], others: int) -> None:
    found = Outline(text)
    assert [text[each.start : each.rows] for each in found.answers] == answers
    assert len(found.selects) - len(found.answers) == others


@pytest.mark.parametrize(
    ("items", "found"),
    [
        ("a, b AS c", ["a", "b AS c"]),
        ("DISTINCT a, 'x, y'", ["a", "'x, y'"]),
        ("ALL a, (b)", ["a", "(b)"]),
        ("COUNT(DISTINCT a), b", ["COUNT(DISTINCT a)", "b"]),
        ("ISTREAM a, b", []),
    ],
)
def test_items(items: str, found: list[str]) -> None:
    text = f"SELECT {items} FROM s"
    (select,) = Outline(text).answers
    assert [text[each.start : each.end] for each in select.items] == found
    assert select.distinct is items.startswith("DISTINCT")


def test_conditions() -> None:
    def select(condition: str) -> Select:
        return Outline(f"SELECT a FROM s WHERE {condition}").answers[0]

    assert select("a = 1 OR b = 2").alternatives
    assert not select("(a = 1 OR b = 2)").alternatives
    assert not select("CASE WHEN a OR b THEN c END").alternatives
    assert select("CASE WHEN a THEN b END OR c").alternatives


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("SELECT a FROM s UNION ALL SELECT d FROM t", 22),
        ("SELECT a FROM s UNION SELECT d FROM t", None),
        ("SELECT a FROM s UNION ALL (SELECT d FROM t UNION SELECT 1 FROM t)", 22),
        ("SELECT a FROM s UNION SELECT d FROM t UNION ALL SELECT e FROM t", 44),
        ("SELECT a FROM (SELECT d FROM t UNION ALL SELECT e FROM t) AS x", None),
    ],
)
def test_the_last_union(text: str, kept: int | None) -> None:
    found = Outline(text).unites
    assert (None if found is None else found.start) == kept


def test_inputs_and_names() -> None:
    text = 'SELECT x.a FROM s [ROWS 5] AS x JOIN "t u" y ON x.a = y.d, w WHERE b < 1.5'
    found = Outline(text)
    (select,) = found.answers
    assert (select.inputs, select.qualifies) == (3, True)
    assert found.alias_behind(text.index("s [") + 1, "x") == "x"
    assert found.alias_behind(text.index(" y ON"), "y_2") == "y"
    assert found.alias_behind(text.index("w WHERE") + 1, "w") == "w"
    assert [found.spelled(each) for each in ("T U", "A", "new", "two words")] == [
        '"T U"',
        "a",
        "new",
        '"two words"',
    ]
    assert not Outline("SELECT a FROM s WHERE b < 1.5").answers[0].qualifies


def test_words() -> None:
    assert words("AND a BETWEEN -1 AND 'it''s' -- not counted") == 7
