"""Repairs of a query, each checked to be what it says."""

from __future__ import annotations

import re

from millpond.language import read_script
from millpond.memory import Fix, MemoryClass, Verdict, repairs, verdict_of
from millpond.plan import Script

S_T = (
    "CREATE STREAM s (a INT, b INT, c INT); CREATE STREAM t (d INT, e INT); "
    "CREATE STREAM z (f INT);\n"
)
RELATIONS = ("same", "subset", "fewer duplicates", "recent only", "narrower input")


def fixes_of(script: Script, place: int = 0) -> tuple[Fix, ...]:
    """The repairs of a query as they are given."""
    query = script.queries[place]
    return repairs(script, query, verdict_of(query), read_script)


def edited(script: Script, sql: str, place: int = 0) -> Script:
    """The file with the query's text replaced."""
    text, span = script.source.text, script.queries[place].span
    return read_script(text[: span.start] + sql + text[span.end :])


def checked_fixes(script: Script, place: int = 0) -> tuple[Fix, ...]:
    """The repairs of a query, each put in its place and checked again."""
    query, found = script.queries[place], fixes_of(script, place)
    for fix in found:
        file = edited(script, fix.sql, place)
        after = verdict_of(file.queries[place])
        assert repaired(after), fix
        assert (after.memory, after.units) == (fix.memory, fix.units)
        assert after.name == query.name
        assert fix.keeps_answers in RELATIONS
        assert fix.tokens == word_distance(query.text, fix.sql), fix
        others = [each for at, each in enumerate(script.queries) if at != place]
        assert [each.text for each in others] == [
            each.text for at, each in enumerate(file.queries) if at != place
        ]
    ranks = [(each.tokens, "[" in each.sql, each.units or 0) for each in found]
    assert ranks == sorted(ranks), "the smallest edit is not first"
    assert len({each.sql for each in found}) == len(found)
    return found


def repaired(verdict: Verdict) -> bool:
    """Whether a query has a bound, or one that depends on its windows."""
    return verdict.memory in (MemoryClass.NONE, MemoryClass.CONSTANT, MemoryClass.WINDOW)


_WORD = re.compile(
    r"--[^\n]*|/\*.*?\*/|(GROUP BY|\d+\.\d+|\w+|'[^']*'|\"[^\"]*\"|<=|>=|<>|\S)", re.DOTALL
)


def words(text: str) -> list[str]:
    """The words of a text, comments left out."""
    return [each[1] for each in _WORD.finditer(text) if each[1]]


def word_distance(one: str, other: str) -> int:
    """How many words have to be put in and taken out to make one text of another: all but a longest
    common subsequence."""
    left, right = words(one), words(other)
    row = [0] * (len(right) + 1)
    for mine in left:
        before, row = row, [0]
        for place, theirs in enumerate(right):
            longest = before[place] + 1 if mine == theirs else max(before[place + 1], row[-1])
            row.append(longest)
    return len(left) + len(right) - 2 * row[-1]
