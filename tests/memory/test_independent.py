"""Conditions that order says nothing of: what they leave decided, and what they do not."""

from __future__ import annotations

import pytest

from millpond.language import read_script
from millpond.memory import MemoryClass, verdict_of

DDL = """CREATE STREAM s (a INT, b BIGINT, x DOUBLE, k VARCHAR, d DATE);
CREATE STREAM t (d INT, e BIGINT);
"""


@pytest.mark.parametrize(
    ("text", "memory"),
    [
        # Values of columns that nothing else reads pass: the query is as it was without.
        ("SELECT DISTINCT a FROM s WHERE k LIKE 'x%'", MemoryClass.LINEAR),
        ("SELECT DISTINCT a FROM s WHERE k LIKE 'x%' AND LENGTH(k) > 7", MemoryClass.LINEAR),
        ("SELECT DISTINCT a FROM s WHERE b % 3 = 1", MemoryClass.LINEAR),
        ("SELECT DISTINCT a FROM s WHERE LOWER(k) = 'abc'", MemoryClass.LINEAR),
        ("SELECT a, COUNT(*) FROM s WHERE ABS(x) > 2.5 GROUP BY a", MemoryClass.LINEAR),
        ("SELECT s.a FROM s, t WHERE s.a = t.d AND t.e % 2 = 0", MemoryClass.LINEAR),
        # No value passes, or none is known to: the answer may stay empty for ever.
        ("SELECT DISTINCT a FROM s WHERE LENGTH(k) < 0", MemoryClass.OUTSIDE),
        ("SELECT DISTINCT a FROM s WHERE LOWER(k) = 'ABC'", MemoryClass.OUTSIDE),
        ("SELECT DISTINCT a FROM s WHERE b % 3 = 5", MemoryClass.NONE),
        # The column itself is read: it may be bounded by that.
        ("SELECT DISTINCT a FROM s WHERE a % 3 = 1", MemoryClass.OUTSIDE),
        ("SELECT DISTINCT a FROM s WHERE ABS(a) < 5", MemoryClass.OUTSIDE),
        ("SELECT s.a FROM s, t WHERE s.a = t.d AND s.b * t.e > 3", MemoryClass.OUTSIDE),
        # A bound is one, whatever else is asked.
        ("SELECT DISTINCT a FROM s WHERE a BETWEEN 1 AND 9 AND k LIKE 'x%'", MemoryClass.CONSTANT),
        ("SELECT DISTINCT a % 3 FROM s WHERE k LIKE 'x%'", MemoryClass.CONSTANT),
    ],
)
def test_what_is_decided_beside_other_conditions(text: str, memory: MemoryClass) -> None:
    assert verdict_of(read_script(DDL + text).queries[0]).memory is memory


def test_what_is_not_decided_says_which_condition_is_in_the_way() -> None:
    found = verdict_of(read_script(DDL + "SELECT DISTINCT a FROM s WHERE a % 3 = 1").queries[0])
    assert found.because[0].text.endswith("`a % 3 = 1` may bound it")
    assert found.because[0].attributes == ("s.a",)
