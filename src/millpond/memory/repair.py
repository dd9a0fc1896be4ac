"""Edits that make an unbounded query bounded; each is read and checked again before it is offered.

Two rules so far: remove duplicates, and put a range on a column that the verdict names.  Ranges
are added column by column, in the order in which the conditions fail, until the query is bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from millpond.memory.decide import verdict_of
from millpond.memory.spj import Attribute, SpjQuery, normal_form
from millpond.memory.verdict import Fix, MemoryClass, Verdict
from millpond.plan import Query, Script

WIDTH = 1000
"""How many values a range of ours allows where the query has no end of its own."""

Reader = Callable[[str], Script]
"""Text to plans, handed in, because this room does not know the language."""


@dataclass(frozen=True)
class _Edit:
    text: str
    sql: str
    size: int
    keeps_answers: str
    ranged: frozenset[str] = frozenset()


def repairs(script: Script, query: Query, verdict: Verdict, read: Reader) -> tuple[Fix, ...]:
    """The edits of `query` that make it bounded, smallest first."""
    spj = normal_form(query)
    if spj is None or verdict.memory is not MemoryClass.LINEAR:
        return ()
    fixes: list[tuple[int, Fix]] = []
    ranged: list[frozenset[str]] = []
    for edit in _edits(spj, query.text, verdict):
        if any(each < edit.ranged for each in ranged):
            continue
        checked = _checked(script, query, edit.sql, read)
        if checked is not None and checked.memory in (MemoryClass.NONE, MemoryClass.CONSTANT):
            if edit.ranged:
                ranged.append(edit.ranged)
            fixes.append(
                (
                    edit.size,
                    Fix(edit.text, edit.sql, checked.memory, checked.units, edit.keeps_answers),
                )
            )
    fixes.sort(key=lambda each: (each[0], each[1].units or 0))
    return tuple(fix for _, fix in fixes)


def _checked(script: Script, query: Query, sql: str, read: Reader) -> Verdict | None:
    """The verdict on the file with the query's text replaced."""
    place = script.queries.index(query)
    text = script.source.text
    edited = read(text[: query.span.start] + sql + text[query.span.end :])
    return verdict_of(edited.queries[place])


def _edits(spj: SpjQuery, text: str, verdict: Verdict) -> Iterator[_Edit]:
    if not spj.distinct:
        yield _Edit(
            "remove duplicates: SELECT DISTINCT",
            _after_select(text, " DISTINCT"),
            1,
            "fewer duplicates",
        )
    named = list(dict.fromkeys(name for each in verdict.because for name in each.attributes))
    by_name = {str(each): each for each in spj.columns}
    singles = [(name,) for name in named]
    growing = [tuple(named[:count]) for count in range(2, len(named) + 1)]
    for names in [*singles, *growing]:
        conditions = [_range(spj, by_name[name]) for name in names]
        yield _Edit(
            "bound " + " and ".join(names) + ": " + " AND ".join(conditions),
            _and_where(spj, text, " AND ".join(conditions)),
            4 * len(conditions),
            "subset",
            frozenset(names),
        )


def _range(spj: SpjQuery, attribute: Attribute) -> str:
    """A range for the column that starts or ends where the query already says so."""
    interval = spj.predicate.interval(attribute)
    if interval.low is not None:
        return f"{attribute} <= {interval.low + WIDTH - 1}"
    if interval.high is not None:
        return f"{attribute} >= {interval.high - WIDTH + 1}"
    return f"{attribute} BETWEEN 0 AND {WIDTH - 1}"


def _after_select(text: str, words: str) -> str:
    place = text.upper().index("SELECT") + len("SELECT")
    return text[:place] + words + text[place:]


def _and_where(spj: SpjQuery, text: str, condition: str) -> str:
    """A query ends with its WHERE, or has none: then with its last ON or its FROM."""
    has_where = any(
        word.upper() == "WHERE" for word in text.replace("(", " ").replace("\n", " ").split()
    )
    return f"{text} AND {condition}" if has_where else f"{text} WHERE {condition}"
