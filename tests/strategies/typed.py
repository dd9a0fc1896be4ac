"""Random queries that are mostly bounded, over columns of every type, with rows for them.

Most columns get limits, because next to nothing is bounded without; then they are compared with one
another, at distances, by OR and `<>`, and by conditions that order says nothing of.
"""

from __future__ import annotations

import operator
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

Row = tuple[Any, ...]

VALUES: Final[Mapping[str, Sequence[Any]]] = {
    "INT": (-1, 0, 1, 2, 3, 4),
    "BIGINT": (0, 1, 2, 3, 2**53 + 1),
    "TINYINT": (-1, 0, 1, 2, 3),
    "DOUBLE": (-0.5, -0.0, 0.0, 0.5, 1.0, 1.0000000000000002, 1.5, 2.0, 3.0),
    "DECIMAL(5, 1)": tuple(map(Decimal, ("-0.5", "0.0", "0.5", "1.0", "1.5", "2.0", "3.0"))),
    "DECIMAL(7, 2)": tuple(map(Decimal, ("0.00", "0.25", "1.00", "1.75", "2.00", "3.00"))),
    "VARCHAR": ("", "a", "ab", "b", "ba", "\u00e9"),
    "ENUM('a', 'b', 'c')": ("a", "b", "c"),
    "BOOLEAN": (False, True),
    "DATE": (19_723, 19_724, 19_725, 19_727),
    "TIMESTAMP": (0, 1_000_000, 1_000_001, 3_000_000),
}
"""What rows have; DATE in days and TIMESTAMP in microseconds since 1970."""

_NUMBERS = ("INT", "BIGINT", "TINYINT", "DOUBLE", "DECIMAL(5, 1)", "DECIMAL(7, 2)")
_TEXTS = ("VARCHAR", "ENUM('a', 'b', 'c')")
_EXACT = ("INT", "TINYINT", "DECIMAL(5, 1)", "DECIMAL(7, 2)")
_OPERATORS = ("<", "<=", "=", "=", ">=", ">", "<>")
_HOLDS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
    ">=": operator.ge,
    ">": operator.gt,
    "<>": operator.ne,
}
_NAMES = {"s": "abc", "t": "def", "u": "ghi", "v": "jkl"}


@dataclass(frozen=True)
class Typed:
    """Declarations, a query, and how its rows look."""

    columns: Mapping[str, Mapping[str, str]]
    """Stream, column, type."""
    checks: Mapping[tuple[str, str], str]
    sql: str
    timed: bool

    @property
    def ddl(self) -> str:
        end = ", ts BIGINT) WITH (time = 'ts')" if self.timed else ")"
        return "".join(f"CREATE STREAM {name} ({self._of(name)}{end};\n" for name in self.columns)

    @property
    def text(self) -> str:
        return self.ddl + self.sql

    def _of(self, stream: str) -> str:
        return ", ".join(
            f"{name} {type_} {self.checks.get((stream, name), '')}".rstrip()
            for name, type_ in self.columns[stream].items()
        )


def random_typed(rng: random.Random, *, timed: bool = False) -> Typed:
    """A query of one to four inputs."""
    return _Maker(rng, timed=timed).made()


def random_row(rng: random.Random, query: Typed, stream: str, at: int) -> Row:
    """A row within the domains of its stream; `at` is its timestamp where it has one."""
    row: list[Any] = []
    for name, type_ in query.columns[stream].items():
        check = query.checks.get((stream, name), "")
        values = [each for each in VALUES[type_] if _allowed(check, each)]
        null = "NOT NULL" not in check and rng.random() < 0.1
        row.append(None if null else rng.choice(values))
    return (*row, at) if query.timed else tuple(row)


def _allowed(check: str, value: Any) -> bool:
    return "BETWEEN 0 AND 2" not in check or 0 <= value <= 2


def literal(type_: str, value: Any) -> str:
    """A value as SQL writes it."""
    if isinstance(value, bool):
        return str(value).upper()
    if type_ == "DATE":
        return f"DATE '2024-01-0{value - 19_722}'"
    if type_ == "TIMESTAMP":
        return f"TIMESTAMP '1970-01-01 00:00:0{value // 1_000_000}.{value % 1_000_000:06d}'"
    if isinstance(value, str):
        return f"'{value}'"
    return str(value)


