"""The examples of the paper on streams made by hand, with the changes that one derives by hand."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from tests.run.harness import compiled

from millpond.program import laws
from millpond.run import Arrivals
from millpond.run.bulk import BulkLowering
from millpond.run.definition import DefinitionRun
from millpond.run.tick import TickLowering
from millpond.schema import Row

Change = tuple[int, Row, int]

S_AB_T_C = "CREATE STREAM s (a INT, b INT); CREATE STREAM t (c INT);\n"
S_ABC_T_DE = "CREATE STREAM s (a INT, b INT, c INT); CREATE STREAM t (d INT, e INT);\n"
S_AB = "CREATE STREAM s (a INT, b INT);\n"


@dataclass(frozen=True)
class Story:
    """A query, rows in order of arrival, and what each of them changes."""

    text: str
    rows: tuple[tuple[str, Row], ...]
    changes: tuple[Change, ...]


STORIES = {
    "Q1: rows are only passed on": Story(
        f"{S_ABC_T_DE}SELECT s.a FROM s WHERE s.a > 10",
        (("s", (10, 0, 0)), ("s", (11, 0, 0)), ("s", (11, 1, 0)), ("s", (None, 0, 0))),
        ((2, (11,), 1), (3, (11,), 1)),
    ),
    "Q3: how often a value came on the other side": Story(
        f"{S_ABC_T_DE}SELECT s.a FROM s, t WHERE s.a = t.d AND s.a > 10 AND t.d < 20",
        (
            ("s", (11, 0, 0)),
            ("s", (11, 5, 5)),
            ("t", (11, 0)),  # meets both
            ("t", (20, 0)),
            ("s", (20, 0, 0)),  # 20 is outside on either side
            ("t", (11, 9)),  # both again
            ("s", (11, 0, 0)),  # the two of t
            ("s", (12, 0, 0)),
        ),
        ((3, (11,), 2), (6, (11,), 2), (7, (11,), 2)),
    ),
    "Q4: the least b and the greatest d": Story(
        f"{S_ABC_T_DE}SELECT DISTINCT s.a FROM s, t WHERE s.b < t.d AND s.a = 10",
        (
            ("t", (5, 0)),
            ("s", (10, 7, 0)),  # 7 < 5 is false
            ("s", (11, 1, 0)),  # another a
            ("t", (7, 0)),  # 7 < 7 is false
            ("s", (10, 6, 0)),  # 6 < 7
            ("t", (99, 0)),  # given already
        ),
        ((5, (10,), 1),),
    ),
    "Q6: only the greatest of b and c and the least of d and e matter": Story(
        f"{S_ABC_T_DE}SELECT DISTINCT s.a FROM s, t WHERE s.b < t.d AND s.c < t.e AND s.b < t.e "
        "AND s.c < t.d AND s.a = 10",
        (
            ("s", (10, 1, 8)),
            ("t", (9, 8)),  # 8 < 8 is false
            ("s", (10, 8, 1)),
            ("t", (8, 100)),
            ("t", (9, 9)),
        ),
        ((5, (10,), 1),),
    ),
    "Q7: b below 20 and d above 10": Story(
        f"{S_ABC_T_DE}SELECT s.a FROM s, t WHERE s.b < t.d AND t.d > 10 AND s.b < 20 AND s.a = 10",
        (
            ("s", (10, 5, 0)),
            ("t", (11, 0)),  # 5
            ("s", (10, 11, 0)),  # not below 11
            ("t", (12, 0)),  # 5 and 11
            ("s", (10, 19, 0)),  # below none of 11, 12
            ("t", (50, 0)),  # 5, 11 and 19
            ("s", (10, 20, 0)),  # too large
            ("s", (10, -3, 0)),  # 11, 12 and 50
            ("s", (9, 0, 0)),  # another a
            ("t", (10, 0)),  # too small
        ),
        ((2, (10,), 1), (4, (10,), 2), (6, (10,), 3), (8, (10,), 3)),
    ),
    "Example 5.7: a filter on a column that is not kept": Story(
        f"{S_AB_T_C}SELECT a FROM s, t WHERE a < 20 AND a = c AND c > 10 AND b > 20",
        (
            ("s", (11, 21)),
            ("s", (11, 20)),  # b fails
            ("t", (11,)),  # one of s
            ("t", (10,)),
            ("s", (11, 30)),  # one of t
            ("t", (11,)),  # two of s
            ("s", (20, 30)),
            ("t", (20,)),
        ),
        ((3, (11,), 1), (5, (11,), 1), (6, (11,), 2)),
    ),
    "Example 5.11: one extreme on either side": Story(
        f"{S_AB_T_C}SELECT DISTINCT a FROM s, t WHERE a = 10 AND b < c AND b > 10 AND c > 10",
        (("s", (10, 15)), ("t", (15,)), ("t", (16,)), ("t", (99,)), ("s", (10, 11))),
        ((3, (10,), 1),),
    ),
    "Example 6.1 without one of its joins": Story(
        "CREATE STREAM s1 (a INT, b INT, c INT, d INT); CREATE STREAM s2 (e INT, f INT, g INT);"
        "CREATE STREAM s3 (h INT, i INT, j INT); SELECT DISTINCT 1 FROM s1, s2, s3 "
        "WHERE 10 < e AND e < f AND f < 20 AND j < f AND i < j AND g < c AND c < b AND g < b "
        "AND i > 0 AND d > 10",
        (
            ("s1", (0, 9, 8, 11)),
            ("s2", (12, 15, 8)),  # g = c
            ("s3", (0, 1, 14)),
            ("s2", (12, 14, 7)),  # j = f
            ("s2", (12, 15, 7)),
        ),
        ((5, (1,), 1),),
    ),
    "Example 7.4: the greatest of the least": Story(
        "CREATE STREAM s (a INT, b INT, c INT, d INT); CREATE STREAM t (e INT, f INT);"
        "SELECT DISTINCT a FROM s, t WHERE b > f AND c > f AND d > f AND a = 10 AND e = a",
        (
            ("s", (10, 5, 9, 9)),
            ("t", (10, 5)),  # 5 > 5 is false
            ("s", (10, 99, 2, 99)),
            ("t", (11, 0)),
            ("t", (10, 4)),  # below 5, the greatest least
        ),
        ((5, (10,), 1),),
    ),
    "Example 8.1: a row that is joined with itself": Story(
        f"{S_AB}SELECT DISTINCT s1.a FROM s AS s1, s AS s2 "
        "WHERE s1.a = 10 AND s1.a = s2.a AND s1.b = s2.b AND s1.b > 10",
        (("s", (10, 10)), ("s", (9, 11)), ("s", (10, 11)), ("s", (10, 12))),
        ((3, (10,), 1),),
    ),
    "section 8.1: the least and the greatest of one stream": Story(
        f"{S_AB}SELECT DISTINCT 1 FROM s AS s1, s AS s2 WHERE s1.a < s2.a",
        (("s", (3, 0)), ("s", (3, 1)), ("s", (2, 0)), ("s", (9, 0))),
        ((3, (1,), 1),),
    ),
    "section 8.1: each row with itself and with all before it, twice": Story(
        f"{S_AB}SELECT s1.a FROM s AS s1, s AS s2 WHERE s1.a = s2.a AND s1.a > 10 AND s2.a < 20",
        (("s", (11, 0)), ("s", (11, 1)), ("s", (12, 0)), ("s", (10, 0)), ("s", (11, 2))),
        ((1, (11,), 1), (2, (11,), 3), (3, (12,), 1), (5, (11,), 5)),
    ),
    "section 8.1: a product with itself": Story(
        f"{S_AB}SELECT 1 FROM s AS s1, s AS s2",
        (("s", (1, 1)), ("s", (None, None)), ("s", (1, 1))),
        ((1, (1,), 1), (2, (1,), 3), (3, (1,), 5)),
    ),
    "section 9: domains, which let NULL pass": Story(
        "CREATE STREAM s (k VARCHAR CHECK (k IN ('x', 'y')), m BOOLEAN);"
        "SELECT DISTINCT k, m FROM s",
        (
            ("s", ("x", True)),
            ("s", (None, None)),
            ("s", ("x", True)),
            ("s", ("x", None)),
            ("s", (None, None)),
            ("s", ("y", False)),
        ),
        (
            (1, ("x", True), 1),
            (2, (None, None), 1),
            (4, ("x", None), 1),
            (6, ("y", False), 1),
        ),
    ),
    "section 9: places between numbers": Story(
        "CREATE STREAM s (a INT CHECK (a BETWEEN 0 AND 1), b DOUBLE);"
        "CREATE STREAM t (c TINYINT CHECK (c BETWEEN 0 AND 1));"
        "SELECT s.a FROM s, t WHERE s.b > t.c AND s.b < 2",
        (
            ("s", (0, 0.0)),
            ("s", (1, 0.5)),
            ("t", (0,)),  # below 0.5 only
            ("s", (0, 1.5)),  # above the 0 of t
            ("t", (1,)),  # below 1.5 only
            ("s", (None, 1.25)),  # above both
            ("s", (1, 2.0)),
        ),
        ((3, (1,), 1), (4, (0,), 1), (5, (0,), 1), (6, (None,), 2)),
    ),
}


@pytest.mark.parametrize("name", STORIES)
def test_examples_of_the_paper_say_what_one_derives_by_hand(name: str) -> None:
    story = STORIES[name]
    script, program = compiled(story.text)
    arrivals = Arrivals(script.catalog)
    for at, (stream, row) in enumerate(story.rows, 1):
        arrivals.add(stream, row, at)
    batch = arrivals.batch(program)
    expected = list(story.changes)
    definition = DefinitionRun(script.queries[0])
    assert [
        (at, changed, n)
        for stream, row, at in arrivals
        for changed, n in definition.instant([(stream or "", row)])
    ] == expected
    for lowering in (TickLowering(program, compiled=False), BulkLowering(program)):
        assert laws.run(lowering, batch) == expected, lowering.name
        for cut in range(len(story.rows)):
            assert laws.run(lowering, batch, [cut]) == expected, (lowering.name, cut)
