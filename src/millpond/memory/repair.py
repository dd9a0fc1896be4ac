"""Edits that make an unbounded query bounded; each is read and checked again before it is offered.

Two rules so far: remove duplicates, and put a range, or a list where a range is no bound, on a
column that the verdict names.  Ranges are added column by column, in the order in which the
conditions fail, until the query is bounded.  Queries with subqueries or unions are left alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from millpond.diagnostic import UserError
from millpond.memory.decide import verdict_of
from millpond.memory.normal_form import normal_form
from millpond.memory.spj import Attribute, SpjQuery
from millpond.memory.verdict import Fix, MemoryClass, Verdict
from millpond.plan import (
    Aggregate,
    Cross,
    Distinct,
    Filter,
    Project,
    Query,
    Scan,
    Script,
    nodes,
)
from millpond.schema import Kind

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
    if verdict.memory is not MemoryClass.LINEAR or not all(
        isinstance(each, _FLAT) for each in nodes(query.root)
    ):
        return ()
    spj = verdict.growing[0].query
    text = _Text(query.text, script.source.text, verdict.growing[0].counts)
    fixes = _bounding(script, query, read, _edits(spj, text, verdict))
    if not fixes:
        fixes = _bounding(script, query, read, _last_resorts(spj, text, verdict))[:1]
    if not fixes:
        whole = spj if verdict.growing[0].counts else normal_form(query) or spj
        chased = _chased(script, query, whole, text, verdict, read)
        fixes = _bounding(script, query, read, chased)[:1]
    fixes.sort(key=lambda each: (each[0], each[1].units or 0))
    return tuple(fix for _, fix in fixes)


def _bounding(
    script: Script, query: Query, read: Reader, edits: Iterable[_Edit]
) -> list[tuple[int, Fix]]:
    """The edits that make the query bounded, with their sizes; none that bounds more columns than
    another one does."""
    fixes: list[tuple[int, Fix]] = []
    ranged: list[frozenset[str]] = []
    for edit in edits:
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
    return fixes


def _checked(script: Script, query: Query, sql: str, read: Reader) -> Verdict | None:
    """The verdict on the file with the query's text replaced; None if it cannot be read so."""
    place = script.queries.index(query)
    text = script.source.text
    try:
        edited = read(text[: query.span.start] + sql + text[query.span.end :])
    except UserError:
        return None
    return verdict_of(edited.queries[place])


def _edits(spj: SpjQuery, text: _Text, verdict: Verdict) -> Iterator[_Edit]:
    if not spj.distinct and not verdict.growing[0].counts:
        yield _Edit(_REMOVE, text.distinct().sql, 1, "fewer duplicates")
    named = _named(verdict)
    singles = [(name,) for name in named] if len(named) <= _FEW else []
    growing = [tuple(named[:count]) for count in _counts(named)]
    for names in dict.fromkeys([*singles, *growing]):
        yield _bounded(spj, text, names, WIDTH)


_FEW = 8
"""Of more columns than that, all are bounded at once."""


def _counts(named: Sequence[str]) -> Sequence[int]:
    """How many of the named columns to bound, fewest first."""
    return range(1, len(named) + 1) if len(named) <= _FEW else (len(named),)


