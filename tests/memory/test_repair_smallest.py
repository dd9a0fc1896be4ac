"""The first repair is the smallest of all that one edit or two make, by trying every one of them;
the first without a window is the smallest of those without.

Edits are enumerated here on queries as plain data, with nothing of `repair.py` and what it uses:
DISTINCT, a column less, one end of a range or both on any column of any input, in WHERE or as
a CHECK, a window on an input, and a comparison that crosses two joins.  Constants are those of the
query and 0 and 999.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, product

import pytest
from tests.memory.repaired import fixes_of, repaired, words
from tests.strategies.spj import ComparisonText, SpjText, naming, random_spj, spj_text

from millpond.diagnostic import UserError
from millpond.language import read_script
from millpond.memory import MemoryClass, verdict_of
from millpond.memory.normal_form import normal_form


@dataclass(frozen=True)
class Change:
    """An edit: what it adds or leaves out, and how many words that takes."""

    size: int
    distinct: bool = False
    dropped: frozenset[int] = frozenset()
    asked: tuple[str, ...] = ()
    declared: tuple[str, ...] = ()
    windows: frozenset[str] = frozenset()

    def with_(self, other: Change) -> Change:
        return Change(
            self.size + other.size,
            self.distinct or other.distinct,
            self.dropped | other.dropped,
            self.asked + other.asked,
            self.declared + other.declared,
            self.windows | other.windows,
        )


@dataclass
class Changed:
    """A query with an edit made, as a text."""

    query: SpjText
    change: Change
    text: str = field(init=False)

    def __post_init__(self) -> None:
        query, change = self.query, self.change
        items = [
            str(each) for place, each in enumerate(query.projection) if place not in change.dropped
        ]
        inputs = [
            name
            + (" [ROWS 1000]" if alias in change.windows else "")
            + ("" if name == alias else f" AS {alias}")
            for alias, name in query.inputs
        ]
        where = [*(each.sql for each in query.comparisons), *change.asked]
        self.text = "".join(
            [
                query.ddl,
                *(f"{each};\n" for each in change.declared),
                "SELECT DISTINCT " if query.distinct or change.distinct else "SELECT ",
                ", ".join(items) + " FROM " + ", ".join(inputs),
                f" WHERE {' AND '.join(where)}" if where else "",
            ]
        )


def changes(query: SpjText) -> Iterator[Change]:
    """All edits of every kind."""
    if not query.distinct:
        yield Change(1, distinct=True)
    if len(query.projection) > 1:
        for place, item in enumerate(query.projection):
            yield Change(len(words(str(item))) + 1, dropped=frozenset({place}))
    for alias, _ in query.inputs:
        yield Change(4, windows=frozenset({alias}))
    for column in query.columns:
        for limits in _limits(query):
            asked = f"{column} {limits}"
            yield Change(1 + len(words(asked)), asked=(asked,))
    for stream, name in [(s, c.name) for s in query.streams for c in s.columns]:
        for limits in _limits(query):
            declared = f"ALTER STREAM {stream.name} ADD CHECK ({name} {limits})"
            yield Change(1 + len(words(declared)), declared=(declared,))
    for one, other in product(_joins(query), repeat=2):
        if one is not other and _inputs(one) == _inputs(other):
            asked = f"{one.left} {one.op} {other.right}"
            yield Change(1 + len(words(asked)), asked=(asked,))


def _limits(query: SpjText) -> Iterator[str]:
    constants = sorted({0, 999, *query.constants})
    for each in constants:
        yield f"<= {each}"
        yield f">= {each}"
    for low, high in combinations(constants, 2):
        yield f"BETWEEN {low} AND {high}"


_FLIPPED = {">": "<", ">=": "<="}


def _joins(query: SpjText) -> list[ComparisonText]:
    """The joins by inequality, the smaller side first."""
    found = []
    for each in query.comparisons:
        if each.join and each.op != "=":
            if each.op in _FLIPPED:
                each = replace(each, left=each.right, op=_FLIPPED[each.op], right=each.left)
            found.append(each)
    return found


def _inputs(join: ComparisonText) -> list[str]:
    return [str(side).partition(".")[0] for side in (join.left, join.right)]


def repairs_it(query: SpjText, names: Sequence[str], change: Change) -> bool:
    """Whether the edited query can be read, has a bound and answers, and calls the columns that
    stay as before."""
    if len(change.dropped) == len(query.projection):
        return False
    try:
        asked = read_script(Changed(query, change).text).queries[0]
    except UserError:  # a CHECK that contradicts another one
        return False
    stay = [each for place, each in enumerate(names) if place not in change.dropped]
    if [each.name for each in asked.fields] != stay:
        return False
    form = normal_form(asked)
    return repaired(verdict_of(asked)) and (form is None or form.satisfiable)


def smaller(query: SpjText, size: int) -> Iterator[Change]:
    """The edits of one kind or two that take fewer words."""
    ones = [each for each in changes(query) if each.size < size]
    yield from ones
    for one, other in combinations(ones, 2):
        if one.size + other.size < size:
            yield one.with_(other)


def check(query: SpjText) -> bool:
    """Whether a query is without bound; if it is, no edit is smaller than the first repair."""
    script = read_script(query.text)
    if verdict_of(script.queries[0]).memory is not MemoryClass.LINEAR:
        return False
    names = [each.name for each in script.queries[0].fields]
    found = fixes_of(script)
    plain = next(each for each in found if each.keeps_answers != "recent only")
    for change in smaller(query, plain.tokens):
        first = found[0] if change.windows else plain
        if change.size < first.tokens:
            assert not repairs_it(query, names, change), (first, Changed(query, change).text)
    return True


@pytest.mark.parametrize(
    "text",
    [
        "SELECT s.a, t.d FROM s, t WHERE s.a < t.d",
        "SELECT s.a FROM s, t WHERE s.b < t.d AND s.c < t.e AND s.a = 10",
        "SELECT DISTINCT s.a FROM s, t WHERE s.b < t.d AND s.c < t.e AND s.a = 10",
        "SELECT DISTINCT s.a, s.b FROM s",
        "SELECT DISTINCT s.a, s.b, t.d, t.e FROM s, t WHERE s.a < t.d AND s.a = s.b AND t.d = t.e",
    ],
)
def test_the_first_repair_is_the_smallest(text: str) -> None:
    streams = "CREATE STREAM s (a INT, b INT, c INT);\nCREATE STREAM t (d INT, e INT);\n"
    assert check(spj_text(streams + text))


def check_seeds(seeds: range) -> int:
    """How many of the queries are without bound."""
    linear = 0
    for seed in seeds:
        rng = random.Random(seed)
        query = random_spj(
            rng,
            streams=(1, 2),
            columns=(1, 2),
            comparisons=(0, 4),
            constants=(0, 2),
            checks=rng.choice([0, 0.3]),
            self_joins=rng.choice([0, 0.3]),
            satisfiable=1,
        )
        with naming(seed, query):
            linear += check(query)
    return linear


def test_the_first_repair_of_random_queries_is_the_smallest() -> None:
    assert check_seeds(range(16)) > 5


@pytest.mark.heavy
@pytest.mark.parametrize("start", range(20_000, 20_800, 100))
def test_the_first_repair_of_random_queries_is_the_smallest_at_length(start: int) -> None:
    assert check_seeds(range(start, start + 100)) > 20