class _Maker:
    def __init__(self, rng: random.Random, *, timed: bool) -> None:
        self._rng = rng
        self._timed = timed
        self._columns: dict[str, dict[str, str]] = {}
        self._checks: dict[tuple[str, str], str] = {}
        self._inputs: list[tuple[str, str]] = []
        self._passes = rng.random() < 0.85
        """Whether conditions are chosen that some row of each input meets together."""
        self._row: dict[str, Any] = {}

    def made(self) -> Typed:
        rng = self._rng
        focus = rng.choice([_NUMBERS, _NUMBERS, _TEXTS, tuple(VALUES), tuple(VALUES)])
        for alias in "stuv"[: rng.choice((1, 2, 2, 2, 3, 3, 4))]:
            again = bool(self._inputs) and rng.random() < 0.2
            self._inputs.append((alias, rng.choice(self._inputs)[1] if again else alias))
            if not again:
                names = _NAMES[alias][: rng.randint(1, 3)]
                self._columns[alias] = {each: rng.choice(focus) for each in names}
        for stream, columns in self._columns.items():
            for name, type_ in columns.items():
                self._checks[stream, name] = self._check(name, type_)
        for each in self._names():
            alias, _, column = each.partition(".")
            check = self._checks[dict(self._inputs)[alias], column]
            self._row[each] = rng.choice(
                [x for x in VALUES[self._type(each)] if _allowed(check, x)]
            )
        distinct = rng.random() < 0.55
        width = rng.randint(1, 2)
        first, kinds = self._select(distinct, width, None)
        if rng.random() < 0.12:
            second, _ = self._select(False, width, kinds)
            first = first.replace("SELECT DISTINCT", "SELECT", 1)
            first = f"{first} {'UNION' if distinct else 'UNION ALL'} {second}"
        return Typed(self._columns, self._checks, first, self._timed)

    def _check(self, name: str, type_: str) -> str:
        rng = self._rng
        if type_ in _NUMBERS and rng.random() < 0.2:
            return f"CHECK ({name} BETWEEN 0 AND 2)"
        return "NOT NULL" if rng.random() < 0.3 else ""

    def _select(
        self, distinct: bool, width: int, kinds: Sequence[str] | None
    ) -> tuple[str, list[str]]:
        rng = self._rng
        shown, types = [], []
        for place in range(width):
            expression, type_ = self._item(None if kinds is None else kinds[place])
            shown.append(f"{expression} AS x{place}")
            types.append(type_)
        from_ = ", ".join(
            name if name == alias else f"{name} AS {alias}" for alias, name in self._inputs
        )
        conditions = self._conditions()
        rng.shuffle(conditions)
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        word = "SELECT DISTINCT" if distinct else "SELECT"
        return f"{word} {', '.join(shown)} FROM {from_}{where}", types

    def _item(self, kind: str | None) -> tuple[str, str]:
        rng = self._rng
        names = [each for each in self._names() if kind in (None, self._type(each))]
        if not names or (kind is None and rng.random() < 0.2):
            return ("1", "INT") if kind is None else ("NULL", kind)
        name = rng.choice(names)
        type_ = self._type(name)
        if kind is None and rng.random() < 0.2:
            if type_ == "INT":
                other = rng.choice([each for each in self._names() if self._type(each) == "INT"])
                return rng.choice([f"{name} + 1", f"{name} % 2", f"{name} + {other}"]), "?"
            if type_ == "VARCHAR":
                return rng.choice([f"UPPER({name})", f"{name} || 'z'"]), "?"
        return name, type_

    def _names(self) -> list[str]:
        return [f"{alias}.{c}" for alias, stream in self._inputs for c in self._columns[stream]]

    def _type(self, name: str) -> str:
        alias, _, column = name.partition(".")
        return self._columns[dict(self._inputs)[alias]][column]

    def _conditions(self) -> list[str]:
        rng = self._rng
        found = [self._limit(each) for each in self._names() if rng.random() < 0.65]
        found += [made for _ in range(rng.randint(0, 4)) if (made := self._compared())]
        if rng.random() < 0.35:
            found.append(self._other())
        if rng.random() < 0.25:
            found.append(f"({self._leaf()} OR {self._leaf()})")
        return found

    def _leaf(self) -> str:
        return self._compared() or self._limit(self._rng.choice(self._names()))

    def _limit(self, name: str) -> str:
        rng, type_ = self._rng, self._type(name)
        if type_ == "BOOLEAN":
            return rng.choice([name, f"NOT {name}", f"{name} IS NOT TRUE", f"{name} IS NULL"])
        values, held = VALUES[type_], self._row[name]
        low = rng.choice([x for x in values if x <= held] if self._passes else values)
        high = rng.choice([x for x in values if x >= held] if self._passes else values)
        one, other = literal(type_, low), literal(type_, high)
        ways = [
            (f"{name} BETWEEN {one} AND {other}", True),
            (f"{name} BETWEEN {one} AND {other}", True),
            (f"{name} > {one} AND {name} < {other}", low < held < high),
            (f"{name} IN ({one}, {other})", held in (low, high)),
            (f"{name} IN ({literal(type_, held)}, {other})", True),
            (f"{name} = {one}", held == low),
            (f"{name} >= {one}", True),
            (f"{name} < {other}", held < high),
            (f"{name} <> {one}", held != low),
            (f"({name} = {one} OR {name} IS NULL)", held == low),
        ]
        return rng.choice([text for text, holds in ways if holds or not self._passes])

    def _compared(self) -> str | None:
        rng = self._rng
        one = rng.choice(self._names())
        kind = self._type(one)
        family = next((each for each in (_NUMBERS, _TEXTS) if kind in each), (kind,))
        others = [each for each in self._names() if self._type(each) in family and each != one]
        if not others:
            return None
        other = rng.choice(others)
        fits = [x for x in _OPERATORS if _HOLDS[x](self._row[one], self._row[other])]
        op = rng.choice(fits if self._passes else _OPERATORS)
        if kind in _EXACT and self._type(other) in (*_EXACT, "DOUBLE") and rng.random() < 0.25:
            return f"{one} + {rng.choice(('1', '-1', '0.5', '2'))} {op} {other}"
        return f"{one} {op} {other}"

    def _other(self) -> str:
        rng = self._rng
        name = rng.choice(self._names())
        type_ = self._type(name)
        if type_ == "VARCHAR":
            return rng.choice([f"{name} LIKE 'a%'", f"LENGTH({name}) = 1", f"UPPER({name}) < 'B'"])
        if type_ in _NUMBERS:
            other = rng.choice([each for each in self._names() if self._type(each) in _NUMBERS])
            return rng.choice(
                [
                    f"{name} IS NOT DISTINCT FROM {other}",
                    f"CAST({name} AS DOUBLE) * 2 <= 4",
                    f"ABS({name}) < 2",
                    f"({name} < 2) IS NOT FALSE",
                    f"{name} + {other} < 3",
                ]
            )
        return f"{name} IS NOT NULL"
