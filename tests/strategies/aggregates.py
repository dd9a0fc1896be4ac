"""Random aggregate queries, as text and as plain data: a query of `spj`, grouped.

What the plain data says may be evaluated by definition, without anything of millpond in between.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, replace
from typing import Any, Final

from tests.strategies.spj import SpjText, random_spj, spj_text

FUNCTIONS: Final = ("SUM", "COUNT", "MIN", "MAX", "AVG", "MEDIAN", "VAR")


@dataclass(frozen=True)
class AggregateText:
    """`FUNCTION(column)`; COUNT(*) has no column."""

    function: str
    column: str | None
    distinct: bool = False

    @property
    def sql(self) -> str:
        return f"{self.function}({'DISTINCT ' if self.distinct else ''}{self.column or '*'})"


@dataclass(frozen=True)
class AggregateQueryText:
    """A grouped query; its body's projection are the columns that it groups by and aggregates."""

    body: SpjText
    groups: tuple[str, ...]
    aggregates: tuple[AggregateText, ...]

    @property
    def sql(self) -> str:
        listed = ", ".join([*self.groups, *(each.sql for each in self.aggregates)])
        plain = ", ".join(map(str, self.body.projection))
        grouped = f" GROUP BY {', '.join(self.groups)}" if self.groups else ""
        return self.body.sql.replace(plain, listed, 1) + grouped

    @property
    def text(self) -> str:
        """The script: declarations, then the query."""
        return f"{self.body.ddl}{self.sql}"


def aggregate_query(
    body: SpjText, groups: tuple[str, ...], aggregates: tuple[AggregateText, ...]
) -> AggregateQueryText:
    """The query with this FROM and WHERE."""
    named = [*groups, *(each.column for each in aggregates if each.column is not None)]
    projection = tuple(dict.fromkeys(named)) or (1,)
    return AggregateQueryText(
        replace(body, projection=projection, distinct=False), groups, aggregates
    )


def random_aggregate_query(
    rng: random.Random,
    *,
    groups: tuple[int, int] = (0, 2),
    aggregates: tuple[int, int] = (1, 2),
    fixed: float = 0.1,
    **spj: Any,
) -> AggregateQueryText:
    """A random query; `spj` are the arguments of `random_spj` for its FROM and WHERE.

    Columns that a constant bounds are grouped by more often, as next to nothing is bounded
    otherwise; the share `fixed` of the aggregated columns is made to equal a constant.

    >>> few = {"streams": (2, 2), "columns": (1, 2), "comparisons": (1, 2)}
    >>> print(random_aggregate_query(random.Random(27), **few).sql)
    SELECT s.a, MIN(t.d) FROM s, t WHERE t.d > s.a AND t.d <= 2 GROUP BY s.a
    """
    body = random_spj(rng, distinct=False, **spj)
    bounded = [each for each in body.columns if _ends(body, each, "<") and _ends(body, each, ">")]
    wanted = rng.randint(*groups)
    pool = bounded if rng.random() < 0.85 else list(body.columns)
    chosen = tuple(rng.sample(pool, min(wanted, len(pool))))
    found = tuple(dict.fromkeys(_aggregate(rng, body) for _ in range(rng.randint(*aggregates))))
    for each in found:
        if each.column is not None and rng.random() < fixed:
            body = _fixed(body, each.column, rng.choice([0, 0, 1]))
    return aggregate_query(body, chosen, found)


def _aggregate(rng: random.Random, body: SpjText) -> AggregateText:
    function = rng.choice([*FUNCTIONS, "MIN", "MAX", "COUNT DISTINCT"])
    if function == "COUNT DISTINCT":
        return AggregateText("COUNT", rng.choice(body.columns), distinct=True)
    if function == "COUNT" and rng.random() < 0.5:
        return AggregateText("COUNT", None)
    return AggregateText(function, rng.choice(body.columns))


def _ends(body: SpjText, column: str, op: str) -> bool:
    """Whether a comparison with a constant, or the declaration, bounds the column on this side."""
    declared = body.column(column)
    if (declared.high if op == "<" else declared.low) is not None:
        return True
    return any(
        each.left == column and isinstance(each.right, int) and each.op in (op, f"{op}=", "=")
        for each in body.comparisons
    )


def _fixed(body: SpjText, column: str, value: int) -> SpjText:
    """The same with `column = value` in place of what WHERE says of the column."""
    kept = tuple(each for each in body.comparisons if column not in each.columns)
    fixed = spj_text(f"{body.ddl}SELECT 1 FROM s WHERE {column} = {value}").comparisons
    return replace(body, comparisons=kept + fixed)


_AGGREGATE: Final = re.compile(rf"({'|'.join(FUNCTIONS)})\((DISTINCT )?(\*|\w+\.\w+)\)")


def aggregate_text(text: str) -> AggregateQueryText:
    """Reads what `AggregateQueryText.text` writes.

    >>> text = "CREATE STREAM s (a INT, b INT);\\nSELECT s.a, MAX(s.b) FROM s GROUP BY s.a"
    >>> aggregate_text(text).text == text
    True
    """
    select, _, grouped = text.strip().rstrip(";").partition(" GROUP BY ")
    groups = tuple(grouped.split(", ")) if grouped else ()
    found = tuple(
        AggregateText(each[1], None if each[3] == "*" else each[3], each[2] is not None)
        for each in _AGGREGATE.finditer(select)
    )
    body = re.sub(r"SELECT (.+?) FROM", "SELECT 1 FROM", " ".join(select.split()))
    return aggregate_query(spj_text(body), groups, found)