def _last_resorts(spj: SpjQuery, text: _Text, verdict: Verdict) -> Iterator[_Edit]:
    """Where so many columns have to be bounded that the bound would be impractical: without
    duplicates, which takes fewer of them, and then narrower ranges."""
    named = _named(verdict)
    for width in (WIDTH, WIDTH // 10, WIDTH // 100):
        for count in _counts(named):
            names = tuple(named[:count])
            if not spj.distinct and not verdict.growing[0].counts:
                edit = _bounded(spj, text.distinct(), names, width)
                yield replace(edit, text=f"{_REMOVE}; {edit.text}", size=edit.size + 1)
            yield _bounded(spj, text, names, width)


def _chased(
    script: Script, query: Query, spj: SpjQuery, text: _Text, verdict: Verdict, read: Reader
) -> Iterator[_Edit]:
    """Ranges on the columns that the verdict names, then on those that the next one names, and so
    on: of a self-join a verdict need not name all that prevents a bound."""
    known = {str(each) for each in spj.columns}
    for width in (WIDTH, WIDTH // 10, WIDTH // 100):
        names: list[str] = []
        edit: _Edit | None = None
        current: Verdict | None = verdict
        while current is not None and current.memory in (MemoryClass.LINEAR, MemoryClass.OUTSIDE):
            more = [each for each in _named(current) if each in known and each not in names]
            if not more:
                break
            names += more
            edit = _bounded(spj, text, names, width)
            current = _checked(script, query, edit.sql, read)
        if edit is not None:
            yield edit


_REMOVE = "remove duplicates: SELECT DISTINCT"


def _named(verdict: Verdict) -> list[str]:
    return list(dict.fromkeys(name for each in verdict.because for name in each.attributes))


def _bounded(spj: SpjQuery, text: _Text, names: Sequence[str], width: int) -> _Edit:
    by_name = {str(each): each for each in spj.columns}
    ranges = [_range(spj, by_name[name], width) for name in names]
    said = " AND ".join(f"{name} {limits}" for name, limits in zip(names, ranges, strict=True))
    condition = " AND ".join(
        f"{text.name_of(by_name[name])} {limits}"
        for name, limits in zip(names, ranges, strict=True)
    )
    return _Edit(
        f"bound {' and '.join(names)}: {said}",
        text.where(condition).sql,
        4 * len(names),
        "narrower input" if text.counts else "subset",
        frozenset(names),
    )


def _range(spj: SpjQuery, attribute: Attribute, width: int) -> str:
    """A range for the column that starts or ends where the query already says so."""
    column = spj.columns[attribute]
    kind = column.type.kind
    if kind not in _EXAMPLES and spj.scale.unit == 1:
        interval = spj.predicate.interval(attribute)
        if interval.low is not None:
            return f"<= {_shown(spj, attribute, interval.low + width - 1)}"
        if interval.high is not None:
            return f">= {_shown(spj, attribute, interval.high - width + 1)}"
    if kind in _EXAMPLES:
        return _EXAMPLES[kind]
    unit = spj.scale.unit
    first, last = (_shown(spj, attribute, unit * each) for each in (0, width - 1))
    return f"BETWEEN {first} AND {last}"


def _shown(spj: SpjQuery, attribute: Attribute, value: int) -> str:
    column = spj.columns[attribute]
    text = spj.scale.shown(column, value)
    return f"DATE '{text}'" if column.type.kind is Kind.DATE else text


_EXAMPLES = {
    Kind.VARCHAR: "IN ('a', 'b', 'c')",
    Kind.DOUBLE: "IN (0.0, 0.5, 1.0)",
    Kind.TIMESTAMP: "IN (TIMESTAMP '2000-01-01 00:00:00')",
}
"""Lists, where no range is a bound, or none that is practical: to be filled in."""

_FLAT = (Project, Distinct, Filter, Cross, Scan, Aggregate)


@dataclass(frozen=True)
class _Text:
    """A query's text, to be edited, and the file that it stands in."""

    sql: str
    file: str
    counts: bool = False
    """Whether rows are aggregated, so that fewer of them are other answers."""

    def distinct(self) -> _Text:
        place = self._after("SELECT")
        assert place is not None
        return replace(self, sql=f"{self.sql[:place]} DISTINCT{self.sql[place:]}")

    def where(self, condition: str) -> _Text:
        """The condition behind WHERE or what is there already, in front of what follows it."""
        end = min(
            (found for word in _BEHIND if (found := self._before(word)) is not None),
            default=len(self.sql),
        )
        kept = self.sql[:end].rstrip()
        start = self._after("WHERE")
        if start is None:
            head = f"{kept} WHERE {condition}"
        elif re.search(r"\bOR\b", self._code[start : len(kept)], re.IGNORECASE):
            between = self.sql[start : len(kept)].strip()
            head = f"{self.sql[:start]} ({between}) AND {condition}"
        else:
            head = f"{kept} AND {condition}"
        rest = self.sql[len(kept) :]
        return replace(self, sql=head + rest)

    def name_of(self, attribute: Attribute) -> str:
        return ".".join(self._quoted(each) for each in (attribute.alias, attribute.column))

    def _quoted(self, name: str) -> str:
        quoted = f'"{name}"'
        plain = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) and quoted not in self.file
        return name if plain else quoted

    @property
    def _code(self) -> str:
        """The text with comments, quoted names and what is in brackets blanked out."""
        code = _PASSED_OVER.sub(_blank, self.sql)
        while (found := re.search(r"\([^()]*\)", code)) is not None:
            code = code[: found.start()] + _blank(found) + code[found.end() :]
        return code

    def _after(self, word: str) -> int | None:
        """Where a keyword ends."""
        found = re.search(rf"\b{word}\b", self._code, re.IGNORECASE)
        return None if found is None else found.end()

    def _before(self, word: str) -> int | None:
        """Where a keyword begins."""
        found = re.search(rf"\b{word}\b", self._code, re.IGNORECASE)
        return None if found is None else found.start()


_BEHIND = (r"GROUP\s+BY", "HAVING", "EMIT")
"""What may follow a WHERE."""

_PASSED_OVER = re.compile(r"""--[^\n]*|/\*.*?\*/|"[^"]*"|'[^']*'|`[^`]*`""", re.DOTALL)


def _blank(found: re.Match[str]) -> str:
    return " " * len(found[0])
